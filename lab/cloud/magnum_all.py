# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

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
    conductor.create_periodic_tasks()
    # Else requests beside the first find a policy without rules.
    policy.init().load_rules()
    address = ("127.0.0.1", port)
    wsgi.Server(address, app.load_app(), numthreads=8).start()


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
