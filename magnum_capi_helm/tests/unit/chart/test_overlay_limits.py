# SPDX-License-Identifier: Apache-2.0

"""What no overlay may set: names, counts and credentials."""

from __future__ import annotations

from typing import Any

from oslotest import base

from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.unit.chart import overlaid

#: Paths, and an overlay that sets each.
NOT_THEIRS: list[tuple[str, dict[str, Any]]] = [
    *(
        (key, {key: "x"})
        for key in (
            "cloudCACert",
            "cloudCredentialsSecretName",
            "cloudName",
            "clouds",
            "controlPlaneEndpoint",
            "global",
            "kubernetesVersion",
            "machineImage",
            "machineImageId",
            "machineSSHKeyName",
            "nodeGroups",
            "osDistro",
            "projectPrefix",
            "registryAuth",
        )
    ),
    *(
        (f"{machines}.{key}", {machines: {key: 1}})
        for machines in ("controlPlane", "nodeGroupDefaults")
        for key in (
            "kubernetesVersion",
            "machineCount",
            "machineFlavor",
            "machineImage",
            "machineImageId",
        )
    ),
    *(
        (f"nodeGroupDefaults.{key}", {"nodeGroupDefaults": {key: None}})
        for key in (
            "autoscale",
            "machineCountMax",
            "machineCountMin",
            "name",
        )
    ),
    ("addons.clusterName", {"addons": {"clusterName": "x"}}),
    ("addons.global", {"addons": {"global": {}}}),
    ("apiServer.floatingIP", {"apiServer": {"floatingIP": "x"}}),
    *(
        (
            f'clusterAnnotations."magnum.openstack.org/{name}"',
            {"clusterAnnotations": {f"magnum.openstack.org/{name}": "x"}},
        )
        for name in ("intent", "values-profiles")
    ),
]


class OutOfReachTest(base.BaseTestCase):
    def _refused(self, overlay: dict[str, Any]) -> str:
        error = self.assertRaises(
            errors.NotConfigured, overlaid.applied, overlay
        )
        return str(error)

    def test_names_counts_and_credentials(self) -> None:
        for path, overlay in NOT_THEIRS:
            self.assertEqual(
                f"profile gpu: {path} is not theirs to set: take it out",
                self._refused(overlay),
            )

    def test_what_would_take_those_away_with_it(self) -> None:
        for path, overlay in (
            ("controlPlane", {"controlPlane": None}),
            ("addons", {"addons": None}),
            ("clusterAnnotations", {"clusterAnnotations": []}),
            ("apiServer", {"apiServer": "x"}),
            (
                "controlPlane.kubeadmConfigSpec",
                {"controlPlane": {"kubeadmConfigSpec": None}},
            ),
        ):
            self.assertEqual(
                f"profile gpu: {path} must be a mapping",
                self._refused(overlay),
            )

    def test_commands_that_are_no_list(self) -> None:
        for value in (None, "reboot", {"a": 1}):
            self.assertEqual(
                "profile gpu: controlPlane.kubeadmConfigSpec."
                "preKubeadmCommands must be a list",
                self._refused(
                    {
                        "controlPlane": {
                            "kubeadmConfigSpec": {"preKubeadmCommands": value}
                        }
                    }
                ),
            )

    def test_the_same_names_elsewhere_are_free(self) -> None:
        overlay = {
            "addons": {"custom": {"one": {"spec": {"name": "x"}}}},
            "controlPlane": {"machineMetadata": {"machineCount": "3"}},
            "clusterAnnotations": {"example.org/owner": "me"},
        }
        self.assertEqual(
            "x",
            overlaid.applied(overlay)["addons"]["custom"]["one"]["spec"][
                "name"
            ],
        )
