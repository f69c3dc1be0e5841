# SPDX-License-Identifier: Apache-2.0

"""What runs on a management cluster, beside what was tested."""

from __future__ import annotations

from typing import Any

from oslotest import base

from magnum_capi_helm.model import components
from magnum_capi_helm.model import versions
from magnum_capi_helm.tests.unit import deployments


def release(chart: str = "0.27.0") -> versions.Release:
    """What that version of the chart was tested with."""
    found = versions.find_tested(chart)
    assert found is not None
    return found


def lines(
    objects: list[dict[str, Any]], chart: str = "0.27.0"
) -> dict[str, tuple[str, str]]:
    """State and detail, by component."""
    found = components.compare(objects, release(chart), chart)
    return {
        each.name.removesuffix(" version"): (each.state, each.detail)
        for each in found
    }


def named(objects: list[dict[str, Any]], name: str) -> dict[str, Any]:
    """The Deployment of that name."""
    return next(each for each in objects if each["metadata"]["name"] == name)


def container(deployment: dict[str, Any]) -> dict[str, Any]:
    """The first one of a Deployment."""
    found: dict[str, Any] = deployment["spec"]["template"]["spec"][
        "containers"
    ][0]
    return found


OLD = (
    ": upgrade it, or choose a chart that was tested with it "
    "('magnum-capi-helm chart list --all')"
)


class CompareTest(base.BaseTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.objects = deployments.tested()

    def capo(self, image: str) -> tuple[str, str]:
        """The line of CAPO when its Deployment has that image."""
        container(named(self.objects, "capo-controller-manager"))["image"] = (
            image
        )
        return lines(self.objects)["CAPO"]

    def test_each_component_has_a_line_with_found_and_wanted(self) -> None:
        self.assertEqual(
            {
                "Cluster API": (
                    "ok",
                    "found 1.13.3; chart 0.27.0 was tested with 1.13.3",
                ),
                "kubeadm bootstrap": (
                    "ok",
                    "found 1.13.3; chart 0.27.0 was tested with 1.13.3",
                ),
                "kubeadm control plane": (
                    "ok",
                    "found 1.13.3; chart 0.27.0 was tested with 1.13.3",
                ),
                "CAPO": (
                    "ok",
                    "found 0.14.6; chart 0.27.0 was tested with 0.14.6",
                ),
                "ORC": (
                    "ok",
                    "found 2.6.0; chart 0.27.0 was tested with 2.6.0",
                ),
                "addon provider": (
                    "ok",
                    "found 0.12.1; chart 0.27.0 was tested with 0.12.1",
                ),
                "janitor": (
                    "ok",
                    "found 0.14.0; chart 0.27.0 was tested with 0.14.0",
                ),
                "cert-manager": (
                    "ok",
                    "found 1.20.3; chart 0.27.0 was tested with 1.20.3",
                ),
            },
            lines(self.objects),
        )

    def test_versions_are_compared_by_number(self) -> None:
        image = "registry.k8s.io/capi-openstack/capi-openstack-controller"
        tested = "; chart 0.27.0 was tested with 0.14.6"
        for tag, wanted in (
            ("v0.14.6", ("ok", f"found 0.14.6{tested}")),
            ("v0.14.10", ("ok", f"found 0.14.10, which is newer{tested}")),
            (
                "v0.14.5",
                ("untested", f"found 0.14.5, which is older{tested}{OLD}"),
            ),
            (
                "v0.9.9",
                ("untested", f"found 0.9.9, which is older{tested}{OLD}"),
            ),
            (
                "v0.15.0-beta.0",
                ("untested", f"found 0.15.0-beta.0, which is newer{tested}"),
            ),
            (
                "v0.14.6-rc.1",
                (
                    "untested",
                    f"found 0.14.6-rc.1, which is another build{tested}",
                ),
            ),
            (
                "dev",
                (
                    "unknown",
                    f"found image {image}:dev, which tells no version{tested}",
                ),
            ),
        ):
            with self.subTest(tag):
                self.assertEqual(wanted, self.capo(f"{image}:{tag}"))

    def test_a_mirror_may_give_images_any_name(self) -> None:
        digest = f"sha256:{'0' * 64}"
        for image, state in (
            ("mirror.example:5000/capo:v0.14.6", "ok"),
            (f"mirror.example:5000/x/capo:v0.14.6@{digest}", "ok"),
            (f"mirror.example:5000/x/capo@{digest}", "unknown"),
            ("mirror.example:5000/capo", "unknown"),
        ):
            with self.subTest(image):
                self.assertEqual(state, self.capo(image)[0])

    def test_a_deployment_without_labels_is_known_by_its_image(self) -> None:
        del named(self.objects, "orc-controller-manager")["metadata"]["labels"]
        self.assertEqual("ok", lines(self.objects)["ORC"][0])

    def test_what_says_no_tag_may_say_its_version_by_a_label(self) -> None:
        found = named(self.objects, "cert-manager")
        container(found)["image"] = "mirror.example/cert-manager-controller"
        self.assertEqual("ok", lines(self.objects)["cert-manager"][0])

    def test_the_chart_of_the_chart_label_is_its_own(self) -> None:
        # A chart of somebody's that installs Cluster API has its own version.
        found = named(self.objects, "capi-controller-manager")
        found["metadata"]["labels"]["helm.sh/chart"] = "everything-9.9.9"
        self.assertEqual(
            ("ok", "found 1.13.3; chart 0.27.0 was tested with 1.13.3"),
            lines(self.objects)["Cluster API"],
        )

    def test_what_runs_beside_a_controller_is_not_it(self) -> None:
        found = named(self.objects, "capo-controller-manager")
        pods = found["spec"]["template"]["spec"]
        proxy = {"name": "proxy", "image": "quay.io/brancz/proxy:v0.18.1"}
        pods["containers"].insert(0, proxy)
        self.assertEqual("ok", lines(self.objects)["CAPO"][0])
        pods["containers"][1]["image"] = "mirror.example/capo:v0.14.6"
        self.assertEqual("ok", lines(self.objects)["CAPO"][0])

    def test_nothing_is_said_of_what_is_not_found(self) -> None:
        found = lines([])
        self.assertEqual(
            (
                "unknown",
                "found none; chart 0.27.0 was tested with 1.13.3",
            ),
            found["Cluster API"],
        )
        self.assertEqual(
            (
                "ok",
                "found none, which is fine; chart 0.27.0 was tested with "
                "0.14.0",
            ),
            found["janitor"],
        )

    def test_a_controller_that_does_not_run_fails(self) -> None:
        found = named(self.objects, "capi-controller-manager")
        del found["status"]["readyReplicas"]
        tested = "; chart 0.27.0 was tested with 1.13.3"
        self.assertEqual(
            (
                "failed",
                f"found 1.13.3, of which 0 of 1 pods are ready{tested}",
            ),
            lines(self.objects)["Cluster API"],
        )
        found["spec"]["replicas"] = 0
        self.assertEqual(
            ("failed", f"found 1.13.3, which is scaled to 0{tested}"),
            lines(self.objects)["Cluster API"],
        )

    def test_of_several_the_worst_counts(self) -> None:
        second = deployments.deployment(
            "capo-2",
            "capo-controller-manager",
            {"cluster.x-k8s.io/provider": "infrastructure-openstack"},
            "manager",
            "registry.k8s.io/capi-openstack/capi-openstack-controller:v0.13.0",
        )
        self.assertEqual(
            (
                "untested",
                "found 0.14.6, 0.13.0, which is older; chart 0.27.0 was "
                f"tested with 0.14.6{OLD}",
            ),
            lines([*self.objects, second])["CAPO"],
        )

    def test_an_old_chart_needs_no_resource_controller(self) -> None:
        self.assertNotIn("ORC", lines(self.objects, "0.23.0"))
        self.assertEqual(
            (
                "untested",
                "found 0.14.6, which is newer; chart 0.23.0 was tested with "
                "0.11.3",
            ),
            lines(self.objects, "0.23.0")["CAPO"],
        )

    def test_a_newer_helm_is_as_good(self) -> None:
        for version, state in (
            ("v3.17.3", "ok"),
            ("v3.20.2+gabc", "ok"),
            ("v4.0.0", "ok"),
            ("v3.16.4", "untested"),
            ("helm", "unknown"),
        ):
            with self.subTest(version):
                found = components.helm(version, "3.17.3", "0.27.0")
                self.assertEqual(
                    ("helm version", state), (found.name, found.state)
                )
