# SPDX-License-Identifier: Apache-2.0

"""Upgrades that are refused: NotSupported, and every row as it was."""

from __future__ import annotations

from typing import Any

import fixtures
from magnum.common import exception

from magnum_capi_helm.features import nodes
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import responses
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.lifecycle import upgrading

#: Fields of the new template -> a part of the text.
_TEMPLATES: tuple[tuple[dict[str, Any], str], ...] = (
    (
        {"image_id": "ubuntu-1.33"},
        "the cluster can't go back to an older Kubernetes: choose a template "
        "whose image has the version that it runs, or a later one. It runs "
        "v1.34.2, and the new image has v1.33.4",
    ),
    (
        {"image_id": "ubuntu-1.36"},
        "there is no image for a minor version of Kubernetes on the way",
    ),
    (
        {"driver": "k8s_cluster_api_ubuntu", "name": "theirs"},
        "a cluster of the driver k8s_capi_helm_v1 takes a template with "
        "driver=k8s_capi_helm_v1. Cluster template 'theirs' has "
        "'k8s_cluster_api_ubuntu'",
    ),
    ({"server_type": "bm"}, "takes a template with server_type=vm"),
    (
        {"labels": {"capi_helm_chart_version": "0.26.1"}},
        "the cluster can't go back to an older chart: give the version that "
        "it has, or a later one. It has 0.27.0, and the label "
        "capi_helm_chart_version is 0.26.1",
    ),
    ({"image_id": "bare"}, "image_id: the image has no property kube_version"),
    ({"tls_disabled": True}, "tls_disabled: choose a template without it"),
    ({"image_id": "gone"}, "image_id: there is no such image"),
    ({"flavor_id": "gone"}, "flavor_id: there is no such flavor"),
    (
        {"labels": {"boot_volume_size": "big"}},
        "label boot_volume_size: give a size in GB",
    ),
)


class RefusalTest(upgrading.UpgradeTestCase):
    def test_an_unfit_template_is_refused(self) -> None:
        for fields, text in _TEMPLATES:
            self.assertIn(text, self.refused(self.template(**fields)))

    def test_an_upgrade_is_refused_during_another_operation(self) -> None:
        with self.busy():
            text = self.refused(self.template(image_id="ubuntu-1.35"))
        self.assertEqual(
            "another operation works on the cluster, try again in a moment",
            text,
        )

    def _refused_with(self, error: errors.ManagementError) -> str:
        self.management.recover()
        self.fails("dry-run", kinds.CONTROL_PLANE, error=error)
        return self.refused(self.template(image_id="ubuntu-1.35"))

    def test_a_refusal_of_a_webhook_refuses_the_upgrade(self) -> None:
        for error in (
            errors.ManagementError("spec.apiServerPort is immutable"),
            responses.ForbiddenError(
                'admission webhook "w" denied the request: not now (403)'
            ),
            responses.ForbiddenError(
                "ValidatingAdmissionPolicy 'p' denied request: not now (403)"
            ),
        ):
            self.assertEqual(
                f"the template does not fit this cluster: {error}",
                self._refused_with(error),
            )
        # A driver that is not let in blames no template.
        for error in (
            responses.UnauthorizedError("Unauthorized (401); check the user"),
            responses.ForbiddenError("User magnum cannot patch (403)"),
        ):
            text = self._refused_with(error)
            self.assertIn(str(error), text)
            self.assertNotIn("does not fit", text)

    def test_a_write_that_is_refused_is_nothing(self) -> None:
        self.fails(
            "patch",
            kinds.SECRET,
            "-intent",
            error=errors.ManagementError("forbidden"),
        )
        self.refused(self.template(image_id="ubuntu-1.35"))

    def test_a_chart_for_another_kubernetes_is_refused(self) -> None:
        new = self.template(
            image_id="ubuntu-1.35",
            labels={"capi_helm_chart_version": "0.26.1"},
        )
        self.set_option(default_helm_chart_version="0.24.0")
        self.vanish()
        self.created()
        self.assertIn(
            "the chart is not made for the Kubernetes of the image: choose a "
            "template with another image, or with another label "
            "capi_helm_chart_version. Chart 0.24.0 takes 1.33 to 1.34, and "
            "the image has v1.35.1",
            self.refused(self.template(image_id="ubuntu-1.35")),
        )
        self.upgrade(new)

    def test_a_group_that_stays_too_old_is_refused(self) -> None:
        self.add("old", image_id="ubuntu-1.34.3")
        self.settle()
        new = self.template(image_id="flatcar")
        text = "Nodegroup 'old' keeps its own image of ubuntu"
        self.assertIn(text, self.refused(new))
        self.assertIn(
            "a nodegroup can't go back to an older Kubernetes: choose a "
            "template whose image has the version that it runs, or a later "
            "one. Nodegroup 'old' runs v1.34.3, and the new image has v1.34.2",
            self.refused(self.row().cluster_template, nodegroup="old"),
        )
        self.upgrade(self.template(image_id="ubuntu-1.35"))
        self.settle()
        # No chart takes so many versions of Kubernetes that three are passed.
        with fixtures.MockPatchObject(nodes, "SKEW", 1):
            self.assertEqual(
                "upgrade or delete the nodegroup that keeps its image first: "
                "a control plane works with nodes of its own minor version of "
                "Kubernetes or up to 1 older ones. Nodegroup 'old' has "
                "v1.34.3, and the control plane gets v1.36.0",
                self.refused(self.template(image_id="ubuntu-1.36")),
            )
        self.assertEqual(
            "upgrade nodegroup 'old' first: a new machine joins a control "
            "plane of its own minor version of Kubernetes alone. The "
            "nodegroup has v1.34.3, and the control plane has v1.35.1",
            self.error_of(self.resize, 4, "old"),
        )
        for count in (1, 0):
            self.resize(count, "old")

    def test_an_upgrade_overtakes_a_group_that_is_too_old_then(self) -> None:
        real = self.management.patch
        new = self.template(image_id="ubuntu-1.35")

        def patch(*args: Any, **options: Any) -> Any:
            overtaken.cleanUp()
            self.save(status="UPDATE_COMPLETE")
            self.upgrade(new)
            return real(*args, **options)

        overtaken = fixtures.MockPatchObject(self.management, "patch", patch)
        overtaken.setUp()
        self.assertIn(
            "a new machine joins a control plane of its own minor version of "
            "Kubernetes alone. Image 'ubuntu-1.34.3' has 1.34.3, and the "
            "control plane has 1.35.1",
            self.error_of(self.add, "mine", image_id="ubuntu-1.34.3"),
        )
        self.settle()
        self.assertEqual(
            ["control-plane", "default-worker"], sorted(self.machines())
        )

    def test_a_rollback_by_magnum_is_refused(self) -> None:
        error = self.assertRaises(
            exception.NotSupported,
            self.handler.cluster_upgrade,
            self.context,
            self.row(),
            self.template(image_id="ubuntu-1.35"),
            1,
            self.groups()["default-worker"],
            rollback=True,
        )
        self.assertIn("magnum-capi-helm cluster rollback", str(error))
        self.assertEqual({"CREATE_COMPLETE"}, self.statuses())


class LivingTest(upgrading.UpgradeTestCase):
    def setUp(self) -> None:
        base.FlowTestCase.setUp(self)
        self.labels = {
            "calico_chart_version": "v3.31.6",
            "etcd_encryption_enabled": "true",
        }
        self.complete(template={"labels": self.labels})

    def test_a_plugin_and_the_encryption_go_on_as_they_are(self) -> None:
        encryption = "label etcd_encryption_"
        for name, value, text in (
            (
                "calico_chart_version",
                "v3.31.5",
                "label calico_chart_version: give the version that the "
                "cluster has, v3.31.6, or a later one. It is 'v3.31.5'",
            ),
            (
                "etcd_encryption_enabled",
                "false",
                f"{encryption}enabled: give true. It is",
            ),
            (
                "etcd_encryption_provider",
                "aescbc",
                f"{encryption}provider: give secretbox. It is",
            ),
        ):
            labels = {**self.labels, name: value}
            self.assertIn(text, self.refused(self.template(labels=labels)))
        new = self.template(image_id="ubuntu-1.35", labels=self.labels)
        self.upgrade(new)
        self.settle()
        self.assertEqual({"UPDATE_COMPLETE"}, self.statuses())
