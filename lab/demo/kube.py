# SPDX-License-Identifier: Apache-2.0

"""Reads of the management cluster, by kubectl with the admin's kubeconfig."""

from collections.abc import Iterator, Sequence
import json
from typing import Any

from lab import layout
from lab import tools
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import permissions

_GROUPS = (".cluster.x-k8s.io", ".addons.stackhpc.com")
_OTHERS = ",".join(kind.plural for kind in (kinds.NAMESPACE, *kinds.PLAIN))
#: Kubernetes makes them in each namespace.
_OF_NAMESPACES = {
    ("ConfigMap", "kube-root-ca.crt"),
    ("ServiceAccount", "default"),
}


def get(*words: str) -> list[dict[str, Any]]:
    """The objects that ``kubectl get`` finds."""
    text = tools.output(
        [
            layout.BIN / "kubectl",
            f"--kubeconfig={layout.KUBECONFIG}",
            "get",
            *words,
            "--output=json",
        ]
    )
    items: list[dict[str, Any]] = json.loads(text)["items"]
    return items


def identity(item: dict[str, Any]) -> str:
    """Kind, namespace and name in one word."""
    meta = item["metadata"]
    place = meta.get("namespace", "")
    return f"{item['kind']}/{place}/{meta['name']}"


def cluster_api_objects() -> list[dict[str, Any]]:
    """Every object of every kind of Cluster API and of its addons."""
    names = [item["metadata"]["name"] for item in get("crd")]
    kinds = [name for name in names if f".{name}".endswith(_GROUPS)]
    return get(",".join(kinds), "--all-namespaces")


def other_objects() -> Iterator[dict[str, Any]]:
    """The other kinds of objects that charts have, and namespaces."""
    return of_clusters(get(_OTHERS, "--all-namespaces"))


def of_clusters(items: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Leave out what namespaces and projects have without a cluster."""
    of_projects = {
        identity(each)
        for item in items
        if item["kind"] == kinds.NAMESPACE.name
        and permissions.LABELS.items()
        <= item["metadata"].get("labels", {}).items()
        for each in permissions.of_project(item["metadata"]["name"])
    }
    for item in items:
        named = (item["kind"], item["metadata"]["name"])
        if named not in _OF_NAMESPACES and identity(item) not in of_projects:
            yield item
