# SPDX-License-Identifier: Apache-2.0

"""Live objects compared with the manifest that they were made from."""

from __future__ import annotations

from typing import Any, ClassVar

from oslotest import base

from magnum_capi_helm.chart import diff

V1 = "cluster.x-k8s.io/v1beta1"


def deployment(**spec: Any) -> dict[str, Any]:
    """A MachineDeployment of a manifest."""
    return {
        "apiVersion": V1,
        "kind": "MachineDeployment",
        "metadata": {"name": "demo-a", "labels": {"part": "worker"}},
        "spec": {"clusterName": "demo", "replicas": 2, **spec},
    }


def live(**spec: Any) -> dict[str, Any]:
    """The same as it lives, with what controllers and defaults add."""
    return {
        "apiVersion": V1,
        "kind": "MachineDeployment",
        "metadata": {
            "name": "demo-a",
            "uid": "u-1",
            "labels": {"part": "worker", "cluster": "demo"},
            "annotations": {"revision": "1"},
        },
        "spec": {
            "clusterName": "demo",
            "replicas": 2,
            "minReadySeconds": 0,
            **spec,
        },
        "status": {"replicas": 2},
    }


class DriftTest(base.BaseTestCase):
    #: name -> what the manifest says, what lives, the patch of the spec
    ROWS: ClassVar[dict[str, tuple[dict[str, Any], dict[str, Any], Any]]] = {
        "equal": ({}, {}, {}),
        "a count": ({}, {"replicas": 7}, {"replicas": 2}),
        "no machines are a count": (
            {"replicas": 0},
            {"replicas": 1},
            {"replicas": 0},
        ),
        "a field below": (
            {"template": {"spec": {"version": "v1"}}},
            {"template": {"spec": {"version": "v2", "bootstrap": {}}}},
            {"template": {"spec": {"version": "v1"}}},
        ),
        "a field that is missing": (
            {"paused": True},
            {},
            {"paused": True},
        ),
        "an empty field that is missing": (
            {"files": [], "ntp": {"servers": []}, "paused": False},
            {},
            {},
        ),
        "a switch that was turned": (
            {"paused": False},
            {"paused": True},
            {"paused": False},
        ),
        "a duration as it is read back": (
            {"timeout": "5m", "start": "1h30m", "short": "90s"},
            {"timeout": "5m0s", "start": "1h30m0s", "short": "1m30s"},
            {},
        ),
        "another duration": (
            {"timeout": "5m"},
            {"timeout": "6m0s"},
            {"timeout": "5m"},
        ),
        "a reference, read back in another version of its group": (
            {"ref": {"apiVersion": "infra.x-k8s.io/v1beta1", "name": "n"}},
            {"ref": {"apiVersion": "infra.x-k8s.io/v1beta2", "name": "n"}},
            {},
        ),
        "a reference to another group": (
            {"ref": {"apiVersion": "infra.x-k8s.io/v1beta1"}},
            {"ref": {"apiVersion": "boot.x-k8s.io/v1beta1"}},
            None,
        ),
        "a list with defaults": (
            {"ports": [{"network": "n"}]},
            {"ports": [{"network": "n", "tags": []}]},
            {},
        ),
        "a list in which one differs is replaced": (
            {"ports": [{"network": "n"}, {"network": "m"}]},
            {"ports": [{"network": "n"}, {"network": "x"}]},
            {"ports": [{"network": "n"}, {"network": "m"}]},
        ),
        "a longer list": ({"zones": ["a"]}, {"zones": ["a", "b"]}, None),
        "a number is no switch": ({"count": 1}, {"count": True}, {"count": 1}),
    }

    def test_what_differs_and_nothing_else_is_patched(self) -> None:
        for name, (wanted, found, change) in self.ROWS.items():
            change = wanted if change is None else change
            self.assertEqual(
                {"spec": change} if change else {},
                diff.find_drift(deployment(**wanted), live(**found)),
                name,
            )

    def test_a_group_of_the_autoscaler_keeps_its_count(self) -> None:
        scaled = deployment()
        del scaled["spec"]["replicas"]
        self.assertEqual({}, diff.find_drift(scaled, live(replicas=9)))

    def test_labels_and_annotations_of_the_manifest(self) -> None:
        found = live()
        found["metadata"]["labels"]["part"] = "other"
        self.assertEqual(
            {"metadata": {"labels": {"part": "worker"}}},
            diff.find_drift(deployment(), found),
        )

    def test_what_belongs_to_controllers_stays(self) -> None:
        for kind in ("Cluster", "OpenStackCluster"):
            wanted = {
                **deployment(controlPlaneEndpoint={"host": "", "port": 6443}),
                "kind": kind,
            }
            found = live(controlPlaneEndpoint={"host": "10.0.0.1", "port": 1})
            self.assertEqual({}, diff.find_drift(wanted, found), kind)

    def test_kinds_that_helm_or_nobody_changes(self) -> None:
        for version, kind in (
            ("v1", "Secret"),
            ("apps/v1", "Deployment"),
            ("rbac.authorization.k8s.io/v1", "Role"),
            (
                "infrastructure.cluster.x-k8s.io/v1beta1",
                "OpenStackMachineTemplate",
            ),
            ("bootstrap.cluster.x-k8s.io/v1beta1", "KubeadmConfigTemplate"),
        ):
            wanted = {**deployment(), "apiVersion": version, "kind": kind}
            self.assertEqual(
                {}, diff.find_drift(wanted, live(replicas=9)), kind
            )

    def test_kinds_that_helm_does_not_look_at(self) -> None:
        for version, kind in (
            ("cluster.x-k8s.io/v1beta1", "MachineHealthCheck"),
            ("controlplane.cluster.x-k8s.io/v1beta1", "KubeadmControlPlane"),
            ("addons.stackhpc.com/v1alpha1", "HelmRelease"),
        ):
            wanted = {**deployment(), "apiVersion": version, "kind": kind}
            self.assertEqual(
                {"spec": {"replicas": 2}},
                diff.find_drift(wanted, live(replicas=9)),
                kind,
            )

    def test_paths_name_no_values(self) -> None:
        change = {"spec": {"a": {"b": "secret"}, "c": []}, "data": {}}
        self.assertEqual(
            ["spec.a.b", "spec.c", "data"], list(diff.drift_paths(change))
        )
