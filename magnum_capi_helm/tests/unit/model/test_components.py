# SPDX-License-Identifier: Apache-2.0

"""Components of a management cluster, by their Deployments."""

from __future__ import annotations

from typing import Any

from oslotest import base

from magnum_capi_helm.model import components
from magnum_capi_helm.tests.unit import deployments


def named(objects: list[dict[str, Any]], name: str) -> dict[str, Any]:
    """Return the Deployment of that name."""
    return next(each for each in objects if each["metadata"]["name"] == name)


def containers(deployment: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the containers of a Deployment."""
    found: list[dict[str, Any]]
    found = deployment["spec"]["template"]["spec"]["containers"]
    return found


class ReadTest(base.BaseTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.objects = deployments.tested()

    def versions(self) -> dict[str, str]:
        """Return the versions by component."""
        return {
            each.name: each.version for each in components.read(self.objects)
        }

    def capo(self, image: str) -> str:
        """Return the version of CAPO when its Deployment has that image."""
        found = named(self.objects, "capo-controller-manager")
        containers(found)[0]["image"] = image
        return self.versions()["CAPO"]

    def test_each_component_has_a_version(self) -> None:
        self.assertEqual(
            {
                "Cluster API": "1.13.3",
                "kubeadm bootstrap": "1.13.3",
                "kubeadm control plane": "1.13.3",
                "CAPO": "0.14.6",
                "ORC": "2.6.0",
                "addon provider": "0.12.1",
                "janitor": "0.14.0",
                "cert-manager": "1.20.3",
            },
            self.versions(),
        )

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

    def test_a_deployment_without_labels_is_known_by_its_image(self) -> None:
        del named(self.objects, "orc-controller-manager")["metadata"]["labels"]
        self.assertEqual("2.6.0", self.versions()["ORC"])

    def test_a_label_has_the_version_of_an_image_without_tag(self) -> None:
        found = named(self.objects, "cert-manager")
        containers(found)[0]["image"] = (
            "mirror.example/cert-manager-controller"
        )
        self.assertEqual("1.20.3", self.versions()["cert-manager"])

    def test_a_chart_of_another_name_has_another_version(self) -> None:
        found = named(self.objects, "capi-controller-manager")
        found["metadata"]["labels"]["helm.sh/chart"] = "everything-9.9.9"
        self.assertEqual("1.13.3", self.versions()["Cluster API"])

    def test_a_container_beside_the_manager_is_not_it(self) -> None:
        found = named(self.objects, "capo-controller-manager")
        proxy = {"name": "proxy", "image": "quay.io/brancz/proxy:v0.18.1"}
        containers(found).insert(0, proxy)
        self.assertEqual("0.14.6", self.versions()["CAPO"])

    def test_a_deployment_has_its_number_of_ready_pods(self) -> None:
        idle = named(self.objects, "orc-controller-manager")
        del idle["status"]
        self.assertEqual(
            {"ORC": 0},
            {
                each.name: each.ready
                for each in components.read(self.objects)
                if each.ready != 1
            },
        )
