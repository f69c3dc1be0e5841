# SPDX-License-Identifier: Apache-2.0

"""The Kubernetes API of a cluster, as Cluster API sees it.

Cluster API looks from the management cluster, so its view holds for private
endpoints too.
"""

from __future__ import annotations

from magnum_capi_helm.status import conditions
from magnum_capi_helm.status import tree
from magnum_capi_helm.status import view

#: Seconds from the infrastructure being ready until an API that never
#: answered is called unreachable. kubeadm takes two minutes on a slow server.
PATIENCE = 240.0
#: Seconds that the server of the control plane must have run by then.
_BOOT = 60.0
_UNREACHABLE = "not reachable from the management cluster"


def entry(objects: view.View) -> tree.Entry:
    """Return what the health map says about the API."""
    value = _connection(objects)
    if value == _UNREACHABLE:
        value += f": {address(objects.cluster) or 'no address yet'}"
        return tree.Entry("api", value, tree.UNHEALTHY)
    well = value == "ok"
    return tree.Entry("api", value, tree.HEALTHY if well else tree.UNKNOWN)


def unreachable_reason(objects: view.View) -> str:
    """Return a sentence if the API can't be reached, or an empty string.

    Without it Cluster API sees no nodes, and no addon can be installed. It is
    the most frequent reason of a create that never ends, and Cluster API only
    says that it waits.
    """
    url = address(objects.cluster)
    if url is None or _connection(objects) != _UNREACHABLE:
        return ""
    return (
        f"the management cluster can't reach the Kubernetes API at {url}: "
        "a firewall, security group or missing route is in between, or the "
        "control plane did not start"
    )


def address(cluster: view.Object | None) -> str | None:
    """Return the URL of the Kubernetes API, or None without a host."""
    endpoint = view.spec_of(cluster).get("controlPlaneEndpoint") or {}
    host, port = endpoint.get("host"), endpoint.get("port")
    if not host or not port:
        return None
    host = f"[{host}]" if ":" in host else host
    return f"https://{host}:{port}"


def _connection(objects: view.View) -> str:
    """Return whether the management cluster reaches the Kubernetes API."""
    by_type = conditions.merged(objects.cluster)
    initialized = by_type["ControlPlaneInitialized"]
    probe = by_type["RemoteConnectionProbe"]
    if probe.well:
        return "ok"
    if initialized.bad:
        return _UNREACHABLE if _is_overdue(objects) else "starting"
    if probe or not initialized.well:
        return _UNREACHABLE if probe.bad else "unknown"
    # Cluster API up to 1.8 has no probe; this shows that it sees no nodes.
    components = conditions.v1beta1(objects.control_plane)
    blind = components["ControlPlaneComponentsHealthy"].status == "Unknown"
    return "unknown" if blind else "ok"


def _is_overdue(objects: view.View) -> bool:
    """Return whether an API that never answered should do so by now."""
    ready = conditions.infrastructure_since(objects.cluster)
    machines = objects.control_plane_machines()
    servers = filter(None, map(conditions.infrastructure_since, machines))
    first = min(servers, default=0.0)
    if not (ready and first and address(objects.cluster)):
        return False
    return objects.clock.has_passed(max(ready + PATIENCE, first + _BOOT))
