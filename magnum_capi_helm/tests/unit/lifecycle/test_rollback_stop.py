# SPDX-License-Identifier: Apache-2.0

"""The end of an upgrade in one of its steps."""

from __future__ import annotations

from magnum_capi_helm import runtime
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.lifecycle import rollback
from magnum_capi_helm.model import errors
from magnum_capi_helm.operations import cluster_operation
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.lifecycle import test_upgrade_minors
from magnum_capi_helm.tests.unit.lifecycle import upgrading

WORKER = test_upgrade_minors.WORKER
OLD, MIDDLE = upgrading.OLD, upgrading.NEW
NEWEST = test_upgrade_minors.NEWEST


class StopTest(test_upgrade_minors.MinorsTestCase):
    """An upgrade from 1.34.2 to 1.36.0."""

    def stop(self) -> None:
        """``magnum-capi-helm cluster rollback --stop-here``."""
        operation = cluster_operation.Operation(
            self.admin, self.row(), runtime.get()
        )
        rollback.rollback(operation, stop=True)

    def stopped(self, control_plane: tuple[str, str], image: str) -> None:
        """Stop; the control plane keeps a version, and all ends well."""
        old = self.row().cluster_template_id
        self.stop()
        self.settle()
        self.assertEqual({"UPDATE_COMPLETE"}, self.statuses())
        expected = {"control-plane": control_plane, WORKER: OLD}
        self.assertEqual(expected, self.machines())
        rows = {each.name: each.image_id for each in self.groups().values()}
        images = {"default-master": image, WORKER: "ubuntu-1.34"}
        self.assertEqual(images, rows)
        self.assertNotEqual(old, self.row().cluster_template_id)
        self.assertEqual(base.INTENT_KEYS, self.intent_keys())

    def refused_stop(self) -> str:
        before = self.snapshot()
        error = self.assertRaises(errors.NotSupported, self.stop)
        self.assertEqual(before, self.snapshot())
        return str(error)

    def test_no_server_has_the_version_of_the_second_step(self) -> None:
        self.begin()
        self.next()
        self.stopped(MIDDLE, "i-2")
        self.begin()
        self.settle()
        self.assertEqual((NEWEST, NEWEST), tuple(self.machines().values()))
        self.assertEqual({"UPDATE_COMPLETE"}, self.statuses())

    def test_a_server_has_the_version_of_the_second_step(self) -> None:
        self.begin(master_flavor_id="m1.large")
        self.next()
        name = f"{base.RELEASE}-control-plane-m0"
        new = {"spec": {"version": "v1.36.0"}}
        self.server.patch(kinds.MACHINE, base.NAMESPACE, name, new)
        self.stopped(NEWEST, "i-1.36.0")
        self.assertEqual("m1.large", self.groups()["default-master"].flavor_id)

    def test_no_server_has_the_version_of_the_first_step(self) -> None:
        self.begin()
        self.stopped(OLD, "ubuntu-1.34")

    def test_a_step_of_workers_has_begun(self) -> None:
        self.begin()
        self.next()
        self.next()
        self.assertEqual(
            "upgrade, step 3 of 3: workers to v1.36.0: this step can't be "
            "stopped, since workers would have two versions: remove the "
            "reason why it does not end, and resize the cluster to the count "
            "it has",
            self.refused_stop(),
        )

    def test_a_new_group_that_is_newer_than_the_control_plane(self) -> None:
        self.begin()
        self.add("new", image_id="ubuntu-1.36")
        self.assertIn(
            "Nodegroup 'new' has v1.36.0, and the control plane gets v1.34.2",
            self.refused_stop(),
        )

    def test_an_upgrade_of_one_step_has_nothing_to_stop(self) -> None:
        self.upgrade(self.template(flavor_id="m1.large"))
        self.assertEqual(
            "cluster web has no upgrade with steps to come: there is nothing "
            "to stop",
            self.refused_stop(),
        )
