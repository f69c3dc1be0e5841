# SPDX-License-Identifier: Apache-2.0
"""Ranges of chart versions, and what the driver knows of each version."""

from __future__ import annotations

from oslotest import base

from magnum_capi_helm.config import options
from magnum_capi_helm.model import chart_versions
from magnum_capi_helm.model import supported

Range = chart_versions.Range


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

    def test_in_words(self) -> None:
        self.assertEqual(
            "up to 0.2.0, 0.3.0 to 0.4.0, 1.0.0 and later",
            chart_versions.describe(
                (
                    Range(until="0.2.0"),
                    Range("0.3.0", "0.4.0"),
                    Range("1.0.0"),
                )
            ),
        )
        self.assertEqual("all", chart_versions.describe(chart_versions.ALL))

    def test_one_of_several_is_enough(self) -> None:
        ranges = (Range(until="0.10.1"), Range("0.24.0"))
        self.assertTrue(chart_versions.applies(ranges, "0.27.0"))
        self.assertFalse(chart_versions.applies(ranges, "0.16.0"))


class SupportedTest(base.BaseTestCase):
    def test_what_the_default_version_needs(self) -> None:
        default = next(
            each.default
            for each in options.OPTIONS
            if each.name == "default_helm_chart_version"
        )
        found = supported.find(default)
        assert found is not None
        self.assertEqual(
            "Cluster API 1.13.3, CAPO 0.14.6, addon provider 0.12.1, "
            "ORC 2.6.0, Kubernetes 1.33-1.36",
            found.needs,
        )
        self.assertEqual("3.17.3", found.helm)

    def test_an_old_version_needs_no_resource_controller(self) -> None:
        found = supported.find("v0.10.1")
        assert found is not None
        self.assertEqual(
            "Cluster API 1.8.1, CAPO 0.10.4, addon provider 0.6.1, "
            "Kubernetes 1.29-1.31",
            found.needs,
        )

    def test_a_version_of_the_future_is_unknown(self) -> None:
        self.assertIsNone(supported.find("0.99.0"))

    def test_versions_are_in_order_and_each_is_there_once(self) -> None:
        versions = supported.versions()
        self.assertEqual(
            sorted(set(versions), key=chart_versions._number), list(versions)
        )
        self.assertEqual("0.10.1", versions[0])
        self.assertEqual(29, len(versions))

    def test_a_trap_is_told_of_the_versions_that_have_it(self) -> None:
        cidrs = "does not apply allowed CIDRs of the Kubernetes API: it "
        cidrs += "stays open"
        having = [v for v in supported.versions() if cidrs in _traps(v)]
        self.assertEqual("0.11.0", having[0])
        self.assertEqual("0.23.0", having[-1])
        self.assertIn("needs CAPO below 0.12", _traps("0.10.1"))
        self.assertNotIn("CAPO below 0.12", _traps("0.11.0"))

    def test_every_trap_concerns_some_version(self) -> None:
        for trap in supported.TRAPS:
            self.assertTrue(
                [v for v in supported.versions() if v in trap.versions],
                trap.text,
            )


def _traps(version: str) -> str:
    return "; ".join(supported.traps(version))
