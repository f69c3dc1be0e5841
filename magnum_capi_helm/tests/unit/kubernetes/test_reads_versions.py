# SPDX-License-Identifier: Apache-2.0

"""Each change of a release changes the version of its objects."""

from __future__ import annotations

import zlib

import fixtures

from magnum_capi_helm.kubernetes import reads
from magnum_capi_helm.tests.unit.kubernetes import reads_case


class SameTest(reads_case.ReadsTestCase):
    """Objects that did not change since the last read."""

    def setUp(self) -> None:
        super().setUp()
        self.reader = reads.Reader(self.api.client(), whole=True)

    def _read(self) -> reads.ReleaseObjects:
        return self.reader.read([reads_case.SCOPE], False)[reads_case.SCOPE]

    def test_unchanged_objects_keep_their_version_and_are_not_decoded(
        self,
    ) -> None:
        decoded = []
        real = zlib.decompress

        def decompress(body: bytes) -> bytes:
            decoded.append(body)
            return real(body)

        self.useFixture(fixtures.MockPatch("zlib.decompress", decompress))
        first = self._read()
        self.assertEqual(5, len(decoded))
        second = self._read()
        self.assertEqual(5, len(decoded))
        self.assertEqual(first.version, second.version)

    def test_any_change_makes_another_version(self) -> None:
        chart = {"capi.stackhpc.com/cluster": "demo-1"}
        owned = {"cluster.x-k8s.io/cluster-name": "demo-1"}
        before = self._read()
        for plural, name, labels in (
            ("clusters", "demo-1", chart),
            ("machines", "m-3", owned),
            ("kubeadmcontrolplanes", "demo-1-cp", chart),
        ):
            status = {"conditions": [{"type": "Available", "status": "True"}]}
            self.put(plural, name, labels, status)
            after = self._read()
            self.assertNotEqual(before.version, after.version)
            before = after

    def test_a_release_that_stops_being_ready_is_noticed(self) -> None:
        before = self._read()
        labels = {"cluster.x-k8s.io/cluster-name": "demo-1"}
        self.put("machines", "m-2", labels)
        after = self._read()
        found = [
            bool(each.decode().infra_machines)
            for each in (before, after, self._read())
        ]
        self.assertEqual([False, True, True], found)
