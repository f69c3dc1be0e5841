# SPDX-License-Identifier: Apache-2.0

"""What the network of machines has to be, from Neutron's and Octavia's tables.

Reading is one query for each kind of row; everything else here is pure.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
import dataclasses
from typing import Any, NamedTuple

from lab.nodes import names

_INTERFACE = "network:router_interface"
_GATEWAY = "network:router_gateway"


class Port(NamedTuple):
    """A port with one of its addresses, of Neutron's ports."""

    id: str
    network: str
    mac: str
    owner: str
    device: str
    status: str
    address: str
    cidr: str
    gateway: str | None
    name: str
    external: bool


class FloatingIp(NamedTuple):
    """A floating IP that has a port, of Neutron's floatingips."""

    id: str
    address: str
    fixed: str
    router: str
    status: str


class Listener(NamedTuple):
    """A listener of a load balancer; time-outs are in milliseconds."""

    id: str
    balancer: str
    port: int
    pool: str | None
    limit: int
    client_timeout: int
    member_timeout: int
    connect_timeout: int


class Pool(NamedTuple):
    """A pool with its health monitor, if it has one.

    :param kind: of the monitor: TCP, HTTP, ...; None: it has none
    """

    id: str
    balancer: str
    protocol: str
    algorithm: str
    persistence: str | None
    kind: str | None
    delay: int | None
    timeout: int | None
    rise: int | None
    fall: int | None
    method: str | None
    path: str | None
    codes: str | None


class Member(NamedTuple):
    """A member of a pool."""

    id: str
    pool: str
    address: str
    port: int
    weight: int
    backup: bool
    status: str
    monitor_port: int | None = None


PORTS = """
SELECT p.id, p.network_id, p.mac_address, p.device_owner, p.device_id,
       p.status, a.ip_address, s.cidr, s.gateway_ip, p.name,
       e.network_id IS NOT NULL
FROM ports p JOIN ipallocations a ON a.port_id = p.id
     JOIN subnets s ON s.id = a.subnet_id
     LEFT JOIN externalnetworks e ON e.network_id = p.network_id
WHERE p.device_owner LIKE 'compute:%' OR p.device_owner = 'Octavia'
      OR p.device_owner LIKE 'network:router%'
"""
FLOATING_IPS = """
SELECT id, floating_ip_address, fixed_ip_address, router_id, status
FROM floatingips WHERE fixed_port_id IS NOT NULL AND router_id IS NOT NULL
"""
BALANCERS = """
SELECT b.id, v.port_id FROM load_balancer b
JOIN vip v ON v.load_balancer_id = b.id
WHERE b.enabled AND b.provisioning_status IN
      ('ACTIVE', 'PENDING_CREATE', 'PENDING_UPDATE')
"""
LISTENERS = """
SELECT id, load_balancer_id, protocol_port, default_pool_id,
       coalesce(connection_limit, -1), coalesce(timeout_client_data, 50000),
       coalesce(timeout_member_data, 50000),
       coalesce(timeout_member_connect, 5000)
FROM listener WHERE enabled AND protocol <> 'UDP'
      AND provisioning_status NOT IN ('DELETED', 'PENDING_DELETE', 'ERROR')
"""
CIDRS = "SELECT listener_id, cidr FROM listener_cidr ORDER BY cidr"
POOLS = """
SELECT p.id, p.load_balancer_id, p.protocol, p.lb_algorithm, s.type, m.type,
       m.delay, m.timeout, m.rise_threshold, m.fall_threshold, m.http_method,
       m.url_path, m.expected_codes
FROM pool p LEFT JOIN session_persistence s ON s.pool_id = p.id
     LEFT JOIN health_monitor m ON m.pool_id = p.id AND m.enabled
          AND m.provisioning_status NOT IN ('DELETED', 'PENDING_DELETE')
WHERE p.enabled
      AND p.provisioning_status NOT IN ('DELETED', 'PENDING_DELETE', 'ERROR')
"""
MEMBERS = """
SELECT id, pool_id, ip_address, protocol_port, coalesce(weight, 1), backup,
       operating_status, monitor_port
FROM member WHERE enabled
      AND provisioning_status NOT IN ('DELETED', 'PENDING_DELETE', 'ERROR')
ORDER BY id
"""


@dataclasses.dataclass(frozen=True)
class Leg:
    """A link from a namespace to a network.

    :param name: in the namespace
    :param outer: its other end, at the network's bridge
    :param addresses: with the length of the prefix
    :param external: the bridge is this host's, and not the switch's
    """

    name: str
    outer: str
    mac: str
    bridge: str
    addresses: frozenset[str]
    external: bool = False


@dataclasses.dataclass(frozen=True)
class Namespace:
    """A router or a load balancer.

    :param rules: for nft; empty: none
    :param haproxy: its configuration; empty: none runs
    """

    name: str
    legs: tuple[Leg, ...]
    gateway: str | None
    rules: str = ""
    haproxy: str = ""


@dataclasses.dataclass(frozen=True)
class Wishes:
    """All that has to be there.

    :param attached: outer end of a server's port -> bridge
    """

    bridges: frozenset[str]
    attached: Mapping[str, str]
    namespaces: tuple[Namespace, ...]


def _with_prefix(port: Port) -> str:
    return f"{port.address}/{port.cidr.rpartition('/')[2]}"


def leg(prefix: str, port: Port, name: str, external: str = "") -> Leg:
    """Return the link of a port.

    :param external: this host's bridge, if the port is in its network
    """
    return Leg(
        name=name,
        outer=names.machine_link(prefix, port.id),
        mac=port.mac,
        bridge=external or names.network_bridge(prefix, port.network),
        addresses=frozenset({_with_prefix(port)}),
        external=bool(external),
    )


def routers(
    prefix: str,
    ports: Iterable[Port],
    floating_ips: Iterable[FloatingIp],
    external: str,
) -> list[Namespace]:
    """Return the namespaces of routers.

    :param external: the bridge of the network of floating IPs
    """
    by_router = defaultdict(list)
    for port in ports:
        if port.owner in (_INTERFACE, _GATEWAY):
            by_router[port.device].append(port)
    floating = defaultdict(list)
    for each in floating_ips:
        floating[each.router].append(each)
    found = []
    for router, own in sorted(by_router.items()):
        inside = sorted(each for each in own if each.owner == _INTERFACE)
        outside = [each for each in own if each.owner == _GATEWAY]
        legs = [
            leg(prefix, each, f"i{number}")
            for number, each in enumerate(inside)
        ]
        gateway = None
        rules = ""
        if outside:
            gateway = outside[0].gateway
            public = sorted(floating[router])
            way = leg(prefix, outside[0], "external", external)
            more = {f"{each.address}/32" for each in public}
            legs.append(
                dataclasses.replace(way, addresses=way.addresses | more)
            )
            cidrs = sorted({each.cidr for each in inside})
            rules = translation(outside[0].address, public, cidrs)
        name = names.router_namespace(prefix, router)
        found.append(Namespace(name, tuple(legs), gateway, rules))
    return found


def translation(
    router: str, floating_ips: Iterable[FloatingIp], inside: Iterable[str]
) -> str:
    """Return the rules with which a router translates addresses.

    As Neutron's agent does (``neutron/agent/l3/router_info.py``): what goes
    out gets the router's address, or that of its floating IP; what comes back
    in from a tenant's own network, to a floating IP, gets the router's
    address too.

    :param router: its address in the network of floating IPs
    :param inside: CIDRs of the tenant's networks
    """
    pairs = list(floating_ips)
    into = [f"ip daddr {each.address} dnat to {each.fixed}" for each in pairs]
    out = [
        f'oifname "external" ip saddr {each.fixed} snat to {each.address}'
        for each in pairs
    ]
    hairpin = [
        f'oifname != "external" ct status dnat ip saddr {cidr} '
        f"snat to {router}"
        for cidr in inside
    ]
    out = [*hairpin, *out, f'oifname "external" snat to {router}']
    return (
        "table ip nat\ndelete table ip nat\ntable ip nat {\n"
        "  chain prerouting {\n"
        "    type nat hook prerouting priority dstnat\n"
        f"{_lines(into)}  }}\n"
        "  chain postrouting {\n"
        "    type nat hook postrouting priority srcnat\n"
        f"{_lines(out)}  }}\n}}\n"
    )


def _lines(rules: Iterable[str]) -> str:
    return "".join(f"    {each}\n" for each in rules)


def servers(prefix: str, ports: Iterable[Port]) -> dict[str, str]:
    """Return the outer end of each server's port, and its bridge."""
    return {
        names.machine_link(prefix, each.id): names.network_bridge(
            prefix, each.network
        )
        for each in ports
        if each.owner.startswith("compute:")
    }


def rows(cursor: Any, query: str, kind: Any) -> list[Any]:
    """Return the rows of a query as tuples with names."""
    cursor.execute(query)
    return [kind(*row) for row in cursor.fetchall()]
