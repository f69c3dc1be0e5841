# SPDX-License-Identifier: Apache-2.0

"""What exists because of clusters, to prove that a deleted one left nothing.

Other clusters may live in the lab, so what counts is the difference between
two looks: one before the cluster was made, one after it was deleted. Looks
have OpenStack's rows, too.
"""

from collections.abc import Iterable, Mapping
import time
from typing import Any

from lab import postgres
from lab.cloud import catalogue
from lab.cloud import rows
from lab.demo import kube

Look = Mapping[str, frozenset[str]]

_PATIENCE = 30.0
_HELM = "helm.sh/release.v1"
_TABLES = {
    "certificate rows": "SELECT uuid FROM x509keypair",
    "cluster rows": "SELECT uuid FROM cluster",
    "node group rows": "SELECT uuid FROM nodegroup",
}


def look() -> Look:
    """Everything there is now, by what it is."""
    secrets = kube.get("secrets", "--all-namespaces")
    found = {
        "Cluster API objects": _names(kube.cluster_api_objects()),
        "helm releases": _names(s for s in secrets if s["type"] == _HELM),
        "Secrets": _names(s for s in secrets if s["type"] != _HELM),
        "Leases": _names(kube.get("leases", "--all-namespaces")),
        "other Kubernetes objects": _names(kube.other_objects()),
    }
    return {**found, **_rows(), **_openstack()}


def _openstack() -> dict[str, frozenset[str]]:
    """Rows of OpenStack by kind, without those that stay."""
    cloud = rows.Cloud(catalogue.connect("admin").session)
    return {
        kind: frozenset(
            f"{rows.called(row)} ({row['id']})"
            for row in listed
            if (kind, rows.called(row)) not in rows.EXCUSED
        )
        for kind, listed in cloud.all_rows().items()
    }


def _names(items: Iterable[dict[str, Any]]) -> frozenset[str]:
    return frozenset(map(kube.identity, items))


def _rows() -> dict[str, frozenset[str]]:
    connection = postgres.connect("magnum")
    found = {}
    try:
        with connection.cursor() as cursor:
            for what, query in _TABLES.items():
                cursor.execute(query)
                found[what] = frozenset(row[0] for row in cursor)
    finally:
        connection.close()
    return found


def left(before: Look) -> Look:
    """What is there now and was not before, once it has settled."""
    deadline = time.monotonic() + _PATIENCE
    while True:
        now = look()
        found = {what: now[what] - before[what] for what in now}
        if not any(found.values()) or time.monotonic() > deadline:
            return found
        time.sleep(1)
