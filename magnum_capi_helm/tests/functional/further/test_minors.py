# SPDX-License-Identifier: Apache-2.0

"""One request upgrades a cluster by several minor versions of Kubernetes."""

from __future__ import annotations

from typing import Any

from lab.cloud import catalogue
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.functional import test_upgrade

_OLD, _NEW = "v1.33.13", "v1.36.3"
#: The lab has images of them.
_BETWEEN = ("v1.34.2", "v1.35.1")
_ENDED = ("UPDATE_COMPLETE", "UPDATE_FAILED")


class MinorsTest(test_upgrade.UpgradeCase):
    """A control plane node and two workers."""

    def setUp(self) -> None:
        super().setUp()
        for version in (_OLD, _NEW):
            self._public_image(version)

    def test_each_worker_is_replaced_once(self) -> None:
        new = self.template(image_id=f"ubuntu-{_NEW}")
        self.uuid = self.cluster(
            self.template(image_id=f"ubuntu-{_OLD}"), node_count=2
        )
        made = self.until_status(
            self.uuid, ("CREATE_COMPLETE", "CREATE_FAILED"), 240
        )
        self.assertEqual("CREATE_COMPLETE", made["status"], str(made))
        release = str(made["stack_id"])
        versions: list[str] = []
        workers: dict[str, str] = {}
        fewest, steps = 2, set()

        def is_over() -> bool:
            nonlocal fewest
            wanted = self._control_plane(release)
            if wanted not in versions:
                versions.append(wanted)
            ready = 0
            for each in self._workers(release):
                workers[each["metadata"]["uid"]] = view.spec_of(each)[
                    "version"
                ]
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

    def _control_plane(self, release: str) -> str:
        """Return the version that the control plane is to have."""
        name = f"{release}-control-plane"
        found = self.plane.get(kinds.CONTROL_PLANE, self.namespace, name)
        return str(view.spec_of(found)["version"])

    def _workers(self, release: str) -> list[view.Object]:
        label = f"{view.CLUSTER_NAME_LABEL}={release}"
        found = self.plane.list(kinds.MACHINE, self.namespace, label)
        return [
            each
            for each in found
            if view.CONTROL_PLANE_LABEL not in view.labels_of(each)
            and not view.deleting(each)
        ]

    def _public_image(self, version: str) -> None:
        cloud: Any = catalogue.connect("admin")
        made = cloud.image.create_image(
            f"ubuntu-{version}",
            disk_format="raw",
            container_format="bare",
            visibility="public",
            data=b"no machine boots",
            os_distro="ubuntu",
            kube_version=version,
        )
        self.addCleanup(cloud.image.delete_image, made)
