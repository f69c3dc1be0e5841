# SPDX-License-Identifier: Apache-2.0

"""Magnum's own programs: the API and three conductors."""

import pathlib

from lab import layout
from lab import magnums
from lab import service
from lab import stamps
from lab import tools
from lab.cloud import config
from lab.cloud import services as openstack_services
from lab.ha import mariadb
from lab.ha import rabbitmq
from lab.ha import trustees

API = "magnum-api"
CONDUCTORS = tuple(f"magnum-conductor-{number}" for number in (1, 2, 3))
_TABLES = "ha-tables"
_COMMON = f"""\
# Written anew by every "up".
[DEFAULT]
transport_url = {rabbitmq.url()}
# A conductor that was asked to end goes on taking messages, answers none, and
# never ends by itself.
graceful_shutdown_timeout = 2
[database]
connection = {{database}}
[api]
host = 127.0.0.1
port = {openstack_services.MAGNUM_PORT}
workers = 2
[conductor]
workers = 1
"""


def write() -> None:
    """Write what they have beside the one-process Magnum's options."""
    text = _COMMON.format(database=mariadb.url())
    if magnums.other():
        text += trustees.OPTIONS
    _path("ha").write_text(text)
    for name in (API, *CONDUCTORS):
        _temporary(name).mkdir(parents=True, exist_ok=True)
        host = name.removeprefix("magnum-")
        _path(name).write_text(
            f"[DEFAULT]\nhost = {host}\nlog_file = {layout.log(name)}\n"
        )


def _path(name: str) -> pathlib.Path:
    return config.home("magnum") / f"{name}.conf"


def _temporary(name: str) -> pathlib.Path:
    """Where a process has its temporary files: none may stay there."""
    return layout.STATE / "temporary" / name


def tables_ready() -> bool:
    """Whether the tables are those of the installed Magnum."""
    return stamps.fresh(_stamp(), _tables(), mariadb.DATA)


def _stamp() -> str:
    return f"{_TABLES}-{magnums.database()}"


def _tables() -> str:
    packages = magnums.packages()
    return stamps.fingerprint(files=[packages] * packages.exists())


def make_tables() -> None:
    """Its database and Magnum's migrations; may be done again."""
    mariadb.make_database()
    tools.run(
        [
            magnums.programs() / "magnum-db-manage",
            f"--config-file={config.path('magnum')}",
            f"--config-file={_path('ha')}",
            "upgrade",
        ],
        log=layout.log("magnum-tables"),
    )
    stamps.write(_stamp(), _tables(), mariadb.DATA)


def services() -> list[service.Service]:
    """The conductors, and the API."""
    port = openstack_services.MAGNUM_PORT
    return [
        *(_service("magnum-conductor", name, 7) for name in CONDUCTORS),
        _service(API, API, 8, port),
    ]


def _service(
    program: str, name: str, layer: int, port: int | None = None
) -> service.Service:
    own = [config.path("magnum"), _path("ha"), _path(name)]
    return service.Service(
        name,
        (
            str(magnums.programs() / program),
            *(f"--config-file={path}" for path in own),
            f"--config-dir={config.overrides()}",
        ),
        layer=layer,
        ports=(port,) if port else (),
        probe=service.answers(f"http://127.0.0.1:{port}/") if port else None,
        env={"PYTHONWARNINGS": "ignore", "TMPDIR": str(_temporary(name))},
        inputs=lambda: [
            *own,
            magnums.packages(),
            *openstack_services.of_magnum(),
        ],
        grace=4.0,
    )
