# SPDX-License-Identifier: Apache-2.0

"""Labels of the template that a cluster is upgraded to, and its own."""

from __future__ import annotations

from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import names
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.lifecycle import upgrading


class LabelsTest(upgrading.UpgradeTestCase):
    """Labels that came from the old template, and those of the user."""

    def setUp(self) -> None:
        base.FlowTestCase.setUp(self)
        old = {
            "kube_tag": "v1.34.2",
            "boot_volume_size": "20",
            "api_server_log_level": "3",
            "audit_log_enabled": "true",
        }
        self.complete(
            template={"labels": old},
            labels={**old, "api_server_log_level": "7"},
        )

    def test_inherited_ones_follow_the_template_own_ones_stay(self) -> None:
        self.upgrade(
            self.template(
                image_id="ubuntu-1.35",
                labels={"boot_volume_size": "30", "api_server_log_level": "4"},
            )
        )
        self.settle()
        self.assertEqual(upgrading.NEW, self.machines()["control-plane"])
        told = self.helm.upgrades[-1].values
        self.assertEqual(7, told["apiServer"].get("logLevel"))
        self.assertEqual(
            30, told["nodeGroups"][0]["machineRootVolume"]["diskSize"]
        )

    def test_nodegroups_made_later_have_the_new_ones(self) -> None:
        self.upgrade(
            self.template(
                image_id="ubuntu-1.35", labels={"boot_volume_size": "30"}
            )
        )
        self.settle()
        # Magnum copies the cluster's labels, which are those of before.
        self.add("copy", image_id="ubuntu-1.35", labels=self.row().labels)
        self.add(
            "own",
            image_id="ubuntu-1.35",
            labels={**self.row().labels, "boot_volume_size": "40"},
        )
        sizes = {
            each["name"]: each["machineRootVolume"]["diskSize"]
            for each in self.node_groups()
        }
        self.assertEqual({"default-worker": 30, "copy": 30, "own": 40}, sizes)

    def test_own_ones_survive_a_second_upgrade(self) -> None:
        # The second template has what the first one had: a comparison with
        # the present template would take the user's for inherited.
        for level in ("7", "4"):
            self.upgrade(
                self.template(
                    image_id="ubuntu-1.35",
                    labels={"api_server_log_level": level},
                )
            )
            self.settle()
        told = self.helm.upgrades[-1].values
        self.assertEqual(7, told["apiServer"].get("logLevel"))


class IdleLabelsTest(upgrading.UpgradeTestCase):
    """1.4.0 took volume types without a volume; nobody can change them."""

    IDLE = ("boot_volume_type", "etcd_volume_type")

    def test_a_clusters_own_do_not_matter(self) -> None:
        row = self.row()
        row.labels = dict.fromkeys(self.IDLE, "fast")
        row.save()
        self.upgrade(self.template(image_id="ubuntu-1.35"))
        self.settle()
        self.assertEqual({"UPDATE_COMPLETE"}, self.statuses())

    def test_idle_labels_of_the_new_template_are_refused(self) -> None:
        for name in self.IDLE:
            new = self.template(image_id="ubuntu-1.35", labels={name: "fast"})
            self.assertIn(f"label {name}: ", self.refused(new))


class AutoscaledTestCase(upgrading.UpgradeTestCase):
    """Bounds from labels that the template had, and four machines."""

    def setUp(self) -> None:
        base.FlowTestCase.setUp(self)
        self.labels = {
            "auto_scaling_enabled": "true",
            "min_node_count": "1",
            "max_node_count": "5",
        }
        self.complete(template={"labels": self.labels}, labels=self.labels)
        self.scale(4)

    def scale(self, machines: int) -> None:
        """The autoscaler is at work."""
        self.server.patch(
            kinds.MACHINE_DEPLOYMENT,
            base.NAMESPACE,
            names.machine_deployment(base.RELEASE, "default-worker"),
            {"spec": {"replicas": machines}},
        )

    def bounds(self) -> tuple[int | None, ...]:
        """Both bounds and the count that helm was told of."""
        fields = ("machineCountMin", "machineCountMax", "machineCount")
        return tuple(map(self.node_groups()[0].get, fields))


class AutoscalingTest(AutoscaledTestCase):
    """Who chooses a count is chosen by the template."""

    def test_bounds_follow_the_template_and_the_count_stays(self) -> None:
        new = {**self.labels, "min_node_count": "3", "max_node_count": "9"}
        self.upgrade(self.template(image_id="ubuntu-1.35", labels=new))
        self.settle()
        self.assertEqual((3, 9, None), self.bounds())
        self.assertEqual(4, self.replicas())

    def test_switched_off_the_machines_of_today_stay(self) -> None:
        self.upgrade(self.template(image_id="ubuntu-1.35"))
        self.settle()
        self.assertEqual(4, self.node_groups()[0]["machineCount"])
        self.assertEqual(4, self.groups()["default-worker"].node_count)
        self.assertEqual({"UPDATE_COMPLETE"}, self.statuses())
        # The row's labels still say that it autoscales.
        self.resize(2)
        self.assertEqual(2, self.replicas())


class ChangedBoundsTest(AutoscaledTestCase):
    """What an update gave to the default workers outlives an upgrade."""

    def upgraded(self) -> tuple[int | None, ...]:
        """Bounds and count after an upgrade to a template of such labels."""
        self.settle()
        new = {**self.labels, "min_node_count": "3"}
        self.upgrade(self.template(image_id="ubuntu-1.35", labels=new))
        self.settle()
        self.assertEqual({"UPDATE_COMPLETE"}, self.statuses())
        return self.bounds()

    def test_a_lower_bound_outlives_an_upgrade(self) -> None:
        self.change("default-worker", min_node_count=2)
        self.assertEqual((2, 5, None), self.upgraded())

    def test_an_upper_bound_that_the_autoscaler_uses(self) -> None:
        self.change("default-worker", max_node_count=9)
        self.scale(8)
        self.assertEqual((3, 9, None), self.upgraded())
        self.assertEqual(8, self.replicas())

    def test_a_group_that_was_taken_back(self) -> None:
        self.resize(2)
        self.settle()
        self.change("default-worker", min_node_count=2, max_node_count=2)
        self.assertEqual((None, None, 2), self.upgraded())

    def test_both_when_nothing_else_is_upgraded(self) -> None:
        self.change("default-worker", min_node_count=2, max_node_count=9)
        self.settle()
        self.upgrade(self.row().cluster_template)
        self.assertEqual((2, 9, None), self.bounds())
