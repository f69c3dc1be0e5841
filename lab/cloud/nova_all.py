# SPDX-License-Identifier: Apache-2.0

"""nova_all.py nova PORT HOST...: Nova's services in one process.

API, conductor and scheduler talk over oslo.messaging's in-process transport.
Each host gets a compute with Nova's own fake driver, whose servers are ACTIVE
at once, or with that of ``lab/nodes``, whose servers are machines.
"""

from collections.abc import Callable
import os
import sys
import threading
import time

from cheroot import wsgi
from keystoneauth1 import exceptions


def insist(start: Callable[[], None]) -> None:
    """Try again while Keystone does not know Nova yet: in a new cloud."""
    while True:
        try:
            start()
        except exceptions.ClientException as error:
            print(f"Keystone: {error}", file=sys.stderr)
            time.sleep(1)
        else:
            return


def main(port: int, hosts: list[str]) -> None:
    """Serve until killed."""
    # Nova parses the command line, and selects a backend of oslo.service,
    # when this is imported.
    sys.argv = ["nova"]
    from nova.wsgi import osapi_compute  # isort: skip
    from nova import service

    services: list[tuple[str | None, str]] = [
        (None, "conductor"),
        (None, "scheduler"),
    ]
    services += [(host, "compute") for host in hosts]
    _prepare_computes()
    running = set()

    def start() -> None:
        for host, name in services:
            if (host, name) in running:
                continue
            service.Service.create(
                host=host, binary=f"nova-{name}", topic=name
            ).start()
            running.add((host, name))

    threading.Thread(target=insist, args=(start,), daemon=True).start()
    address = ("127.0.0.1", port)
    wsgi.Server(
        address, osapi_compute.application, numthreads=8, timeout=600
    ).start()


def _prepare_computes() -> None:
    """Do what the program nova-compute does before its service starts."""
    if os.environ.get("LAB_NODES_PREFIX"):
        from lab.nodes import compute

        # Nova takes drivers from its own package alone.
        sys.modules["nova.virt.lab_nodes"] = compute
    from nova.virt import node
    import os_vif
    from oslo_utils import uuidutils

    # A compute that Nova's database knows must have an identity on disk.
    if node.read_local_node_uuid() is None:
        node.write_local_node_uuid(uuidutils.generate_uuid())
    os_vif.initialize()


if __name__ == "__main__":
    main(int(sys.argv[2]), sys.argv[3:])
