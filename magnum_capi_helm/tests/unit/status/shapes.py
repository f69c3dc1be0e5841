# SPDX-License-Identifier: Apache-2.0

"""Cluster API's objects as each of its generations shows them.

``V1BETA1``: up to 1.8, the old conditions alone. ``BOTH``: read as v1beta1
from 1.9 on, with the new set below ``status.v1beta2``. ``V1BETA2``: read as
v1beta2 from 1.11 on, with the old set below ``status.deprecated``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
import dataclasses
import re
import types
from typing import Any, TypeAlias

from magnum_capi_helm.cloud import faults
from magnum_capi_helm.model import requested_groups
from magnum_capi_helm.status import cluster as cluster_status
from magnum_capi_helm.status import health
from magnum_capi_helm.status import tree
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
ROWS = requested_groups.Rows(
    uuid="9d0c3f7a-1b2c-4d5e-8f90-45f11a8de301",
    release=RELEASE,
    groups=tuple(
        requested_groups.Group(f"u-{name[0]}", group, group, plane, count)
        for name, plane, count in (("master", True, 1), ("worker", False, 2))
        for group in (f"default-{name}",)
    ),
)
ADDONS = frozenset({f"{RELEASE}-ccm-openstack", f"{RELEASE}-cni-calico"})

WELL = ("True", "", "")
CALM = ("False", "Not", "")


def well(names: str) -> Conditions:
    """Conditions that are well when they are true, and are."""
    return dict.fromkeys(names.split(), WELL)


def calm(names: str) -> Conditions:
    """Conditions that are well when they are false, and are."""
    return dict.fromkeys(names.split(), CALM)


def sentence(reason: str) -> str:
    """A reason without the time and the code at its end."""
    return re.sub(r"( \(since \d\d:\d\d UTC\))? \[[a-z-]+\]$", "", reason)


def listed(found: Conditions) -> list[dict[str, str]]:
    """As an object lists them, but for those without a status."""
    return [
        {"type": name, "status": status, "reason": reason, "message": message}
        for name, (status, reason, message) in found.items()
        if status
    ]


def shown(
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
    """An object as one generation shows it."""
    found: dict[str, Any] = dict(status or {})
    if observed is not None:
        found["observedGeneration"] = observed
    of_old = {"conditions": listed(old), **(old_counters or {})}
    of_new = {"conditions": listed(new), **(new_counters or {})}
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


_CALM = calm("RollingOut ScalingUp ScalingDown Remediating Deleting Paused")

#: The conditions of what is well, of the old set and of the new.
_CLUSTER_OLD = well(
    "Ready ControlPlaneInitialized ControlPlaneReady InfrastructureReady"
)
_CLUSTER_NEW = {
    **well(
        "Available RemoteConnectionProbe InfrastructureReady "
        "ControlPlaneInitialized ControlPlaneAvailable WorkersAvailable"
    ),
    **_CALM,
}
_PLANE_OLD = well(
    "Ready Available CertificatesAvailable ControlPlaneComponentsHealthy "
    "EtcdClusterHealthy MachinesReady"
)
_PLANE_NEW = {
    **well(
        "Available CertificatesAvailable EtcdClusterHealthy "
        "ControlPlaneComponentsHealthy MachinesReady MachinesUpToDate"
    ),
    **_CALM,
}
_WORKERS_OLD = well("Ready Available MachineSetReady")
_WORKERS_NEW = {
    **well("Available MachinesReady MachinesUpToDate"),
    **_CALM,
}
_MACHINE_OLD = well("Ready BootstrapReady InfrastructureReady NodeHealthy")
_MACHINE_NEW = {
    **well(
        "Available Ready UpToDate BootstrapConfigReady InfrastructureReady "
        "NodeReady NodeHealthy"
    ),
    **calm("Updating Deleting Paused"),
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
    return shown(
        shape,
        RELEASE,
        spec={"controlPlaneEndpoint": dict(endpoint), "paused": paused},
        old={**_CLUSTER_OLD, **(old or {})},
        new={**_CLUSTER_NEW, **(new or {})},
        status={"phase": "Provisioned"},
        observed=observed,
        metadata=metadata,
    )


def _counted(
    count: int, status: Mapping[str, Any], **found: int
) -> dict[str, Any]:
    """Counters of the old and of the new contract.

    :param found: the counts that are not as asked for: ``existing``,
        ``up_to_date`` and ``ready``
    """
    counts = dict.fromkeys(("existing", "up_to_date", "ready"), count)
    existing, up_to_date, ready = (counts | found).values()
    old = {"updatedReplicas": up_to_date, "readyReplicas": ready}
    new = {
        "upToDateReplicas": up_to_date,
        "readyReplicas": ready,
        "availableReplicas": ready,
    }
    return {
        "status": {"replicas": existing, **status},
        "old_counters": {**old, "unavailableReplicas": existing - ready},
        "new_counters": new,
    }


def control_plane(
    shape: str,
    count: int = 1,
    *,
    observed: int = 2,
    old: Conditions | None = None,
    new: Conditions | None = None,
    status: Mapping[str, Any] | None = None,
    **found: int,
) -> view.Object:
    """The KubeadmControlPlane, settled unless told otherwise."""
    status = {"version": "v1.34.2", **(status or {})}
    return shown(
        shape,
        f"{RELEASE}-control-plane",
        group="controlplane.cluster.x-k8s.io",
        spec={"replicas": count, "version": "v1.34.2"},
        old={**_PLANE_OLD, **(old or {})},
        new={**_PLANE_NEW, **(new or {})},
        observed=observed,
        **_counted(count, status, **found),
    )


def workers(
    shape: str,
    count: int = 2,
    *,
    group: str = "default-worker",
    observed: int = 2,
    old: Conditions | None = None,
    new: Conditions | None = None,
    deleting: bool = False,
    autoscaled: bool = False,
    **found: int,
) -> view.Object:
    """A MachineDeployment, settled unless told otherwise."""
    metadata: dict[str, Any] = {}
    if deleting:
        metadata["deletionTimestamp"] = "2026-11-21T12:00:00Z"
    if autoscaled:
        metadata["annotations"] = {view.AUTOSCALER_ANNOTATION: "9"}
    return shown(
        shape,
        f"{RELEASE}-{group}",
        spec={"replicas": count},
        old={**_WORKERS_OLD, **(old or {})},
        new={**_WORKERS_NEW, **(new or {})},
        observed=observed,
        metadata=metadata,
        **_counted(count, {"phase": "Running"}, **found),
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
        status |= _registered(name, address)
    metadata: dict[str, Any] = {"labels": labels}
    if deleting:
        metadata["deletionTimestamp"] = "2026-11-21T12:00:00Z"
    return shown(
        shape,
        name,
        spec={"infrastructureRef": {"name": f"server-{name}"}},
        old={**_MACHINE_OLD, **(old or {})},
        new={**_MACHINE_NEW, **(new or {})},
        status=status,
        metadata=metadata,
    )


NO_HOST = "No valid host was found. There are not enough hosts available."
#: What a tenant reads of it.
NO_ROOM = (
    "No valid host was found: the cloud has no room for a server of this "
    "flavor there; choose another flavor or availability zone, or ask the "
    "operator; auto-healing then replaces the machine, or resize with "
    "--nodes-to-remove"
)


def server(
    name: str,
    conditions: Conditions | None = None,
    failure: str | None = None,
) -> view.Object:
    """The OpenStackMachine behind the Machine ``name``."""
    status: dict[str, Any] = {"conditions": listed(conditions or {})}
    if failure:
        status["failureMessage"] = failure
    return {
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1",
        "metadata": {"name": f"server-{name}", "generation": 2},
        "status": status,
    }


def openstack_server(
    name: str,
    state: str = "ERROR",
    condition: tuple[str, str, str] = ("False", "InstanceStateError", ""),
    instance: str = "i-1",
    since: str = "",
) -> view.Object:
    """The OpenStackServer behind the Machine ``name``, as CAPO 0.14 has it.

    :param since: when its condition last changed
    """
    found = listed({"InstanceReady": condition})
    if since:
        found[0]["lastTransitionTime"] = since
    return {
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1alpha1",
        "kind": "OpenStackServer",
        "metadata": {"name": f"server-{name}"},
        "status": {
            "ready": state == "ACTIVE",
            "instanceID": instance,
            "instanceState": state,
            "conditions": found,
        },
    }


def network(
    conditions: Conditions | None = None, failure: str | None = None
) -> view.Object:
    """The OpenStackCluster."""
    return {
        **server("", conditions, failure),
        "metadata": {"name": RELEASE},
    }


def addon(
    component: str, phase: str | None = "Deployed", failure: str = ""
) -> view.Object:
    """A HelmRelease or Manifests object; phase None: no status yet."""
    status = {} if phase is None else {"phase": phase}
    if failure:
        status["failureMessage"] = failure
    return {
        "apiVersion": "addons.stackhpc.com/v1alpha1",
        "kind": "HelmRelease",
        "metadata": {"name": f"{RELEASE}-{component}", "generation": 1},
        "status": status,
    }


REQUIRED = (
    "MachinesReady",
    "Ready",
    "EtcdClusterHealthy",
    "ControlPlaneComponentsHealthy",
)


def complete(shape: str, **changes: Any) -> view.View:
    made = machine
    found: dict[str, Any] = {
        "cluster": cluster(shape),
        "control_plane": control_plane(shape),
        "deployments": (workers(shape),),
        "machines": (
            made(shape, "cp-1", group=None, address="192.168.3.5"),
            made(shape, "w-1", address="192.168.3.6"),
            made(shape, "w-2", address="192.168.3.7"),
        ),
        "addons": (
            addon("ccm-openstack"),
            addon("cni-calico"),
        ),
        "revisions": (
            view.Revision(1, "superseded"),
            view.Revision(2, "deployed"),
        ),
        "clock": view.Clock(NOW),
    }
    return view.View(release=RELEASE, **{**found, **changes})


def rows(count: int) -> requested_groups.Rows:
    """The rows of all shapes, with so many machines in each group."""
    groups = tuple(
        dataclasses.replace(each, count=count) for each in ROWS.groups
    )
    return dataclasses.replace(ROWS, groups=groups)


def verdict(
    seen: view.View, rows: requested_groups.Rows = ROWS, **options: Any
) -> cluster_status.Verdict:
    """On the release that the rows of all shapes are of.

    The Cluster has their fingerprint, whatever they are.
    """
    annotations = view.annotations_of(seen.cluster or {})
    if (
        requested_groups.FINGERPRINT_ANNOTATION in annotations
        and rows is not ROWS
    ):
        annotations[requested_groups.FINGERPRINT_ANNOTATION] = (
            rows.fingerprint()
        )
    now = options.pop("now", NOW)
    seen = dataclasses.replace(seen, clock=view.Clock(now))
    options.setdefault("required", REQUIRED)
    options.setdefault("addons", ADDONS)
    expected = cluster_status.Expected(rows, **options)
    return cluster_status.verdict(seen, expected)


_SCOPE = ("magnum-p", "demo")


def answered(seen: view.View, fault: view.Fault | None) -> view.View:
    """The view with one answer to all questions; None: nobody was asked."""
    asked = [e for each in seen.servers for e in faults.about_server(each)]
    if seen.infrastructure:
        asked += faults.about_network(seen.infrastructure)
    answers = {each: (0.0, fault) for each in asked} if fault else {}
    runtime: Any = types.SimpleNamespace(faults={_SCOPE: answers})
    return faults.with_faults(runtime, _SCOPE, seen)


def disagreements(
    root: tree.Branch, objects: view.View, verdict: cluster_status.Verdict
) -> Iterator[str]:
    """Yield what one view says and another one denies."""
    shown = [each.shown_reason for each in tree.walk(root)]
    judged = health.judge(root, objects)
    of_helm = cluster_status.release_reason(objects)
    if (of_helm or tree.told(root)) != verdict.reason:
        yield f"reason {verdict.reason!r}, tree {tree.told(root)!r}"
    if judged.status == health.UNHEALTHY and (root.well or not any(shown)):
        yield f"health {judged.reason}, and no reason in the tree"
    if not root.well and not any(shown):
        yield "a part is not ready, and no reason is in the tree"


def watched(wrong: list[str]) -> Callable[..., cluster_status.Verdict]:
    """Return the driver's judge, which also looks for disagreements.

    :param wrong: gets the disagreements
    """
    real = cluster_status.judge

    def judge(
        root: tree.Branch,
        objects: view.View,
        expected: cluster_status.Expected,
    ) -> cluster_status.Verdict:
        verdict = real(root, objects, expected)
        wrong.extend(disagreements(root, objects, verdict))
        return verdict

    return judge
