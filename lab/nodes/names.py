# SPDX-License-Identifier: Apache-2.0

"""Names of links and namespaces of this host.

They begin with the lab's prefix: there may be other labs. Linux takes 15
characters for a link.
"""


def _short(identifier: str) -> str:
    """Return the first ten digits of a UUID."""
    return identifier.replace("-", "")[:10]


def switch_namespace(prefix: str) -> str:
    """The namespace with the bridges of all tenants' networks."""
    return f"{prefix}net"


def machine_namespace(prefix: str, server: str) -> str:
    """The namespace of a server."""
    return f"{prefix}m{_short(server)}"


def router_namespace(prefix: str, router: str) -> str:
    """The namespace of a router."""
    return f"{prefix}r{_short(router)}"


def balancer_namespace(prefix: str, balancer: str) -> str:
    """The namespace of a load balancer."""
    return f"{prefix}l{_short(balancer)}"


def network_bridge(prefix: str, network: str) -> str:
    """The bridge of a network, in the switch's namespace."""
    return f"{prefix}b{_short(network)}"


def machine_link(prefix: str, port: str) -> str:
    """The outer end of a port, in the switch's namespace."""
    return f"{prefix}p{_short(port)}"
