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
from magnum_capi_helm.tests.functional import test_upgrade

_OLD, _BETWEEN, _NEW = "v1.33.13", "v1.35.1", "v1.36.3"
_LABELS = {
    "auto_scaling_enabled": "true",
    "min_node_count": "1",
    "max_node_count": "5",
}
_ENDED = ("UPDATE_COMPLETE", "UPDATE_FAILED")


class MinorsCase(test_upgrade.UpgradeCase):
    """Upgrades by several minor versions, with images of the test's own."""

    release: str

    def make(self, template: str, **fields: Any) -> None:
        """Make a complete cluster."""
        self.uuid = self.cluster(template, **fields)
        ended = ("CREATE_COMPLETE", "CREATE_FAILED")
        made = self.until_status(self.uuid, ended, 240)
        self.assertEqual("CREATE_COMPLETE", made["status"], str(made))
        self.release = str(made["stack_id"])

    def image(self, version: str, visibility: str = "public") -> str:
        """Return the ID of a new image, which goes after the test."""
        cloud: Any = catalogue.connect("admin")
        made = cloud.image.create_image(
            self.unique(f"ubuntu-{version}"),
            disk_format="raw",
            container_format="bare",
            visibility=visibility,
            data=b"no machine boots",
            os_distro="ubuntu",
            kube_version=version,
        )
        self.addCleanup(cloud.image.delete_image, made)
        return str(made.id)

    def control_plane(self) -> str:
        """Return the version that the control plane is to have."""
        name = f"{self.release}-control-plane"
        found = self.plane.get(kinds.CONTROL_PLANE, self.namespace, name)
        return str(view.spec_of(found)["version"])

    def machines(self, *, masters: bool = False) -> dict[str, view.Object]:
        """Return workers, or control plane machines, by UID."""
        label = f"{view.CLUSTER_NAME_LABEL}={self.release}"
        found = self.plane.list(kinds.MACHINE, self.namespace, label)
        return {
            each["metadata"]["uid"]: each
            for each in found
            if (view.CONTROL_PLANE_LABEL in view.labels_of(each)) is masters
            and not view.deleting(each)
        }


class ChangedCase(MinorsCase):
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
