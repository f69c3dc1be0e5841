# SPDX-License-Identifier: Apache-2.0

"""Distances of versions that tests with real nodes look at."""

import unittest

from magnum_capi_helm.tests.functional.nodes import skew

#: API servers, kubelets of workers, and the skew.
_CLUSTERS = (
    (("v1.33.13",), ("v1.33.13",), (0, 0, 0)),
    (("v1.33.13", "v1.34.4"), ("v1.33.13",), (1, 1, 0)),
    (("v1.36.3",), ("v1.33.13", "v1.36.3"), (0, 3, 0)),
    (("v1.35.4", "v1.33.13"), ("v1.33.13",), (2, 2, 0)),
    (("v1.36.3", "v1.35.4"), ("v1.36.3", "v1.32.0"), (1, 4, 1)),
    (("v1.36.0",), ("v1.36.3",), (0, 0, 0)),
    (("v1.10.0",), ("v1.9.11",), (0, 1, -1)),
)


class SkewTest(unittest.TestCase):
    def test_minor_versions_are_compared_as_numbers(self) -> None:
        for servers, kubelets, wanted in _CLUSTERS:
            with self.subTest(servers=servers, kubelets=kubelets):
                self.assertEqual(wanted, skew.measure(servers, kubelets))

    def test_each_number_is_the_highest_of_all_moments(self) -> None:
        moments = (skew.Skew(1, 2, -2), skew.Skew(0, 3, -3))
        self.assertEqual((1, 3, -2), skew.widest(moments))

    def test_text_that_is_no_version_has_no_skew(self) -> None:
        with self.assertRaisesRegex(ValueError, "'latest'"):
            skew.measure(["v1.36.3"], ["latest"])
