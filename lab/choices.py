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

"""What somebody once asked for stays, until another is asked for."""

import dataclasses

from lab import layout


@dataclasses.dataclass(frozen=True)
class Choice:
    """One of several names, kept in a file.

    :param name: of the file, in the lab's folder
    :param default: what runs until somebody asks
    """

    name: str
    default: str

    def read(self) -> str:
        """The one that was asked for last."""
        try:
            return (layout.STATE / self.name).read_text().strip()
        except OSError:
            return self.default

    def write(self, value: str) -> None:
        """Have this one from the next start on."""
        (layout.STATE / self.name).write_text(value)
