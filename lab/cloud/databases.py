# SPDX-License-Identifier: Apache-2.0

"""Databases and tables of the OpenStack services."""

import os
import sys

from lab import layout
from lab import postgres
from lab import tools
from lab.cloud import config

_EXTRA = {"nova": ("nova", "nova_api", "nova_cell0")}
# The migrations of these two are for MySQL alone; their models are not.
_MODELS = {
    "magnum": (
        "import magnum.db.sqlalchemy.models as models;"
        " tables = models.Base.metadata"
    ),
    "neutron": (
        "from neutron.db.migration.models import head;"
        " tables = head.get_metadata()"
    ),
}
_SYNC = {
    "glance": ("db_sync",),
    "placement": ("db", "sync"),
    "cinder": ("db", "sync"),
}


def sync(name: str) -> None:
    """Make a service's databases and tables; may be done again."""
    connection = postgres.connect("postgres")
    try:
        with connection.cursor() as cursor:
            for database in _EXTRA.get(name, (name,)):
                cursor.execute(
                    "SELECT 1 FROM pg_database WHERE datname = %s",
                    (database,),
                )
                if not cursor.fetchone():
                    cursor.execute(f'CREATE DATABASE "{database}"')
    finally:
        connection.close()
    if name in _MODELS:
        _create_tables(name)
    elif name in _SYNC:
        _manage(name, *_SYNC[name])
    else:
        {
            "barbican": _sync_barbican,
            "keystone": _sync_keystone,
            "nova": _sync_nova,
            "octavia": _sync_octavia,
        }[name]()


def _manage(name: str, *words: str) -> None:
    log = layout.log(f"{name}-database")
    tools.run(
        [
            layout.VENV / "bin" / f"{name}-manage",
            f"--config-file={config.path(name)}",
            f"--log-file={log}",
            *words,
        ],
        log=log,
    )


def _create_tables(name: str) -> None:
    program = (
        f"import sqlalchemy; {_MODELS[name]};"
        f" tables.create_all(sqlalchemy.create_engine({postgres.url(name)!r}))"
    )
    tools.run(
        [sys.executable, "-W", "ignore", "-c", program],
        log=layout.log(f"{name}-database"),
    )


def _sync_barbican() -> None:
    # It takes the database, and no configuration file, from its words.
    program = layout.VENV / "bin" / "barbican-manage"
    database = f"--db-url={postgres.url('barbican')}"
    tools.run(
        [program, "db", "upgrade", database],
        log=layout.log("barbican-database"),
    )


def _sync_keystone() -> None:
    for keys in ("fernet", "receipts", "credential"):
        (config.home("keystone") / keys).mkdir(mode=0o700, exist_ok=True)
    _manage("keystone", "db_sync")
    owner = (
        f"--keystone-user={os.getuid()}",
        f"--keystone-group={os.getgid()}",
    )
    _manage("keystone", "fernet_setup", *owner)
    _manage("keystone", "credential_setup", *owner)
    urls = (
        f"--bootstrap-{interface}-url={config.KEYSTONE}"
        for interface in ("admin", "public", "internal")
    )
    _manage(
        "keystone",
        "bootstrap",
        f"--bootstrap-password={config.PASSWORD}",
        f"--bootstrap-region-id={config.REGION}",
        *urls,
    )


def _sync_nova() -> None:
    _manage("nova", "api_db", "sync")
    cell0 = postgres.url("nova_cell0")
    _manage("nova", "cell_v2", "map_cell0", "--database_connection", cell0)
    _manage("nova", "db", "sync")
    connection = postgres.connect("nova_api")
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1 FROM cell_mappings WHERE name = 'cell1'")
            known = cursor.fetchone()
    finally:
        connection.close()
    if not known:
        _manage("nova", "cell_v2", "create_cell", "--name", "cell1")


def _sync_octavia() -> None:
    script = layout.SOURCE / "cloud" / "octavia_tables.py"
    url = postgres.url("octavia")
    tools.run(
        [sys.executable, "-P", "-W", "ignore", script, url],
        log=layout.log("octavia-database"),
    )
