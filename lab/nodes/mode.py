# SPDX-License-Identifier: Apache-2.0

"""Whether servers are machines that run: ``up --nodes``.

It needs root. The choice stays through ``down`` and ``up``.
"""

import hashlib
import os

from lab import choices
from lab import errors
from lab import layout

_CHOICE = choices.Choice("with-nodes", "no")
#: The network that floating IPs are from, one of those for examples. The chart
#: has 172.16.0.0/12 for pods and services, where DevStack's network is.
NETWORK = "198.51.100.0/24"
#: This host in that network; the cloud's public endpoints have it.
ADDRESS = "198.51.100.1"
#: Of this lab's namespaces, links and groups: there may be other labs.
PREFIX = "l" + hashlib.sha256(str(layout.STATE).encode()).hexdigest()[:3]
MACHINES = layout.STATE / "nodes" / "machines"
IMAGES = layout.STATE / "nodes" / "images"


def chosen() -> bool:
    """Whether servers are machines that run."""
    return _CHOICE.read() == "yes"


def choose(*, nodes: bool) -> None:
    """Remember the choice.

    :raises LabError: this is not root
    """
    if nodes and os.getuid():
        raise errors.LabError(
            "--nodes needs root: machines have namespaces of their own",
            hint="Without --nodes, servers are simulated.",
        )
    _CHOICE.write("yes" if nodes else "no")


def public(url: str) -> str:
    """Return the URL of a service for users and their machines."""
    return url.replace("127.0.0.1", ADDRESS) if chosen() else url
