# SPDX-License-Identifier: Apache-2.0

"""When a rotation's old credential may go."""

from __future__ import annotations

from typing import Any

from magnum_capi_helm.config import conf
from magnum_capi_helm.credentials import cloud_secret
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.tests.unit.credentials import rotating
from magnum_capi_helm.tests.unit.lifecycle import base


class HandOverTest(rotating.RotationTestCase):
    """When the old one may go: once the cluster's pods use the new one."""

    def settled(self) -> bool:
        """Whether the old one is deleted, a minute later."""
        self.plane.clock.advance(60)
        self.health_poll()
        return self.first not in self.owners()

    def addon(self, name: str = "cloud-config", **fields: Any) -> None:
        kind = (
            kinds.MANIFESTS if name == "cloud-config" else kinds.HELM_RELEASE
        )
        key = (kind, base.NAMESPACE, f"{base.RELEASE}-{name}")
        if self.server.get(*key) is None:
            meta = {"name": key[2], "namespace": key[1]}
            self.server.create(kind, {"metadata": meta, "spec": {}})
        self.server.patch(*key, fields)

    def test_not_before_its_copy_in_the_cluster_is_deployed_again(
        self,
    ) -> None:
        self.addon(status={"phase": "Upgrading"})
        self.rotate()
        self.assertFalse(self.settled())
        self.addon(status={"phase": "Deployed"})
        self.assertTrue(self.settled())

    def test_not_while_the_copy_is_of_the_old_data(self) -> None:
        key = f"{base.CREDENTIALS}.secret.addons.stackhpc.com/checksum"
        self.addon(
            status={"phase": "Deployed"},
            metadata={"annotations": {key: "of the old data"}},
        )
        self.rotate()
        self.assertFalse(self.settled())
        noted = cloud_secret.checksum(self.secret()["data"])
        self.addon(metadata={"annotations": {key: noted}})
        self.assertTrue(self.settled())

    def test_the_reloader_needs_a_while(self) -> None:
        self.addon("reloader")
        conf.CONF.set_override("app_cred_grace", 3600, "capi_helm")
        self.rotate()
        self.assertFalse(self.settled())
        conf.CONF.set_override("app_cred_grace", 0, "capi_helm")
        self.assertTrue(self.settled())

    def test_without_a_reloader_people_need_longer(self) -> None:
        conf.CONF.set_override(
            "app_cred_grace_without_reloader", 3600, "capi_helm"
        )
        self.rotate()
        self.assertFalse(self.settled())

    def test_what_keystone_refuses_is_logged_and_tried_again(self) -> None:
        self.openstack.refusals["DELETE"] = 403
        self.rotate()
        self.assertFalse(self.settled())
        self.assertIn("role admin", self.log.output)
        self.openstack.refusals.clear()
        self.assertTrue(self.settled())

    def test_another_conductor_s_lease_is_respected(self) -> None:
        self.rotate()
        with self.busy():
            self.assertFalse(self.settled())
        self.assertTrue(self.settled())
