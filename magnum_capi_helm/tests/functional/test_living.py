# SPDX-License-Identifier: Apache-2.0

"""Labels of a living cluster change, and its machines stay."""

from __future__ import annotations

from typing import Any

from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.functional import programs
from magnum_capi_helm.tests.functional import test_upgrade

_HEALTH_CHECK = kinds.Kind(
    "MachineHealthCheck",
    kinds.MACHINE.group,
    kinds.MACHINE.versions,
)
_OLD = {
    "auto_scaling_enabled": "true",
    "min_node_count": "1",
    "max_node_count": "3",
}
_NEW = {
    **_OLD,
    "max_node_count": "5",
    "api_master_lb_allowed_cidrs": "192.0.2.0/24",
    "auto_healing_max_unhealthy": "20%",
    "cert_manager_enabled": "true",
    "csi_cinder_allow_volume_expansion": "false",
}


class LivingTest(test_upgrade.UpgradeCase):
    """One cluster for all: making one takes most of the time."""

    def setUp(self) -> None:
        super().setUp()
        # Templates go after the cluster, which uses them.
        self.changed = self.template(labels=_NEW)
        # With a label of its own, which no template changes.
        self.uuid = self.cluster(
            self.template(labels=_OLD),
            labels={**_OLD, "node_drain_timeout": "5m"},
        )
        made = self.until_status(self.uuid, ("CREATE_COMPLETE",))
        self.release = str(made["stack_id"])

    def test_labels_change_in_place(self) -> None:
        machines = self._machines()
        self.a_template_with_other_labels()
        self.assertEqual(machines, self._machines())
        self.labels_of_the_cluster()
        self.assertEqual(machines, self._machines())
        self.labels_that_replace_machines_are_refused()
        self.assertEqual(machines, self._machines())

    def a_template_with_other_labels(self) -> None:
        self.upgrade(self.changed)
        network = self._live(kinds.OPENSTACK_CLUSTER)["spec"]
        self.assertEqual(
            ["192.0.2.0/24"], network["apiServerLoadBalancer"]["allowedCIDRs"]
        )
        self.assertIn("20%", self._health_check())
        workers = self._live(kinds.MACHINE_DEPLOYMENT, "-default-worker")
        self.assertEqual(
            "5", view.annotations_of(workers)[view.AUTOSCALER_ANNOTATION]
        )
        self._live(kinds.HELM_RELEASE, "-cert-manager")
        classes = self._live(kinds.MANIFESTS, "-csi-cinder-storageclass")
        self.assertIn("allowVolumeExpansion: false", str(classes["spec"]))
        self.assertNotIn("allowVolumeExpansion: true", str(classes["spec"]))

    def labels_of_the_cluster(self) -> None:
        programs.command(
            *("cluster", "apply", self.uuid, "--apply"),
            *("--label", "node_drain_timeout=7m"),
            *("--label", "auto_healing_max_unhealthy=40%"),
            seconds=300,
        )
        self.assertIn("40%", self._health_check())
        control_plane = self._live(kinds.CONTROL_PLANE, "-control-plane")
        # In v1beta2, 420 seconds.
        machine = str(control_plane["spec"]["machineTemplate"])
        self.assertRegex(machine, "7m|420")

    def labels_that_replace_machines_are_refused(self) -> None:
        refused = programs.completed(
            *("cluster", "apply", self.uuid, "--apply"),
            *("--label", "oidc_issuer_url=https://id.example.org"),
            *("--label", "oidc_client_id=kubernetes"),
            *("-f", "json"),
        )
        self.assertEqual(1, refused.returncode, refused.stderr)
        self.assertIn("control-plane (1)", refused.stdout)

    # Helpers

    def _health_check(self) -> str:
        check = self._live(_HEALTH_CHECK, "-default-worker")
        return str(check["spec"])

    def _live(self, kind: kinds.Kind, suffix: str = "") -> dict[str, Any]:
        name = f"{self.release}{suffix}"
        found = self.plane.get(kind, self.namespace, name)
        assert found is not None, f"{kind.name} {name}"
        return found

    def _machines(self) -> set[str]:
        """The UID of each machine."""
        found = self.plane.list(
            kinds.MACHINE,
            self.namespace,
            f"{view.CLUSTER_NAME_LABEL}={self.release}",
        )
        return {str(each["metadata"]["uid"]) for each in found}
