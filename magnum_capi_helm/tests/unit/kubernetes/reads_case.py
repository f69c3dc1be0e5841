# SPDX-License-Identifier: Apache-2.0

"""Base of the tests of reads: a release that is ready."""

from __future__ import annotations

from typing import Any

from oslotest import base

from magnum_capi_helm.kubernetes import reads
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.unit.kubernetes import api

SCOPE = ("magnum-p1", "demo-1")
ACTIVE = {"instanceState": "ACTIVE"}
CAPI = ("v1beta1", "v1beta2")


class ReadsTestCase(base.BaseTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.api = api.Memory(
            **dict.fromkeys(("cluster", "controlplane"), CAPI),
            infrastructure=("v1beta1",),
            addons=("v1alpha1",),
        )
        self.asked: list[str] = []
        self.api.before = self._note
        chart = {"capi.stackhpc.com/cluster": "demo-1"}
        owned = {"cluster.x-k8s.io/cluster-name": "demo-1"}
        well = {"conditions": [{"type": "Available", "status": "True"}]}
        self.put("clusters", "demo-1", chart, well)
        self.put("clusters", "demo-2", {}, well)
        self.put("kubeadmcontrolplanes", "demo-1-cp", chart)
        self.put("machinedeployments", "demo-1-w", chart)
        self.put("machines", "m-1", owned, {"nodeRef": {"name": "n"}})
        self.put("helmreleases", "demo-1-cni", chart)
        self.put("manifests", "demo-1-config", chart)
        self.put("openstackclusters", "demo-1", chart)
        for name in ("s-1", "s-2"):
            self.put("openstackmachines", name, owned, ACTIVE)
        record = {
            "owner": "helm",
            "name": "demo-1",
            "version": "1",
            "status": "deployed",
            "modifiedAt": "1764000000",
        }
        self.put("secrets", "sh.helm.release.v1.demo-1.v1", record)

    def _note(self, method: str, path: str) -> None:
        if not path.startswith("/apis/"):
            self.asked.append(path)

    def put(
        self,
        plural: str,
        name: str,
        labels: dict[str, str],
        status: Any = None,
    ) -> None:
        meta = {"name": name, "namespace": SCOPE[0], "labels": labels}
        reference = {"infrastructureRef": {"name": name.replace("m-", "s-")}}
        obj = {"metadata": meta, "spec": reference, "status": status or {}}
        self.api.put(plural, obj)

    def observe(
        self,
        *scopes: tuple[str, str],
        whole: bool = True,
        fresh: bool = False,
        many: int = reads.FOLLOW_FROM,
    ) -> dict[tuple[str, str], reads.ReleaseObjects]:
        self.asked.clear()
        observer = reads.Reader(
            self.api.client(), whole=whole, follow_from=many
        )
        return observer.read(scopes or (SCOPE,), fresh)

    def read(self) -> view.View:
        return self.observe()[SCOPE].decode()
