# SPDX-License-Identifier: Apache-2.0

"""agent.py PREFIX FOLDER BRIDGE NEUTRON OCTAVIA LOOK: the machines' network.

In place of the agents of Neutron and the workers of Octavia it makes what
their databases say, twice a second, and writes there what has become of it.
BRIDGE is this host's, of the network of floating IPs. NEUTRON and OCTAVIA are
URLs of databases. The file LOOK is touched after each look at them.
"""

import pathlib
import sys
import time
from typing import Any

import psycopg2

from lab.nodes import balancers
from lab.nodes import fabric
from lab.nodes import names
from lab.nodes import wishes

_PAUSE = 0.5
#: Seconds between two looks at the states of members.
_STATES = 2.0
_SET_PORTS = "UPDATE ports SET status = %s WHERE id = ANY(%s)"
_SET_FLOATING = "UPDATE floatingips SET status = %s WHERE id = ANY(%s)"
_FREE = (
    "UPDATE floatingips SET status = 'DOWN'"
    " WHERE fixed_port_id IS NULL AND status <> 'DOWN'"
)
_SET_MEMBER = "UPDATE member SET operating_status = %s WHERE id = %s"


def connect(url: str) -> Any:
    """Return a connection; the driver's name in the URL is SQLAlchemy's."""
    connection = psycopg2.connect(url.replace("+psycopg2", ""))
    connection.autocommit = True
    return connection


class Agent:
    """Makes the network of machines.

    :param bridge: this host's, of the network of floating IPs
    """

    def __init__(self, prefix: str, folder: pathlib.Path, bridge: str) -> None:
        self._prefix = prefix
        self._folder = folder
        self._bridge = bridge
        self._fabric = fabric.Fabric(prefix, folder)
        self._looked = 0.0

    def start(self) -> None:
        """Learn what an earlier process has made."""
        self._fabric.start()

    def tick(self, neutron: Any, octavia: Any) -> None:
        """Look at the databases once."""
        ports = wishes.rows(neutron, wishes.PORTS, wishes.Port)
        floating = wishes.rows(neutron, wishes.FLOATING_IPS, wishes.FloatingIp)
        members = wishes.rows(octavia, wishes.MEMBERS, wishes.Member)
        self._fabric.apply(self._wanted(ports, floating, members, octavia))
        self._tell_neutron(neutron, ports, floating)
        if time.monotonic() - self._looked > _STATES:
            self._looked = time.monotonic()
            self._tell_octavia(octavia, members)

    def _wanted(
        self,
        ports: list[wishes.Port],
        floating: list[wishes.FloatingIp],
        members: list[wishes.Member],
        octavia: Any,
    ) -> wishes.Wishes:
        by_id = {each.id: each for each in ports}
        octavia.execute(wishes.BALANCERS)
        vips = {
            balancer: by_id[port]
            for balancer, port in octavia.fetchall()
            if port in by_id
        }
        octavia.execute(wishes.CIDRS)
        cidrs: dict[str, list[str]] = {}
        for listener, cidr in octavia.fetchall():
            cidrs.setdefault(listener, []).append(cidr)
        found = wishes.routers(self._prefix, ports, floating, self._bridge)
        found += balancers.namespaces(
            self._prefix,
            self._folder,
            self._bridge,
            vips,
            ports,
            wishes.rows(octavia, wishes.LISTENERS, wishes.Listener),
            cidrs,
            wishes.rows(octavia, wishes.POOLS, wishes.Pool),
            members,
        )
        attached = wishes.servers(self._prefix, ports)
        bridges = {
            *attached.values(),
            *(
                leg.bridge
                for each in found
                for leg in each.legs
                if not leg.external
            ),
        }
        return wishes.Wishes(frozenset(bridges), attached, tuple(found))

    def _tell_neutron(
        self,
        neutron: Any,
        ports: list[wishes.Port],
        floating: list[wishes.FloatingIp],
    ) -> None:
        """Write the statuses of ports and floating IPs."""
        made, attached = self._fabric.made, self._fabric.attached

        def is_up(port: wishes.Port) -> bool:
            if port.owner.startswith("compute:"):
                link = names.machine_link(self._prefix, port.id)
                return link in attached
            return names.router_namespace(self._prefix, port.device) in made

        for status, wanted in (("ACTIVE", True), ("DOWN", False)):
            changed = [
                each.id
                for each in ports
                if each.owner != "Octavia"
                and is_up(each) == wanted
                and each.status != status
            ]
            if changed:
                neutron.execute(_SET_PORTS, (status, changed))
        up = [
            each.id
            for each in floating
            if each.status != "ACTIVE"
            and names.router_namespace(self._prefix, each.router) in made
        ]
        if up:
            neutron.execute(_SET_FLOATING, ("ACTIVE", up))
        neutron.execute(_FREE)

    def _tell_octavia(
        self, octavia: Any, members: list[wishes.Member]
    ) -> None:
        """Write the states of members, as Octavia's health manager does."""
        states: dict[str, str] = {}
        for name, each in self._fabric.made.items():
            if each.haproxy:
                control = balancers.control_socket(self._folder, name)
                try:
                    states |= balancers.states(control)
                except OSError as error:
                    print(f"{control}: {error}", file=sys.stderr)
        for member in members:
            state = states.get(member.id)
            if state and state != member.status:
                octavia.execute(_SET_MEMBER, (state, member.id))


def main(
    prefix: str,
    folder: str,
    bridge: str,
    neutron: str,
    octavia: str,
    look: str,
) -> None:
    """Run until killed; everything stays as it is then."""
    agent = Agent(prefix, pathlib.Path(folder), bridge)
    agent.start()
    connections: list[Any] = []
    while True:
        try:
            if not connections:
                connections = [connect(neutron), connect(octavia)]
            first, second = connections
            with first.cursor() as ours, second.cursor() as theirs:
                agent.tick(ours, theirs)
            pathlib.Path(look).touch()
        except psycopg2.Error as error:
            print(f"databases: {error}", file=sys.stderr, flush=True)
            connections = []
        time.sleep(_PAUSE)


if __name__ == "__main__":
    main(*sys.argv[1:7])
