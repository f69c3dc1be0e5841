# SPDX-License-Identifier: Apache-2.0

"""Differences of manifests, and with live objects."""

from __future__ import annotations

import copy
from typing import Any

from oslotest import base
import yaml

from magnum_capi_helm.chart import conversion
from magnum_capi_helm.chart import diff
from magnum_capi_helm.status import view

DEPLOYMENT: dict[str, Any] = yaml.safe_load("""
kind: MachineDeployment
metadata: {name: web-workers, labels: {helm.sh/chart: a-1}}
spec:
  replicas: 3
  strategy: {rollingUpdate: {maxSurge: 0}}
  template:
    metadata: {labels: {a: b}}
    spec:
      version: v1.34.2
      failureDomain: az1
      bootstrap:
        configRef:
          apiVersion: bootstrap.cluster.x-k8s.io/v1beta1
          name: web-workers-1111
      infrastructureRef:
        apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
        name: web-workers-2222
      nodeDrainTimeout: 5m0s
""")
PLANE: dict[str, Any] = yaml.safe_load("""
kind: KubeadmControlPlane
metadata: {name: web-control-plane}
spec:
  replicas: 3
  version: v1.34.2
  machineTemplate:
    metadata: {labels: {a: b}}
    infrastructureRef:
      apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
      name: web-control-plane-1111
    nodeDrainTimeout: 5m0s
  kubeadmConfigSpec: {files: []}
  rolloutStrategy: {rollingUpdate: {maxSurge: 1}}
""")


def _with(item: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    changed = copy.deepcopy(item)
    *parents, last = path.split(".")
    target = changed
    for each in parents:
        target = target[each]
    target[last] = value
    return changed


def _change(item: dict[str, Any], path: str, value: Any) -> Any:
    (found,) = diff.changes([item], [_with(item, path, value)])
    return found


class MachinesTest(base.BaseTestCase):
    def test_a_manifest_in_v1beta2_is_no_change(self) -> None:
        """Nor does its own change count twice."""
        for group, old in (
            ("cluster.x-k8s.io", DEPLOYMENT),
            ("controlplane.cluster.x-k8s.io", PLANE),
        ):
            with self.subTest(old["kind"]):
                old = {**old, "apiVersion": f"{group}/v1beta1"}
                new = conversion.convert(old)
                self.assertEqual((), diff.remade([old], [new]))
                self.assertEqual((), diff.changes([old], [new]))
                self.assertEqual((), diff.changes([new], [old]))
                new["spec"]["replicas"] = 5
                (change,) = diff.changes([old], [new])
                self.assertEqual(("spec.replicas",), change.paths)
                self.assertEqual(0, change.replaced)

    def test_in_v1beta2_the_same_replaces_machines(self) -> None:
        deployment, plane = (
            conversion.convert({**old, "apiVersion": f"{group}/v1beta1"})
            for group, old in (
                ("cluster.x-k8s.io", DEPLOYMENT),
                ("controlplane.cluster.x-k8s.io", PLANE),
            )
        )
        machine = "spec.template.spec"
        reference = "spec.machineTemplate.spec.infrastructureRef.name"
        for item, path, value, replaced in (
            (deployment, f"{machine}.version", "v1.35.1", 3),
            (deployment, f"{machine}.infrastructureRef.name", "other", 3),
            (deployment, f"{machine}.deletion", {}, 0),
            (deployment, f"{machine}.minReadySeconds", 9, 0),
            (plane, reference, "other", 3),
            (plane, "spec.machineTemplate.spec.deletion", {}, 0),
        ):
            self.assertEqual(
                replaced, _change(item, path, value).replaced, path
            )

    def test_a_change_names_the_paths(self) -> None:
        labels = "spec.template.metadata.labels"
        kind, name = DEPLOYMENT["kind"], DEPLOYMENT["metadata"]["name"]
        self.assertEqual(
            diff.Change(kind, name, "changed", (f"{labels}.c",)),
            _change(DEPLOYMENT, labels, {"a": "b", "c": "d"}),
        )

    def test_machines_that_come_or_go_are_not_replaced(self) -> None:
        other = _with(DEPLOYMENT, "spec.template.spec.version", "v1.35.1")
        for before, after, replaced in ((3, 1, 1), (1, 3, 1), (0, 3, 0)):
            (found,) = diff.changes(
                [_with(DEPLOYMENT, "spec.replicas", before)],
                [_with(other, "spec.replicas", after)],
            )
            self.assertEqual(replaced, found.replaced)

    def test_a_group_of_the_autoscaler_counts_as_one_machine(self) -> None:
        scaled = copy.deepcopy(DEPLOYMENT)
        del scaled["spec"]["replicas"]
        found = _change(scaled, "spec.template.spec.version", "v1.35.1")
        self.assertEqual(1, found.replaced)

    def test_a_group_that_goes_takes_its_machines_along(self) -> None:
        kind, name = DEPLOYMENT["kind"], DEPLOYMENT["metadata"]["name"]
        self.assertEqual(
            (diff.Change(kind, name, "removed", replaced=3),),
            diff.changes([DEPLOYMENT], []),
        )


_MACHINE, _TEMPLATE = "spec.template.spec", "spec.machineTemplate"
_CAPO = "infrastructure.cluster.x-k8s.io"
#: Object, path, new value, and whether its machines are made anew.
_REMADE: tuple[tuple[dict[str, Any], str, Any, bool], ...] = (
    (DEPLOYMENT, f"{_MACHINE}.version", "v1.35.1", True),
    (DEPLOYMENT, f"{_MACHINE}.failureDomain", "az2", True),
    (DEPLOYMENT, f"{_MACHINE}.infrastructureRef.name", "other", True),
    (DEPLOYMENT, f"{_MACHINE}.bootstrap.configRef.name", "other", True),
    (
        *(DEPLOYMENT, f"{_MACHINE}.infrastructureRef.apiVersion"),
        *(f"{_CAPO}/v1alpha7", False),
    ),
    (
        *(DEPLOYMENT, f"{_MACHINE}.bootstrap.configRef.apiVersion"),
        *("bootstrap.cluster.x-k8s.io/v1beta2", False),
    ),
    (
        *(PLANE, f"{_TEMPLATE}.infrastructureRef.apiVersion"),
        *(f"{_CAPO}/v1alpha7", False),
    ),
    (
        *(PLANE, f"{_TEMPLATE}.infrastructureRef.apiVersion"),
        *("other.example.org/v1beta1", True),
    ),
    (DEPLOYMENT, f"{_MACHINE}.nodeDrainTimeout", "1m", False),
    (DEPLOYMENT, "spec.template.metadata.labels", {}, False),
    (DEPLOYMENT, "spec.replicas", 0, False),
    (DEPLOYMENT, "metadata.labels", {"helm.sh/chart": "b"}, False),
    (DEPLOYMENT, "metadata.name", "web-others", True),
    (PLANE, "spec.version", "v1.35.1", True),
    (PLANE, f"{_TEMPLATE}.infrastructureRef.name", "o", True),
    (PLANE, "spec.kubeadmConfigSpec.files", [{"path": "/a"}], True),
    (PLANE, f"{_TEMPLATE}.nodeDrainTimeout", "1m", False),
    (PLANE, "spec.replicas", 5, False),
)


class RemadeTest(base.BaseTestCase):
    def test_an_object_with_other_machine_fields_is_remade(self) -> None:
        for item, path, value, remade in _REMADE:
            changed = _with(item, path, value)
            self.assertEqual(
                (item["metadata"]["name"],) if remade else (),
                diff.remade([item], [changed]),
                path,
            )

    def test_a_group_without_machines_counts(self) -> None:
        empty = _with(DEPLOYMENT, "spec.replicas", 0)
        other = _with(empty, f"{_MACHINE}.version", "v1.35.1")
        self.assertEqual(("web-workers",), diff.remade([empty], [other]))
        self.assertEqual((), diff.remade([], [DEPLOYMENT, PLANE]), "new ones")


class ChangesTest(base.BaseTestCase):
    def test_equal_manifests_have_no_changes(self) -> None:
        both = [DEPLOYMENT, PLANE]
        self.assertEqual((), diff.changes(both, reversed(both)))

    def test_the_stamp_and_the_charts_name_are_no_change(self) -> None:
        stamp = {"magnum.openstack.org/intent": "v1-2"}
        for field, before, after in (
            ("labels", {}, {"helm.sh/chart": "a-2"}),
            ("annotations", {}, stamp),
            # A Cluster of 1.4.0 has none.
            ("annotations", None, stamp),
        ):
            old = _with(DEPLOYMENT, f"metadata.{field}", before)
            if before is None:
                old = DEPLOYMENT
            changed = _with(DEPLOYMENT, f"metadata.{field}", after)
            self.assertEqual((), diff.changes([old], [changed]))

    def test_replacements_of_machines_come_first(self) -> None:
        secret = {"kind": "Config", "metadata": {"name": "a"}, "data": {}}
        found = diff.changes(
            [secret, PLANE],
            [{**secret, "data": {"b": 1}}, _with(PLANE, "spec.version", "v2")],
        )
        self.assertEqual(
            [("KubeadmControlPlane", "changed"), ("Config", "changed")],
            [(each.kind, each.what) for each in found],
        )

    def test_a_new_object_is_added_and_replaces_nothing(self) -> None:
        (found,) = diff.changes([], [PLANE])
        self.assertEqual(("added", 0), (found.what, found.replaced))


V1 = "cluster.x-k8s.io/v1beta1"


def deployment(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": V1,
        "kind": "MachineDeployment",
        "metadata": {"name": "demo-a", "labels": {"part": "worker"}},
        "spec": {"clusterName": "demo", "replicas": 2, **spec},
    }


class RestoringPatchTest(base.BaseTestCase):
    """A merge patch has all that a manifest says, and nothing else."""

    def test_a_patch_has_the_spec_labels_and_annotations(self) -> None:
        manifest = deployment(paused=False)
        manifest["metadata"]["annotations"] = {"note": "1"}
        manifest["status"] = {"replicas": 1}
        self.assertEqual(
            {
                "metadata": {
                    "annotations": {"note": "1"},
                    "labels": manifest["metadata"]["labels"],
                },
                "spec": manifest["spec"],
            },
            diff.restoring_patch(manifest),
        )

    def test_a_group_of_the_autoscaler_keeps_its_count(self) -> None:
        scaled = deployment()
        scaled["metadata"]["annotations"] = {view.AUTOSCALER_ANNOTATION: "9"}
        self.assertNotIn("replicas", diff.restoring_patch(scaled)["spec"])

    def test_controllers_keep_their_fields(self) -> None:
        for kind in ("Cluster", "OpenStackCluster"):
            endpoint = {"host": "", "port": 6443}
            manifest = {
                **deployment(controlPlaneEndpoint=endpoint),
                "kind": kind,
            }
            self.assertNotIn(
                "controlPlaneEndpoint", diff.restoring_patch(manifest)["spec"]
            )

    def test_custom_resources_that_may_change_get_a_patch(self) -> None:
        """helm compares the others, or nobody changes them."""
        for version, kind, is_patched in (
            ("v1", "Secret", False),
            ("apps/v1", "Deployment", False),
            ("rbac.authorization.k8s.io/v1", "Role", False),
            (f"{_CAPO}/v1beta1", "OpenStackMachineTemplate", False),
            (
                *(
                    "bootstrap.cluster.x-k8s.io/v1beta1",
                    "KubeadmConfigTemplate",
                ),
                False,
            ),
            (V1, "MachineHealthCheck", True),
            (
                "controlplane.cluster.x-k8s.io/v1beta1",
                "KubeadmControlPlane",
                True,
            ),
            ("addons.stackhpc.com/v1alpha1", "HelmRelease", True),
        ):
            manifest = {**deployment(), "apiVersion": version, "kind": kind}
            found = diff.restoring_patch(manifest)
            spec = manifest["spec"] if is_patched else None
            self.assertEqual(spec, found.get("spec"), kind)
            self.assertEqual(is_patched, bool(found), kind)
