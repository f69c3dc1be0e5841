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

"""Health as Magnum knows it: a word, and a map that says of what.

The map has the keys that users of Magnum's own monitor know: ``api``, and
``<node>.Ready`` for each node. The API's reachability is what Cluster API
sees from the management cluster, so it holds for private endpoints too.
"""

from __future__ import annotations

import dataclasses

from magnum_capi_helm.status import cluster as cluster_status
from magnum_capi_helm.status import conditions
from magnum_capi_helm.status import reasons
from magnum_capi_helm.status import view

HEALTHY = "HEALTHY"
UNHEALTHY = "UNHEALTHY"
UNKNOWN = "UNKNOWN"


@dataclasses.dataclass(frozen=True)
class Health:
    """Magnum's health_status and health_status_reason."""

    status: str
    reason: dict[str, str]


def health(seen: view.View) -> Health:
    """The health of a cluster by what Cluster API reports."""
    if seen.cluster is None:
        return Health(UNKNOWN, {"cluster": "no Cluster object"})
    reason = {"api": _api(seen)}
    reason.update(_nodes(seen))
    if paused(seen.cluster):
        return Health(UNKNOWN, {**reason, "cluster": "paused"})
    reason.update(_objects(seen))
    good = {"ok", "True"}
    unknown = {"Unknown", "unknown"}
    if all(each in good for each in reason.values()):
        return Health(HEALTHY, reason)
    if all(each in good | unknown for each in reason.values()):
        return Health(UNKNOWN, reason)
    return Health(UNHEALTHY, reason)


def paused(cluster: view.Object) -> bool:
    """Whether Cluster API was told to leave the cluster alone."""
    return bool(view.spec_of(cluster).get("paused"))


def _api(seen: view.View) -> str:
    """Whether the management cluster reaches the Kubernetes API."""
    known = conditions.new(seen.cluster)
    probe = known.get("RemoteConnectionProbe")
    if probe is None:
        initialized = conditions.of(seen.cluster).get(
            "ControlPlaneInitialized"
        )
        return "ok" if initialized and initialized.well else "unknown"
    if probe.well:
        return "ok"
    address = cluster_status.api_address(seen.cluster) or "no address yet"
    if probe.bad:
        return f"not reachable from the management cluster: {address}"
    return "unknown"


def _nodes(seen: view.View) -> dict[str, str]:
    return {
        f"{_node_name(machine)}.Ready": _node(machine)
        for machine in sorted(seen.machines, key=view.name_of)
        if not view.deleting(machine)
    }


def _node_name(machine: view.Object) -> str:
    ref = view.status_of(machine).get("nodeRef") or {}
    return str(ref.get("name") or view.name_of(machine))


def _node(machine: view.Object) -> str:
    known = {**conditions.old(machine), **conditions.new(machine)}
    condition = known.get("NodeReady") or known.get("NodeHealthy")
    return condition.status if condition else "Unknown"


def _objects(seen: view.View) -> dict[str, str]:
    """What is wrong above the nodes, by object; nothing when all is well."""
    found = {}
    available = conditions.available(seen.control_plane)
    if available is None:
        found["controlplane"] = "unknown"
    elif available.bad:
        found["controlplane"] = (
            reasons.one_line(available.message) or "not available"
        )
    for deployment in seen.deployments:
        condition = conditions.available(deployment)
        if condition is not None and condition.bad:
            name = view.name_of(deployment).removeprefix(f"{seen.release}-")
            found[f"nodegroup.{name}"] = (
                reasons.one_line(condition.message) or "not available"
            )
    return found
