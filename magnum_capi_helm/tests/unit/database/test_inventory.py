# SPDX-License-Identifier: Apache-2.0

"""Rows beside what there is of them: which state each line has."""

from __future__ import annotations

import dataclasses
from typing import Any

from oslotest import base

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
ABSENT = "not on its management cluster"

#: What differs in the release -> the state.
RELEASES: dict[str, tuple[dict[str, Any], str]] = {
    "all is as wanted": ({}, "ok"),
    "1.4.0 left no fingerprint": (
        {"cluster": cluster(None)},
        "ok",
    ),
    "the rows want something else": (
        {"cluster": cluster("v1-old")},
        "drift: the rows want something else than was last applied",
    ),
    "helm failed": (
        {"newest": view.Revision(3, "failed")},
        "drift: revision 3 is failed",
    ),
    "helm is at work or died": (
        {"newest": view.Revision(3, "pending-upgrade")},
        "drift: revision 3 is pending-upgrade",
    ),
    "helm's records are gone": (
        {"newest": None},
        "drift: there is a Cluster, but no helm release",
    ),
    "the Cluster is gone": (
        {"cluster": None},
        "drift: the Cluster object does not exist",
    ),
    "somebody deletes the Cluster": (
        {"cluster": cluster(deletionTimestamp="2026-01-01T00:00:00Z")},
        "drift: the Cluster object is being deleted",
    ),
}

#: What differs in the row, and all management clusters -> for each line, the
#: management cluster and the state.
PLACES: dict[
    str,
    tuple[
        dict[str, Any],
        list[inventory.ManagementCluster],
        list[tuple[str, str]],
    ],
] = {
    "it is where its record says": ({}, [A, EMPTY_B], [("a", "ok")]),
    "its management cluster has another name now": (
        {"recorded_name": "old"},
        [EMPTY_B, A],
        [("a", "ok")],
    ),
    "two names of one management cluster: the recorded one": (
        {"recorded_name": "b"},
        [A, dataclasses.replace(A, name="b")],
        [("b", "ok")],
    ),
    "its management cluster has nothing of it": (
        {},
        [EMPTY_A, EMPTY_B],
        [("a", ABSENT)],
    ),
    "its management cluster was rebuilt": (
        {"identity": "id-old"},
        [EMPTY_A, EMPTY_B],
        [("a", ABSENT)],
    ),
    "its management cluster was rebuilt and it was restored": (
        {"identity": "id-old"},
        [A],
        [
            ("a", ABSENT),
            ("a", "drift: the cluster is on another management cluster"),
        ],
    ),
    "its management cluster does not answer": (
        {},
        [SILENT_A, EMPTY_B],
        [("a", "unreachable: no answer")],
    ),
    "its identity is known, its lists are not": (
        {"recorded_name": "b"},
        [dataclasses.replace(EMPTY_A, error="cut off"), SILENT_B],
        [("a", "unreachable: cut off")],
    ),
    "one that does not answer may be its management cluster": (
        {"recorded_name": "old"},
        [EMPTY_B, SILENT_A],
        [("a", "unreachable: no answer")],
    ),
    "another management cluster that does not answer does no harm": (
        {},
        [A, SILENT_B],
        [("a", "ok")],
    ),
    "it is on two management clusters": (
        {},
        [A, B],
        [("a", "ok"), ("b", "drift: the cluster is on a")],
    ),
    "without a record it is where something of it is": (
        {"identity": "", "recorded_name": ""},
        [EMPTY_A, B],
        [("b", "ok")],
    ),
    "without a record it may be where nobody answers": (
        {"identity": "", "recorded_name": ""},
        [EMPTY_A, SILENT_B],
        [("b", "unreachable: no answer")],
    ),
    "without a record and without a trace": (
        {"identity": "", "recorded_name": ""},
        [EMPTY_A, EMPTY_B],
        [("", ABSENT)],
    ),
    "a single management cluster without a name": (
        {"recorded_name": ""},
        [ONE],
        [("", "ok")],
    ),
    "a single one and no record": (
        {"identity": "", "recorded_name": "", "status": "CREATE_IN_PROGRESS"},
        [dataclasses.replace(ONE, releases={})],
        [("", "drift: still to be installed")],
    ),
    "a create that did not get to helm yet": (
        {"status": "CREATE_IN_PROGRESS"},
        [EMPTY_A],
        [("a", "drift: still to be installed")],
    ),
    "a deletion of which all but the row is gone": (
        {"leaving": True},
        [EMPTY_A],
        [("a", "ok")],
    ),
    "a deletion that waits for its management cluster": (
        {"leaving": True},
        [SILENT_A],
        [("a", "unreachable: no answer")],
    ),
    "nothing was ever made for it": (
        {"scope": ("magnum-p1", "")},
        [EMPTY_A, SILENT_B],
        [("", "ok")],
    ),
}


class InventoryTest(base.BaseTestCase):
    def compare(
        self, row: inventory.Row, *planes: inventory.ManagementCluster
    ) -> list[inventory.Line]:
        return inventory.compare([row], planes, "magnum")

    def test_a_line_says_all_that_is_known(self) -> None:
        self.assertEqual([LINE], self.compare(ROW, A))

    def test_a_release_is_compared_with_its_row(self) -> None:
        for case, (change, state) in RELEASES.items():
            with self.subTest(case):
                found = dataclasses.replace(FOUND, **change)
                plane = dataclasses.replace(A, releases={SCOPE: found})
                (line,) = self.compare(ROW, plane)
                self.assertEqual(state, line.state)

    def test_a_row_is_looked_for_where_its_cluster_was_made(self) -> None:
        for case, (change, planes, expected) in PLACES.items():
            with self.subTest(case):
                row = dataclasses.replace(ROW, **change)
                lines = self.compare(row, *planes)
                self.assertEqual(
                    expected,
                    [(each.management_cluster, each.state) for each in lines],
                )
                self.assertEqual({"u-1"}, {each.uuid for each in lines})

    def test_a_silent_management_cluster_has_one_line(self) -> None:
        alone = inventory.Line(
            management_cluster="b", state="unreachable: no answer"
        )
        lines = self.compare(ROW, A, SILENT_B)
        self.assertEqual([alone], inventory.unreachable([A, SILENT_B], lines))
        lines = self.compare(ROW, SILENT_A, EMPTY_B)
        self.assertEqual([], inventory.unreachable([SILENT_A, EMPTY_B], lines))

    def test_lines_are_in_the_order_of_names(self) -> None:
        rows = [
            dataclasses.replace(ROW, name="b", scope=("magnum-p1", "")),
            dataclasses.replace(ROW, name="c"),
            dataclasses.replace(ROW, name="a", scope=("magnum-p1", "")),
        ]
        lines = inventory.compare(rows, [A], "magnum")
        self.assertEqual(["a", "b", "c"], [each.name for each in lines])


#: Namespace, release, what there is of it -> project of the orphan; None: it
#: is not this cloud's.
STRANGERS: dict[str, tuple[str, str, inventory.ReleaseObjects, str | None]] = {
    "a cluster that Magnum forgot": ("magnum-p2", SCOPE[1], FOUND, "p2"),
    "a Cluster without a release": (
        "magnum-p2",
        "any",
        inventory.ReleaseObjects(cluster=cluster()),
        "p2",
    ),
    "a release without a Cluster": (
        "magnum-p2",
        SCOPE[1],
        inventory.ReleaseObjects(newest=view.Revision(1, "failed")),
        "p2",
    ),
    "a release that this driver did not name": (
        "magnum-p2",
        "some-operator",
        inventory.ReleaseObjects(newest=view.Revision(1, "deployed")),
        None,
    ),
    "another cloud's, whose prefix begins alike": (
        "magnum-east-p2",
        SCOPE[1],
        FOUND,
        None,
    ),
    "another namespace": ("default", SCOPE[1], FOUND, None),
    "the bare prefix": ("magnum-", SCOPE[1], FOUND, None),
}


class OrphansTest(base.BaseTestCase):
    def test_objects_of_this_cloud_without_a_row_are_orphans(self) -> None:
        for case, (namespace, release, found, project) in STRANGERS.items():
            with self.subTest(case):
                there = {SCOPE: FOUND, (namespace, release): found}
                plane = dataclasses.replace(A, releases=there)
                expected = [LINE]
                if project is not None:
                    expected += [
                        inventory.Line(
                            project=project,
                            management_cluster="a",
                            release=release,
                            chart=found.chart,
                            revision=found.revision,
                            state="orphan, or a cluster of another Magnum",
                        )
                    ]
                self.assertEqual(
                    expected,
                    inventory.compare([ROW], [plane], "magnum"),
                )
