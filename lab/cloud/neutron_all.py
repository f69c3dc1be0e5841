# SPDX-License-Identifier: Apache-2.0

"""neutron_all.py neutron PORT DATABASE HOST...: Neutron, without agents.

Each host has an agent that is a row, so that Neutron binds ports there. No
agent reports back: ports that are bound, and floating IPs that have a port,
become ACTIVE in Neutron's own tables.
"""

import json
import os
import sys
import threading
import time
import uuid

from cheroot import wsgi
import psycopg2
import psycopg2.extensions

_PAUSE = 0.3
_AGENT = """
INSERT INTO agents (id, agent_type, "binary", topic, host, admin_state_up,
                    created_at, started_at, heartbeat_timestamp,
                    configurations, load)
SELECT %(id)s, 'OFA driver agent', 'lab', 'N/A', %(host)s, true,
       now(), now(), '2100-01-01', %(configurations)s, 0
WHERE NOT EXISTS (SELECT 1 FROM agents WHERE host = %(host)s)
"""
_CONFIGURATIONS = json.dumps(
    {"tunnel_types": ["vxlan"], "interface_mappings": {}}
)
_SETTLE = (
    "UPDATE floatingips SET status = 'ACTIVE'"
    " WHERE fixed_port_id IS NOT NULL AND status <> 'ACTIVE'",
    "UPDATE floatingips SET status = 'DOWN'"
    " WHERE fixed_port_id IS NULL AND status <> 'DOWN'",
    "UPDATE ports SET status = 'ACTIVE' WHERE status <> 'ACTIVE'"
    " AND (device_owner LIKE 'compute:%' OR device_owner LIKE 'network:%')",
)


def settle(database: str, hosts: list[str]) -> None:
    """Play the agents, until killed."""
    # With machines that run, the agent of their network writes it.
    statements = () if os.environ.get("LAB_NODES_PREFIX") else _SETTLE
    connection = None
    while True:
        try:
            if connection is None:
                connection = psycopg2.connect(database)
                connection.autocommit = True
                _add_agents(connection, hosts)
            with connection.cursor() as cursor:
                for statement in statements:
                    cursor.execute(statement)
        except psycopg2.Error as error:
            print(f"ports and floating IPs: {error}", file=sys.stderr)
            connection = None
        time.sleep(_PAUSE)


def _add_agents(
    connection: psycopg2.extensions.connection, hosts: list[str]
) -> None:
    with connection.cursor() as cursor:
        for host in hosts:
            row = {
                "id": str(uuid.uuid4()),
                "host": host,
                "configurations": _CONFIGURATIONS,
            }
            cursor.execute(_AGENT, row)


def main(port: int, database: str, hosts: list[str]) -> None:
    """Serve until killed."""
    sys.argv = ["neutron"]
    from neutron.wsgi import api

    from neutron import policy  # isort: skip

    # As in serve.py: else requests beside the first find no rules.
    policy.init()
    # The driver's name in it is SQLAlchemy's.
    plain = database.replace("+psycopg2", "")
    threading.Thread(target=settle, args=(plain, hosts), daemon=True).start()
    wsgi.Server(
        ("127.0.0.1", port), api.application, numthreads=8, timeout=600
    ).start()


if __name__ == "__main__":
    main(int(sys.argv[2]), sys.argv[3], sys.argv[4:])
