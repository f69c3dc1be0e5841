# SPDX-License-Identifier: Apache-2.0

"""``check``: what is wrong with a host, in one line each."""

from __future__ import annotations

import os
import pathlib
from unittest import mock

from oslotest import base

from magnum_capi_helm.cli import check_host
from magnum_capi_helm.config import conf
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.fakes import chart as fake_chart
from magnum_capi_helm.tests.fakes import plane
from magnum_capi_helm.tests.unit.lifecycle import base as flows


class HostChecksTest(base.BaseTestCase):
    def setUp(self) -> None:
        super().setUp()
        flows.configure(self)
        self.home = pathlib.Path(conf.CONF.capi_helm.chart_store)
        self.store = self.home / "charts"
        conf.CONF.set_override("chart_store", str(self.store), "capi_helm")
        made = plane.Plane(str(self.store))
        self.helm = made.helm
        self.rt = made.runtime()
        flows.install(self, self.rt)

    def drivers(self, allowed: str, default: str) -> str:
        """What is said of the options, well or not."""
        for name, value in (
            ("allowed_network_drivers", allowed.split(",")),
            ("default_network_driver", default),
        ):
            option = f"kubernetes_{name}"
            conf.CONF.set_override(option, value, "cluster_template")
        try:
            return check_host.check_network_drivers(self.rt)
        except errors.NotConfigured as error:
            return str(error)

    def refused(self, allowed: str, default: str) -> str:
        """What is said of options with which templates are refused."""
        return (
            "[cluster_template] kubernetes_allowed_network_drivers = "
            f"{allowed}, kubernetes_default_network_driver = {default}: "
            "Magnum or the driver refuses templates: allow calico or cilium, "
            "which the chart has, and choose the default among these"
        )

    def test_the_allowed_network_drivers_are_checked(self) -> None:
        rows = {
            ("calico,cilium", "calico"): "calico or cilium; the default "
            "is calico",
            ("calico,cilium", "cilium"): "calico or cilium; the default "
            "is cilium",
            ("all", "calico"): "calico or cilium; the default is calico",
            # Magnum's own.
            ("flannel,calico", "flannel"): "calico; the default is calico",
            ("flannel", "flannel"): self.refused("flannel", "flannel"),
            ("calcio", "calico"): self.refused("calcio", "calico"),
            ("cilium", "flannel"): self.refused("cilium", "flannel"),
            ("all", "weave"): self.refused("all", "weave"),
        }
        found = {row: self.drivers(*row) for row in rows}
        self.assertEqual(rows, found)

    def test_a_helm_that_is_too_old(self) -> None:
        old = (
            "helm {} is too old: install helm 3.16 or later on the PATH of "
            "magnum-conductor"
        )
        rows = {
            "v3.9.0": old.format("v3.9.0"),
            "v3.15.4+g1a2b3c4": old.format("v3.15.4+g1a2b3c4"),
            "v2.17.0": old.format("v2.17.0"),
            "v3.16.0": "v3.16.0",
            "v3.20.2": "v3.20.2",
            "v4.2.0": "v4.2.0",
            "of a distribution": "of a distribution",
        }
        for version, expected in rows.items():
            with self.subTest(version):
                self.helm.installed = version
                try:
                    said = check_host.check_helm(self.rt)
                except errors.NotConfigured as error:
                    said = str(error)
                self.assertEqual(expected, said)

    def put(self, content: bytes) -> pathlib.Path:
        """Put a chart into the store by hand; the path of it."""
        path = self.store / "openstack-cluster-0.27.0.tgz"
        self.store.mkdir(exist_ok=True)
        path.write_bytes(content)
        return path

    def test_a_chart_that_was_put_there_broken(self) -> None:
        path = self.put(b"<html>404 Not Found</html>")
        error = self.assertRaises(
            errors.ChartUnavailable, check_host.check_chart, self.rt
        )
        self.assertEqual(
            f"{path} is no packaged helm chart (ReadError: not a gzip file): "
            "remove or replace it",
            str(error),
        )

    def written(self) -> list[str]:
        """Each file and directory where the driver might write."""
        return sorted(
            str(each.relative_to(self.home)) for each in self.home.rglob("*")
        )

    def test_a_look_at_a_chart_writes_nothing(self) -> None:
        chart = fake_chart.package("openstack-cluster", "0.27.0", {}, {})
        repository = conf.CONF.capi_helm.helm_chart_repo
        fetchable = (
            f"openstack-cluster 0.27.0 can be fetched from {repository}, and "
            f"will be stored in {self.store}"
        )
        absent = (
            "the chart is not in the chart store and can't be fetched; check "
            "[capi_helm] default_helm_chart_version, or put its file into the "
            f"store. It is openstack-cluster 0.27.0 of {repository}"
        )
        before = self.written()
        self.assertIn(fetchable, check_host.check_chart(self.rt))
        self.assertEqual(before, self.written())
        self.helm.published = set()
        error = self.assertRaises(
            errors.ChartUnavailable, check_host.check_chart, self.rt
        )
        self.assertIn(absent, str(error))
        self.assertEqual(before, self.written())
        path = self.put(chart)
        before = self.written()
        self.assertEqual(str(path), check_host.check_chart(self.rt))
        self.assertEqual(before, self.written())

    def test_a_chart_store_that_can_t_be_written(self) -> None:
        with mock.patch("os.access", return_value=False):
            error = self.assertRaises(
                errors.NotConfigured, check_host.check_chart, self.rt
            )
        self.assertIn(
            f"the chart store {self.store} can't be written by user "
            f"{os.geteuid()}",
            str(error),
        )

    def test_a_chart_that_was_put_there_under_another_name(self) -> None:
        path = self.put(
            fake_chart.package("openstack-cluster", "0.26.1", {}, {})
        )
        error = self.assertRaises(
            errors.ChartUnavailable, check_host.check_chart, self.rt
        )
        self.assertEqual(
            "the chart has another version than the one asked for; correct "
            "[capi_helm] default_helm_chart_version, or put the version asked "
            f"for into the chart store. The chart at {path} has version "
            "0.26.1, not 0.27.0",
            str(error),
        )
