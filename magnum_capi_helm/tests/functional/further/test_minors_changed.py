# SPDX-License-Identifier: Apache-2.0

"""A cluster changes in the middle of an upgrade by several minor versions."""

from __future__ import annotations

import functools
from typing import Any

from lab.cloud import catalogue
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import names
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.functional import programs
from magnum_capi_helm.tests.functional.further import test_minors

_OLD, _BETWEEN, _NEW = "v1.33.13", "v1.35.1", "v1.36.3"
_LABELS = {
    "auto_scaling_enabled": "true",
    "min_node_count": "1",
    "max_node_count": "5",
}
_ENDED = ("UPDATE_COMPLETE", "UPDATE_FAILED")


class ChangedCase(test_minors.MinorsCase):
    """The image of the second step goes, so the upgrade stays there."""

    def setUp(self) -> None:
        super().setUp()
        # No other test's upgrade takes it.
        self.between = self.image(_BETWEEN, "community")
        self.new = self.template(
            image_id=self.image(_NEW),
            labels={**_LABELS, "upgrade_images": f"1.35={self.between}"},
        )
        old = self.template(image_id=self.image(_OLD), labels=_LABELS)
        self.make(old, node_count=2)
        self.groups = f"/clusters/{self.uuid}/nodegroups"
        self.cloud: Any = catalogue.connect("admin")

    def add(self, name: str) -> str:
        """Create a nodegroup, and return its UUID."""
        body = {"name": name, "flavor_id": "m1.worker", "node_count": 1}
        return str(self.magnum.call("POST", self.groups, body)["uuid"])

    def reason(self) -> str:
        """Return the reason of an upgrade that goes on."""
        row = self.magnum.find(self.uuid) or {}
        self.assertEqual("UPDATE_IN_PROGRESS", row["status"], str(row))
        return str(row["status_reason"])

    def until_reason(self, text: str) -> None:
        """Wait until the reason has a text."""
        self.until(lambda: text in self.reason(), 240, self.reason)

    def members(self, group: str) -> list[str]:
        """Return the versions of a group's machines."""
        name = names.machine_deployment(self.release, group)
        return [
            view.spec_of(each)["version"]
            for each in self.machines().values()
            if view.labels_of(each).get(view.DEPLOYMENT_LABEL) == name
        ]


class ChangedTest(ChangedCase):
    """Workers come and go; the image comes back."""

    def test_changes_wait_for_the_workers_step(self) -> None:
        leaves = self.add("leaves")
        self.until(lambda: self.members("leaves"), 60)
        self.until_status(self.uuid, ("UPDATE_COMPLETE",))
        before = self.machines()
        self.accept(self.new)
        self.cloud.image.deactivate_image(self.between)
        self.until_reason("step 2 of 4")
        self.until_reason("[image-missing]")
        self._autoscaler_wants(3)
        self._worker_goes()
        self.add("joins")
        self.magnum.call("DELETE", f"{self.groups}/{leaves}")
        self.until(
            lambda: "leaves" not in self.magnum.nodegroups(self.uuid), 120
        )
        self.assertIn("step 2 of 4", self.reason())
        self.assertEqual([_OLD], self.members("default-worker"))
        self.assertEqual([], self.members("joins"))

        self.cloud.image.reactivate_image(self.between)
        # The provider leaves a server in ERROR alone: auto-healing would
        # replace the machine after half an hour.
        (stuck,) = (
            view.name_of(each)
            for each in self.machines(masters=True).values()
            if view.spec_of(each)["version"] == _BETWEEN
        )
        self.plane.delete(kinds.MACHINE, self.namespace, stuck)
        self.until_reason("step 3 of 4")
        self.until_reason("step 4 of 4")
        self.until_status(self.uuid, _ENDED, 360)
        self.complete()
        self.assertEqual([_NEW] * 3, self.members("default-worker"))
        self.assertEqual([_NEW], self.members("joins"))
        self.assertEqual(set(), before.keys() & self.machines().keys())
        groups = self.magnum.nodegroups(self.uuid)
        self.assertEqual(
            {"default-master": 1, "default-worker": 3, "joins": 1},
            {name: each["node_count"] for name, each in groups.items()},
        )

    def _autoscaler_wants(self, count: int) -> None:
        self.plane.patch(
            kinds.MACHINE_DEPLOYMENT,
            self.namespace,
            names.machine_deployment(self.release, "default-worker"),
            {"spec": {"replicas": count}},
        )

    def _worker_goes(self) -> None:
        """Delete a machine of default-worker."""
        group = names.machine_deployment(self.release, "default-worker")
        name = next(
            view.name_of(each)
            for each in self.machines().values()
            if view.labels_of(each).get(view.DEPLOYMENT_LABEL) == group
        )
        self.plane.delete(kinds.MACHINE, self.namespace, name)
        get = functools.partial(self.plane.get, kinds.MACHINE, self.namespace)
        self.until(lambda: get(name) is None, 120)


class DeletedTest(ChangedCase):
    """The image is lost; the operator stops the upgrade."""

    def test_another_upgrade_goes_on_from_the_step_that_was_stopped(
        self,
    ) -> None:
        workers = self.machines()
        self.accept(self.new)
        self.cloud.image.delete_image(self.between)
        self.until_reason("step 2 of 4")
        self.until_reason("[image-missing]")
        programs.command(
            "cluster", "rollback", self.uuid, "--stop-here", "--apply"
        )
        self.complete()
        self.assertEqual("v1.34.2", self.control_plane())
        self.assertEqual(workers.keys(), self.machines().keys())
        # It takes a public image.
        self.accept(self.template(image_id=self.image(_NEW), labels=_LABELS))
        self.until_reason("step 2 of 3")
        self.assertEqual(workers.keys(), self.machines().keys())
        self.delete(self.uuid)
        self.assert_all_gone(self.release)
        self.assertEqual([], self.credentials_of(self.uuid))
