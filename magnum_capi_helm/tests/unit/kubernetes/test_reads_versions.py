# SPDX-License-Identifier: Apache-2.0

"""Each change of a release changes the version of its objects."""

from __future__ import annotations

import zlib

import fixtures

from magnum_capi_helm.tests.unit.kubernetes import reads_case


class SameTest(reads_case.ReadsTestCase):
    """What did not change since the last look."""

    def test_it_has_the_same_version_and_is_not_decoded_again(self) -> None:
        decoded = []
        real = zlib.decompress

        def decompress(body: bytes) -> bytes:
            decoded.append(body)
            return real(body)

        self.useFixture(fixtures.MockPatch("zlib.decompress", decompress))
        first = self.observe()
        self.assertEqual(5, len(decoded))
        second = self.observe(before=first)
        self.assertEqual(5, len(decoded))
        self.assertEqual(
            first[reads_case.SCOPE].version,
            second[reads_case.SCOPE].version,
        )

    def test_any_change_makes_another_version(self) -> None:
        chart = {"capi.stackhpc.com/cluster": "demo-1"}
        owned = {"cluster.x-k8s.io/cluster-name": "demo-1"}
        before = self.observe()
        for plural, name, labels in (
            ("clusters", "demo-1", chart),
            ("machines", "m-3", owned),
            ("kubeadmcontrolplanes", "demo-1-cp", chart),
        ):
            status = {"conditions": [{"type": "Available", "status": "True"}]}
            self.put(plural, name, labels, status)
            after = self.observe(before=before)
            self.assertNotEqual(
                before[reads_case.SCOPE].version,
                after[reads_case.SCOPE].version,
            )
            before = after

    def test_a_release_that_stops_being_ready_is_noticed(self) -> None:
        before = self.observe()
        labels = {"cluster.x-k8s.io/cluster-name": "demo-1"}
        self.put("machines", "m-2", labels)
        after = self.observe(before=before)
        self.assertEqual(
            (True, False),
            (
                before[reads_case.SCOPE].ready,
                after[reads_case.SCOPE].ready,
            ),
        )
        again = self.observe(before=after)
        self.assertFalse(again[reads_case.SCOPE].ready)
