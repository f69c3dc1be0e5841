# SPDX-License-Identifier: Apache-2.0
"""octavia_all.py PORT DATABASE [OPTION...]: Octavia, without workers.

The lab's load balancers are made by Octavia's noop provider, which does
nothing, or by the API's half of the amphora provider, which makes the VIP's
port in Neutron. Nobody reports back, and what the API wrote as pending would
stay so: here it is settled, in Octavia's own tables.
"""

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
_PAUSE = 0.5
_GOES = "provisioning_status = 'PENDING_DELETE'"
_COMES = "provisioning_status IN ('PENDING_CREATE', 'PENDING_UPDATE')"
_PORTS = (
    "SELECT vip.port_id FROM vip JOIN load_balancer"
    " ON load_balancer.id = vip.load_balancer_id"
    " WHERE vip.octavia_owned AND provisioning_status = 'PENDING_DELETE'"
)


def _statements() -> list[str]:
    """What goes is gone, with all that it has; what comes is there."""
    # Names of tables are constants.
    gone = [
        f"UPDATE {table} SET provisioning_status = 'DELETED'"  # noqa: S608
        f" WHERE load_balancer_id IN"
        f" (SELECT id FROM load_balancer WHERE {_GOES})"
        for table in ("listener", "pool")
    ]
    for table in _TABLES:
        gone.append(
            f"UPDATE {table} SET provisioning_status = 'DELETED'"  # noqa: S608
            f" WHERE {_GOES}"
        )
        gone.append(
            f"UPDATE {table} SET provisioning_status = 'ACTIVE',"  # noqa: S608
            f" operating_status = 'ONLINE' WHERE {_COMES}"
        )
    return gone


def settle(database: str, ports: "Ports") -> None:
    """Settle what is pending, until killed."""
    statements = _statements()
    connection = None
    while True:
        try:
            if connection is None:
                connection = psycopg2.connect(database)
                connection.autocommit = True
            ports.delete(connection)
            with connection.cursor() as cursor:
                for statement in statements:
                    cursor.execute(statement)
        except psycopg2.Error as error:
            print(f"pending load balancers: {error}", file=sys.stderr)
            connection = None
        except Exception as error:  # Neutron's, of several libraries
            print(f"ports of load balancers: {error}", file=sys.stderr)
        time.sleep(_PAUSE)


class Ports:
    """The ports of VIPs, which Octavia's worker deletes in a real cloud."""

    def __init__(self) -> None:
        self._driver: Any = None

    def delete(self, connection: psycopg2.extensions.connection) -> None:
        """Delete those of load balancers that are about to go."""
        with connection.cursor() as cursor:
            cursor.execute(_PORTS)
            identifiers = [row[0] for row in cursor]
        for identifier in identifiers:
            if self._driver is None:
                self._driver = _network_driver()
            self._driver.delete_port(identifier)


class NoPorts(Ports):
    """Those of the noop provider, which are in no Neutron."""

    def delete(self, connection: psycopg2.extensions.connection) -> None:
        """Delete nothing."""


def _network_driver() -> Any:
    from octavia.common import utils

    return utils.get_network_driver()


def main(port: int, database: str, options: list[str]) -> None:
    """Serve until killed."""
    # Octavia parses the command line when its module is imported.
    sys.argv = ["octavia-api", *options]
    from octavia.wsgi import api

    from octavia.common import config  # isort: skip

    real = config.cfg.CONF.api_settings.default_provider_driver == "amphora"
    ports = Ports() if real else NoPorts()
    # The driver's name in it is SQLAlchemy's.
    plain = database.replace("+psycopg2", "")
    threading.Thread(target=settle, args=(plain, ports), daemon=True).start()
    wsgi.Server(("127.0.0.1", port), api.application, numthreads=8).start()


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], sys.argv[3:])
