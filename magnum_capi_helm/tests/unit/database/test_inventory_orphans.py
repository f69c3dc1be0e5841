# SPDX-License-Identifier: Apache-2.0

"""What there is and no row of Magnum's: which of it is this cloud's orphan."""

from __future__ import annotations

import dataclasses

from oslotest import base

from magnum_capi_helm.database import inventory
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.unit.database import one_cluster

SCOPE = one_cluster.SCOPE
FOUND = one_cluster.FOUND

#: Namespace, release, what there is of it -> project of the orphan; None: it
#: is not this cloud's.
STRANGERS: dict[str, tuple[str, str, inventory.ReleaseObjects, str | None]] = {
    "a cluster that Magnum forgot": ("magnum-p2", SCOPE[1], FOUND, "p2"),
    "a Cluster without a release": (
        "magnum-p2",
        "any",
        inventory.ReleaseObjects(cluster=one_cluster.cluster()),
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
    def test_only_objects_of_this_cloud_without_a_row_are_orphans(
        self,
    ) -> None:
        for case, (namespace, release, found, project) in STRANGERS.items():
            with self.subTest(case):
                there = {SCOPE: FOUND, (namespace, release): found}
                plane = dataclasses.replace(one_cluster.A, releases=there)
                expected = [one_cluster.LINE]
                if project is not None:
                    expected += [
                        inventory.Line(
                            project=project,
                            management_cluster="a",
                            release=release,
                            chart=found.chart,
                            revision=found.newest.status
                            if found.newest
                            else "",
                            state="orphan, or a cluster of another Magnum",
                        )
                    ]
                self.assertEqual(
                    expected,
                    inventory.compare([one_cluster.ROW], [plane], "magnum"),
                )
