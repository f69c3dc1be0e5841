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
    home="a",
)


def cluster(fingerprint: str | None = "v1-f", **meta: Any) -> dict[str, Any]:
    """The metadata of a Cluster."""
    annotations = {"magnum.openstack.org/intent": fingerprint}
    if fingerprint is None:
        annotations = {}
    return {"metadata": {"annotations": annotations, **meta}}


FOUND = inventory.Found(
    cluster=cluster(), newest=view.Revision(2, "deployed"), chart="0.27.0"
)
A = inventory.Plane("a", "id-a", {SCOPE: FOUND})
EMPTY_A = inventory.Plane("a", "id-a")
SILENT_A = inventory.Plane("a", "", silence="no answer")
B = inventory.Plane("b", "id-b", {SCOPE: FOUND})
EMPTY_B = inventory.Plane("b", "id-b")
SILENT_B = inventory.Plane("b", "", silence="no answer")
ONE = inventory.Plane("", "id-a", {SCOPE: FOUND})

LINE = inventory.Line(
    name="web",
    uuid="u-1",
    project="p1",
    status="CREATE_COMPLETE",
    plane="a",
    release="web-aaaaaaaaaaaa",
    chart="0.27.0",
    version="v1.34.2",
    revision="deployed",
    state="ok",
)
