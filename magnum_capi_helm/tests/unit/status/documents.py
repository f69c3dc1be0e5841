# SPDX-License-Identifier: Apache-2.0
"""Recorded objects, as each version of Cluster API and provider shows them.

``tests/data/status`` has a file for each situation: objects that Cluster API
1.13 wrote, read as v1beta2, and what is to be said of them. How other
versions show the same is the contract of Cluster API's book ("v1beta1 to
v1beta2") and of the provider's API types; it is applied here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
import copy
import dataclasses
import functools
import pathlib
from typing import Any

import yaml

from magnum_capi_helm.model import requested_groups
from magnum_capi_helm.status import cluster as cluster_status
from magnum_capi_helm.status import health
from magnum_capi_helm.status import view
from magnum_capi_helm.tests import data
from magnum_capi_helm.tests.unit.status import shapes

RELEASE = "web-0d864f219217"
FOLDER = pathlib.Path(data.__file__).parent / "status"

REQUIRED = shapes.REQUIRED

Object = dict[str, Any]

_GROUPS = ("cluster.x-k8s.io/", "controlplane.cluster.x-k8s.io/")


@functools.cache
def _loaded(name: str) -> Any:
    text = (FOLDER / f"{name}.yaml").read_text()
    # The pure parser takes seconds for all of them.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return yaml.load(text, loader)  # noqa: S506 safe, and ten times as fast


def load(name: str) -> Any:
    """The content of a file of the folder, without its ending."""
    return copy.deepcopy(_loaded(name))


def names() -> list[str]:
    """The recorded situations."""
    found = (each.stem for each in FOLDER.glob("*.yaml"))
    return sorted(each for each in found if not each.startswith("_"))


def rows(workers: int) -> requested_groups.Rows:
    """What Magnum's rows want: one control plane, so many workers."""
    made = shapes.rows(workers)
    plane, group = made.groups
    return dataclasses.replace(
        made,
        uuid="68a11c1d-7c76-4056-bf03-0d864f219217",
        release=RELEASE,
        groups=(dataclasses.replace(plane, count=1), group),
    )


def seen(objects: list[Object]) -> view.View:
    """A view of objects, whose release helm has deployed."""

    def of(*kinds: str) -> Iterator[Object]:
        return (each for each in objects if each["kind"] in kinds)

    return view.View(
        release=RELEASE,
        cluster=next(of("Cluster"), None),
        control_plane=next(of("KubeadmControlPlane"), None),
        deployments=tuple(of("MachineDeployment")),
        machines=tuple(of("Machine")),
        addons=tuple(of("HelmRelease", "Manifests")),
        revisions=(view.Revision(1, "deployed"),),
        infrastructure=next(of("OpenStackCluster"), None),
        infra_machines=tuple(of("OpenStackMachine")),
        servers=tuple(of("OpenStackServer")),
    )


def _is_core(obj: Object) -> bool:
    return str(obj.get("apiVersion", "")).startswith(_GROUPS)


def _old_alone(obj: Object) -> None:
    """Cluster API up to 1.8."""
    _both(obj)
    obj["status"].pop("v1beta2", None)


def _both(obj: Object) -> None:
    """Cluster API 1.9 and 1.10; later ones read as v1beta1."""
    status = obj["status"]
    old = status.pop("deprecated", {}).get("v1beta1", {})
    new = {}
    for name in (
        "conditions",
        "availableReplicas",
        "readyReplicas",
        "upToDateReplicas",
    ):
        if name in status:
            new[name] = status.pop(name)
    obj["status"] = {**status, **old, "v1beta2": new}
    obj["apiVersion"] = obj["apiVersion"].replace("v1beta2", "v1beta1")
    if obj["kind"] == "Cluster":
        # A struct that is not left out while it is empty.
        endpoint = obj["spec"].setdefault("controlPlaneEndpoint", {})
        endpoint.setdefault("host", "")
        endpoint.setdefault("port", 0)


def _recorded(obj: Object) -> None:
    """Cluster API 1.11 to 1.13."""


def _versions(obj: Object) -> None:
    """Cluster API 1.14 and 1.15."""
    status = obj["status"]
    if obj["kind"] == "KubeadmControlPlane" and "version" in status:
        status["versions"] = [{"version": status.pop("version")}]


def _new_alone(obj: Object) -> None:
    """Cluster API 1.16, as announced."""
    _versions(obj)
    obj["status"].pop("deprecated", None)


#: Version of Cluster API -> its way to show an object.
CLUSTER_API: dict[str, Callable[[Object], None]] = {
    "1.8": _old_alone,
    "1.9": _both,
    "1.13": _recorded,
    "1.14": _versions,
    "1.16": _new_alone,
}


def _first_conditions(obj: Object) -> None:
    """0.10 to 0.13: no ``initialization``, no conditions of the cluster."""
    obj["status"].pop("initialization", None)
    if obj["kind"] == "OpenStackCluster":
        obj["status"].pop("conditions", None)


def _metav1(obj: Object) -> None:
    """0.15: conditions alone tell."""
    for name in ("ready", "failureReason", "failureMessage"):
        obj["status"].pop(name, None)
    for condition in obj["status"].get("conditions", []):
        condition.pop("severity", None)


#: Version of the provider -> its way to show an object.
PROVIDER: dict[str, Callable[[Object], None]] = {
    "0.13": _first_conditions,
    "0.14": _recorded,
    "0.15": _metav1,
}


def shaped(objects: list[Object], core: str, provider: str) -> view.View:
    """What is seen of objects with these versions."""
    shown = copy.deepcopy(objects)
    for each in shown:
        if _is_core(each):
            CLUSTER_API[core](each)
        elif each["kind"].startswith("OpenStack"):
            PROVIDER[provider](each)
    return seen(shown)


def in_every_shape(objects: list[Object]) -> dict[str, view.View]:
    """What is seen of objects, by the versions that show them."""
    return {
        f"{core}/{provider}": shaped(objects, core, provider)
        for core in CLUSTER_API
        for provider in PROVIDER
    }


def told(seen: view.View, workers: int, now: float) -> dict[str, Any]:
    """All that is said of what is seen, as the files have it."""
    expected = cluster_status.Expected(rows(workers), REQUIRED)
    seen = dataclasses.replace(seen, clock=view.Clock(now))
    verdict = cluster_status.verdict(seen, expected)
    found = health.health(seen)
    return {
        "complete": verdict.complete,
        "reason": shapes.sentence(verdict.reason),
        "groups": {
            name: {
                "reason": shapes.sentence(each.reason),
                "addresses": list(each.addresses),
                "version": each.version,
            }
            for name, each in verdict.groups.items()
        },
        "api_address": verdict.api_address,
        "coe_version": verdict.coe_version,
        "container_version": verdict.container_version,
        "health": found.status,
        "nodes": found.reason,
    }


def all_conditions(obj: Object) -> list[dict[str, Any]]:
    """Those of both sets, to be changed."""
    status = obj["status"]
    old = (status.get("deprecated") or {}).get("v1beta1") or {}
    return [
        *status.get("conditions", []),
        *old.get("conditions", []),
    ]
