# SPDX-License-Identifier: Apache-2.0

"""Components of a management cluster, by their Deployments."""

from __future__ import annotations

from typing import Any

from oslotest import base

from magnum_capi_helm.model import components
from magnum_capi_helm.tests.unit import deployments

VERSIONS = {
    "Cluster API": "1.13.3",
    "kubeadm bootstrap": "1.13.3",
    "kubeadm control plane": "1.13.3",
    "CAPO": "0.14.6",
    "ORC": "2.6.0",
    "addon provider": "0.12.1",
    "janitor": "0.14.0",
    "cert-manager": "1.20.3",
}


def named(objects: list[dict[str, Any]], name: str) -> dict[str, Any]:
    return next(each for each in objects if each["metadata"]["name"] == name)


def containers(deployment: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]]
    found = deployment["spec"]["template"]["spec"]["containers"]
    return found


class ReadTest(base.BaseTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.objects = deployments.tested()

    def versions(self) -> dict[str, str]:
        return {
            each.name: each.version for each in components.read(self.objects)
        }

    def capo(self, image: str) -> str:
        found = named(self.objects, "capo-controller-manager")
        containers(found)[0]["image"] = image
        return self.versions()["CAPO"]

    def test_each_component_has_a_version(self) -> None:
        self.assertEqual(VERSIONS, self.versions())

    def test_a_mirror_may_give_images_any_name(self) -> None:
        digest = f"sha256:{'0' * 64}"
        for image, version in (
            ("mirror.example:5000/capo:v0.14.6", "0.14.6"),
            (f"mirror.example:5000/x/capo:v0.14.6@{digest}", "0.14.6"),
            ("mirror.example:5000/x/capo:v0.15.0-rc.1", "0.15.0-rc.1"),
            ("r.example/capo:dev", "image r.example/capo:dev"),
            (f"r.example:5000/x/capo@{digest}", "image r.example:5000/x/capo"),
        ):
            with self.subTest(image):
                self.assertEqual(version, self.capo(image))

    def test_an_odd_deployment_has_its_version(self) -> None:
        # Without labels its image tells, without a tag its label.
        del named(self.objects, "orc-controller-manager")["metadata"]["labels"]
        [first] = containers(named(self.objects, "cert-manager"))
        first["image"] = "mirror.example/cert-manager-controller"
        # A chart of another name has another version.
        found = named(self.objects, "capi-controller-manager")
        found["metadata"]["labels"]["helm.sh/chart"] = "everything-9.9.9"
        # A container beside the manager.
        found = named(self.objects, "capo-controller-manager")
        proxy = {"name": "proxy", "image": "quay.io/brancz/proxy:v0.18.1"}
        containers(found).insert(0, proxy)
        self.assertEqual(VERSIONS, self.versions())

    def test_a_deployment_has_its_number_of_ready_pods(self) -> None:
        del named(self.objects, "orc-controller-manager")["status"]
        found = {e.name: e.ready for e in components.read(self.objects)}
        self.assertEqual({**dict.fromkeys(VERSIONS, 1), "ORC": 0}, found)
