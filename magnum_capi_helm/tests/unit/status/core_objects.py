# SPDX-License-Identifier: Apache-2.0

"""Objects of Cluster API itself: cluster, control plane, workers, machine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from magnum_capi_helm.status import view
from magnum_capi_helm.tests.unit.status import shapes

_CALM = shapes.calm(
    "RollingOut ScalingUp ScalingDown Remediating Deleting Paused"
)

#: The conditions of what is well, of the old set and of the new.
_CLUSTER_OLD = shapes.well(
    "Ready ControlPlaneInitialized ControlPlaneReady InfrastructureReady"
)
_CLUSTER_NEW = {
    **shapes.well(
        "Available RemoteConnectionProbe InfrastructureReady "
        "ControlPlaneInitialized ControlPlaneAvailable WorkersAvailable"
    ),
    **_CALM,
}
_PLANE_OLD = shapes.well(
    "Ready Available CertificatesAvailable ControlPlaneComponentsHealthy "
    "EtcdClusterHealthy MachinesReady"
)
_PLANE_NEW = {
    **shapes.well(
        "Available CertificatesAvailable EtcdClusterHealthy "
        "ControlPlaneComponentsHealthy MachinesReady MachinesUpToDate"
    ),
    **_CALM,
}
_WORKERS_OLD = shapes.well("Ready Available MachineSetReady")
_WORKERS_NEW = {
    **shapes.well("Available MachinesReady MachinesUpToDate"),
    **_CALM,
}
_MACHINE_OLD = shapes.well(
    "Ready BootstrapReady InfrastructureReady NodeHealthy"
)
_MACHINE_NEW = {
    **shapes.well(
        "Available Ready UpToDate BootstrapConfigReady InfrastructureReady "
        "NodeReady NodeHealthy"
    ),
    **shapes.calm("Updating Deleting Paused"),
}


def cluster(
    shape: str,
    *,
    old: shapes.Conditions | None = None,
    new: shapes.Conditions | None = None,
    endpoint: Mapping[str, Any] | None = None,
    stamp: str | None = shapes.ROWS.fingerprint(),
    paused: bool = False,
    deleting: bool = False,
    observed: int = 2,
) -> view.Object:
    """The Cluster, available unless told otherwise."""
    metadata: dict[str, Any] = {}
    if stamp is not None:
        metadata["annotations"] = {"magnum.openstack.org/intent": stamp}
    if deleting:
        metadata["deletionTimestamp"] = "2026-11-21T12:00:00Z"
    if endpoint is None:
        endpoint = {"host": "192.0.2.10", "port": 6443}
    return shapes.shown(
        shape,
        shapes.RELEASE,
        spec={"controlPlaneEndpoint": dict(endpoint), "paused": paused},
        old={**_CLUSTER_OLD, **(old or {})},
        new={**_CLUSTER_NEW, **(new or {})},
        status={"phase": "Provisioned"},
        observed=observed,
        metadata=metadata,
    )


def _counters(
    existing: int, up_to_date: int, ready: int
) -> tuple[dict[str, int], dict[str, int]]:
    """Counters of the old and of the new contract."""
    old = {"updatedReplicas": up_to_date, "readyReplicas": ready}
    new = {
        "upToDateReplicas": up_to_date,
        "readyReplicas": ready,
        "availableReplicas": ready,
    }
    return {**old, "unavailableReplicas": existing - ready}, new


def control_plane(
    shape: str,
    count: int = 1,
    *,
    existing: int | None = None,
    up_to_date: int | None = None,
    ready: int | None = None,
    observed: int = 2,
    old: shapes.Conditions | None = None,
    new: shapes.Conditions | None = None,
    status: Mapping[str, Any] | None = None,
) -> view.Object:
    """The KubeadmControlPlane, settled unless told otherwise."""
    existing = count if existing is None else existing
    old_counters, new_counters = _counters(
        existing,
        count if up_to_date is None else up_to_date,
        count if ready is None else ready,
    )
    return shapes.shown(
        shape,
        f"{shapes.RELEASE}-control-plane",
        group="controlplane.cluster.x-k8s.io",
        spec={"replicas": count, "version": "v1.34.2"},
        old={**_PLANE_OLD, **(old or {})},
        new={**_PLANE_NEW, **(new or {})},
        status={"replicas": existing, "version": "v1.34.2", **(status or {})},
        old_counters=old_counters,
        new_counters=new_counters,
        observed=observed,
    )


def workers(
    shape: str,
    count: int = 2,
    *,
    group: str = "default-worker",
    existing: int | None = None,
    up_to_date: int | None = None,
    ready: int | None = None,
    observed: int = 2,
    old: shapes.Conditions | None = None,
    new: shapes.Conditions | None = None,
    deleting: bool = False,
    autoscaled: bool = False,
) -> view.Object:
    """A MachineDeployment, settled unless told otherwise."""
    existing = count if existing is None else existing
    old_counters, new_counters = _counters(
        existing,
        count if up_to_date is None else up_to_date,
        count if ready is None else ready,
    )
    metadata: dict[str, Any] = {}
    if deleting:
        metadata["deletionTimestamp"] = "2026-11-21T12:00:00Z"
    if autoscaled:
        metadata["annotations"] = {view.AUTOSCALER_ANNOTATION: "9"}
    return shapes.shown(
        shape,
        f"{shapes.RELEASE}-{group}",
        spec={"replicas": count},
        old={**_WORKERS_OLD, **(old or {})},
        new={**_WORKERS_NEW, **(new or {})},
        status={"replicas": existing, "phase": "Running"},
        old_counters=old_counters,
        new_counters=new_counters,
        observed=observed,
        metadata=metadata,
    )


def _registered(name: str, address: str) -> dict[str, Any]:
    """What a Machine says once its node is there."""
    return {
        "nodeRef": {"name": f"node-{name}"},
        "addresses": [
            {"type": "InternalIP", "address": address},
            {"type": "InternalDNS", "address": name},
        ],
    }


def machine(
    shape: str,
    name: str,
    *,
    group: str | None = "default-worker",
    address: str = "192.168.3.7",
    node: bool = True,
    old: shapes.Conditions | None = None,
    new: shapes.Conditions | None = None,
    deleting: bool = False,
) -> view.Object:
    """A Machine with a ready node unless told otherwise.

    :param group: None for the control plane
    """
    labels = {"cluster.x-k8s.io/cluster-name": shapes.RELEASE}
    if group is None:
        labels["cluster.x-k8s.io/control-plane"] = ""
    else:
        labels["cluster.x-k8s.io/deployment-name"] = (
            f"{shapes.RELEASE}-{group}"
        )
    status: dict[str, Any] = {"phase": "Running"}
    if node:
        status |= _registered(name, address)
    metadata: dict[str, Any] = {"labels": labels}
    if deleting:
        metadata["deletionTimestamp"] = "2026-11-21T12:00:00Z"
    return shapes.shown(
        shape,
        name,
        spec={"infrastructureRef": {"name": f"server-{name}"}},
        old={**_MACHINE_OLD, **(old or {})},
        new={**_MACHINE_NEW, **(new or {})},
        status=status,
        metadata=metadata,
    )
