# SPDX-License-Identifier: Apache-2.0

"""Several minor versions in one upgrade, and charts that rename values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import fixtures

from magnum_capi_helm.chart import quota_demand
from magnum_capi_helm.chart import values
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import responses
from magnum_capi_helm.model import encoding
from magnum_capi_helm.model import paths
from magnum_capi_helm.tests.fakes import chart as fake_chart
from magnum_capi_helm.tests.fakes import cloud as fake_cloud
from magnum_capi_helm.tests.fakes import helm as fake_helm
from magnum_capi_helm.tests.unit import deployments
from magnum_capi_helm.tests.unit.chart import renamed
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.lifecycle import rolling
from magnum_capi_helm.tests.unit.lifecycle import upgrading
from magnum_capi_helm.tests.unit.operations import (
    test_template_guard_builds as builds,
)

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


class MinorsTest(MinorsTestCase):
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
            shown = str(self.why())
            self.assertEqual(reason, shown[: len(reason)])
            self.assertEqual({"UPDATE_IN_PROGRESS"}, self.statuses())
            images = {each.image_id for each in self.groups().values()}
            self.assertEqual({"ubuntu-1.36"}, images)
            self.capi.settle()
            self.poll()
        self.assertEqual({"UPDATE_COMPLETE"}, self.statuses())
        self.assertEqual("v1.36.0", self.row().coe_version)
        self.assertEqual(base.INTENT_KEYS, self.intent_keys())
        told = [values.generation(e.values) for e in self.helm.upgrades]
        self.assertEqual([0, 1, 2, 3], told)

    def test_values_that_replace_workers_too_are_one_step(self) -> None:
        self.begin(http_proxy="http://proxy.test:3128")
        self.capi.settle()
        self.poll()
        text = "upgrade, step 2 of 2: control plane and workers to v1.36.0"
        self.assertEqual(text, self.why())
        self.capi.settle()
        self.poll()
        expected = [("1.35.1", "1.34.2"), ("1.36.0", "1.36.0")]
        self.assertEqual(expected, self.versions())
        self.assertEqual({"UPDATE_COMPLETE"}, self.statuses())

    def test_images_of_the_label_come_first(self) -> None:
        self.begin(labels={"upgrade_images": "1.35.1=bare"})
        self.assertEqual(("1.35.1", "i-b"), self.machines()["control-plane"])


class MeanwhileTest(MinorsTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.begin()

    def test_no_step_begins_beside_a_machine_of_an_old_version(self) -> None:
        self.capi.settle()
        name = f"{base.RELEASE}-control-plane-m0"
        old = {"spec": {"version": "v1.34.2"}}
        self.edit(kinds.MACHINE, name, old)
        self.poll()
        self.assertEqual([("1.35.1", "1.34.2")], self.versions())
        self.assertEqual({"UPDATE_IN_PROGRESS"}, self.statuses())

    def test_a_new_group_has_the_last_version_and_waits_for_it(self) -> None:
        text = self.error_of(self.add, "old", image_id="ubuntu-1.35")
        self.assertIn("the control plane has 1.36.0", text)
        self.add("new", image_id="ubuntu-1.36")
        self.settle()
        versions = {each for _, each in self.versions("new")}
        self.assertEqual({"1.36.0"}, versions)
        self.assertEqual("UPDATE_COMPLETE", self.row().status)

    def test_a_failed_step_goes_on_with_a_resize(self) -> None:
        self.capi.settle()
        self.helm.outcomes = [fake_helm.Outcome.REFUSED]
        self.poll()
        self.assertEqual("UPDATE_FAILED", self.row().status)
        self.assertEqual(
            "upgrade, step 2 of 3: control plane to v1.36.0: helm upgrade: "
            "admission webhook denied the request. The polls of the cluster's "
            "health try again; a resize to the present count does so at once. "
            "An operator can roll it back before a control plane machine has "
            "the newer Kubernetes (`magnum-capi-helm cluster rollback`), or "
            "stop it in a step of the control plane (with `--stop-here`)",
            self.why(),
        )
        self.resize(2)
        self.assert_updated()
        self.assertEqual((NEWEST, NEWEST), tuple(self.machines().values()))
        self.assertEqual(base.INTENT_KEYS, self.intent_keys())

    def test_a_step_that_takes_too_long_says_how_it_goes_on(self) -> None:
        self.relabel(2, modifiedAt="1")
        self.poll()
        self.assertEqual("UPDATE_FAILED", self.row().status)
        self.assertRegex(
            self.why(),
            "^not done in time: upgrade, step 1 of 3: control plane to "
            r"v1\.35\.1: .+ a resize to the present count does so at once\. "
            "An operator can roll it back",
        )

    def test_a_failed_step_goes_on_with_health_polls(self) -> None:
        self.capi.settle()
        self.helm.outcomes = [fake_helm.Outcome.REFUSED]
        self.poll()
        # Magnum writes the reason of this refusal into the cluster's row.
        self.error_of(self.add, "old", image_id="ubuntu-1.35")
        self.assertEqual("UPDATE_FAILED", self.row().status)
        for _ in range(4):
            self.plane.clock.advance(60)
            self.health_poll()
            self.capi.settle()
        self.assert_updated()
        self.assertEqual((NEWEST, NEWEST), tuple(self.machines().values()))

    def test_a_conductor_dies_at_each_write_of_each_step(self) -> None:
        for verb, kind, after in (
            ("patch", kinds.SECRET, 0),
            ("patch", kinds.SECRET, 1),
            ("patch", kinds.SECRET, 2),
            ("patch", kinds.CLUSTER, 0),
        ) * 2:
            self.capi.settle()
            with self.dies(verb, kind, after=after):
                self.poll()
        for _ in range(6):
            self.capi.settle()
            self.poll()
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
        self.assertEqual(base.INTENT_KEYS, self.intent_keys())


class RefusalTest(MinorsTestCase):
    def test_all_that_keeps_the_cluster_is_named_at_once(self) -> None:
        self.set_option(quota_check="refuse")
        full = {"instances": quota_demand.Quota(3, 3)}
        self.useFixture(
            fixtures.MockPatchObject(self, "cloud", {"limits": full})
        )
        self.save(health_status="UNHEALTHY")
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

    def test_cluster_api_that_the_driver_may_not_list(self) -> None:
        error = responses.ForbiddenError("User magnum cannot list (403)")
        self.fails("list", kinds.DEPLOYMENT, error=error)
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
        builds.put_build(self.helm, builds.PATCHED)
        self.assertEqual(
            "upgrade one minor version of Kubernetes at a time: the new chart "
            "replaces workers in a step of the control plane as well. They "
            "are those of default-worker, in the step to v1.35.1 with chart "
            "0.27.0",
            self.refused(self.template(image_id="ubuntu-1.36")),
        )


_PATHS = (
    "apiServer.loadBalancerProvider",
    "apiServer.provider",
    "addons.reloader.enabled",
    "addons.restarts.enabled",
)
#: Values at these paths, and the counts of a nodegroup under both keys.
_BEFORE = (["ovn", None, True, None], [2, None])
_AFTER = ([None, "ovn", None, True], [None, 2])


def _render(
    release: str,
    namespace: str,
    values: dict[str, Any],
    build: Mapping[str, str] | None = None,
) -> list[dict[str, Any]]:
    """Render the chart whose groups have replicas, or the one before it."""
    groups = [
        {**each, "machineCount": each["replicas"]}
        if "replicas" in each
        else each
        for each in values["nodeGroups"]
    ]
    values = {**values, "nodeGroups": groups}
    return _FORMER(release, namespace, values, build)


_FORMER = fake_chart.render


class RenamedValuesTest(upgrading.UpgradeTestCase):
    """A cluster of the newest chart, and a template with the next one."""

    def setUp(self) -> None:
        base.FlowTestCase.setUp(self)
        renamed.add_source(self)
        self.useFixture(
            fixtures.MockPatchObject(fake_chart, "render", _render)
        )
        self.created({"labels": {"octavia_provider": "ovn"}})
        self.new = self.template(
            labels={"capi_helm_chart_version": renamed.VERSION}
        )

    def stored(self) -> dict[str, Any]:
        data = self.live(kinds.SECRET, base.INTENT)["data"]
        found: dict[str, Any] = encoding.unpack(data["values.json.gz"])
        return found

    def check(self, expected: object) -> None:
        for found in (self.helm.upgrades[-1].values, self.stored()):
            [group] = found["nodeGroups"]
            counts = [group.get(key) for key in ("machineCount", "replicas")]
            there = [paths.value_at(found, path) for path in _PATHS]
            self.assertEqual(expected, (there, counts))

    def test_an_upgrade_moves_values_and_a_resize_keeps_them(self) -> None:
        self.check(_BEFORE)
        self.resize(4)
        self.check((_BEFORE[0], [4, None]))
        self.settle()
        self.resize(2)
        self.settle()
        self.upgrade(self.new)
        self.assert_updated()
        self.assertEqual(renamed.VERSION, self.helm.upgrades[-1].chart_version)
        self.check(_AFTER)
        self.resize(5)
        self.check((_AFTER[0], [None, 5]))
        self.assertEqual(5, self.replicas())
        self.settle()
        # Without the Secret, values are read from the record of helm.
        self.server.delete(kinds.SECRET, base.NAMESPACE, base.INTENT)
        self.resize(3)
        self.check((_AFTER[0], [None, 3]))

    def test_a_rollback_returns_to_the_former_paths(self) -> None:
        self.helm.outcomes = [fake_helm.Outcome.REFUSED] * 2
        self.upgrade(self.new)
        self.poll()
        self.assertEqual("UPDATE_FAILED", self.row().status)
        self.check(_AFTER)
        self.roll_back()
        self.settle()
        self.assertEqual(renamed.LAST, self.helm.upgrades[-1].chart_version)
        self.check(_BEFORE)


class RolloutTest(rolling.RolloutTestCase):
    """``cluster apply`` with another chart."""

    def test_values_and_files_of_the_operator_move(self) -> None:
        renamed.add_source(self)
        self.useFixture(
            fixtures.MockPatchObject(fake_chart, "render", _render)
        )
        self.all.write_text("addons: {restarts: {enabled: false}}")
        self.rolled_out(files=True)
        self.assertIs(False, self.told()["addons"]["reloader"]["enabled"])
        self.rolled_out(chart=renamed.VERSION)
        self.assertNotIn("reloader", self.told()["addons"])
        self.assertIs(False, self.told()["addons"]["restarts"]["enabled"])
        self.assertEqual("amphora", self.told()["apiServer"]["provider"])
