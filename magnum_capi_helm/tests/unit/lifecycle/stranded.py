# SPDX-License-Identifier: Apache-2.0

"""A release whose manifest names an API version that is served no more."""

from __future__ import annotations

import base64

import yaml

from magnum_capi_helm.helm import manifests
from magnum_capi_helm.kubernetes import client
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import encoding
from magnum_capi_helm.model import names
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.lifecycle import upgrading

CAPI = "cluster.x-k8s.io"
CAPO = f"infrastructure.{CAPI}"
OLD = f"{CAPO}/v1alpha7"
NEW = f"{CAPO}/v1beta1"
COPY = names.original(base.RELEASE, 1)


class StrandedTestCase(upgrading.UpgradeTestCase):
    """A complete cluster, its release made by chart 0.10.1.

    CAPO serves what that chart makes no more.
    """

    def setUp(self) -> None:
        super().setUp()
        self.strand()

    def strand(self) -> None:
        """Let the manifest name what an older chart made."""
        body = self.body()
        body["manifest"] = body["manifest"].replace(NEW, OLD)
        self.put(body)
        self.before = self.record(1)["data"]

    def record(self, version: int = 1) -> client.Object:
        return self.live(
            kinds.SECRET, names.helm_record(base.RELEASE, version)
        )

    def body(self, version: int = 1) -> client.Object:
        text = base64.b64decode(self.record(version)["data"]["release"])
        found: client.Object = encoding.unpack(text)
        return found

    def put(self, body: client.Object) -> None:
        """Store another one, as helm would."""
        text = base64.b64encode(encoding.pack(body).encode()).decode()
        name = self.record()["metadata"]["name"]
        self.edit(kinds.SECRET, name, {"data": {"release": text}})

    def objects(self, version: int = 1) -> dict[str, client.Object]:
        """The objects of a manifest by their kind; one of each."""
        found = yaml.safe_load_all(self.body(version)["manifest"])
        return {each["kind"]: each for each in found}

    def revisions(self, prefix: str = "") -> list[int]:
        """Numbers of the Secrets named so; by default of helm's records."""
        prefix = prefix or names.helm_record(base.RELEASE, 0)[:-1]
        return [
            int(each.removeprefix(prefix))
            for each in self.server.names(kinds.SECRET)
            if each.startswith(prefix)
        ]

    def named(self, version: int = 1) -> set[str]:
        """API versions in the manifest of a revision."""
        found = manifests.apis(self.body(version)["manifest"])
        return {each.name for each in found}

    def writes(self) -> list[tuple[str, str, str]]:
        """What was written on the management cluster, but for the Lease."""
        return [
            (each.verb, each.kind, each.name)
            for each in self.management.requests
            if each.verb in ("create", "replace", "patch", "delete")
            and each.kind != "Lease"
        ]

    def copy(self) -> client.Object | None:
        return self.server.get(kinds.SECRET, base.NAMESPACE, COPY)
