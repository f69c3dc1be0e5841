# SPDX-License-Identifier: Apache-2.0

"""Releases that name API versions which are not served any more."""

from __future__ import annotations

import base64

from magnum_capi_helm.kubernetes import helm_records
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import encoding
from magnum_capi_helm.model import names
from magnum_capi_helm.tests.functional import programs
from magnum_capi_helm.tests.functional import test_resize


class RescueTest(test_resize.ResizeCase):
    """helm can neither upgrade nor uninstall these."""

    def test_they_are_changed_and_deleted_all_the_same(self) -> None:
        self.make(node_count=1)
        before = {*self.machines(), *self.machines("control-plane")}
        newest = self._age("infrastructure.cluster.x-k8s.io/", "v1alpha7")
        # Its exit code says that there is something to do.
        found = self.assertRaises(
            AssertionError, programs.command, "check", "--target", "now"
        )
        self.assertIn(self.release, str(found))
        self.ask(2)
        self.complete()
        now = {*self.machines(), *self.machines("control-plane")}
        self.assertEqual(before, before & now)
        self.assertEqual(3, len(now))
        original = names.original(self.release, newest)
        self.assertIsNotNone(
            self.plane.get(kinds.SECRET, self.namespace, original)
        )
        self._age("cluster.x-k8s.io/", "v1alpha9")
        self.delete(self.uuid)
        self.assert_all_gone(self.release)

    def _age(self, group: str, version: str) -> int:
        """The record of the newest revision, as of another time.

        :param group: with a slash, of which all objects get ``version``
        :returns: the number of the revision
        """
        scope = (self.namespace, self.release)
        newest = helm_records.revisions(self.plane, *scope)[-1].version
        record = names.helm_record(self.release, newest)
        secret = self.plane.get(kinds.SECRET, self.namespace, record)
        assert secret is not None
        body = encoding.unpack(base64.b64decode(secret["data"]["release"]))
        old = f"apiVersion: {group}v1beta1"
        self.assertIn(old, body["manifest"])
        body["manifest"] = body["manifest"].replace(
            old, f"apiVersion: {group}{version}"
        )
        text = base64.b64encode(encoding.pack(body).encode()).decode()
        secret["data"]["release"] = text
        self.plane.replace(kinds.SECRET, secret)
        return newest
