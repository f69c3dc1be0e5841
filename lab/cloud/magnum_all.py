# SPDX-License-Identifier: Apache-2.0

"""magnum_all.py PORT [OPTION...]: all of Magnum in one process.

The API, the conductor and its periodic tasks talk over oslo.messaging's
in-process transport, so the lab needs no message broker.
"""

import sys

# Before any library of oslo: Magnum selects a backend of oslo.service.
from magnum.common import service as magnum_service  # isort: skip

from cheroot import wsgi
from magnum.api import app
from magnum.common import policy
from magnum.common import rpc
from magnum.common import rpc_service
from magnum.common import short_id
from magnum.conductor.handlers import ca_conductor
from magnum.conductor.handlers import cluster_conductor
from magnum.conductor.handlers import conductor_listener
from magnum.conductor.handlers import credential_conductor
from magnum.conductor.handlers import federation_conductor
from magnum.conductor.handlers import indirection_api
from magnum.conductor.handlers import nodegroup_conductor
import magnum.conf
from magnum.service import periodic

#: Seconds between two status polls. Magnum's own 10 s cannot be configured;
#: with them most of a test's time would be the wait for the next poll.
_STATUS_POLL = 3

_HANDLERS = (
    indirection_api,
    cluster_conductor,
    conductor_listener,
    credential_conductor,
    ca_conductor,
    federation_conductor,
    nodegroup_conductor,
)


def main(port: int, options: list[str]) -> None:
    """Serve until killed."""
    magnum_service.prepare_service(["magnum", *options])
    if rpc.TRANSPORT:
        rpc.cleanup()
    rpc.init(magnum.conf.CONF)
    conductor = rpc_service.Service.create(
        magnum.conf.CONF.conductor.topic,
        short_id.generate_id(),
        [module.Handler() for module in _HANDLERS],
        binary="magnum-conductor",
    )
    conductor.start()
    spacing = periodic.MagnumPeriodicTasks._periodic_spacing
    spacing["sync_cluster_status"] = _STATUS_POLL
    # Magnum reads its option before the configuration: a minute, always.
    health = magnum.conf.CONF.kubernetes.health_polling_interval
    spacing["sync_cluster_health_status"] = health
    conductor.create_periodic_tasks()
    # Else requests beside the first find a policy without rules.
    policy.init().load_rules()
    address = ("127.0.0.1", port)
    wsgi.Server(address, app.load_app(), numthreads=8, timeout=600).start()


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
