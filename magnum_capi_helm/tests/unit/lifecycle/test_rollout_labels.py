# SPDX-License-Identifier: Apache-2.0

"""Labels of a living cluster that the operator changes for its user."""

from __future__ import annotations

import datetime
import json
import pathlib
from typing import Any

from keystoneauth1.identity import v3
from magnum.common import exception

from magnum_capi_helm import features
from magnum_capi_helm.chart import upgrade_rules
from magnum_capi_helm.config import conf
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.lifecycle import rollout
from magnum_capi_helm.model import labels as declarations
from magnum_capi_helm.model import names
from magnum_capi_helm.model import paths
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.fakes import cloud as fake_cloud
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.lifecycle import rolling

_TABLE = (
    pathlib.Path(__file__).parents[4]
    / "doc/source/reference/label-changes.json"
)
_PLANE = "cluster.x-k8s.io/control-plane"
#: Label, value, the value of the chart that it becomes. No machine is
#: replaced.
_IN_PLACE = (
    (
        "api_master_lb_allowed_cidrs",
        "192.0.2.0/24",
        "apiServer.allowedCIDRs",
        ["192.0.2.0/24"],
    ),
    (
        "auto_healing_max_unhealthy",
        "20%",
        "nodeGroupDefaults.healthCheck.spec.maxUnhealthy",
        "20%",
    ),
    ("cert_manager_enabled", "true", "addons.certManager.enabled", True),
    ("metrics_server_enabled", "false", "addons.metricsServer.enabled", False),
    ("monitoring_enabled", "true", "addons.monitoring.enabled", True),
    (
        "csi_cinder_allow_volume_expansion",
        "false",
        "addons.openstack.csiCinder.defaultStorageClass.allowVolumeExpansion",
        False,
    ),
    (
        "certificates_expiry_days",
        "60",
        "controlPlane.certificatesExpiryDays",
        60,
    ),
    (
        "node_drain_timeout",
        "10m",
        "controlPlane.nodeDrainTimeout",
        "10m",
    ),
)


class LabelsTest(rolling.RolloutTestCase):
    #: Whether the last look at OpenStack was with the cluster's credential.
    as_project = False

    def catalogue(self, session: Any) -> fake_cloud.FakeCloud:
        """The same for all."""
        self.as_project = isinstance(session.auth, v3.ApplicationCredential)
        return super().catalogue(session)

    def test_names_are_those_of_the_clusters_project(self) -> None:
        """Magnum's user would see networks of other projects."""
        self.rolled_out(labels={"cert_manager_enabled": "true"})
        self.assertTrue(self.as_project)
        self.openstack.credentials.clear()
        self.rolled_out(labels={"cert_manager_enabled": None})
        self.assertFalse(self.as_project)

    def test_a_label_changes_one_value_and_no_machine(self) -> None:
        for name, text, path, value in _IN_PLACE:
            self.rolled_out(labels={name: text})
            self.assertEqual(value, paths.value_at(self.told(), path), name)
        kept = self.kept().labels
        self.assertEqual({name: text for name, text, _, _ in _IN_PLACE}, kept)

    def test_a_label_changes_no_other_value(self) -> None:
        before = self.told()
        self.all.write_text(rolling.MACHINES)
        self.rolled_out(labels={"auto_healing_max_unhealthy": "20%"})
        spec = before["nodeGroupDefaults"]["healthCheck"].setdefault(
            "spec", {}
        )
        spec["maxUnhealthy"] = "20%"
        self.assertEqual(before, self.told())
        self.assertEqual(rolling.OLD, self.helm.upgrades[-1].chart_version)

    def test_the_second_time_there_is_nothing_to_do(self) -> None:
        order = {"labels": {"cert_manager_enabled": "true"}}
        self.rolled_out(**order)
        self.assertEqual(rollout.Plan(rolling.OLD), self.look(**order))

    def test_without_a_value_it_is_the_templates_again(self) -> None:
        before = self.told()
        self.rolled_out(labels={"cert_manager_enabled": "true"})
        self.rolled_out(labels={"cert_manager_enabled": None})
        self.assertEqual(before, self.told())
        self.assertEqual({}, self.kept().labels)

    def test_a_label_outlives_an_upgrade(self) -> None:
        self.rolled_out(labels={"cert_manager_enabled": "true"})
        self.upgrade(self.row().cluster_template)
        addons = self.told()["addons"]
        self.assertIs(True, addons["certManager"]["enabled"])

    def test_machines_are_replaced_only_when_that_is_ordered(self) -> None:
        order = {"node_taints": "slow:NoExecute"}
        self.assertEqual(
            "machines would be replaced, in default-worker (2): "
            "--allow-replacement lets them be",
            self.no(labels=order),
        )
        self.rolled_out(labels=order, replacing=True)
        [group] = self.told()["nodeGroups"]
        path = "kubeadmConfigSpec.joinConfiguration.nodeRegistration.taints"
        self.assertEqual(
            [{"key": "slow", "effect": "NoExecute"}],
            paths.value_at(group, path),
        )

    def test_labels_that_are_refused(self) -> None:
        for name, text, why in (
            ("cert_manager_enable", "true", "did you mean cert_manager"),
            ("cert_manager_enabled", "maybe", "give true or false"),
            ("oidc_client_id", "me", "oidc_issuer_url"),
            ("pods_cidr", "10.0.0.0/8", "can't be changed on a living"),
            ("kube_tag", "v1.35.1", "alone: upgrade the cluster to"),
            (
                "capi_helm_chart_version",
                "0.27.0",
                "can't be changed on a living",
            ),
        ):
            self.assertIn(why, self.no(labels={name: text}), name)

    def test_the_network_plugin_does_not_become_older(self) -> None:
        self.rolled_out(labels={"calico_chart_version": "v3.31.6"})
        self.assertIn(
            "v3.31.6, or a later one. It is 'v3.31.5'",
            self.no(labels={"calico_chart_version": "v3.31.5"}),
        )


class RenewalTest(rolling.RolloutTestCase):
    """Cluster API replaces machines before their certificates expire."""

    def days(self) -> object:
        """The field of the live KubeadmControlPlane."""
        name = names.control_plane(base.RELEASE)
        live = self.server.get(kinds.CONTROL_PLANE, base.NAMESPACE, name)
        assert live is not None
        spec = live["spec"]
        rollout = spec.get("rollout", {"before": spec.get("rolloutBefore")})
        return paths.value_at(rollout, "before.certificatesExpiryDays")

    def test_a_chart_without_the_value_gets_the_field(self) -> None:
        machines = self.server.list(kinds.MACHINE, base.NAMESPACE)
        self.assertIsNone(self.days())
        self.rolled_out(labels={"certificates_expiry_days": "60"})
        self.assertEqual(60, self.days())
        self.resize(3)
        self.settle()
        self.assertEqual(60, self.days())
        self.rolled_out(labels={"certificates_expiry_days": "0"})
        self.assertIsNone(self.days())
        names_before = {view.name_of(each) for each in machines}
        machines = self.server.list(kinds.MACHINE, base.NAMESPACE)
        self.assertLessEqual(names_before, set(map(view.name_of, machines)))

    def test_machines_that_are_due_go_with_permission_alone(self) -> None:
        machine = self.server.list(kinds.MACHINE, base.NAMESPACE, _PLANE)[0]
        soon = datetime.datetime.now(datetime.timezone.utc)
        soon += datetime.timedelta(days=50)
        status = {"certificatesExpiryDate": f"{soon:%Y-%m-%dT%H:%M:%SZ}"}
        name = view.name_of(machine)
        self.server.patch(
            kinds.MACHINE, base.NAMESPACE, name, {"status": status}
        )
        order = {"labels": {"certificates_expiry_days": "60"}}
        self.assertEqual(
            "Cluster API would replace machines at once, whose certificates "
            f"expire within that time: {name}. --allow-replacement lets them "
            "be",
            self.no(**order),
        )
        self.rolled_out(labels={"certificates_expiry_days": "40"})
        self.rolled_out(**order, replacing=True)
        self.assertEqual(60, self.days())

    def test_an_older_cluster_gets_the_default_with_the_label(self) -> None:
        group, name = conf.labels_group.name, "certificates_expiry_days"
        conf.CONF.set_override(name, 60, group)
        self.resize(3)
        self.settle()
        self.assertIsNone(self.days())
        self.rolled_out(labels={name: "60"})
        self.assertEqual(60, self.days())
        conf.CONF.clear_override(name, group)
        self.rolled_out(labels={name: None})
        self.assertIsNone(self.days())

    def test_an_upgrade_brings_the_default(self) -> None:
        group = conf.labels_group.name
        conf.CONF.set_override("certificates_expiry_days", 60, group)
        self.upgrade(self.row().cluster_template)
        self.settle()
        self.assertEqual(60, self.days())


class AutoscalerTest(rolling.RolloutTestCase):
    def test_bounds_and_the_switch(self) -> None:
        on = {"auto_scaling_enabled": "true", "max_node_count": "5"}
        self.rolled_out(labels=on)
        self.rolled_out(labels={"max_node_count": "7"})
        [group] = self.told()["nodeGroups"]
        self.assertEqual(7, group["machineCountMax"])
        self.server.patch(
            kinds.MACHINE_DEPLOYMENT,
            base.NAMESPACE,
            names.machine_deployment(base.RELEASE, "default-worker"),
            {"spec": {"replicas": 4}},
        )
        self.settle()
        self.rolled_out(
            labels={"auto_scaling_enabled": None, "max_node_count": None}
        )
        [group] = self.told()["nodeGroups"]
        self.assertEqual(4, group["machineCount"])
        self.assertEqual(4, self.groups()["default-worker"].node_count)

    def test_a_resize_scales_the_group_within_its_bounds(self) -> None:
        """The label is in the desired state, and in no row."""
        on = {"auto_scaling_enabled": "true", "max_node_count": "5"}
        self.rolled_out(labels=on)
        self.resize(4)
        self.settle()
        self.health_poll()
        self.assertEqual(4, self.replicas())
        self.assertEqual(4, self.groups()["default-worker"].node_count)
        self.assertRaisesRegex(
            exception.InvalidParameterValue,
            "node_count=9: the autoscaler keeps nodegroup",
            self.resize,
            9,
        )


class DeletedTest(rolling.RolloutTestCase):
    """Glance and Nova no longer have what the machines were made of."""

    deleted = False

    def catalogue(self, session: Any) -> fake_cloud.FakeCloud:
        found = super().catalogue(session)
        if self.deleted:
            found.images, found.flavors = {}, {}
        return found

    def setUp(self) -> None:
        super().setUp()
        self.deleted = True

    def test_labels_change_as_before(self) -> None:
        for name, text, path, value in _IN_PLACE:
            self.rolled_out(labels={name: text})
            self.assertEqual(value, paths.value_at(self.told(), path), name)

    def test_the_autoscaler_fits_the_version_and_knows_no_sizes(self) -> None:
        on = {"auto_scaling_enabled": "true", "max_node_count": "5"}
        [before] = self.told()["nodeGroups"]
        self.rolled_out(labels=on)
        told = self.told()
        self.assertEqual("v1.34.5", told["autoscaler"]["image"]["tag"])
        [group] = told["nodeGroups"]
        self.assertEqual(
            {"autoscale": True, "machineCountMin": 2, "machineCountMax": 5},
            {name: group[name] for name in group.keys() - before.keys()},
        )


class FixedTest(rolling.RolloutTestCase):
    def test_the_reference_calls_the_same_labels_fixed(self) -> None:
        table = json.loads(_TABLE.read_text())
        fixed = {
            each.name
            for each in features.LABELS
            if each.becomes
            and each.scope is not declarations.Scope.TEMPLATE
            and upgrade_rules.is_fixed(each)
        }
        self.assertEqual(
            {name for name, change in table.items() if change == "fixed"},
            fixed - {"kube_tag", "server_group_policies"},
        )
