# SPDX-License-Identifier: Apache-2.0

"""Versions in the text of a manifest: those are changed, and nothing else."""

from __future__ import annotations

from oslotest import base

from magnum_capi_helm.helm import manifests
from magnum_capi_helm.model import api_versions
from magnum_capi_helm.model import errors

#: As chart 0.10.1 writes it, in short: comments, templates' empty lines, and
#: what YAML 1.1 and 1.2 read in two ways.
OLD = """\
---
# Source: openstack-cluster/templates/cluster.yaml
apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata:
  name: web-1
spec:
  infrastructureRef:
    apiVersion: infrastructure.cluster.x-k8s.io/v1alpha7
    kind: OpenStackCluster
    name: web-1
---
# Source: openstack-cluster/templates/cluster-infra.yaml
apiVersion: infrastructure.cluster.x-k8s.io/v1alpha7
kind: OpenStackCluster
metadata:
  name: web-1
  annotations:
    helm.sh/resource-policy: keep
spec:
  cloudName: openstack
  managedSecurityGroups: yes
  nodeCidr: 192.168.3.0/24
---

---
kind: OpenStackMachineTemplate
metadata: {name: "web-1-control-plane-0a1b2c3d"}   # Größe
apiVersion: 'infrastructure.cluster.x-k8s.io/v1alpha7'
spec:
  template:
    spec:
      flavor: größer
      note: |
        apiVersion: infrastructure.cluster.x-k8s.io/v1alpha7
        mode: 0644
---
{"apiVersion": "controlplane.cluster.x-k8s.io/v1beta1",
 "kind": "KubeadmControlPlane", "spec": {"replicas": 1}}
---
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
spec:
  replicas: 010
"""

CAPI = "cluster.x-k8s.io"
CAPO = f"infrastructure.{CAPI}"
PLANE = f"controlplane.{CAPI}"


class ManifestsTest(base.BaseTestCase):
    def test_the_apis_of_its_objects(self) -> None:
        self.assertEqual(
            {
                (CAPI, "v1beta1", "Cluster"),
                (CAPI, "v1beta1", "MachineDeployment"),
                (CAPO, "v1alpha7", "OpenStackCluster"),
                (CAPO, "v1alpha7", "OpenStackMachineTemplate"),
                (PLANE, "v1beta1", "KubeadmControlPlane"),
            },
            manifests.apis(OLD),
        )

    def test_objects_alone_are_named_anew(self) -> None:
        moves = {
            api_versions.Api(CAPO, "v1alpha7", "OpenStackCluster"): "v1beta1",
            api_versions.Api(
                CAPO, "v1alpha7", "OpenStackMachineTemplate"
            ): "v1beta1",
            api_versions.Api(
                PLANE, "v1beta1", "KubeadmControlPlane"
            ): "v1beta2",
        }
        old, new = OLD.splitlines(), manifests.moved(OLD, moves).splitlines()
        self.assertEqual(len(old), len(new))
        self.assertEqual(
            {
                "apiVersion: infrastructure.cluster.x-k8s.io/v1alpha7": (
                    'apiVersion: "infrastructure.cluster.x-k8s.io/v1beta1"'
                ),
                "apiVersion: 'infrastructure.cluster.x-k8s.io/v1alpha7'": (
                    'apiVersion: "infrastructure.cluster.x-k8s.io/v1beta1"'
                ),
                '{"apiVersion": "controlplane.cluster.x-k8s.io/v1beta1",': (
                    '{"apiVersion": "controlplane.cluster.x-k8s.io/v1beta2",'
                ),
            },
            {a: b for a, b in zip(old, new, strict=True) if a != b},
        )

    def test_all_other_text_stays_as_it_is(self) -> None:
        self.assertEqual(OLD, manifests.moved(OLD, {}))
        self.assertEqual("", manifests.moved("", {}))

    def test_of_one_group_another_kinds_objects_stay(self) -> None:
        moves = {
            api_versions.Api(CAPO, "v1alpha7", "OpenStackCluster"): "v1beta1"
        }
        self.assertIn(
            (CAPO, "v1alpha7", "OpenStackMachineTemplate"),
            manifests.apis(manifests.moved(OLD, moves)),
        )

    def test_of_one_kind_another_groups_objects_stay(self) -> None:
        moves = {api_versions.Api("other.io", "v1beta1", "Cluster"): "v1"}
        self.assertEqual(OLD, manifests.moved(OLD, moves))

    def test_documents_that_are_no_objects_are_skipped(self) -> None:
        documents = (
            "- a",
            "{b: c}: d",
            "kind: E",
            "apiVersion: f",
            "{apiVersion: [g], kind: H}",
        )
        text = "\n---\n".join(documents)
        self.assertEqual(frozenset(), manifests.apis(text))

    def test_text_that_is_no_yaml_is_refused_and_not_quoted(self) -> None:
        error = self.assertRaises(
            errors.HelmError, manifests.apis, "password: [hunter2"
        )
        self.assertEqual(
            "the release's manifest can't be read: ParserError", str(error)
        )
        # Nor by its cause, which --debug of a command shows.
        self.assertTrue(error.__suppress_context__)
        self.assertIsNone(error.__cause__)
