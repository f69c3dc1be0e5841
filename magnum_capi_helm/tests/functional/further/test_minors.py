# SPDX-License-Identifier: Apache-2.0

"""One request upgrades a cluster by several minor versions of Kubernetes."""

from __future__ import annotations

from typing import Any

from lab.cloud import catalogue
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.functional import test_upgrade

_OLD, _NEW = "v1.33.13", "v1.36.3"
#: The lab has public images of them.
_BETWEEN = ("v1.34.2", "v1.35.1")
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


class MinorsTest(MinorsCase):
    """A control plane node and two workers."""

    def test_each_worker_is_replaced_once(self) -> None:
        new = self.template(image_id=self.image(_NEW))
        self.make(self.template(image_id=self.image(_OLD)), node_count=2)
        versions: list[str] = []
        workers: dict[str, str] = {}
        fewest, steps = 2, set()

        def is_over() -> bool:
            nonlocal fewest
            wanted = self.control_plane()
            if wanted not in versions:
                versions.append(wanted)
            ready = 0
            for uid, each in self.machines().items():
                workers[uid] = view.spec_of(each)["version"]
                ready += view.status_of(each).get("phase") == "Running"
            row = self.magnum.find(self.uuid) or {}
            step = (row.get("status_reason") or "").partition(":")[0]
            steps.add(step)
            if "step 4" not in step and row["status"] not in _ENDED:
                fewest = min(fewest, ready)
            return row["status"] in _ENDED

        self.accept(new)
        self.until(is_over, 600)
        self.complete()
        # helm has run when Magnum answers.
        self.assertEqual([*_BETWEEN, _NEW], versions)
        self.assertEqual(
            [_OLD, _OLD, _NEW, _NEW], sorted(workers.values()), str(workers)
        )
        self.assertEqual(2, fewest, "a worker was away in a step before")
        self.assertLessEqual(
            {f"upgrade, step {each} of 4" for each in (1, 2, 3, 4)}, steps
        )
        after = self.magnum.find(self.uuid) or {}
        self.assertEqual(_NEW, after["coe_version"])
