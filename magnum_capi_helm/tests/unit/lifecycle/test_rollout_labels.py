# SPDX-License-Identifier: Apache-2.0

"""Labels of a living cluster that the operator changes, and hibernation."""

from __future__ import annotations

import datetime
import json
import pathlib
from typing import Any

from keystoneauth1.identity import v3
from oslotest import base as test_base

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
from magnum_capi_helm.tests.fakes import helm
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.lifecycle import rolling
from magnum_capi_helm.tests.unit.lifecycle import test_autoscaler_counts

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
    (
        "csi_cinder_allow_volume_expansion",
        "false",
        "addons.openstack.csiCinder.defaultStorageClass.allowVolumeExpansion",
        False,
    ),
    ("node_drain_timeout", "10m", "controlPlane.nodeDrainTimeout", "10m"),
)
_ON = {"cert_manager_enabled": "true"}


class LabelsTest(rolling.RolloutTestCase):
    #: Whether the last look at OpenStack was with the cluster's credential.
    as_project = False

    def catalogue(self, session: Any) -> fake_cloud.FakeCloud:
        """The same for all."""
        self.as_project = isinstance(session.auth, v3.ApplicationCredential)
        return super().catalogue(session)

    def test_a_label_comes_and_goes(self) -> None:
        """Names are those of the project; Magnum's user would see others."""
        before = self.told()
        self.rolled_out(labels=_ON)
        self.assertTrue(self.as_project)
        # The second time there is nothing to do.
        self.assertEqual(rollout.Plan(rolling.OLD), self.look(labels=_ON))
        self.openstack.credentials.clear()
        # Without a value it is the template's again.
        self.rolled_out(labels={"cert_manager_enabled": None})
        self.assertFalse(self.as_project)
        self.assertEqual(before, self.told())
        self.assertEqual({}, self.kept().labels)
        self.rolled_out(labels=_ON)
        # It outlives an upgrade.
        self.upgrade(self.row().cluster_template)
        addons = self.told()["addons"]
        self.assertIs(True, addons["certManager"]["enabled"])

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
            ("capi_helm_chart_version", "0.27.0", "can't be changed on a"),
        ):
            self.assertIn(why, self.no(labels={name: text}), name)


class RenewalTest(rolling.RolloutTestCase):
    """Cluster API replaces machines before their certificates expire."""

    def days(self) -> object:
        """The field of the live KubeadmControlPlane."""
        name = names.control_plane(base.RELEASE)
        spec = self.live(kinds.CONTROL_PLANE, name)["spec"]
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
        change = {"status": status}
        self.edit(kinds.MACHINE, name, change)
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
        # An upgrade brings the default without it.
        conf.CONF.set_override(name, 60, group)
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
        self.scale(4)
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
        text = self.error_of(self.resize, 9)
        self.assertIn("node_count=9: the autoscaler keeps nodegroup", text)


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


class FixedTest(test_base.BaseTestCase):
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


class HibernationTestCase(base.NodegroupTestCase):
    """A complete cluster with three workers."""

    def setUp(self) -> None:
        super().setUp()
        self.resize(3)
        self.assert_updated()

    def order(self, *, hibernated: bool) -> str:
        """Hibernate or wake the cluster, as the command does."""
        order = rollout.Order(hibernated=hibernated)
        return rollout.apply(self.new_operation(), order)

    def hibernate(self) -> None:
        self.assertEqual("", self.order(hibernated=True))
        self.assert_updated()

    def wake(self) -> None:
        self.assertEqual("", self.order(hibernated=False))
        self.assert_updated()

    def counts(self) -> tuple[int, int, int]:
        """Return the worker count of the row and live, and all machines."""
        row = self.groups()["default-worker"]
        machines = self.server.list(kinds.MACHINE, base.NAMESPACE)
        return row.node_count, self.replicas(), len(machines)


class WorkersTest(HibernationTestCase):
    def test_workers_go_and_come_back(self) -> None:
        self.assertEqual((3, 3, 4), self.counts())
        self.assertNotIn("hibernated", self.health_poll().health_status_reason)
        self.hibernate()
        self.assertEqual((3, 0, 1), self.counts())
        found = self.health_poll()
        self.assertEqual("HEALTHY", found.health_status)
        self.assertEqual(
            "workers are away until the operator wakes it",
            found.health_status_reason["hibernated"],
        )
        # A second order changes nothing.
        runs = len(self.helm.upgrades)
        self.assertEqual("", self.order(hibernated=True))
        self.assertEqual(runs, len(self.helm.upgrades))
        self.wake()
        self.assertEqual((3, 3, 4), self.counts())

    def test_changes_count_when_the_cluster_wakes(self) -> None:
        self.hibernate()
        template = self.row().cluster_template
        group = self.groups()["default-worker"]
        args = (self.context, self.row(), template, 1, group)
        text = self.error_of(self.handler.cluster_upgrade, *args)
        self.assertIn("cluster is hibernated", text)
        self.resize(2)
        self.assert_updated()
        self.assertEqual((2, 0, 1), self.counts())
        self.add("gpu", node_count=2)
        self.assert_updated()
        self.assertEqual(0, self.replicas("gpu"))
        self.wake()
        self.assertEqual((2, 2, 5), self.counts())
        self.assertEqual(2, self.replicas("gpu"))

    def test_a_conductor_that_dies_hibernates_no_half(self) -> None:
        self.helm.outcomes = [helm.Outcome.UNREACHABLE]
        self.assertNotEqual("", self.order(hibernated=True))
        self.poll()
        self.assert_updated()
        self.assertEqual((3, 0, 1), self.counts())


class AutoscaledTest(HibernationTestCase):
    """The autoscaler owns the count of default-worker."""

    def setUp(self) -> None:
        base.FlowTestCase.setUp(self)
        self.complete(labels=dict(test_autoscaler_counts.SCALED))
        self.scale(4)
        self.capi.settle()
        self.health_poll()

    def test_the_count_before_is_the_count_after(self) -> None:
        self.assertEqual((4, 4, 5), self.counts())
        self.hibernate()
        self.health_poll()
        self.assertEqual((4, 0, 1), self.counts())
        self.wake()
        self.assertEqual((4, 4, 5), self.counts())
