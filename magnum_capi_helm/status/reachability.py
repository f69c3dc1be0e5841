# SPDX-License-Identifier: Apache-2.0

"""Whether the management cluster reaches a cluster's Kubernetes API.

Without that nothing goes on: Cluster API sees no nodes, and the addons are
installed from there. It is the most frequent reason of a create that never
ends, and Cluster API says of it only that it waits.
"""

from __future__ import annotations

import enum

from magnum_capi_helm.status import conditions
from magnum_capi_helm.status import view

#: Seconds from the infrastructure being ready until an API that never
#: answered is called unreachable. kubeadm takes two minutes on a slow server.
PATIENCE = 240.0
#: Seconds that the server of the control plane must have run by then.
_BOOT = 60.0


class Api(enum.Enum):
    """What Cluster API knows of the way to the API."""

    OK = "ok"
    STARTING = "starting"
    UNKNOWN = "unknown"
    UNREACHABLE = "not reachable from the management cluster"


def api(seen: view.View, now: float) -> Api:
    """What can be said of the API at ``now``, seconds since 1970."""
    known = conditions.of(seen.cluster)
    initialized = known.get("ControlPlaneInitialized")
    probe = known.get("RemoteConnectionProbe")
    if probe is not None and probe.well:
        return Api.OK
    if initialized is not None and initialized.bad:
        return Api.UNREACHABLE if _overdue(seen, now) else Api.STARTING
    if probe is not None:
        return Api.UNREACHABLE if probe.bad else Api.UNKNOWN
    if initialized is None or not initialized.well:
        return Api.UNKNOWN
    return Api.UNKNOWN if _blind(seen) else Api.OK


def why_not(seen: view.View, now: float) -> str:
    """One sentence when the API can't be reached, else nothing."""
    address = api_address(seen.cluster)
    if address is None or api(seen, now) is not Api.UNREACHABLE:
        return ""
    return (
        f"the management cluster can't reach the Kubernetes API at {address}: "
        "a firewall, security group or missing route is in between, or the "
        "control plane did not start"
    )


def api_address(cluster: view.Object | None) -> str | None:
    """URL of the Kubernetes API. An endpoint without a host is none yet."""
    endpoint = view.spec_of(cluster).get("controlPlaneEndpoint") or {}
    host, port = endpoint.get("host"), endpoint.get("port")
    if not host or not port:
        return None
    shown = f"[{host}]" if ":" in host else host
    return f"https://{shown}:{port}"


def _overdue(seen: view.View, now: float) -> bool:
    """Whether an API that never answered ought to have done so by now."""
    if api_address(seen.cluster) is None:
        return False
    ready = _since(seen.cluster, "InfrastructureReady")
    servers = [
        since
        for machine in seen.control_plane_machines()
        if (since := _since(machine, "InfrastructureReady"))
    ]
    if not ready or not servers:
        return False
    return now - ready >= PATIENCE and now - min(servers) >= _BOOT


def _since(obj: view.Object | None, name: str) -> float:
    """When a condition became true; 0 while it is not."""
    condition = conditions.of(obj).get(name)
    if condition is None or not condition.well:
        return 0.0
    return condition.since


def _blind(seen: view.View) -> bool:
    """Whether Cluster API up to 1.8, which has no probe, sees no nodes."""
    known = conditions.old(seen.control_plane)
    components = known.get("ControlPlaneComponentsHealthy")
    return components is not None and components.status == "Unknown"
