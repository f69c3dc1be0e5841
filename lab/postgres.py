# SPDX-License-Identifier: Apache-2.0

"""The database server of all OpenStack services, from a wheel.

SQLite does not bear several threads of several services. PostgreSQL refuses
to run as root; it then runs as ``nobody``, with the one capability that lets
it reach its files wherever the checkout is.
"""

import functools
import os
import pathlib
import shutil
import signal
import sys

import psycopg2
import psycopg2.extensions

from lab import errors
from lab import layout
from lab import service
from lab import tools

PORT = 15432
DATA = layout.POSTGRES / "data"
_LOG = layout.log("initdb")
_NOBODY = 65534
_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "max_connections": "300",
    # The lab's data may be lost with the machine's power.
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
}


def url(database: str) -> str:
    """Where SQLAlchemy finds a database."""
    return f"postgresql+psycopg2://postgres@127.0.0.1:{PORT}/{database}"


def programs() -> pathlib.Path:
    """The folder of its programs, inside the wheel, once that is installed."""
    python = ".".join(map(str, sys.version_info[:2]))
    packages = layout.VENV / "lib" / f"python{python}" / "site-packages"
    return packages / "pgserver" / "pginstall" / "bin"


def unprivileged() -> tuple[str, ...]:
    """What to put before a program of its, to run it as root."""
    if os.getuid():
        return ()
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        raise errors.LabError(
            "setpriv is missing: PostgreSQL can't run as root",
            hint="apt-get install -y util-linux",
        )
    return (
        setpriv,
        f"--reuid={_NOBODY}",
        f"--regid={_NOBODY}",
        "--clear-groups",
        "--inh-caps=+dac_override",
        "--ambient-caps=+dac_override",
    )


def give(folder: pathlib.Path) -> None:
    """Let the server have a folder."""
    if not os.getuid():
        os.chown(folder, _NOBODY, _NOBODY)


def ready() -> bool:
    """Whether the data folder was made."""
    return (DATA / "PG_VERSION").exists()


def make() -> None:
    """Make an empty data folder; whole or not at all."""
    if not programs().exists():
        raise errors.LabError("PostgreSQL is missing from the environment")
    shutil.rmtree(layout.POSTGRES, ignore_errors=True)
    fresh = layout.POSTGRES / "new"
    initialize(fresh)
    fresh.rename(DATA)


def initialize(folder: pathlib.Path) -> None:
    """Make an empty data folder."""
    folder.mkdir(parents=True, mode=0o700)
    give(folder)
    tools.run(
        [
            *unprivileged(),
            programs() / "initdb",
            "--username=postgres",
            "--auth=trust",
            "--encoding=UTF8",
            "--no-sync",
            folder,
        ],
        log=_LOG,
    )


def _accepts(port: int) -> bool:
    """Whether it takes connections; not so while it recovers."""
    try:
        connect("postgres", port).close()
    except psycopg2.OperationalError:
        return False
    return True


def connect(database: str, port: int = PORT) -> psycopg2.extensions.connection:
    """A connection that commits each statement by itself."""
    made = psycopg2.connect(
        host="127.0.0.1", port=port, user="postgres", dbname=database
    )
    made.autocommit = True
    return made


def server(
    name: str = "postgres", data: pathlib.Path = DATA, port: int = PORT
) -> service.Service:
    """The server; SIGINT is its fast shutdown, SIGTERM waits for clients."""
    settings = (f"-c{name}={value}" for name, value in _SETTINGS.items())
    return service.Service(
        name,
        (
            *unprivileged(),
            str(programs() / "postgres"),
            "-D",
            str(data),
            *settings,
            f"-cport={port}",
        ),
        layer=1,
        ports=(port,),
        probe=functools.partial(_accepts, port),
        first_signal=signal.SIGINT,
    )
