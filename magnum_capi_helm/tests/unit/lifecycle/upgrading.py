# SPDX-License-Identifier: Apache-2.0

"""What tests of upgrades start with: a cluster, and images to move to."""

from __future__ import annotations

from typing import Any

from magnum.common import exception

from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.operations import magnum_errors
from magnum_capi_helm.tests.fakes import cloud as fake_cloud
from magnum_capi_helm.tests.unit.lifecycle import base

_VERSIONS = (
    "1.31.8",
    "1.32.9",
    "1.33.4",
    "1.34.2",
    "1.34.3",
    "1.35.1",
    "1.36.0",
)
_SHORT = {"1.34.2": "i-1", "1.35.1": "i-2"}

#: Version and image of machines before an upgrade, and after it.
OLD = ("1.34.2", "i-1")
NEW = ("1.35.1", "i-2")


class UpgradeTestCase(base.NodegroupTestCase):
    """A cluster of Kubernetes 1.34.2 that is complete."""

    def catalogue(self, session: Any) -> fake_cloud.FakeCloud:
        """One image of each version, named ``ubuntu-<minor or version>``."""
        images = {}
        for version in _VERSIONS:
            name = f"ubuntu-{version.rpartition('.')[0]}"
            if name in images:
                name = f"ubuntu-{version}"
            id_ = _SHORT.get(version, f"i-{version}")
            images[name] = cluster_spec.Image(id_, name, version, "ubuntu")
        images["flatcar"] = cluster_spec.Image(
            "i-f", "flatcar", "1.35.1", "flatcar"
        )
        images["bare"] = cluster_spec.Image("i-b", "bare", "", "ubuntu")
        return fake_cloud.FakeCloud(
            images=images,
            flavors={
                "m1.medium": "m1.medium",
                "m1.large": "m1.large",
                "own": "own",
            },
            networks={"public": "net-1", "other": "net-2"},
            types=("slow", "fast"),
        )

    def upgrade(
        self, template: Any, batch: Any = 1, nodegroup: str = "default-worker"
    ) -> None:
        """``coe cluster upgrade``, through the handler."""
        self.handler.cluster_upgrade(
            self.context, self.row(), template, batch, self.groups()[nodegroup]
        )

    def refused(self, template: Any, **options: Any) -> str:
        """The text of a refusal, which changes nothing in the rows.

        It is that of the log; for clients a sentence may go before it.
        """
        before = self.snapshot()
        upgrades = len(self.helm.upgrades)
        error = self.assertRaises(
            exception.NotSupported, self.upgrade, template, **options
        )
        self.assertEqual(before, self.snapshot())
        self.assertEqual(upgrades, len(self.helm.upgrades))
        text = str(self.log.output).rsplit(" refused: ", 1)[1].rstrip("\n")
        self.assertEqual(magnum_errors.to_client("upgrade", text), str(error))
        return text

    def snapshot(self) -> list[dict[str, Any]]:
        """All fields of the rows that clients see, but for the clock."""
        rows = [self.row(), *self.groups().values()]
        return [
            {
                key: value
                for key, value in each.as_dict().items()
                if key not in ("updated_at", "cluster_template", "nodegroups")
            }
            for each in rows
        ]

    def machines(self) -> dict[str, tuple[str, str]]:
        told = self.helm.upgrades[-1].values
        groups = [
            {"name": "control-plane", **told["controlPlane"]},
            *told["nodeGroups"],
        ]
        return {
            each["name"]: (each["kubernetesVersion"], each["machineImageId"])
            for each in groups
        }

    def upgraded_statuses(self) -> set[str]:
        """Statuses of the cluster and of its default groups."""
        groups = self.groups().values()
        own = {each.status for each in groups if each.is_default}
        return {self.row().status, *own}
