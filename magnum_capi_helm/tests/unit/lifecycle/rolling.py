# SPDX-License-Identifier: Apache-2.0
"""A cluster on an older chart, and the operator's files."""

from __future__ import annotations

import pathlib
from typing import Any

import fixtures

from magnum_capi_helm import runtime
from magnum_capi_helm.chart import values
from magnum_capi_helm.config import conf
from magnum_capi_helm.lifecycle import rollout
from magnum_capi_helm.model import desired_state
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import requested_groups
from magnum_capi_helm.operations import cluster_release
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.lifecycle import upgrading

OLD, NEW = "0.26.1", "0.27.0"
#: An addon's setting, which replaces no machine; and what replaces some.
ADDON = "addons: {openstack: {ccm: {values: {replicas: 2}}}}\n"
MACHINES = "controlPlane: {kubeadmConfigSpec: {postKubeadmCommands: [mine]}}\n"
#: The driver's own annotations.
_MARKS = (requested_groups.FINGERPRINT_ANNOTATION, values.UPGRADE_ANNOTATION)


class RolloutTestCase(upgrading.UpgradeTestCase):
    """A cluster of chart 0.26.1 and profile ``gpu`` that is complete."""

    def setUp(self) -> None:
        base.FlowTestCase.setUp(self)
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.profile = self.folder / "gpu.yaml"
        self.profile.write_text("")
        self.all = self.folder / "all.values"
        self.all.write_text("")
        for name, value in (
            ("values_files", [str(self.all)]),
            ("values_profile_dir", str(self.folder)),
        ):
            conf.CONF.set_override(name, value, "capi_helm")
        labels = {"capi_helm_chart_version": OLD}
        labels["capi_helm_values_profiles"] = "gpu"
        # The files are empty: a copy is what each would make.
        self.complete({"labels": labels})

    def order(self, **fields: Any) -> rollout.Order:
        """What the operator orders; by default the files."""
        return rollout.Order(**(fields or {"files": True}))

    def look(self, **fields: Any) -> rollout.Plan:
        return rollout.plan(
            cluster_release.Release(self.admin, self.row(), runtime.get()),
            self.order(**fields),
        )

    def roll_out(self, **fields: Any) -> str:
        """Do it; what is left to the polls."""
        return rollout.apply(self.new_operation(), self.order(**fields))

    def rolled_out(self, **fields: Any) -> None:
        """It is complete."""
        self.assertEqual("", self.roll_out(**fields))
        self.assert_updated()

    def no(self, **fields: Any) -> str:
        """Why it is refused, by a look and under the Lease; nothing moves."""
        before = self.written()
        looked = self.assertRaises(errors.CapiHelmError, self.look, **fields)
        tried = self.assertRaises(
            errors.CapiHelmError, self.roll_out, **fields
        )
        self.assertEqual(before, self.written())
        self.assertEqual(str(looked), str(tried))
        return str(tried)

    def written(self) -> tuple[object, ...]:
        """Rows, what is wanted, and the runs of helm."""
        return self.snapshot(), self.kept(), len(self.helm.upgrades)

    def kept(self) -> desired_state.DesiredState:
        release = cluster_release.Release(
            self.admin, self.row(), runtime.get()
        )
        found = release.read_stored().desired
        assert found is not None
        return found

    def told(self) -> dict[str, Any]:
        """The values that helm was last given, without the driver's marks."""
        found = dict(self.helm.upgrades[-1].values)
        found["clusterAnnotations"] = {
            key: value
            for key, value in found["clusterAnnotations"].items()
            if key not in _MARKS
        }
        return found

    def of_template(self, labels: dict[str, str]) -> None:
        """The cluster is of another template, and was made with none of it."""
        self.save(cluster_template_id=self.template(labels=labels).uuid)
