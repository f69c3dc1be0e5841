# SPDX-License-Identifier: Apache-2.0

"""What tests of releases start with: helm's records of one."""

from __future__ import annotations

import base64
import gzip
import json
from typing import Any

from oslotest import base

from magnum_capi_helm.kubernetes import helm_records
from magnum_capi_helm.tests.unit.kubernetes import api

NAMESPACE = "magnum-p1"
RELEASE = "demo-1"
MANIFEST = """---
# Source: openstack-cluster/templates/cluster.yaml
apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata:
  name: demo-1
---
# only a comment
---
apiVersion: addons.stackhpc.com/v1alpha1
kind: HelmRelease
metadata:
  name: demo-1-cni-calico
---
apiVersion: addons.stackhpc.com/v1alpha1
kind: Manifests
metadata:
  name: demo-1-cloud-config
"""
BODY = {
    "name": RELEASE,
    "version": 3,
    "info": {"status": "deployed"},
    "chart": {"metadata": {"name": "openstack-cluster", "version": "0.27.0"}},
    "config": {"kubernetesVersion": "1.34.2"},
    "manifest": MANIFEST,
}


def packed(body: Any) -> bytes:
    """A body as helm stores it: gzip, then base64."""
    text = body if isinstance(body, bytes) else json.dumps(body).encode()
    return base64.b64encode(gzip.compress(text))


class RecordsTestCase(base.BaseTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.api = api.Memory()
        self.management = self.api.client()

    def record(
        self,
        version: int,
        status: str,
        content: bytes = b"",
        created: str = "",
        **labels: str,
    ) -> None:
        """Add a record; Kubernetes adds the second base64."""
        name = f"sh.helm.release.v1.{RELEASE}.v{version}"
        meta = {
            "name": name,
            "namespace": NAMESPACE,
            "creationTimestamp": created,
            "labels": {
                "owner": "helm",
                "name": RELEASE,
                "version": str(version),
                "status": status,
                **labels,
            },
        }
        data = {"release": base64.b64encode(content).decode()}
        self.api.put("secrets", {"metadata": meta, "data": data})

    def read(self, version: int = 3) -> helm_records.Release | None:
        return helm_records.read(self.management, NAMESPACE, RELEASE, version)
