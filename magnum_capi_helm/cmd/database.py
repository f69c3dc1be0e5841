# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""What a command says when it can't read Magnum's database."""

from __future__ import annotations

_LIBRARIES = frozenset({"oslo_db", "sqlalchemy"})


def raised(error: Exception) -> bool:
    """Whether it is an error of the libraries that ask the database.

    Known by name: they are large, not every command needs them, and whoever
    raises such an error has loaded them.
    """
    return any(
        each.__module__.partition(".")[0] in _LIBRARIES
        for each in type(error).__mro__
    )


def words(error: Exception) -> str:
    """In one line, without the statement and the URL: that has a password."""
    return (
        f"Magnum's database can't be read ({type(error).__name__}): see "
        "whether [database] connection is right, the database there answers, "
        "and it has the tables of this Magnum"
    )
