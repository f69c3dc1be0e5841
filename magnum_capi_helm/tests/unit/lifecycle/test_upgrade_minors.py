# SPDX-License-Identifier: Apache-2.0

"""Several minor versions of Kubernetes in one upgrade."""

from __future__ import annotations

import contextlib
from typing import Any, ClassVar

import fixtures
from magnum.common import exception

from magnum_capi_helm.chart import quota_demand
from magnum_capi_helm.chart import values
from magnum_capi_helm.config import conf
from magnum_capi_helm.features import nodes
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import responses
from magnum_capi_helm.tests.fakes import cloud as fake_cloud
from magnum_capi_helm.tests.fakes import helm as fake_helm
from magnum_capi_helm.tests.fakes import management
from magnum_capi_helm.tests.unit import deployments
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.lifecycle import upgrading
from magnum_capi_helm.tests.unit.operations import test_template_guard_builds

WORKER = "default-worker"
NEWEST = ("1.36.0", "i-1.36.0")
OLD, MIDDLE = upgrading.OLD, upgrading.NEW


class MinorsTestCase(upgrading.UpgradeTestCase):
    """A cluster of 1.34.2, and a public image of 1.35.1."""

    #: Fields of the project's cloud.
    cloud: ClassVar[dict[str, Any]] = {"public": ("ubuntu-1.35",)}

    def catalogue(self, session: Any) -> fake_cloud.FakeCloud:
        cloud = super().catalogue(session)
        vars(cloud).update(self.cloud)
        return cloud

    def begin(self, nodegroup: str = WORKER, **fields: Any) -> None:
        """Begin the upgrade to 1.36.0."""
        new = self.template(**{"image_id": "ubuntu-1.36", **fields})
        self.upgrade(new, nodegroup=nodegroup)

    def versions(self, group: str = WORKER) -> list[tuple[Any, Any]]:
        """Versions of control plane and group in each run of helm."""
        runs = [each.values for each in self.helm.upgrades[1:]]
        return [
            (
                each["controlPlane"]["kubernetesVersion"],
                values.items_by_name(each)[group]["kubernetesVersion"],
            )
            for each in runs
            if group in values.items_by_name(each)
        ]

    def next(self) -> None:
        """All machines come up, and a poll takes the next step."""
        self.capi.settle()
        self.poll()


class MinorsTest(MinorsTestCase):
    """Nothing disturbs the steps."""

    def test_workers_are_replaced_once_after_the_last_version(self) -> None:
        self.begin()
        for number, machines, text in (
            (1, (MIDDLE, OLD), "control plane to v1.35.1"),
            (2, (NEWEST, OLD), "control plane to v1.36.0"),
            (3, (NEWEST, NEWEST), "workers to v1.36.0"),
        ):
            self.poll()
            expected = dict(
                zip(("control-plane", WORKER), machines, strict=True)
            )
            self.assertEqual(expected, self.machines())
            reason = f"upgrade, step {number} of 3: {text}"
            shown = str(self.row().status_reason)
            self.assertEqual(reason, shown[: len(reason)])
            self.assertEqual({"UPDATE_IN_PROGRESS"}, self.statuses())
            images = {each.image_id for each in self.groups().values()}
            self.assertEqual({"ubuntu-1.36"}, images)
            self.next()
        self.assertEqual({"UPDATE_COMPLETE"}, self.statuses())
        self.assertEqual("v1.36.0", self.row().coe_version)
        self.assertEqual(base.INTENT_KEYS, self.intent_keys())
        told = [values.generation(e.values) for e in self.helm.upgrades]
        self.assertEqual([0, 1, 2, 3], told)

    def test_workers_that_would_be_too_old_are_replaced_on_the_way(
        self,
    ) -> None:
        self.useFixture(fixtures.MockPatchObject(nodes, "SKEW", 1))
        self.begin()
        self.settle()
        expected = [
            ("1.35.1", "1.34.2"),
            ("1.35.1", "1.35.1"),
            ("1.36.0", "1.35.1"),
            ("1.36.0", "1.36.0"),
        ]
        self.assertEqual(expected, self.versions())
        self.assertEqual({"UPDATE_COMPLETE"}, self.statuses())

    def test_workers_follow_a_control_plane_upgraded_alone(self) -> None:
        self.begin(nodegroup="default-master")
        self.settle()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)
        self.upgrade(self.row().cluster_template)
        self.settle()
        expected = [
            ("1.35.1", "1.34.2"),
            ("1.36.0", "1.34.2"),
            ("1.36.0", "1.36.0"),
        ]
        self.assertEqual(expected, self.versions())
        self.assertEqual({"UPDATE_COMPLETE"}, self.statuses())

    def test_other_values_come_with_the_last_version(self) -> None:
        labels = {"cert_manager_enabled": "true"}
        self.begin(labels=labels, master_flavor_id="m1.large")
        self.settle()
        runs = [each.values for each in self.helm.upgrades]
        enabled = ["certManager" in each["addons"] for each in runs]
        self.assertEqual([False, False, True, True], enabled)
        flavors = [each["controlPlane"]["machineFlavor"] for each in runs]
        self.assertEqual(["m1.medium"] * 2 + ["m1.large"] * 2, flavors)

    def test_values_that_replace_workers_as_well_come_in_one_step(
        self,
    ) -> None:
        self.begin(http_proxy="http://proxy.test:3128")
        self.next()
        text = "upgrade, step 2 of 2: control plane and workers to v1.36.0"
        self.assertEqual(text, self.row().status_reason)
        self.next()
        expected = [("1.35.1", "1.34.2"), ("1.36.0", "1.36.0")]
        self.assertEqual(expected, self.versions())
        self.assertEqual({"UPDATE_COMPLETE"}, self.statuses())

    def test_groups_with_own_images_stay_and_deleted_ones_are_gone(
        self,
    ) -> None:
        self.add("mine", image_id="ubuntu-1.34.3")
        self.add("gone")
        self.settle()
        self.begin()
        self.remove("gone")
        self.capi.remove_group("gone")
        self.settle()
        expected = {"control-plane": NEWEST, WORKER: NEWEST}
        expected["mine"] = ("1.34.3", "i-1.34.3")
        self.assertEqual(expected, self.machines())

    def test_images_of_the_label_come_first(self) -> None:
        self.begin(labels={"upgrade_images": "1.35.1=bare"})
        self.assertEqual(("1.35.1", "i-b"), self.machines()["control-plane"])


class MeanwhileTest(MinorsTestCase):
    """Users and accidents."""

    def setUp(self) -> None:
        super().setUp()
        self.begin()

    def test_no_step_begins_beside_a_machine_of_an_older_version(
        self,
    ) -> None:
        self.capi.settle()
        name = f"{base.RELEASE}-control-plane-m0"
        old = {"spec": {"version": "v1.34.2"}}
        self.server.patch(kinds.MACHINE, base.NAMESPACE, name, old)
        self.poll()
        self.assertEqual([("1.35.1", "1.34.2")], self.versions())
        self.assertEqual({"UPDATE_IN_PROGRESS"}, self.statuses())

    def test_a_lost_worker_delays_no_step_of_the_control_plane(self) -> None:
        for _ in range(2):
            self.capi.fail_machine(WORKER)
            self.poll()
        self.assertEqual((NEWEST, NEWEST), tuple(self.machines().values()))

    def test_a_new_group_has_the_last_version_and_waits_for_it(self) -> None:
        error = self.assertRaises(
            exception.MagnumException, self.add, "old", image_id="ubuntu-1.35"
        )
        self.assertIn("the control plane has 1.36.0", str(error))
        self.add("new", image_id="ubuntu-1.36")
        self.settle()
        versions = {each for _, each in self.versions("new")}
        self.assertEqual({"1.36.0"}, versions)
        self.assertEqual("UPDATE_COMPLETE", self.row().status)

    def test_a_larger_count_waits_and_stays(self) -> None:
        self.resize(5)
        self.settle()
        self.assertEqual(5, self.replicas())
        self.assertEqual((NEWEST, NEWEST), tuple(self.machines().values()))
        self.assertEqual({"UPDATE_COMPLETE"}, self.statuses())

    def test_a_failed_step_goes_on_with_a_resize(self) -> None:
        self.capi.settle()
        self.helm.outcomes = [fake_helm.Outcome.REFUSED]
        self.poll()
        row = self.row()
        self.assertEqual("UPDATE_FAILED", row.status)
        self.assertEqual(
            "upgrade, step 2 of 3: control plane to v1.36.0: helm upgrade: "
            "admission webhook denied the request. The polls of the cluster's "
            "health try again; a resize to the present count does so at once. "
            "An operator can roll it back before a control plane machine has "
            "the newer Kubernetes (`magnum-capi-helm cluster rollback`), or "
            "stop it in a step of the control plane (with `--stop-here`)",
            row.status_reason,
        )
        self.resize(2)
        self.settle()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)
        self.assertEqual((NEWEST, NEWEST), tuple(self.machines().values()))

    def test_a_step_that_takes_too_long_says_how_it_goes_on(self) -> None:
        revision = f"sh.helm.release.v1.{base.RELEASE}.v2"
        old = {"metadata": {"labels": {"modifiedAt": "1"}}}
        self.server.patch(kinds.SECRET, base.NAMESPACE, revision, old)
        self.poll()
        row = self.row()
        self.assertEqual("UPDATE_FAILED", row.status)
        self.assertRegex(
            row.status_reason,
            "^not done in time: upgrade, step 1 of 3: control plane to "
            r"v1\.35\.1: .+ a resize to the present count does so at once\. "
            "An operator can roll it back",
        )

    def test_a_failed_step_goes_on_with_health_polls(self) -> None:
        self.capi.settle()
        self.helm.outcomes = [fake_helm.Outcome.REFUSED]
        self.poll()
        # Magnum writes the reason of this refusal into the cluster's row.
        self.assertRaises(
            exception.MagnumException, self.add, "old", image_id="ubuntu-1.35"
        )
        self.assertEqual("UPDATE_FAILED", self.row().status)
        for _ in range(4):
            self.plane.clock.advance(60)
            self.health_poll()
            self.capi.settle()
        self.settle()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)
        self.assertEqual((NEWEST, NEWEST), tuple(self.machines().values()))

    def test_a_conductor_dies_at_each_write_of_each_step(self) -> None:
        for verb, kind, after in (
            ("patch", kinds.SECRET, 0),
            ("patch", kinds.SECRET, 1),
            ("patch", kinds.SECRET, 2),
            ("patch", kinds.CLUSTER, 0),
        ) * 2:
            self.capi.settle()
            self.management.kill_before(verb, kind, after=after)
            with contextlib.suppress(management.Killed):
                self.poll()
            self.management.recover()
            free = {"spec": {"holderIdentity": ""}}
            where = (kinds.LEASE, base.NAMESPACE, base.RELEASE)
            self.server.patch(*where, free)
        for _ in range(6):
            self.next()
        self.assertEqual({"UPDATE_COMPLETE"}, self.statuses())
        # helm may run once more for a step whose note was lost.
        told = [values.generation(e.values) for e in self.helm.upgrades]
        self.assertEqual([0, 1, 2, 3], list(dict.fromkeys(told)))
        expected = [
            ("1.35.1", "1.34.2"),
            ("1.36.0", "1.34.2"),
            ("1.36.0", "1.36.0"),
        ]
        self.assertEqual(expected, list(dict.fromkeys(self.versions())))


class RefusalTest(MinorsTestCase):
    """Nothing is written."""

    def test_all_that_keeps_the_cluster_is_named_at_once(self) -> None:
        conf.CONF.set_override("quota_check", "refuse", "capi_helm")
        full = {"instances": quota_demand.Quota(3, 3)}
        self.useFixture(
            fixtures.MockPatchObject(self, "cloud", {"limits": full})
        )
        row = self.row()
        self.dbapi.update_cluster(row.id, {"health_status": "UNHEALTHY"})
        self.assertEqual(
            "there is no image for a minor version of Kubernetes on the way: "
            "ask your operator for a public image of each, or for the label "
            "upgrade_images in the template; only a complete and healthy "
            "cluster gets other machines, and this one is not: UNHEALTHY; a "
            "new control plane machine: not enough quota: instances: 1 "
            "needed, 0 of 3 free. There is none for Kubernetes 1.35, with "
            "kube_version v1.35.x, os_distro ubuntu, no architecture and "
            "min_disk up to 20",
            self.refused(self.template(image_id="ubuntu-1.36")),
        )
        self.upgrade(self.template(image_id="ubuntu-1.35"))

    def test_a_cluster_that_is_not_settled(self) -> None:
        self.capi.fail_machine(WORKER)
        self.assertIn(
            "only a complete and healthy cluster gets other machines",
            self.refused(self.template(image_id="ubuntu-1.36")),
        )

    def test_cluster_api_that_the_driver_may_not_list(self) -> None:
        error = responses.ForbiddenError("User magnum cannot list (403)")
        self.management.fail(error, verbs=("list",), kind=kinds.DEPLOYMENT)
        self.assertEqual(
            "the driver can't see whether Cluster API is new enough for the "
            "Kubernetes of an image: ask the operator to give the driver the "
            "permissions of its version. User magnum cannot list (403)",
            self.refused(self.template(image_id="ubuntu-1.36")),
        )
        self.upgrade(self.template(image_id="ubuntu-1.35"))

    def test_cluster_api_that_is_too_old_for_a_version(self) -> None:
        for each in deployments.tested():
            space = {"metadata": {"name": each["metadata"]["namespace"]}}
            self.server.apply(kinds.NAMESPACE, space)
            labels = each["metadata"].get("labels") or {}
            if labels.get("cluster.x-k8s.io/provider") == "cluster-api":
                manager = each["spec"]["template"]["spec"]["containers"][0]
                manager["image"] = "r.test/cluster-api-controller:v1.11.2"
            self.server.apply(kinds.DEPLOYMENT, each)
        self.assertEqual(
            "the management cluster's Cluster API is too old for the "
            "Kubernetes of an image: ask the operator to upgrade it. It is "
            "1.11.2, and Kubernetes v1.36.0 needs 1.12.8 or 1.13.1",
            self.refused(self.template(image_id="ubuntu-1.36")),
        )
        self.upgrade(self.template(image_id="ubuntu-1.35"))

    def test_a_chart_that_replaces_workers_in_each_step(self) -> None:
        test_template_guard_builds.put_build(
            self.helm, test_template_guard_builds.PATCHED
        )
        self.assertEqual(
            "upgrade one minor version of Kubernetes at a time: the new chart "
            "replaces workers in a step of the control plane as well. They "
            "are those of default-worker, in the step to v1.35.1 with chart "
            "0.27.0",
            self.refused(self.template(image_id="ubuntu-1.36")),
        )
