# SPDX-License-Identifier: Apache-2.0

"""What is found in a view: machines of a group, groups, pending revisions."""

from __future__ import annotations

from oslotest import base

from magnum_capi_helm.status import view
from magnum_capi_helm.tests.unit.status import shapes

#: The label of a Cluster -> the version of its chart.
VERSIONS = {
    "openstack-cluster-0.27.0": "0.27.0",
    "openstack-cluster-0.27.1-dev.0.main.3": "0.27.1-dev.0.main.3",
    "openstack-cluster-0.27.1_custom": "0.27.1+custom",
    "openstack-cluster": "",
    "": "",
}


class ViewTest(base.BaseTestCase):
    def test_machines_belong_to_one_group_by_name(self) -> None:
        seen = shapes.complete(
            shapes.V1BETA2,
            machines=(
                shapes.machine(shapes.V1BETA2, "b"),
                shapes.machine(shapes.V1BETA2, "c", group=None),
                shapes.machine(shapes.V1BETA2, "a"),
                shapes.machine(shapes.V1BETA2, "d", group="gpu"),
            ),
        )
        self.assertEqual(
            [["a", "b"], ["d"], ["c"]],
            [
                [view.name_of(each) for each in found]
                for found in (
                    seen.machines_of("default-worker"),
                    seen.machines_of("gpu"),
                    seen.control_plane_machines(),
                )
            ],
        )

    def test_groups_are_known_by_the_charts_names(self) -> None:
        seen = shapes.complete(
            shapes.V1BETA2,
            deployments=(
                shapes.workers(shapes.V1BETA2),
                shapes.workers(shapes.V1BETA2, group="gpu"),
            ),
        )
        self.assertEqual({"default-worker", "gpu"}, seen.group_names())

    def test_a_pending_status_makes_a_revision_pending(self) -> None:
        words = {
            "pending-install": True,
            "pending-upgrade": True,
            "pending-rollback": True,
            "deployed": False,
            "failed": False,
            "uninstalling": False,
        }
        self.assertEqual(
            words, {word: view.Revision(1, word).pending for word in words}
        )

    def test_the_charts_version_is_in_a_label(self) -> None:
        for label, version in VERSIONS.items():
            obj = {"metadata": {"labels": {"helm.sh/chart": label}}}
            self.assertEqual(version, view.chart_version(obj), label)
        self.assertEqual("", view.chart_version(None))
