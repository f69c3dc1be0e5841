# SPDX-License-Identifier: Apache-2.0
"""The operator's repository of addon charts, from option to helm."""

from __future__ import annotations

import pathlib
from typing import Any

import fixtures
from magnum.common import exception

from magnum_capi_helm import runtime
from magnum_capi_helm.config import conf
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import errors
from magnum_capi_helm.resolve import operator_files
from magnum_capi_helm.tests.fakes import chart as fake_chart
from magnum_capi_helm.tests.unit.lifecycle import base

URL = "https://charts.mirror.test"


class AddonRepositoryTest(base.FlowTestCase):
    def addons(self) -> dict[str, Any]:
        """What helm was told of the addons."""
        found: dict[str, Any] = self.helm.upgrades[-1].values["addons"]
        return found

    def test_a_new_cluster_has_its_addons_from_there(self) -> None:
        conf.CONF.set_override("addon_repository", URL, "capi_helm")
        self.create()
        self.assertEqual(
            {"repo": URL}, self.addons()["cni"]["calico"]["chart"]
        )
        self.assertEqual(URL, self.addons()["etcdDefrag"]["chart"]["repo"])

    def test_by_default_the_values_name_no_repository(self) -> None:
        self.create()
        self.assertNotIn("calico", self.addons()["cni"])

    def test_a_cluster_keeps_what_it_was_made_with(self) -> None:
        self.created()
        conf.CONF.set_override("addon_repository", URL, "capi_helm")
        self.resize(3)
        self.assertNotIn("calico", self.addons()["cni"])

    def test_another_chart_gets_the_addons_that_only_it_has(self) -> None:
        conf.CONF.set_override("addon_repository", URL, "capi_helm")
        values = {"addons": {"cni": {"calico": {"chart": {"repo": "old"}}}}}
        chart = cluster_spec.Chart(
            "openstack-cluster", "0.28.0", "https://charts"
        )
        found = operator_files.mirrored(runtime.get(), chart, values)["addons"]
        self.assertEqual("old", found["cni"]["calico"]["chart"]["repo"])
        self.assertEqual(URL, found["etcdDefrag"]["chart"]["repo"])


class PathTest(base.FlowTestCase):
    """``helm_chart_name`` is a path whose chart is not the default one."""

    def setUp(self) -> None:
        super().setUp()
        home = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.archive = home / "openstack-cluster.tgz"
        for name, value in {
            "helm_chart_name": str(self.archive),
            "helm_chart_repo": "",
        }.items():
            conf.CONF.set_override(name, value, "capi_helm")
        self.have("0.23.0")

    def have(self, version: str) -> None:
        """The path has this version from now on."""
        self.archive.write_bytes(
            fake_chart.package("openstack-cluster", version)
        )

    def test_a_new_cluster_gets_what_is_there(self) -> None:
        self.created()
        self.assertEqual("0.23.0", self.helm.upgrades[-1].chart_version)

    def test_a_label_for_another_version_is_refused_with_both(self) -> None:
        error = self.assertRaises(
            exception.MagnumException,
            self.create,
            {"labels": {"capi_helm_chart_version": "0.27.0"}},
        )
        self.assertIn("has version 0.23.0, not 0.27.0", str(error))

    def test_an_existing_cluster_goes_on_with_its_own(self) -> None:
        self.created()
        self.have("0.27.0")
        self.resize(3)
        self.assertEqual("0.23.0", self.helm.upgrades[-1].chart_version)

    def test_a_version_that_is_nowhere_is_to_be_put_into_the_store(
        self,
    ) -> None:
        chart = cluster_spec.Chart(str(self.archive), "0.24.0", "")
        error = self.assertRaises(
            errors.ChartUnavailable, runtime.get().charts.ensure, chart
        )
        self.assertIn("put the version asked for into the chart", str(error))
        self.assertIn("0.23.0, not 0.24.0", str(error))
