# SPDX-License-Identifier: Apache-2.0
"""octavia_all.py PORT DATABASE [OPTION...]: Octavia, without workers.

The lab's load balancers are made by the API's half of the amphora provider,
which makes the VIP's port in Neutron. Nobody reports back, and what the API
wrote as pending would stay so: here it is settled, in Octavia's own tables,
after a port in each other network that members have.
While the file ``fail`` beside the configuration names a project, it is settled
as by a worker that fails there. While there is a file ``stuck``, none works.

With machines, an agent makes the load balancers (``lab/nodes/agent.py``) and
touches the file ``agent`` after each look. What is pending waits for the agent
as for a worker, which calls the amphorae before it writes ACTIVE
(``get_delete_member_flow`` in octavia/controller/worker/v2/flows).
"""

import pathlib
import sys
import threading
import time
from typing import Any

from cheroot import wsgi
import psycopg2
import psycopg2.extensions

_TABLES = (
    "load_balancer",
    "listener",
    "pool",
    "member",
    "health_monitor",
    "l7policy",
    "l7rule",
)
# Rows that go with their parents.
_CHILDREN = (
    ("listener", "load_balancer"),
    ("pool", "load_balancer"),
    ("health_monitor", "pool"),
    ("member", "pool"),
    ("l7policy", "listener"),
    ("l7rule", "l7policy"),
)
#: Nothing belongs to these. Octavia's worker deletes their rows, after which
#: another member can have the address (``DeleteMemberInDB``).
_LEAVES = ("health_monitor", "member", "l7rule")
_PAUSE = 0.5
#: Seconds until an agent is called dead.
_PATIENCE = 15.0
_PENDING = " UNION ALL ".join(
    f"SELECT id FROM {table}"  # noqa: S608
    " WHERE provisioning_status LIKE 'PENDING%'"
    for table in _TABLES
)
_GOES = "provisioning_status = 'PENDING_DELETE'"
_COMES = "provisioning_status IN ('PENDING_CREATE', 'PENDING_UPDATE')"
_GOING = (
    "SELECT load_balancer.id,"
    " CASE WHEN vip.octavia_owned THEN vip.port_id END"
    " FROM load_balancer LEFT JOIN vip"
    " ON load_balancer.id = vip.load_balancer_id"
    " WHERE provisioning_status = 'PENDING_DELETE'"
)
_ELSEWHERE = (
    "SELECT DISTINCT pool.load_balancer_id, member.subnet_id, vip.network_id"
    " FROM member JOIN pool ON pool.id = member.pool_id"
    " JOIN vip ON vip.load_balancer_id = pool.load_balancer_id"
    " WHERE member.provisioning_status = 'PENDING_CREATE'"
    " AND member.subnet_id <> vip.subnet_id"
)
_GONE = (
    "UPDATE load_balancer SET provisioning_status = 'DELETED'"
    " WHERE id = ANY(%s)"
)


def _failures() -> list[str]:
    """Return what Octavia's worker writes when it fails to make something.

    A load balancer is in ERROR then. One that has a part in ERROR is ACTIVE
    (``LoadBalancerIDToErrorOnRevertTask``, ``ListenerToErrorOnRevertTask`` and
    the like in octavia/controller/worker/v2/tasks/lifecycle_tasks.py).
    """
    # Names of tables are constants.
    failed = [
        f"UPDATE {table} SET provisioning_status = 'ERROR'"  # noqa: S608
        f" WHERE project_id = %s AND {_COMES}"
        for table in _TABLES[1:]
    ]
    return [
        "UPDATE load_balancer SET provisioning_status = 'ERROR'"
        " WHERE project_id = %s AND provisioning_status = 'PENDING_CREATE'",
        *failed,
    ]


def _statements() -> list[str]:
    """Return statements that end pending deletions, creations and updates.

    Each takes the ids of the rows that were pending before the agent looked.
    """
    # Names of tables are constants.
    ended = []
    for table in _TABLES:
        if table != "load_balancer":
            goes = (
                f"DELETE FROM {table}"  # noqa: S608
                if table in _LEAVES
                else f"UPDATE {table} SET provisioning_status = 'DELETED'"  # noqa: S608
            )
            ended.append(f"{goes} WHERE {_GOES} AND id = ANY(%(pending)s)")
        ended.append(
            f"UPDATE {table} SET provisioning_status = 'ACTIVE',"  # noqa: S608
            f" operating_status = 'ONLINE' WHERE {_COMES}"
            " AND id = ANY(%(pending)s)"
        )
    return ended


def _orphans() -> list[str]:
    """Return statements that delete what belongs to a deleted parent."""
    # Names of tables are constants.
    return [
        f"UPDATE {table} SET provisioning_status = 'DELETED'"  # noqa: S608
        f" WHERE provisioning_status <> 'DELETED' AND {parent}_id IN"
        f" (SELECT id FROM {parent} WHERE provisioning_status = 'DELETED')"
        for table, parent in _CHILDREN
    ]


def settle(database: str, ports: "Ports", fail: pathlib.Path) -> None:
    """Settle what is pending, until killed.

    :param fail: while it exists, the project that it names gets nothing new
    """
    stuck = fail.with_name("stuck")
    connection = None
    while True:
        time.sleep(_PAUSE)
        if stuck.exists():
            continue
        try:
            if connection is None:
                connection = psycopg2.connect(database)
                connection.autocommit = True
            _delete(connection, ports)
            _plug(connection, ports)
            with connection.cursor() as cursor:
                _end(cursor, fail)
        except psycopg2.Error as error:
            print(f"pending load balancers: {error}", file=sys.stderr)
            connection = None
        except Exception as error:  # Neutron's, of several libraries
            print(f"ports of load balancers: {error}", file=sys.stderr)


def _end(cursor: Any, fail: pathlib.Path) -> None:
    """Write the ends of what is pending, once the agent has made it."""
    if fail.exists():
        for statement in _failures():
            cursor.execute(statement, (fail.read_text(),))
    cursor.execute(_PENDING)
    pending = [row for (row,) in cursor.fetchall()]
    if pending:
        _wait_for(fail.with_name("agent"))
    for statement in _statements():
        cursor.execute(statement, {"pending": pending})
    for statement in _orphans():
        cursor.execute(statement)


def _wait_for(agent: pathlib.Path) -> None:
    """Wait for one look of the agent that has begun by now."""
    if not agent.exists():
        return
    end = time.monotonic() + _PATIENCE
    # The first look that ends may have begun before.
    for _ in range(2):
        before = agent.stat().st_mtime_ns
        while agent.stat().st_mtime_ns == before and time.monotonic() < end:
            time.sleep(0.05)


class Ports:
    """The ports that Octavia's worker makes and deletes in a real cloud."""

    def __init__(self) -> None:
        self._made: Any = None

    @property
    def _driver(self) -> Any:
        if self._made is None:
            self._made = _network_driver()
        return self._made

    def delete(self, balancer: str, port: str | None) -> None:
        """Delete the ports of a load balancer.

        :param port: of its VIP, if it is Octavia's own
        """
        if port:
            self._driver.delete_port(port)
        for each in self._of_members(balancer):
            self._driver.delete_port(each.id)

    def plug(self, balancer: str, subnet: str, network: str) -> None:
        """Make a port for members unless they are in the VIP's network.

        As HandleNetworkDelta of octavia/controller/worker/v2/tasks/
        network_tasks.py does it for the amphora.
        """
        wanted = self._driver.get_subnet(subnet).network_id
        plugged = {each.network_id for each in self._of_members(balancer)}
        if wanted not in {network, *plugged}:
            self._driver.create_port(
                wanted,
                name=_member_port(balancer),
                fixed_ips=[{"subnet_id": subnet}],
            )

    def _of_members(self, balancer: str) -> list[Any]:
        proxy = self._driver.network_proxy
        return list(proxy.ports(name=_member_port(balancer)))


def _member_port(balancer: str) -> str:
    """Return the name of a port; the real one has the amphora's UUID."""
    return f"octavia-lb-member-{balancer}"


def _plug(connection: psycopg2.extensions.connection, ports: Ports) -> None:
    """Connect load balancers to the networks of their new members."""
    with connection.cursor() as cursor:
        cursor.execute(_ELSEWHERE)
        for balancer, subnet, network in cursor.fetchall():
            ports.plug(balancer, subnet, network)


def _delete(connection: psycopg2.extensions.connection, ports: Ports) -> None:
    """Delete load balancers that are to go, after the ports of their VIPs.

    One that comes to it in between would keep its port.
    """
    with connection.cursor() as cursor:
        cursor.execute(_GOING)
        going = cursor.fetchall()
        for balancer, port in going:
            ports.delete(balancer, port)
        if going:
            cursor.execute(_GONE, ([balancer for balancer, _ in going],))


def _network_driver() -> Any:
    from octavia.common import utils

    return utils.get_network_driver()


def _add_ovn() -> None:
    """Let Octavia have a provider ovn with that provider's one algorithm.

    The real one needs OVN; everything else is amphora's API half.
    """
    from octavia.api.drivers import driver_factory
    from octavia.api.drivers.amphora_driver.v2 import driver

    class Ovn(driver.AmphoraProviderDriver):  # type: ignore[misc]
        def _validate_pool_algorithm(self, pool: Any) -> None:
            if pool.lb_algorithm != "SOURCE_IP_PORT":
                raise ValueError(pool.lb_algorithm)

    others = driver_factory.get_driver

    def get_driver(provider: Any) -> Any:
        if provider != "ovn":
            return others(provider)
        ovn = Ovn()
        ovn.name = provider
        return ovn

    driver_factory.get_driver = get_driver


def main(port: int, database: str, options: list[str]) -> None:
    """Serve until killed."""
    # Octavia parses the command line when its module is imported.
    sys.argv = ["octavia-api", *options]
    # Octavia forgets providers that it can't load when it is imported.
    _add_ovn()
    from octavia.wsgi import api

    # The driver's name in it is SQLAlchemy's.
    plain = database.replace("+psycopg2", "")
    fail = pathlib.Path(options[-1]).with_name("fail")
    threading.Thread(
        target=settle, args=(plain, Ports(), fail), daemon=True
    ).start()
    wsgi.Server(
        ("127.0.0.1", port), api.application, numthreads=8, timeout=600
    ).start()


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], sys.argv[3:])
