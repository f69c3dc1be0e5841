# SPDX-License-Identifier: Apache-2.0

"""Reads of the management cluster, by kubectl with the admin's kubeconfig."""

import collections
import json
from typing import Any

from lab import layout
from lab import tools

_GROUPS = (".cluster.x-k8s.io", ".addons.stackhpc.com")


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


def machines(release: str) -> str:
    """The phases of a cluster's machines: ``1 Provisioned, 2 Running``."""
    found = get(
        "machines.cluster.x-k8s.io",
        "--all-namespaces",
        f"--selector=cluster.x-k8s.io/cluster-name={release}",
    )
    phases = collections.Counter(
        item.get("status", {}).get("phase", "Pending") for item in found
    )
    counts = (f"{phases[phase]} {phase}" for phase in sorted(phases))
    return ", ".join(counts) or "none"
