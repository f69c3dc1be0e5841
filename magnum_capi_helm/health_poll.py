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

"""One health poll: four LISTs for a cluster that is well."""

from __future__ import annotations

import contextlib
from typing import Any

from magnum_capi_helm import exceptions
from magnum_capi_helm import operation
from magnum_capi_helm import origin
from magnum_capi_helm import polling
from magnum_capi_helm import rows
from magnum_capi_helm import runtime
from magnum_capi_helm import status_poll
from magnum_capi_helm.status import health


def poll(rt: runtime.Runtime, context: Any, cluster: Any) -> health.Health:
    """The health of a cluster; with a failed one, work goes on.

    :raises CapiHelmError: it could not be read
    """
    scope = operation.scope_of(cluster)
    with origin.doubted(rt, cluster):
        seen = rt.health_snapshots.get(scope)
    nodegroups = rows.all_groups(cluster)
    if seen.cluster is None:
        origin.check(rt, nodegroups)
    else:
        origin.learn(rt, scope[1], nodegroups)
    found = health.health(seen)
    if rows.failed(cluster.status):
        # With the Lease held somebody else is about to say how it ended.
        with contextlib.suppress(exceptions.LeaseHeld):
            _go_on(rt, context, cluster)
    return found


def unknown(why: str) -> health.Health:
    """The health of a cluster that could not be read."""
    return health.Health(health.UNKNOWN, {"api": why})


def _go_on(rt: runtime.Runtime, context: Any, cluster: Any) -> None:
    """Magnum looks at a failed cluster here alone."""
    if rows.action(cluster.status) == "DELETE":
        status_poll.resume(rt, context, cluster)
    else:
        polling.update(rt, context, cluster)
