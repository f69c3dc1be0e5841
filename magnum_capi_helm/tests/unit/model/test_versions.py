# SPDX-License-Identifier: Apache-2.0
"""Ranges of chart versions, and the content of ``versions.yaml``."""

from __future__ import annotations

import dataclasses
import itertools
import pathlib
import re

from oslotest import base

import magnum_capi_helm
from magnum_capi_helm.config import options
from magnum_capi_helm.model import versions
from magnum_capi_helm.tests import value_paths

Range = versions.Range
ROOT = pathlib.Path(magnum_capi_helm.__file__).parents[1]


def default_chart() -> str:
    """The version that new clusters get where nobody chose another."""
    return str(
        next(
            each.default
            for each in options.OPTIONS
            if each.name == "default_helm_chart_version"
        )
    )


class RangeTest(base.BaseTestCase):
    def test_both_ends_are_in_it(self) -> None:
        found = Range("0.11.0", "0.23.0")
        inside = ("0.11.0", "0.16.1", "v0.23.0", "0.23.0-dev.1")
        outside = ("0.10.1", "0.23.1", "1.0.0", "main")
        self.assertEqual([], [each for each in inside if each not in found])
        self.assertEqual([], [each for each in outside if each in found])

    def test_an_open_end_has_no_limit(self) -> None:
        self.assertIn("99.0.0", Range("0.24.0"))
        self.assertIn("0.0.1", Range(until="0.24.0"))
        self.assertIn("anything", Range())

    def test_ranges_are_described_in_words(self) -> None:
        self.assertEqual(
            "up to 0.2.0, 0.3.0 to 0.4.0, 1.0.0 and later",
            versions.describe(
                (
                    Range(until="0.2.0"),
                    Range("0.3.0", "0.4.0"),
                    Range("1.0.0"),
                )
            ),
        )
        self.assertEqual("all", versions.describe(versions.ALL))

    def test_a_version_needs_one_range_of_several(self) -> None:
        ranges = (Range(until="0.10.1"), Range("0.24.0"))
        self.assertTrue(versions.applies(ranges, "0.27.0"))
        self.assertFalse(versions.applies(ranges, "0.16.0"))


class SupportedTest(base.BaseTestCase):
    def test_a_chart_names_its_tested_components(self) -> None:
        for version, needs in (
            (
                default_chart(),
                "Cluster API 1.13.3, CAPO 0.14.6, addon provider 0.12.1, "
                "ORC 2.6.0, Kubernetes 1.33-1.36",
            ),
            (
                "v0.10.1",
                "Cluster API 1.8.1, CAPO 0.10.4, addon provider 0.6.1, "
                "Kubernetes 1.29-1.31",
            ),
        ):
            found = versions.find_tested(version)
            assert found is not None
            self.assertEqual(needs, found.needs)
        self.assertIsNone(versions.find_tested("0.99.0"))

    def test_versions_are_in_order_and_each_is_there_once(self) -> None:
        charts = versions.known_charts()
        self.assertEqual(
            sorted(set(charts), key=lambda each: versions.number(each) or ()),
            list(charts),
        )
        self.assertEqual(value_paths.chart_versions()[::-1], charts)

    def test_a_trap_is_told_of_the_versions_that_have_it(self) -> None:
        for trap, first, last in (
            (
                "does not apply allowed CIDRs of the Kubernetes API: the "
                "driver sets them itself",
                *("0.11.0", "0.23.0"),
            ),
            ("needs CAPO below 0.12", "0.10.1", "0.10.1"),
            ("gives servers no metadata", "0.10.1", "0.10.1"),
        ):
            charts = versions.known_charts()
            having = [
                each
                for each in charts
                if trap in "; ".join(versions.traps(each))
            ]
            whole = charts[charts.index(first) : charts.index(last) + 1]
            self.assertEqual([*whole], having)

    def test_versions_that_replace_machines_say_of_which_clusters(
        self,
    ) -> None:
        texts = {
            "0.11.0": "all machines of a cluster that comes from 0.10.1",
            "0.15.0": "the control plane of a cluster that comes from 0.14.1 "
            "or older",
            "0.16.0": "the control plane of a cluster that comes from 0.15.0",
            "0.16.1": "all machines of a cluster with keystone_auth_enabled "
            "that comes from 0.16.0 or older",
        }
        charts = versions.known_charts()
        for before, version in itertools.pairwise(charts):
            new = {*versions.traps(version)} - {*versions.traps(before)}
            found = [each for each in new if "replaces" in each]
            self.assertEqual(version in texts, bool(found), version)
            for each in found:
                self.assertTrue(
                    each.startswith(f"replaces {texts[version]}"), each
                )

    def test_every_trap_concerns_some_version(self) -> None:
        for charts, text in versions.TRAPS.items():
            self.assertTrue(
                [v for v in versions.known_charts() if v in charts], text
            )


class FileTest(base.BaseTestCase):
    def test_the_default_chart_is_the_newest_in_it(self) -> None:
        self.assertEqual(versions.known_charts()[-1], default_chart())

    def test_every_version_is_text_of_the_right_form(self) -> None:
        """YAML makes the number 1.3 of an unquoted 1.30."""
        for release in versions.tested_releases():
            fields = dataclasses.asdict(release)
            first, last = fields.pop("kubernetes")
            resources = fields.pop("resources")
            several = [*fields.pop("charts"), *fields.values()]
            for each in (*several, *filter(None, [resources])):
                self.assertRegex(each, r"^\d+\.\d+\.\d+$")
            for each in (first, last):
                self.assertRegex(each, r"^1\.\d+$")
            self.assertLessEqual(first, last)

    def test_the_lab_is_built_from_what_the_default_chart_needs(self) -> None:
        tested = versions.find_tested(default_chart())
        assert tested is not None
        wanted = {
            "sigs.k8s.io/cluster-api": f"v{tested.cluster_api}",
            "sigs.k8s.io/cluster-api/test": f"v{tested.cluster_api}",
            "sigs.k8s.io/cluster-api-provider-openstack": (
                f"v{tested.provider}"
            ),
            "github.com/k-orc/openstack-resource-controller/v2": (
                f"v{tested.resources}"
            ),
        }
        plane = ROOT / "lab" / "plane"
        self.assertEqual(wanted, _pins(plane / "go.mod", wanted))
        # What CAPO itself was built with, is CAPO's affair.
        self.assertEqual(
            {
                "sigs.k8s.io/cluster-api-provider-openstack": (
                    f"v{tested.provider}"
                )
            },
            _pins(plane / "capo" / "go.mod", wanted),
        )


def _pins(path: pathlib.Path, of: dict[str, str]) -> dict[str, str]:
    """The versions of these modules that a go.mod asks for itself."""
    line = re.compile(r"^(?:require)?\s+(\S+) (v\S+)$", re.M)
    found = line.findall(path.read_text())
    return {module: version for module, version in found if module in of}
