# SPDX-License-Identifier: Apache-2.0

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
