# SPDX-License-Identifier: Apache-2.0

"""Load balancers: a namespace with haproxy for each.

The configuration is what Octavia's amphora makes of the same objects
(``octavia/common/jinja/haproxy/combined_listeners``).
"""

from collections.abc import Iterable, Mapping, Sequence
import csv
import pathlib
import socket

from lab.nodes import names
from lab.nodes import wishes

_ALGORITHMS = {
    "ROUND_ROBIN": "roundrobin",
    "LEAST_CONNECTIONS": "leastconn",
    "SOURCE_IP": "source",
    "SOURCE_IP_PORT": "source",
}
_HTTPS = {"HTTPS"}
#: Name of a port for members outside the VIP's network, before the UUID.
_MEMBER = "octavia-lb-member-"
#: haproxy's word for the state of a member -> Octavia's.
_STATES = {
    "UP": "ONLINE",
    "DOWN": "ERROR",
    "no check": "NO_MONITOR",
    "MAINT": "OFFLINE",
}


def namespaces(
    prefix: str,
    folder: pathlib.Path,
    external: str,
    vips: Mapping[str, wishes.Port],
    ports: Iterable[wishes.Port],
    listeners: Iterable[wishes.Listener],
    cidrs: Mapping[str, Sequence[str]],
    pools: Iterable[wishes.Pool],
    members: Iterable[wishes.Member],
) -> list[wishes.Namespace]:
    """Return the namespaces of load balancers.

    :param folder: for sockets
    :param external: the bridge of the network of floating IPs
    :param vips: load balancer -> the port of its VIP
    :param ports: those for members elsewhere have their names among these
    :param cidrs: listener -> networks that may use it; none: all
    """
    listeners, pools, members = [*listeners], [*pools], [*members]
    found = []
    for balancer, port in sorted(vips.items()):
        name = names.balancer_namespace(prefix, balancer)
        inside = [each for each in ports if each.name == _MEMBER + balancer]
        legs = _legs(prefix, external, port, inside)
        own = [each for each in listeners if each.balancer == balancer]
        parts = [_head(folder / name)]
        parts += [
            _frontend(each, port.address, cidrs.get(each.id, ()))
            for each in own
        ]
        timeouts = {each.pool: each for each in own}
        parts += [
            _backend(
                each,
                timeouts.get(each.id),
                [one for one in members if one.pool == each.id],
            )
            for each in pools
            if each.balancer == balancer
        ]
        text = "\n".join(parts) if own else ""
        found.append(wishes.Namespace(name, legs, port.gateway, haproxy=text))
    return found


def _legs(
    prefix: str, external: str, vip: wishes.Port, inside: list[wishes.Port]
) -> tuple[wishes.Leg, ...]:
    """Return the links of a load balancer.

    :param inside: its ports in other networks of members
    """
    return (
        wishes.leg(prefix, vip, "vip", external if vip.external else ""),
        *(
            wishes.leg(prefix, each, f"m{number}")
            for number, each in enumerate(sorted(inside))
        ),
    )


def control_socket(folder: pathlib.Path, name: str) -> pathlib.Path:
    """Return the socket of a load balancer's haproxy."""
    return folder / name / "socket"


def state_file(folder: pathlib.Path) -> pathlib.Path:
    """Return the file with the state of members before a reload.

    Without it a haproxy sends requests to all members until it has tested
    them (``haproxy_query.save_state`` of Octavia's amphora).
    """
    return folder / "servers-state"


def _head(folder: pathlib.Path) -> str:
    return (
        "global\n"
        f"    stats socket {folder / 'socket'} mode 600 level admin\n"
        f"    server-state-file {state_file(folder)}\n"
        "    maxconn 2000\n"
        "defaults\n"
        "    mode tcp\n"
        "    retries 3\n"
        "    option redispatch\n"
        "    timeout client 50s\n"
        "    timeout server 50s\n"
        "    timeout connect 5s\n"
    )


def _frontend(
    listener: wishes.Listener, address: str, cidrs: Sequence[str]
) -> str:
    lines = [
        f"frontend {listener.id}",
        f"    bind {address}:{listener.port}",
        f"    timeout client {listener.client_timeout}",
    ]
    if listener.limit > 0:
        lines.append(f"    maxconn {listener.limit}")
    if cidrs:
        lines.append(f"    acl allowed src {' '.join(cidrs)}")
        lines.append("    tcp-request connection reject if !allowed")
    if listener.pool:
        lines.append(f"    default_backend {listener.pool}")
    return "\n".join(lines) + "\n"


def _backend(
    pool: wishes.Pool,
    listener: wishes.Listener | None,
    members: Iterable[wishes.Member],
) -> str:
    lines = [
        f"backend {pool.id}",
        f"    balance {_ALGORITHMS[pool.algorithm]}",
    ]
    if pool.persistence == "SOURCE_IP":
        lines.append("    stick-table type ip size 10k")
        lines.append("    stick on src")
    if listener:
        lines.append(f"    timeout server {listener.member_timeout}")
        lines.append(f"    timeout connect {listener.connect_timeout}")
    check = ""
    if pool.kind:
        lines.append("    load-server-state-from-file global")
        lines.append(f"    timeout check {pool.timeout}s")
        if pool.kind in ("HTTP", *_HTTPS):
            codes = (pool.codes or "200").replace(",", "|")
            lines.append(f"    option httpchk {pool.method} {pool.path}")
            lines.append(f"    http-check expect rstatus {codes}")
        if pool.kind == "TLS-HELLO":
            lines.append("    option ssl-hello-chk")
        check = f" check inter {pool.delay}s fall {pool.fall} rise {pool.rise}"
        if pool.kind in _HTTPS:
            check += " check-ssl verify none"
    proxy = {"PROXY": " send-proxy", "PROXYV2": " send-proxy-v2"}
    more = proxy.get(pool.protocol, "") + check
    lines += [
        f"    server {each.id} {each.address}:{each.port} "
        f"weight {each.weight}{more}{_tested_port(each) if check else ''}"
        f"{' backup' if each.backup else ''}"
        for each in members
    ]
    return "\n".join(lines) + "\n"


def _tested_port(member: wishes.Member) -> str:
    return f" port {member.monitor_port}" if member.monitor_port else ""


def states(control: pathlib.Path) -> dict[str, str]:
    """Return the state of each member, in Octavia's words.

    :raises OSError: haproxy does not answer
    """
    return parse(ask(control, "show stat"))


def ask(control: pathlib.Path, command: str) -> str:
    """Return the answer of a haproxy.

    :raises OSError: it does not answer
    """
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(2)
        connection.connect(str(control))
        connection.sendall(f"{command}\n".encode())
        text = b""
        while part := connection.recv(65536):
            text += part
    return text.decode()


def parse(text: str) -> dict[str, str]:
    """Return members' states from haproxy's table."""
    table = csv.DictReader(text.removeprefix("# ").splitlines())
    return {
        row["svname"]: _STATES[word]
        for row in table
        if row["svname"] not in ("FRONTEND", "BACKEND")
        and (word := _word(row["status"])) in _STATES
    }


def _word(status: str) -> str:
    """Return haproxy's state without how many checks it takes to change."""
    return status if status == "no check" else status.partition(" ")[0]
