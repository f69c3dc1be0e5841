# SPDX-License-Identifier: Apache-2.0

"""A cluster's row, its release, and management clusters with it or without."""

from __future__ import annotations

from typing import Any

from magnum_capi_helm.database import inventory
from magnum_capi_helm.status import view

SCOPE = ("magnum-p1", "web-aaaaaaaaaaaa")
ROW = inventory.Row(
    name="web",
    uuid="u-1",
    project="p1",
    status="CREATE_COMPLETE",
    version="v1.34.2",
    scope=SCOPE,
    fingerprint="v1-f",
    identity="id-a",
    recorded_name="a",
)


def cluster(fingerprint: str | None = "v1-f", **meta: Any) -> dict[str, Any]:
    """The metadata of a Cluster."""
    annotations = {"magnum.openstack.org/intent": fingerprint}
    if fingerprint is None:
        annotations = {}
    labels = {"helm.sh/chart": "openstack-cluster-0.27.0"}
    return {"metadata": {"annotations": annotations, "labels": labels, **meta}}


FOUND = inventory.ReleaseObjects(
    cluster=cluster(), newest=view.Revision(2, "deployed")
)
A = inventory.ManagementCluster("a", "id-a", {SCOPE: FOUND})
EMPTY_A = inventory.ManagementCluster("a", "id-a")
SILENT_A = inventory.ManagementCluster("a", "", error="no answer")
B = inventory.ManagementCluster("b", "id-b", {SCOPE: FOUND})
EMPTY_B = inventory.ManagementCluster("b", "id-b")
SILENT_B = inventory.ManagementCluster("b", "", error="no answer")
ONE = inventory.ManagementCluster("", "id-a", {SCOPE: FOUND})

LINE = inventory.Line(
    name="web",
    uuid="u-1",
    project="p1",
    status="CREATE_COMPLETE",
    management_cluster="a",
    release="web-aaaaaaaaaaaa",
    chart="0.27.0",
    version="v1.34.2",
    revision="deployed",
    state="ok",
)
