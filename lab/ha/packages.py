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

"""The servers that come from Debian: RabbitMQ and MariaDB."""

import pathlib

from lab import debian

# Debian's wrappers in /usr/sbin become the user rabbitmq; these do not.
RABBITMQ = pathlib.Path("/usr/lib/rabbitmq/bin/rabbitmq-server")
MARIADB = pathlib.Path("/usr/sbin/mariadbd")
# For a conductor whose clock is off.
FAKETIME = pathlib.Path("/usr/bin/faketime")


def missing() -> list[str]:
    """The packages that are not installed."""
    return debian.missing(
        {
            "rabbitmq-server": RABBITMQ,
            "mariadb-server": MARIADB,
            "faketime": FAKETIME,
        }
    )


def install() -> None:
    """Install what is missing, which root alone can.

    :raises LabError: we are not, or this is no Debian
    """
    debian.install(missing())
