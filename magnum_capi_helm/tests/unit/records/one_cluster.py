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

"""A cluster's row, its release, and management clusters with it or without."""

from __future__ import annotations

from typing import Any

from magnum_capi_helm.records import inventory
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
