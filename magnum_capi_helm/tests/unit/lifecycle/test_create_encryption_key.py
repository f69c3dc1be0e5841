# SPDX-License-Identifier: Apache-2.0

"""The key for etcd's data: made once, kept, gone with the cluster."""

from __future__ import annotations

import base64
from typing import Any

import fixtures

from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import errors
from magnum_capi_helm.operations import cluster_release
from magnum_capi_helm.operations import holding
from magnum_capi_helm.tests.unit.lifecycle import base

NAME = f"{base.RELEASE}-etcd-key"
ON = {"labels": {"etcd_encryption_enabled": "true"}}


class EncryptionKeyTest(base.FlowTestCase):
    def secret(self, name: str = NAME, namespace: str = base.NAMESPACE) -> Any:
        return self.server.get(kinds.SECRET, namespace, name)

    def key(self) -> bytes:
        return base64.b64decode(self.secret()["data"]["key"], validate=True)

    def test_a_cluster_that_wants_it_has_a_key_of_32_bytes(self) -> None:
        self.create(ON)
        self.assertEqual(32, len(self.key()))
        self.assertEqual("Opaque", self.secret()["type"])
        self.assertIs(True, self.secret()["immutable"])
        [call] = self.helm.upgrades
        self.assertTrue(call.values["etcd"]["encryption"]["enabled"])

    def test_no_other_cluster_has_one(self) -> None:
        self.create()
        self.assertIsNone(self.secret())

    def test_the_key_is_stored_before_the_intent(self) -> None:
        # The polls go on from the desired state, and make no key.
        refused = errors.ManagementError("no room")
        self.useFixture(
            fixtures.MockPatchObject(
                holding.Held, "store", side_effect=refused
            )
        )
        self.create(ON)
        self.assertNotIn("intent.json", self.intent_keys())
        self.assertEqual(32, len(self.key()))

    def test_the_key_that_is_there_stays(self) -> None:
        self.create(ON)
        before = self.secret()
        cluster_release.ensure_etcd_key(
            self.plane.runtime().management, base.NAMESPACE, base.RELEASE, {}
        )
        self.assertEqual(before, self.secret())

    def test_each_cluster_has_another(self) -> None:
        for name in ("one", "two"):
            self.server.create(kinds.NAMESPACE, {"metadata": {"name": name}})
            cluster_release.ensure_etcd_key(
                self.plane.runtime().management, name, "web", {}
            )
        one, two = (
            self.secret("web-etcd-key", namespace)["data"]["key"]
            for namespace in ("one", "two")
        )
        self.assertNotEqual(one, two)

    def test_no_log_has_the_key(self) -> None:
        self.create(ON)
        text = self.secret()["data"]["key"]
        self.assertNotIn(text, self.log.output)

    def test_the_key_goes_with_the_cluster(self) -> None:
        self.complete(ON)
        self.delete()
        self.capi.finish()
        self.poll()
        self.assertIsNone(self.secret())
