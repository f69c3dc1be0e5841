# SPDX-License-Identifier: Apache-2.0
"""``magnum-capi-helm chart``: the store, and mirrors of it."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import fixtures

from magnum_capi_helm.cli import chart
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.unit.cli import command_case

NAME = "openstack-cluster"
FILE = "openstack-cluster-0.27.0.tgz"


class ChartTestCase(command_case.CommandCase):
    """A chart store, and a directory to take charts from."""

    def setUp(self) -> None:
        super().setUp()
        self.home = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.helm = self.plane.helm

    def rows(self, kind: type, *argv: str) -> list[dict[str, Any]]:
        self.out.truncate(self.out.seek(0))
        self.run_command(kind, *argv, "-f", "json")
        rows: list[dict[str, Any]] = json.loads(self.out.getvalue())
        return rows


class FetchTest(ChartTestCase):
    def test_a_directory_gives_the_version_asked_for(self) -> None:
        (self.home / "Chart.yaml").write_text(f"name: {NAME}\nversion: 0.30.0")
        self.run_command(chart.Fetch, "0.30.0", "--from", str(self.home))
        self.assertEqual(
            f"{self.store}/{NAME}-0.30.0.tgz\n", self.out.getvalue()
        )

    def test_a_stored_chart_is_never_replaced(self) -> None:
        self.run_command(chart.Fetch)
        error = self.assertRaises(
            errors.InvalidInput,
            self.run_command,
            chart.Fetch,
            "--from",
            str(self.home),
        )
        self.assertIn("is in the chart store already", str(error))

    def test_each_kind_of_source_is_understood(self) -> None:
        sources = {
            "https://charts.example.org": (NAME, "https://charts.example.org"),
            "https://host/x-0.27.0.tgz": ("https://host/x-0.27.0.tgz", ""),
            "oci://host/charts/x": ("oci://host/charts/x", ""),
            "/srv/charts": ("/srv/charts", ""),
        }
        for place, (name, repository) in sources.items():
            found = chart._source(chart._chart("0.27.0"), place)
            self.assertEqual(
                (name, "0.27.0", repository),
                (found.name, found.version, found.repository),
            )


class ListTest(ChartTestCase):
    def test_the_list_shows_a_stored_chart(self) -> None:
        self.run_command(chart.Fetch)
        (row,) = self.rows(chart.List)
        self.assertIn("has no Kubernetes dashboard", row.pop("Notes"))
        self.assertEqual(
            [
                {
                    "Name": NAME,
                    "Version": "0.27.0",
                    "State": "ok",
                    "Supported": "yes",
                    "Needs": "Cluster API 1.13.3, CAPO 0.14.6, addon provider "
                    "0.12.1, ORC 2.6.0, Kubernetes 1.33-1.36",
                }
            ],
            [row],
        )

    def test_an_unknown_version_and_a_damaged_file_are_listed(self) -> None:
        self.run_command(chart.Fetch, "0.99.0")
        self.run_command(chart.Fetch, "0.27.0")
        (self.store / FILE).write_text("damaged")
        damaged, unknown = self.rows(chart.List)
        self.assertEqual(FILE, damaged["Name"])
        self.assertIn("is no packaged helm chart", damaged["State"])
        self.assertEqual("unknown", unknown["Supported"])


class MirrorTest(ChartTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.to = self.home / "mirror"

    def test_list_fetches_nothing_but_the_chart(self) -> None:
        rows = self.rows(chart.Mirror, "--list")
        self.assertEqual(
            [
                ("ccm-openstack", "1.0.0", "listed"),
                ("cni-calico", "1.0.0", "listed"),
                ("cni-cilium", "1.0.0", "listed"),
                ("csi-cinder", "1.0.0", "listed"),
            ],
            [(row["Chart"], row["Version"], row["State"]) for row in rows],
        )
        self.assertEqual(["0.27.0"], self.helm.pulls)

    def test_all_has_the_addons_that_are_off_as_well(self) -> None:
        rows = self.rows(chart.Mirror, "--list", "--all")
        self.assertEqual(
            {
                "etcd-defrag": "0.27.0",
                "tigera-operator": "v3.31.5",
                "csi-driver-nfs": "4.13.1",
            },
            {
                row["Chart"]: row["Version"]
                for row in rows
                if row["Version"] != "1.0.0"
            },
        )

    def test_a_mirror_has_charts_an_index_and_the_images(self) -> None:
        code = self.run_command(chart.Mirror, "--to", str(self.to))
        self.assertEqual(0, code)
        self.assertEqual(
            [
                "ccm-openstack-1.0.0.tgz",
                "cni-calico-1.0.0.tgz",
                "cni-cilium-1.0.0.tgz",
                "csi-cinder-1.0.0.tgz",
                "images.txt",
                "index.yaml",
                FILE,
            ],
            sorted(each.name for each in self.to.iterdir()),
        )
        self.assertEqual(
            "reg.test/ccm-openstack-1.0.0:latest\n"
            "reg.test/cni-calico-1.0.0:latest\n"
            "reg.test/cni-cilium-1.0.0:latest\n"
            "reg.test/csi-cinder-1.0.0:latest\n",
            (self.to / "images.txt").read_text(),
        )

    def test_a_failed_chart_is_shown_and_the_others_are_fetched(self) -> None:
        self.helm.published = {"0.27.0", "1.0.0"}
        code = self.run_command(
            chart.Mirror, "--all", "--to", str(self.to), "-f", "json"
        )
        self.assertEqual(1, code)
        states = {
            row["Chart"]: row["State"]
            for row in json.loads(self.out.getvalue())
        }
        self.assertEqual("fetched", states["csi-cinder"])
        self.assertEqual(
            "failed: helm pull: chart tigera-operator version v3.31.5 not "
            "found",
            states["tigera-operator"],
        )
        self.assertTrue((self.to / "index.yaml").exists())

    def test_later_values_files_overrule_earlier_ones(self) -> None:
        first, second = self.home / "a", self.home / "b"
        first.write_text("x: {y: 1, z: 2}")
        second.write_text("x: {y: null}")
        self.assertEqual(
            {"x": {"y": None, "z": 2}}, chart._values([first, second])
        )
        second.write_text("{")
        error = self.assertRaises(
            errors.NotConfigured, chart._values, [first, second]
        )
        self.assertIn(str(second), str(error))

    def test_a_place_that_can_t_be_written_is_named(self) -> None:
        self.to.write_text("a file in the way")
        error = self.assertRaises(
            errors.InvalidInput,
            self.run_command,
            chart.Mirror,
            "--to",
            str(self.to),
        )
        self.assertIn(f"{self.to} can't be written", str(error))
