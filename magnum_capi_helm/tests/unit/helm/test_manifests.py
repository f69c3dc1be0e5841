# SPDX-License-Identifier: Apache-2.0

"""Versions in the text of a manifest: those are changed, and nothing else."""

from __future__ import annotations

import json
from typing import Any

from oslotest import base

from magnum_capi_helm.chart import conversion
from magnum_capi_helm.chart import patches
from magnum_capi_helm.helm import manifests
from magnum_capi_helm.model import encoding
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
ADDONS = "addons.stackhpc.com"


#: A manifest, and the same one with objects of Cluster API in v1beta2.
RENDERED = """\
---
# Source: openstack-cluster/templates/secrets.yaml
apiVersion: v1
kind: Secret
stringData: {on: yes, at: 12:30:45}
---
# Source: openstack-cluster/templates/cluster.yaml
apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata:
  name: web-1
  annotations:
    größe: "a\\U0001F600\\x85"
    port: 22:22
    since: 2026-11-26T07:00:00Z
    ratio: 1.5
spec:
  clusterNetwork:
    apiServerPort: 0x192b
    serviceDomain: cluster.local
---
# Source: openstack-cluster/templates/cluster-infra.yaml
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: OpenStackCluster
"""
CONVERTED = """\
---
# Source: openstack-cluster/templates/secrets.yaml
apiVersion: v1
kind: Secret
stringData: {on: yes, at: 12:30:45}
---
# Source: openstack-cluster/templates/cluster.yaml
{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": \
{"name": "web-1", "annotations": {"gr\\u00f6\\u00dfe": \
"a\\U0001f600\\u0085", "port": "22:22", "since": "2026-11-26T07:00:00Z", \
"ratio": 1.5}}, "spec": {"clusterNetwork": {"apiServerPort": 6443, \
"serviceDomain": "cluster.local"}}}
---
# Source: openstack-cluster/templates/cluster-infra.yaml
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: OpenStackCluster
"""


class ManifestsTest(base.BaseTestCase):
    def test_objects_of_some_groups_are_converted(self) -> None:
        for groups, wanted in (
            ((CAPI,), CONVERTED),
            ((ADDONS, PLANE), RENDERED),
            ((), RENDERED),
        ):
            with self.subTest(groups):
                self.assertEqual(wanted, manifests.converted(RENDERED, groups))
        self.assertEqual("", manifests.converted("", (CAPI,)))
        # What was converted is not changed again.
        self.assertEqual(CONVERTED, manifests.converted(CONVERTED, (CAPI,)))

    def test_objects_are_patched_before_they_are_converted(self) -> None:
        text = (
            f"apiVersion: {CAPO}/v1beta1\nkind: OpenStackCluster\n"
            "spec: {apiServerLoadBalancer: {enabled: true}}\n"
        )
        patch = patches.Patch(
            "OpenStackCluster", "spec.apiServerLoadBalancer.flavor", "hä$"
        )
        balancer = {"enabled": True, "flavor": "hä$"}
        old = {"apiServerLoadBalancer": balancer}
        new = {"apiServer": {"managedLoadBalancer": balancer}}
        rows: tuple[tuple[tuple[str, ...], Any, str, Any], ...] = (
            ((), {}, "v1beta1", old),
            ((CAPO,), {}, "v1beta2", new),
            # Where nothing can be converted, the patch counts.
            ((CAPO,), {"convert": lambda _: None}, "v1beta1", old),
        )
        for groups, more, version, spec in rows:
            converted = manifests.converted(
                text, groups, patch=[patch], **more
            )
            (found,) = encoding.objects(converted)
            self.assertEqual(
                (f"{CAPO}/{version}", spec),
                (found["apiVersion"], found["spec"]),
            )
        self.assertRaises(
            errors.Unconvertible, manifests.converted, "", (), patch=[patch]
        )

    def test_an_escape_in_a_text_stays_two_characters(self) -> None:
        old = "apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\n"
        for text in ("\\ud83d\\ude00", "\\\\", "😀\\😀"):
            with self.subTest(text):
                metadata = json.dumps({"a": text}, ensure_ascii=False)
                annotated = f"{old}metadata: {metadata}\n"
                (found,) = encoding.objects(
                    manifests.converted(annotated, (CAPI,))
                )
                self.assertEqual({"a": text}, found["metadata"])

    def test_an_unconvertible_manifest_fails_without_its_secrets(self) -> None:
        for text, kind in (
            ("a: [", errors.HelmError),
            (
                "{apiVersion: cluster.x-k8s.io/v1beta1, kind: Cluster, "
                "spec: {secret: hunter2}}",
                errors.Unconvertible,
            ),
        ):
            error = self.assertRaises(kind, manifests.converted, text, (CAPI,))
            self.assertNotIn("hunter2", str(error))

    def test_a_manifest_names_the_apis_of_its_objects(self) -> None:
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
        """Other kinds of a group, and equal ones of others, stay."""
        kind = conversion.Api(CAPO, "v1alpha7", "OpenStackCluster")
        old, new = (
            f"infrastructure.{CAPI}/{v}" for v in ("v1alpha7", "v1beta1")
        )
        capo = {f"apiVersion: {old}": f'apiVersion: "{new}"'}
        template = {f"apiVersion: '{old}'": f'apiVersion: "{new}"'}
        before, after = (f'{{"apiVersion": "{PLANE}/v1beta{n}",' for n in "12")
        every = {
            kind: "v1beta1",
            kind._replace(kind="OpenStackMachineTemplate"): "v1beta1",
            conversion.Api(PLANE, "v1beta1", "KubeadmControlPlane"): "v1beta2",
        }
        other = conversion.Api("other.io", "v1beta1", "Cluster")
        rows: tuple[tuple[dict[conversion.Api, str], dict[str, str]], ...] = (
            (every, {**capo, **template, before: after}),
            ({kind: "v1beta1"}, capo),
            ({other: "v1"}, {}),
            ({}, {}),
        )
        for moves, changed in rows:
            lines = manifests.moved(OLD, moves).split("\n")
            both = zip(OLD.split("\n"), lines, strict=True)
            self.assertEqual(changed, {a: b for a, b in both if a != b})
        self.assertEqual("", manifests.moved("", {}))

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
