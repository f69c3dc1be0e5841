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
"""Cluster API's objects as each of its generations shows them.

``V1BETA1``: up to 1.8, the old conditions alone. ``BOTH``: read as v1beta1
from 1.9 on, with the new set below ``status.v1beta2``. ``V1BETA2``: read as
v1beta2 from 1.11 on, with the old set below ``status.deprecated``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from magnum_capi_helm import wanted
from magnum_capi_helm.status import view

V1BETA1 = "v1beta1"
BOTH = "v1beta1 with status.v1beta2"
V1BETA2 = "v1beta2"
GENERATIONS = (V1BETA1, BOTH, V1BETA2)

#: Type -> status, reason, message.
Conditions: TypeAlias = Mapping[str, tuple[str, str, str]]

#: Seconds since 1970, for what depends on the clock.
NOW = 1795287000.0
RELEASE = "demo-45f11a8de301"
NAMESPACE = "magnum-p1"
ROWS = wanted.Rows(
    uuid="9d0c3f7a-1b2c-4d5e-8f90-45f11a8de301",
    release=RELEASE,
    groups=(
        wanted.Group("u-m", "default-master", "default-master", True, 1),
        wanted.Group("u-w", "default-worker", "default-worker", False, 2),
    ),
)
ADDONS = frozenset({f"{RELEASE}-ccm-openstack", f"{RELEASE}-cni-calico"})

WELL = ("True", "", "")
CALM = ("False", "Not", "")

_CALM = {
    name: CALM
    for name in (
        "RollingOut",
        "ScalingUp",
        "ScalingDown",
        "Remediating",
        "Deleting",
        "Paused",
    )
}


def _conditions(found: Conditions) -> list[dict[str, str]]:
    return [
        {"type": name, "status": status, "reason": reason, "message": message}
        for name, (status, reason, message) in found.items()
        if status
    ]


def _object(
    shape: str,
    name: str,
    *,
    group: str = "cluster.x-k8s.io",
    spec: Mapping[str, Any],
    old: Conditions,
    new: Conditions,
    status: Mapping[str, Any] | None = None,
    old_counters: Mapping[str, int] | None = None,
    new_counters: Mapping[str, int] | None = None,
    generation: int = 2,
    observed: int | None = 2,
    metadata: Mapping[str, Any] | None = None,
) -> view.Object:
    found: dict[str, Any] = dict(status or {})
    if observed is not None:
        found["observedGeneration"] = observed
    of_old = {"conditions": _conditions(old), **(old_counters or {})}
    of_new = {"conditions": _conditions(new), **(new_counters or {})}
    if shape == V1BETA2:
        found |= {**of_new, "deprecated": {"v1beta1": of_old}}
    else:
        found |= of_old
        if shape == BOTH:
            found["v1beta2"] = of_new
    return {
        "apiVersion": f"{group}/{'v1beta2' if shape == V1BETA2 else V1BETA1}",
        "metadata": {
            "name": name,
            "namespace": NAMESPACE,
            "generation": generation,
            **(metadata or {}),
        },
        "spec": dict(spec),
        "status": found,
    }


def cluster(
    shape: str,
    *,
    old: Conditions | None = None,
    new: Conditions | None = None,
    endpoint: Mapping[str, Any] | None = None,
    stamp: str | None = ROWS.fingerprint(),
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
    return _object(
        shape,
        RELEASE,
        spec={"controlPlaneEndpoint": dict(endpoint), "paused": paused},
        old={
            "Ready": WELL,
            "ControlPlaneInitialized": WELL,
            "ControlPlaneReady": WELL,
            "InfrastructureReady": WELL,
            **(old or {}),
        },
        new={
            "Available": WELL,
            "RemoteConnectionProbe": WELL,
            "InfrastructureReady": WELL,
            "ControlPlaneInitialized": WELL,
            "ControlPlaneAvailable": WELL,
            "WorkersAvailable": WELL,
            **_CALM,
            **(new or {}),
        },
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
    old: Conditions | None = None,
    new: Conditions | None = None,
    status: Mapping[str, Any] | None = None,
) -> view.Object:
    """The KubeadmControlPlane, settled unless told otherwise."""
    existing = count if existing is None else existing
    old_counters, new_counters = _counters(
        existing,
        count if up_to_date is None else up_to_date,
        count if ready is None else ready,
    )
    return _object(
        shape,
        f"{RELEASE}-control-plane",
        group="controlplane.cluster.x-k8s.io",
        spec={"replicas": count, "version": "v1.34.2"},
        old={
            "Ready": WELL,
            "Available": WELL,
            "CertificatesAvailable": WELL,
            "ControlPlaneComponentsHealthy": WELL,
            "EtcdClusterHealthy": WELL,
            "MachinesReady": WELL,
            **(old or {}),
        },
        new={
            "Available": WELL,
            "CertificatesAvailable": WELL,
            "EtcdClusterHealthy": WELL,
            "ControlPlaneComponentsHealthy": WELL,
            "MachinesReady": WELL,
            "MachinesUpToDate": WELL,
            **_CALM,
            **(new or {}),
        },
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
    old: Conditions | None = None,
    new: Conditions | None = None,
    deleting: bool = False,
) -> view.Object:
    """A MachineDeployment, settled unless told otherwise."""
    existing = count if existing is None else existing
    old_counters, new_counters = _counters(
        existing,
        count if up_to_date is None else up_to_date,
        count if ready is None else ready,
    )
    gone = {"deletionTimestamp": "2026-11-21T12:00:00Z"} if deleting else {}
    return _object(
        shape,
        f"{RELEASE}-{group}",
        spec={"replicas": count},
        old={
            "Ready": WELL,
            "Available": WELL,
            "MachineSetReady": WELL,
            **(old or {}),
        },
        new={
            "Available": WELL,
            "MachinesReady": WELL,
            "MachinesUpToDate": WELL,
            **_CALM,
            **(new or {}),
        },
        status={"replicas": existing, "phase": "Running"},
        old_counters=old_counters,
        new_counters=new_counters,
        observed=observed,
        metadata=gone,
    )


def machine(
    shape: str,
    name: str,
    *,
    group: str | None = "default-worker",
    address: str = "192.168.3.7",
    node: bool = True,
    old: Conditions | None = None,
    new: Conditions | None = None,
    deleting: bool = False,
) -> view.Object:
    """A Machine with a ready node unless told otherwise.

    :param group: None for the control plane
    """
    labels = {"cluster.x-k8s.io/cluster-name": RELEASE}
    if group is None:
        labels["cluster.x-k8s.io/control-plane"] = ""
    else:
        labels["cluster.x-k8s.io/deployment-name"] = f"{RELEASE}-{group}"
    status: dict[str, Any] = {"phase": "Running"}
    if node:
        status["nodeRef"] = {"name": f"node-{name}"}
        status["addresses"] = [
            {"type": "InternalIP", "address": address},
            {"type": "InternalDNS", "address": name},
        ]
    metadata: dict[str, Any] = {"labels": labels}
    if deleting:
        metadata["deletionTimestamp"] = "2026-11-21T12:00:00Z"
    return _object(
        shape,
        name,
        spec={"infrastructureRef": {"name": f"server-{name}"}},
        old={
            "Ready": WELL,
            "BootstrapReady": WELL,
            "InfrastructureReady": WELL,
            "NodeHealthy": WELL,
            **(old or {}),
        },
        new={
            "Available": WELL,
            "Ready": WELL,
            "UpToDate": WELL,
            "BootstrapConfigReady": WELL,
            "InfrastructureReady": WELL,
            "NodeReady": WELL,
            "NodeHealthy": WELL,
            "Updating": CALM,
            "Deleting": CALM,
            "Paused": CALM,
            **(new or {}),
        },
        status=status,
        metadata=metadata,
    )


def server(
    name: str,
    conditions: Conditions | None = None,
    failure: str | None = None,
) -> view.Object:
    """The OpenStackMachine behind the Machine ``name``."""
    status: dict[str, Any] = {"conditions": _conditions(conditions or {})}
    if failure:
        status["failureMessage"] = failure
    return {
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1",
        "metadata": {"name": f"server-{name}", "generation": 2},
        "status": status,
    }


def network(
    conditions: Conditions | None = None, failure: str | None = None
) -> view.Object:
    """The OpenStackCluster."""
    return {**server("", conditions, failure), "metadata": {"name": RELEASE}}


def addon(
    component: str, phase: str | None = "Deployed", failure: str = ""
) -> view.Object:
    """A HelmRelease or Manifests object; phase None: no status yet."""
    status = {} if phase is None else {"phase": phase}
    if failure:
        status["failureMessage"] = failure
    return {
        "apiVersion": "addons.stackhpc.com/v1alpha1",
        "metadata": {"name": f"{RELEASE}-{component}", "generation": 1},
        "status": status,
    }


def complete(shape: str, **changes: Any) -> view.View:
    """A release where everything is as the rows want it."""
    found: dict[str, Any] = {
        "cluster": cluster(shape),
        "control_plane": control_plane(shape),
        "deployments": (workers(shape),),
        "machines": (
            machine(shape, "cp-1", group=None, address="192.168.3.5"),
            machine(shape, "w-1", address="192.168.3.6"),
            machine(shape, "w-2", address="192.168.3.7"),
        ),
        "addons": (addon("ccm-openstack"), addon("cni-calico")),
        "revisions": (
            view.Revision(1, "superseded"),
            view.Revision(2, "deployed"),
        ),
    }
    return view.View(release=RELEASE, **{**found, **changes})
