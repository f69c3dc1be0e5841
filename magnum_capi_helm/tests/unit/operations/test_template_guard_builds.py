# SPDX-License-Identifier: Apache-2.0

"""The chart store gets another build of the chart that a cluster has.

Name and version are the same, and the machines would be others.
"""

from __future__ import annotations

from collections.abc import Callable
import dataclasses
import json
import pathlib
from typing import Any

import fixtures
from magnum.common import exception

from magnum_capi_helm import runtime
from magnum_capi_helm.cloud import server_groups
from magnum_capi_helm.config import conf
from magnum_capi_helm.kubernetes import helm_records
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import desired_state
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.fakes import held
from magnum_capi_helm.tests.fakes import helm as fake_helm
from magnum_capi_helm.tests.fakes import records
from magnum_capi_helm.tests.unit import test_driver_legacy
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.lifecycle import rolling
from magnum_capi_helm.tests.unit.lifecycle import upgrading
from magnum_capi_helm.tests.unit.operations import test_apply

PATCHED = {"control-plane": "patched", "default-worker": "patched"}
WORKERS = {"default-worker": "patched"}
EXTRA = {"extra": "patched"}


def put_build(chart_source: Any, changed: dict[str, str]) -> None:
    """Let the chart store have another build of each chart."""
    chart_source.build = changed
    store = pathlib.Path(conf.CONF.capi_helm.chart_store)
    for each in store.glob("openstack-cluster-*"):
        each.unlink()


class BuildTestCase(base.NodegroupTestCase):
    """A complete cluster with a nodegroup ``extra``."""

    def setUp(self) -> None:
        super().setUp()
        self.add("extra", max_node_count=3)
        self.settle()

    def build(self, changed: dict[str, str]) -> None:
        put_build(self.helm, changed)

    def written(self) -> tuple[object, ...]:
        """What is wanted of the release, and the runs of helm."""
        data = self.live(kinds.SECRET, base.INTENT)["data"]
        return data, len(self.helm.upgrades)

    def machines(self) -> dict[str, Any]:
        found = {}
        for kind in (kinds.CONTROL_PLANE, kinds.MACHINE_DEPLOYMENT):
            for each in self.server.list(kind, base.NAMESPACE):
                machine = {**each["spec"], "replicas": 0}
                found[each["metadata"]["name"]] = machine
        return found

    def refused(self, call: Callable[..., Any], *args: Any, **kw: Any) -> str:
        """The text of a refusal that came before the first write."""
        before = self.written()
        self.management.requests.clear()
        error = self.assertRaises(exception.NotSupported, call, *args, **kw)
        self.assertIn("would replace machines", str(error))
        self.assertEqual(before, self.written())
        asked = {each.verb for each in self.management.requests}
        self.assertLessEqual(asked, {"get", "list"})
        return str(error)


class RequestTest(BuildTestCase):
    def test_a_resize_whose_count_magnum_puts_back(self) -> None:
        before = self.machines()
        self.build({"control-plane": "patched", "extra": "patched"})
        text = self.refused(self.resize, 3)
        for words in (
            "(control-plane, extra)",
            "openstack-cluster 0.27.0",
            "put the former build back into the chart store",
            "magnum-capi-helm cluster apply --chart-version 0.27.0 "
            "--allow-replacement",
            "upgrade",
        ):
            self.assertIn(words, text)
        self.assertEqual(2, self.groups()["default-worker"].node_count)
        self.assertEqual(("UPDATE_FAILED", text), self.state())
        # It works once the former build is back.
        self.build({})
        self.resize(3)
        self.assert_updated()
        self.assertEqual(3, self.replicas())
        self.assertEqual(before, self.machines())

    def test_each_request_that_would_replace_machines_is_refused(self) -> None:
        labels = {"a.example.org/b": "c"}

        def update() -> None:
            args: Any = (self.context, self.row(), 4, None, {})
            self.handler.cluster_update(*args)

        # A chart that drops a group.
        drops = {"renamed": "default-worker"}
        for build, groups, request in (
            (WORKERS, "(default-worker)", lambda: self.resize(2)),
            (WORKERS, "(default-worker)", lambda: self.resize(3)),
            (WORKERS, "", lambda: self.resize(3, "default-master")),
            (drops, "(default-worker)", lambda: self.resize(3)),
            (PATCHED, "", update),
            (EXTRA, "", lambda: self.change("extra", max_node_count=9)),
            (WORKERS, "", lambda: self.change("extra", node_labels=labels)),
        ):
            self.build(build)
            self.assertIn(groups, self.refused(request))
            self.health_poll()
            self.assertEqual("UPDATE_COMPLETE", self.row().status)
        self.assertEqual(3, self.groups()["extra"].max_node_count)
        self.build(PATCHED)
        self.refused(self.remove, "extra")
        self.assertEqual("DELETE_FAILED", self.groups()["extra"].status)
        self.health_poll()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)
        self.assertEqual("UPDATE_COMPLETE", self.groups()["extra"].status)

    def test_a_new_nodegroup_is_refused(self) -> None:
        self.build(PATCHED)
        labels = {"server_group_policies": "anti-affinity"}
        with fixtures.MockPatchObject(server_groups, "ensure") as made:
            self.refused(self.add, "more", labels=labels)
        made.mock.assert_not_called()
        self.assertEqual("CREATE_FAILED", self.groups()["more"].status)
        self.assertIsNone(self.groups()["more"].stack_id)
        # Nothing has to be rendered to forget a group that was never made.
        self.remove("more")
        self.assertNotIn("more", self.groups())

    def test_groups_that_a_request_is_about_may_become_others(self) -> None:
        # A build that makes equal machines.
        self.build({"other": "patched"})
        self.resize(3)
        self.assert_updated()
        self.assertEqual(3, self.replicas())
        self.build(EXTRA)
        self.change("extra", node_labels={"a.example.org/b": "c"})
        self.assert_updated()
        self.build({**EXTRA, "more": "patched"})
        self.add("more")
        self.assert_updated()
        self.build({"more": "patched"})
        self.remove("extra")
        self.capi.remove_group("extra")
        self.assert_updated()
        self.assertNotIn("extra", self.groups())


class CostTest(BuildTestCase):
    """A request compares before its first write, and not once more."""

    def assert_renders(self, number: int) -> None:
        self.assertEqual(number, self.helm.renders)
        self.helm.renders = 0

    def test_each_request_renders_once(self) -> None:
        """But for a create, which has nothing to compare with."""
        self.vanish()
        self.helm.renders = 0
        self.created()
        self.assert_renders(0)
        for request in (
            lambda: self.resize(3),
            lambda: self.add("more"),
            lambda: self.change("more", max_node_count=7),
            lambda: self.remove("more"),
        ):
            runs, self.helm.renders = len(self.helm.upgrades), 0
            request()
            self.assert_renders(1)
            self.assertEqual(runs + 1, len(self.helm.upgrades))
            self.settle()

    def test_another_conductor_compares_before_it_applies(self) -> None:
        self.helm.renders = 0
        with self.busy():
            self.resize(3)
        self.assert_renders(1)
        base.install(self, self.plane.runtime("conductor-2"))
        self.poll()
        self.assert_renders(1)
        self.assertEqual(3, self.replicas())


class MeantTest(upgrading.UpgradeTestCase):
    def test_an_upgrade_and_what_the_polls_apply_of_it(self) -> None:
        put_build(self.helm, PATCHED)
        self.helm.outcomes = [fake_helm.Outcome.UNREACHABLE]
        self.upgrade(self.template(image_id="ubuntu-1.35"))
        self.assertEqual("UPDATE_IN_PROGRESS", self.row().status)
        self.poll_after(60)
        self.settle()
        self.assertEqual({"UPDATE_COMPLETE"}, self.statuses())
        # It has the machines of that build by now.
        self.resize(3)
        self.settle()
        self.assertEqual({"UPDATE_COMPLETE"}, self.statuses())

    def test_a_rollback_replaces_machines(self) -> None:
        self.helm.outcomes = [fake_helm.Outcome.REFUSED] * 2
        self.upgrade(self.template(image_id="ubuntu-1.35"))
        self.poll()
        put_build(self.helm, PATCHED)
        self.roll_back()
        self.settle()
        self.assertEqual({"UPDATE_COMPLETE"}, self.statuses())


class RolloutTest(rolling.RolloutTestCase):
    """A rollout of the version that the cluster has."""

    def test_a_rollout_replaces_machines_and_a_resize_follows(self) -> None:
        put_build(self.helm, PATCHED)
        self.assertEqual(
            "machines would be replaced, in control-plane (1), "
            "default-worker (2): --allow-replacement lets them be",
            self.no(chart=rolling.OLD),
        )
        found = self.look(chart=rolling.OLD, replacing=True)
        self.assertEqual(3, sum(each.replaced for each in found.changes))
        # Values files do not bring the other build.
        self.assertIsNone(self.look().desired)
        self.all.write_text(rolling.ADDON)
        self.assertIn("would be replaced", self.no())
        self.helm.outcomes = [fake_helm.Outcome.UNREACHABLE]
        self.roll_out(chart=rolling.OLD, replacing=True)
        # While it goes on it is not begun again.
        self.assertTrue(self.look(chart=rolling.OLD, replacing=True).going_on)
        self.poll()
        self.assert_updated()
        self.assertIsNone(self.look(chart=rolling.OLD).desired)
        self.resize(3)
        self.assert_updated()


class PollTest(BuildTestCase):
    """A request was accepted, and the build is another by now."""

    def setUp(self) -> None:
        super().setUp()
        with self.busy():
            self.resize(3)
        self.build(PATCHED)
        self.before = self.written()
        self.seen = len(self.warnings())

    def told(self) -> list[str]:
        """All warnings since then: of machines that would be replaced."""
        found = self.warnings()[self.seen :]
        self.assertEqual([], [e for e in found if "would replace" not in e])
        return found

    def test_a_poll_logs_the_other_build_and_changes_nothing(self) -> None:
        for _ in range(4):
            self.poll_after(600)
        [warning] = self.told()
        self.assertIn(base.RELEASE, warning)
        self.assertEqual(self.before, self.written())
        status, reason = self.state()
        self.assertEqual("UPDATE_IN_PROGRESS", status)
        self.assertIn("would replace machines", str(reason))
        group = self.groups()["default-worker"]
        self.assertEqual("UPDATE_IN_PROGRESS", group.status)
        base.install(self, self.plane.runtime("conductor-2"))
        self.poll()
        self.assertEqual(2, len(self.told()))

    def test_once_the_former_build_is_back_it_goes_on(self) -> None:
        self.poll()
        self.build({})
        self.poll_after(600)
        self.assert_updated()
        self.assertEqual(3, self.replicas())
        self.assertIsNone(self.why())
        # What comes back is news again.
        self.management.unreachable()
        self.resize(2)
        self.management.recover()
        self.seen = len(self.warnings())
        self.build(PATCHED)
        self.poll()
        self.assertEqual(1, len(self.told()))

    def test_a_failed_cluster_stays_failed(self) -> None:
        self.save(status="UPDATE_FAILED")
        for _ in range(3):
            self.plane.clock.advance(600)
            self.health_poll()
        self.assertEqual("UPDATE_FAILED", self.row().status)
        self.assertEqual(1, len(self.told()))
        self.assertEqual(self.before, self.written())


class UnrenderedTest(BuildTestCase):
    """``helm template`` refuses a chart, so nothing can be compared.

    It knows the Kubernetes version of helm alone, and the chart may ask for
    a later one (``kubeVersion``), or makes no YAML.
    """

    def test_a_resize_is_refused(self) -> None:
        before = self.written()
        self.helm.refused = "chart requires kubeVersion: >=1.99.0"
        self.assertIn(self.helm.refused, self.error_of(self.resize, 3))
        self.assertEqual(before, self.written())

    def test_polls_do_not_apply_an_accepted_resize(self) -> None:
        with self.busy():
            self.resize(3)
        before = len(self.helm.upgrades)
        self.helm.refused = "openstack-cluster.tgz makes no YAML"
        self.helm.refusal = errors.ManifestUnreadable
        self.poll()
        self.assertIn("makes no YAML", self.why())
        self.assertEqual(before, len(self.helm.upgrades))
        self.assertEqual(2, self.replicas())


class UncertainTest(test_apply.InLineCase):
    """No helm can be run when the request comes: it is accepted."""

    def test_a_late_turn_replaces_no_machine(self) -> None:
        self.complete()
        put_build(self.helm, PATCHED)
        with self.helm_is_busy():
            self.resize(3)
        self.turns_come()
        self.poll()
        self.assertEqual("UPDATE_IN_PROGRESS", self.row().status)
        self.assertIn("would replace machines", self.why())
        self.assertEqual(1, len(self.helm.upgrades))
        self.assertEqual(2, self.replicas())


class DigestTest(base.FlowTestCase):
    """The chart's digest explains, and decides nothing."""

    def setUp(self) -> None:
        super().setUp()
        self.created()

    def kept(self) -> desired_state.DesiredState:
        return held.release(self.row()).read_stored().accepted()

    def stored(self) -> str:
        return runtime.get().charts.digest(self.kept().chart)

    def test_the_refusal_names_both_builds(self) -> None:
        first = self.stored()
        self.assertEqual(first, self.kept().digest)
        put_build(self.helm, PATCHED)
        text = self.error_of(self.resize, 3)
        self.assertNotEqual(first, self.stored())
        self.assertIn("has another build", text)
        for each in (first, self.stored()):
            self.assertIn(f"sha256 {each[:12]}", text)

    def test_the_digest_stays_with_the_build_of_the_machines(self) -> None:
        first = self.stored()
        put_build(self.helm, {"other": "patched"})
        self.resize(3)
        self.assertEqual(3, self.replicas())
        self.assertEqual(first, self.kept().digest)
        self.assertNotEqual(first, self.stored())

    def test_an_equal_or_unknown_digest_is_not_named(self) -> None:
        """An unknown one is stored later."""
        # Another helm, for instance, makes something else of it.
        self.helm.otherwise = PATCHED
        self.assertNotIn("sha256", self.error_of(self.resize, 3))
        self.helm.otherwise = {}
        secret = (kinds.SECRET, base.NAMESPACE, base.INTENT)
        wanted = dataclasses.replace(self.kept(), digest="")
        self.server.patch(*secret, {"data": wanted.to_secret()})
        put_build(self.helm, PATCHED)
        self.assertNotIn("sha256", self.error_of(self.resize, 3))
        put_build(self.helm, {})
        self.resize(3)
        self.assertEqual(self.stored(), self.kept().digest)


class LegacyTest(test_driver_legacy.LegacyTestCase):
    """A cluster of 1.4.0: its manifest alone says what it was made from."""

    def test_an_equal_manifest_lets_a_resize_pass(self) -> None:
        # Its helm wrote the same objects in another way and order.
        record = (self.management, base.NAMESPACE, test_driver_legacy.RELEASE)
        found = helm_records.read(*record, 1)  # type: ignore[arg-type]
        assert found is not None
        text = records.SEPARATOR.join(
            json.dumps(each, sort_keys=True, indent=3)
            for each in reversed(found.objects)
        )
        helm_records.rewrite(record[0], found, text, "")  # type: ignore[arg-type]
        self.resize(3)
        self.assertEqual(3, self.replicas())

    def test_another_build_refuses_a_resize(self) -> None:
        put_build(self.helm, PATCHED)
        text = self.error_of(self.resize, 3)
        self.assertIn("(control-plane, default-worker)", text)
        self.assertNotIn("sha256", text)
        self.assertEqual(2, self.replicas())
        self.assertEqual([], self.helm.upgrades)
