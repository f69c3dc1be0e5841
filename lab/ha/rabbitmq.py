# SPDX-License-Identifier: Apache-2.0

"""The message bus between Magnum's API and its conductors."""

import contextlib
import pathlib
import socket

from lab import layout
from lab import service

#: Debian's wrapper in /usr/sbin becomes the user rabbitmq; this does not.
PROGRAM = pathlib.Path("/usr/lib/rabbitmq/bin/rabbitmq-server")
PORT = 5673
_DISTRIBUTION_PORT = 25673
_EPMD_PORT = 14369
_HOME = layout.STATE / "rabbitmq"
_ENVIRONMENT = {
    # The Erlang cookie is there.
    "HOME": str(_HOME),
    "RABBITMQ_NODENAME": "lab@localhost",
    "RABBITMQ_MNESIA_BASE": str(_HOME / "mnesia"),
    "RABBITMQ_LOG_BASE": str(_HOME / "log"),
    "RABBITMQ_ENABLED_PLUGINS_FILE": str(_HOME / "enabled_plugins"),
    "RABBITMQ_CONFIG_FILE": str(_HOME / "rabbitmq.conf"),
    "RABBITMQ_CONF_ENV_FILE": "/dev/null",
    "RABBITMQ_DIST_PORT": str(_DISTRIBUTION_PORT),
    # Loopback alone, one scheduler, and no spinning for work.
    "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": (
        "-kernel inet_dist_use_interface {127,0,0,1} +S 1:1 +sbwt none"
    ),
    "ERL_EPMD_ADDRESS": "127.0.0.1",
    "ERL_EPMD_PORT": str(_EPMD_PORT),
}
_CONFIGURATION = f"""\
listeners.tcp.1 = 127.0.0.1:{PORT}
disk_free_limit.absolute = 100MB
"""


def url() -> str:
    """Where oslo.messaging finds it."""
    return f"rabbit://guest:guest@127.0.0.1:{PORT}/"


def write() -> None:
    """Write its configuration."""
    (_HOME / "log").mkdir(parents=True, exist_ok=True)
    (_HOME / "rabbitmq.conf").write_text(_CONFIGURATION)
    (_HOME / "enabled_plugins").write_text("[].\n")


def _listens(port: int) -> bool:
    address = ("127.0.0.1", port)
    with (
        contextlib.suppress(OSError),
        socket.create_connection(address, timeout=5),
    ):
        return True
    return False


def services() -> list[service.Service]:
    """Erlang's directory of nodes, and the broker."""
    epmd = service.Service(
        "epmd",
        ("/usr/bin/epmd", "-address", "127.0.0.1", "-port", str(_EPMD_PORT)),
        layer=1,
        ports=(_EPMD_PORT,),
        probe=lambda: _listens(_EPMD_PORT),
    )
    broker = service.Service(
        "rabbitmq",
        (str(PROGRAM),),
        layer=2,
        ports=(PORT, _DISTRIBUTION_PORT),
        probe=lambda: _listens(PORT),
        env=_ENVIRONMENT,
        inputs=lambda: [_HOME / "rabbitmq.conf"],
        grace=30.0,
    )
    return [epmd, broker]
