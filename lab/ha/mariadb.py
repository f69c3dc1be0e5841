# SPDX-License-Identifier: Apache-2.0

"""The database server that operators have Magnum's rows in."""

import os
import pathlib
import shutil

import pymysql

from lab import layout
from lab import magnums
from lab import service
from lab import tools
from lab.cloud import config

PROGRAM = pathlib.Path("/usr/sbin/mariadbd")
PORT = 13306
NAME = "mariadb"
_FOLDER = layout.STATE / "mariadb"
DATA = _FOLDER / "data"
_SETUP = _FOLDER / "setup.sql"
_USER = "magnum"
# Run at each start, before anybody can connect.
_STATEMENTS = f"""\
CREATE USER IF NOT EXISTS {_USER}@'127.0.0.1' \
IDENTIFIED BY '{config.PASSWORD}';
GRANT ALL ON `magnum%`.* TO {_USER}@'127.0.0.1';
"""


def url() -> str:
    """Where SQLAlchemy finds Magnum's database."""
    address = f"{_USER}:{config.PASSWORD}@127.0.0.1:{PORT}"
    return f"mysql+pymysql://{address}/{magnums.database()}"


def ready() -> bool:
    """Whether the data folder was made."""
    return DATA.exists()


def make() -> None:
    """Make an empty data folder; whole or not at all."""
    shutil.rmtree(_FOLDER, ignore_errors=True)
    fresh = _FOLDER / "new"
    fresh.mkdir(parents=True, mode=0o700)
    _SETUP.write_text(_STATEMENTS)
    tools.run(
        [
            "mariadb-install-db",
            "--no-defaults",
            f"--datadir={fresh}",
            "--auth-root-authentication-method=normal",
            "--skip-test-db",
            *_as_root(),
        ],
        log=layout.log(f"{NAME}-install"),
    )
    fresh.rename(DATA)


def _as_root() -> list[str]:
    # It refuses to be root, unless it is told to.
    return [] if os.getuid() else ["--user=root"]


def connect() -> "pymysql.connections.Connection[pymysql.cursors.Cursor]":
    """A connection of Magnum's user."""
    return pymysql.connect(
        host="127.0.0.1",
        port=PORT,
        user=_USER,
        password=config.PASSWORD,
        connect_timeout=5,
    )


def make_database() -> None:
    """Magnum's database, empty, unless it is there."""
    name = magnums.database()
    with connect() as connection, connection.cursor() as cursor:
        cursor.execute(
            f"CREATE DATABASE IF NOT EXISTS {name} CHARACTER SET utf8mb4"
        )


def _accepts() -> bool:
    try:
        connect().close()
    except pymysql.err.OperationalError:
        return False
    return True


def server() -> service.Service:
    """The server, on loopback alone."""
    return service.Service(
        NAME,
        (
            str(PROGRAM),
            "--no-defaults",
            f"--datadir={DATA}",
            # Below the data: a whole path may be too long for a socket.
            "--socket=mariadb.sock",
            "--bind-address=127.0.0.1",
            f"--port={PORT}",
            f"--pid-file={DATA / 'mariadbd.pid'}",
            f"--init-file={_SETUP}",
            "--skip-name-resolve",
            "--character-set-server=utf8mb4",
            # The lab's data may be lost with the machine's power.
            "--innodb-flush-log-at-trx-commit=2",
            "--performance-schema=off",
            *_as_root(),
        ),
        layer=1,
        ports=(PORT,),
        probe=_accepts,
        grace=30.0,
    )
