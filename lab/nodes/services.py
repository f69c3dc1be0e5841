# SPDX-License-Identifier: Apache-2.0

"""The services that connect machines and install what clusters want."""

import pathlib

from lab import layout
from lab import postgres
from lab import service
from lab.nodes import host
from lab.nodes import mode

_HERE = pathlib.Path(__file__).resolve().parent


def services() -> list[service.Service]:
    """All of them, in the order of starting."""
    return [network(), addons()]


def network() -> service.Service:
    """The agent that makes networks, routers and load balancers."""
    return service.Service(
        "nodes-network",
        (
            *(str(layout.PYTHON), "-P", str(_HERE / "agent.py")),
            *(
                mode.PREFIX,
                str(layout.STATE / "nodes" / "network"),
                host.BRIDGE,
            ),
            *(postgres.url("neutron"), postgres.url("octavia")),
            str(layout.CLOUD / "octavia" / "agent"),
        ),
        layer=5,
        env={"PYTHONPATH": str(layout.CHECKOUT)},
        inputs=lambda: [*_HERE.glob("*.py")],
    )


def addons() -> service.Service:
    """The installer of clusters' addons."""
    return service.Service(
        "nodes-addons",
        (
            *(str(layout.PYTHON), "-P", "-W", "ignore"),
            *(str(_HERE / "addons.py"), str(layout.KUBECONFIG)),
            *(str(_HERE / "charts"), str(layout.STATE / "nodes" / "addons")),
        ),
        layer=5,
        inputs=lambda: [_HERE / "addons.py"],
    )
