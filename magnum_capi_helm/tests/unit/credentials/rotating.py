# SPDX-License-Identifier: Apache-2.0

"""A complete cluster whose credential is rotated, and Keystone over HTTP."""

from __future__ import annotations

import base64
import json
from typing import Any

import yaml

from magnum_capi_helm.cloud import credential_secret
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.tests.fakes import cloud as fake_cloud
from magnum_capi_helm.tests.unit.lifecycle import base


class CredentialTestCase(base.FlowTestCase):
    #: Of all users; None: they have any.
    keypairs: dict[tuple[str, str], str] | None = None

    def setUp(self) -> None:
        super().setUp()
        self.complete()
        self.first = self.in_use()

    def catalogue(self, session: Any) -> fake_cloud.FakeCloud:
        found = super().catalogue(session)
        found.keypairs = self.keypairs
        return found

    def secret(self) -> Any:
        return self.live(kinds.SECRET, base.CREDENTIALS)

    def in_use(self) -> str:
        clouds = yaml.safe_load(
            base64.b64decode(self.secret()["data"]["clouds.yaml"])
        )
        auth = clouds["clouds"]["openstack"]["auth"]
        return str(auth["application_credential_id"])

    def listed(self) -> list[dict[str, Any]]:
        annotations = self.secret()["metadata"]["annotations"]
        found: list[dict[str, Any]] = json.loads(
            annotations[credential_secret.ANNOTATION]
        )
        return found

    def owners(self) -> dict[str, str]:
        """Id of each credential in Keystone -> its user."""
        return {
            key: each["user_id"]
            for key, each in self.openstack.credentials.items()
        }


class RotationTestCase(CredentialTestCase):
    """The old one is deleted at once."""

    def setUp(self) -> None:
        super().setUp()
        self.set_option(app_cred_grace=0, app_cred_grace_without_reloader=0)

    def addon(self, name: str = "cloud-config", **fields: Any) -> None:
        """Give an addon other fields; create it first."""
        kind = (
            kinds.MANIFESTS if name == "cloud-config" else kinds.HELM_RELEASE
        )
        key = (kind, base.NAMESPACE, f"{base.RELEASE}-{name}")
        if self.server.get(*key) is None:
            meta = {"name": key[2], "namespace": key[1]}
            self.server.create(kind, {"metadata": meta, "spec": {}})
        self.server.patch(*key, fields)
