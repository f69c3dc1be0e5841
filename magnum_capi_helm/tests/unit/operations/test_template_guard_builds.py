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
from magnum_capi_helm.lifecycle import rollback
from magnum_capi_helm.model import desired_state
from magnum_capi_helm.model import errors
from magnum_capi_helm.operations import cluster_operation
from magnum_capi_helm.operations import cluster_release
from magnum_capi_helm.tests.fakes import helm as fake_helm
from magnum_capi_helm.tests.fakes import records
from magnum_capi_helm.tests.unit import test_driver_legacy
from magnum_capi_helm.tests.unit.credentials import rotating
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.lifecycle import rolling
from magnum_capi_helm.tests.unit.lifecycle import upgrading
from magnum_capi_helm.tests.unit.operations import test_apply_turns

PATCHED = {"control-plane": "patched", "default-worker": "patched"}
WORKERS = {"default-worker": "patched"}
EXTRA = {"extra": "patched"}


def put_build(chart_source: Any, changed: dict[str, str]) -> None:
    """Let the chart store have another build of each chart."""
    chart_source.build = changed
    store = pathlib.Path(conf.CONF.capi_helm.chart_store)
    for each in store.glob("openstack-cluster-*"):
        each.unlink()


class BuildTestCase(base.FlowTestCase):
    """A complete cluster with a nodegroup ``extra``."""

    def setUp(self) -> None:
        super().setUp()
        self.complete()
        self.add("extra", max_node_count=3)
        self.capi.settle()
        self.poll()

    def build(self, changed: dict[str, str]) -> None:
        """The chart store has a build that changes these components."""
        put_build(self.helm, changed)

    def written(self) -> tuple[object, ...]:
        """What is wanted of the release, and the runs of helm."""
        secret = self.server.get(kinds.SECRET, base.NAMESPACE, base.INTENT)
        assert secret is not None
        return secret["data"], len(self.helm.upgrades)

    def machines(self) -> dict[str, Any]:
        """What each group makes its machines from."""
        found = {}
        for kind in (kinds.CONTROL_PLANE, kinds.MACHINE_DEPLOYMENT):
            for each in self.server.list(kind, base.NAMESPACE):
                machine = dict(each["spec"])
                machine.pop("replicas")
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

    def settle(self) -> None:
        """What was accepted comes to its end."""
        self.capi.settle()
        self.poll()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)


class RequestTest(BuildTestCase):
    """A request that is not meant to replace machines."""

    def test_a_resize_whose_count_magnum_puts_back(self) -> None:
        self.build({"control-plane": "patched", "extra": "patched"})
        text = self.refused(self.resize, 3)
        self.assertIn("(control-plane, extra)", text)
        self.assertIn("openstack-cluster 0.27.0", text)
        self.assertEqual(2, self.groups()["default-worker"].node_count)
        self.assertEqual("UPDATE_FAILED", self.row().status)
        self.assertEqual(text, self.row().status_reason)

    def test_a_resize_of_the_group_that_would_get_others(self) -> None:
        self.build(WORKERS)
        for count in (2, 3):
            self.assertIn("(default-worker)", self.refused(self.resize, count))
        self.refused(self.resize, 3, "default-master")

    def test_the_text_names_the_ways_out(self) -> None:
        self.build(PATCHED)
        text = self.refused(self.resize, 3)
        for each in (
            "put the former build back into the chart store",
            "magnum-capi-helm cluster apply --chart-version 0.27.0 "
            "--allow-replacement",
            "upgrade",
        ):
            self.assertIn(each, text)

    def test_an_update_of_the_node_count(self) -> None:
        self.build(PATCHED)
        self.refused(
            self.handler.cluster_update, self.context, self.row(), 4, None, {}
        )

    def test_a_group_without_machines_counts_too(self) -> None:
        self.resize(0, "extra")
        self.settle()
        self.build(EXTRA)
        self.assertIn("(extra)", self.refused(self.resize, 3))

    def test_a_chart_that_drops_a_group(self) -> None:
        self.build({"renamed": "default-worker"})
        self.assertIn("(default-worker)", self.refused(self.resize, 3))

    def test_a_new_nodegroup_is_refused(self) -> None:
        self.build(PATCHED)
        self.refused(self.add, "more")
        self.assertEqual("CREATE_FAILED", self.groups()["more"].status)
        self.assertIsNone(self.groups()["more"].stack_id)
        # Nothing has to be rendered to forget a group that was never made.
        self.remove("more")
        self.assertNotIn("more", self.groups())

    def test_a_refused_nodegroup_makes_no_server_group(self) -> None:
        self.build(PATCHED)
        made = self.useFixture(
            fixtures.MockPatchObject(server_groups, "ensure")
        ).mock
        labels = {"server_group_policies": "anti-affinity"}
        self.refused(self.add, "more", labels=labels)
        made.assert_not_called()

    def test_new_bounds_of_a_nodegroup_are_refused(self) -> None:
        self.build(EXTRA)
        self.refused(self.change, "extra", max_node_count=9)
        self.assertEqual(3, self.groups()["extra"].max_node_count)

    def test_other_labels_of_another_nodegroup_are_refused(self) -> None:
        self.build(WORKERS)
        labels = {"a.example.org/b": "c"}
        self.refused(self.change, "extra", node_labels=labels)

    def test_the_deletion_of_a_nodegroup_is_refused(self) -> None:
        self.build(PATCHED)
        self.refused(self.remove, "extra")
        self.assertEqual("DELETE_FAILED", self.groups()["extra"].status)
        self.health_poll()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)
        self.assertEqual("UPDATE_COMPLETE", self.groups()["extra"].status)

    def test_a_resize_works_once_the_former_build_is_back(self) -> None:
        before = self.machines()
        self.build(PATCHED)
        self.refused(self.resize, 3)
        self.build({})
        self.resize(3)
        self.settle()
        self.assertEqual(3, self.replicas())
        self.assertEqual(before, self.machines())


class FirstTest(base.FlowTestCase):
    """A create has nothing to compare with."""

    def test_a_create_renders_nothing(self) -> None:
        self.created()
        self.assertEqual(0, self.helm.renders)


class CostTest(BuildTestCase):
    """A request compares before its first write, and not once more."""

    def assert_renders(self, number: int) -> None:
        self.assertEqual(number, self.helm.renders)
        self.helm.renders = 0

    def test_each_request_renders_once(self) -> None:
        self.helm.renders = 0
        self.resize(3)
        self.assert_renders(1)
        self.add("more")
        self.assert_renders(1)
        self.change("extra", max_node_count=7)
        self.assert_renders(1)
        self.remove("more")
        self.assert_renders(1)
        self.assertEqual(6, len(self.helm.upgrades))

    def test_another_conductor_compares_before_it_applies(self) -> None:
        self.helm.renders = 0
        with self.busy():
            self.resize(3)
        self.assert_renders(1)
        base.install(self, self.plane.runtime("conductor-2"))
        self.poll()
        self.assert_renders(1)
        self.assertEqual(3, self.replicas())


class TouchedTest(BuildTestCase):
    """What the request itself changes may become something else."""

    def test_a_nodegroup_whose_labels_change(self) -> None:
        self.build(EXTRA)
        self.change("extra", node_labels={"a.example.org/b": "c"})
        self.settle()

    def test_a_nodegroup_that_goes(self) -> None:
        self.build(EXTRA)
        self.remove("extra")
        self.capi.remove_group("extra")
        self.settle()
        self.assertNotIn("extra", self.groups())

    def test_a_nodegroup_that_comes(self) -> None:
        self.build({"more": "patched"})
        self.add("more")
        self.settle()


class HarmlessTest(BuildTestCase):
    """Another build that makes the same machines."""

    def test_a_build_that_makes_equal_machines_is_applied(self) -> None:
        self.build({"other": "patched"})
        self.resize(3)
        self.settle()
        self.assertEqual(3, self.replicas())


class MeantTest(upgrading.UpgradeTestCase):
    """What is meant to replace machines goes on."""

    def test_an_upgrade_and_what_the_polls_apply_of_it(self) -> None:
        put_build(self.helm, PATCHED)
        self.helm.outcomes = [fake_helm.Outcome.UNREACHABLE]
        self.upgrade(self.template(image_id="ubuntu-1.35"))
        self.assertEqual("UPDATE_IN_PROGRESS", self.row().status)
        self.plane.clock.advance(60)
        self.poll()
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
        rollback.rollback(
            cluster_operation.Operation(self.admin, self.row(), runtime.get())
        )
        self.settle()
        self.assertEqual({"UPDATE_COMPLETE"}, self.statuses())


class RolloutTest(rolling.RolloutTestCase):
    """A rollout of the version that the cluster has."""

    def setUp(self) -> None:
        super().setUp()
        put_build(self.helm, PATCHED)

    def test_its_dry_run_names_the_machines(self) -> None:
        self.assertEqual(
            "machines would be replaced, in control-plane (1), "
            "default-worker (2): --allow-replacement lets them be",
            self.no(chart=rolling.OLD),
        )
        found = self.look(chart=rolling.OLD, replacing=True)
        self.assertEqual(3, sum(each.replaced for each in found.changes))

    def test_a_rollout_replaces_machines_and_a_resize_follows(self) -> None:
        self.rolled_out(chart=rolling.OLD, replacing=True)
        self.assertIsNone(self.look(chart=rolling.OLD).desired)
        self.resize(3)
        self.settle()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)

    def test_while_it_goes_on_it_is_not_begun_again(self) -> None:
        self.helm.outcomes = [fake_helm.Outcome.UNREACHABLE]
        self.roll_out(chart=rolling.OLD, replacing=True)
        self.assertTrue(self.look(chart=rolling.OLD, replacing=True).going_on)

    def test_values_files_do_not_bring_the_other_build(self) -> None:
        self.assertIsNone(self.look().desired)
        self.all.write_text(rolling.ADDON)
        self.assertIn("would be replaced", self.no())


class RotationTest(rotating.RotationTestCase):
    """A new credential reaches the cluster without helm."""

    def test_a_rotation_of_the_credential_runs_no_helm(self) -> None:
        put_build(self.helm, PATCHED)
        self.rotate()
        self.assertNotEqual(self.first, self.in_use())
        self.assertEqual(1, len(self.helm.upgrades))


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

    def test_a_poll_logs_the_other_build_once_and_changes_nothing(
        self,
    ) -> None:
        for _ in range(4):
            self.plane.clock.advance(600)
            self.poll()
        self.assertEqual(1, len(self.told()))
        self.assertIn(base.RELEASE, self.told()[0])
        self.assertEqual(self.before, self.written())
        self.assertEqual("UPDATE_IN_PROGRESS", self.row().status)
        self.assertEqual(
            "UPDATE_IN_PROGRESS", self.groups()["default-worker"].status
        )

    def test_the_user_reads_what_is_waited_for(self) -> None:
        for _ in range(2):
            self.poll()
        self.assertIn("would replace machines", self.row().status_reason)

    def test_another_conductor_logs_it_as_well(self) -> None:
        self.poll()
        base.install(self, self.plane.runtime("conductor-2"))
        self.poll()
        self.assertEqual(2, len(self.told()))

    def test_once_the_former_build_is_back_it_goes_on(self) -> None:
        self.poll()
        self.build({})
        self.plane.clock.advance(600)
        self.poll()
        self.settle()
        self.assertEqual(3, self.replicas())
        self.assertIsNone(self.row().status_reason)
        # What comes back is news again.
        self.management.unreachable()
        self.resize(2)
        self.management.recover()
        self.seen = len(self.warnings())
        self.build(PATCHED)
        self.poll()
        self.assertEqual(1, len(self.told()))

    def test_a_failed_cluster_stays_failed(self) -> None:
        row = self.row()
        row.status = "UPDATE_FAILED"
        row.save()
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
        error = self.assertRaises(exception.MagnumException, self.resize, 3)
        self.assertIn("chart requires kubeVersion", str(error))
        self.assertEqual(before, self.written())

    def test_polls_do_not_apply_an_accepted_resize(self) -> None:
        with self.busy():
            self.resize(3)
        before = len(self.helm.upgrades)
        self.helm.refused = "openstack-cluster.tgz makes no YAML"
        self.helm.refusal = errors.ManifestUnreadable
        self.poll()
        self.assertIn("makes no YAML", self.row().status_reason)
        self.assertEqual(before, len(self.helm.upgrades))
        self.assertEqual(2, self.replicas())


class UncertainTest(test_apply_turns.InLineCase):
    """No helm can be run when the request comes: it is accepted."""

    def test_a_late_turn_replaces_no_machine(self) -> None:
        self.complete()
        put_build(self.helm, PATCHED)
        with self.helm_is_busy():
            self.resize(3)
        self.turns_come()
        self.poll()
        self.assertEqual("UPDATE_IN_PROGRESS", self.row().status)
        self.assertIn("would replace machines", self.row().status_reason)
        self.assertEqual(1, len(self.helm.upgrades))
        self.assertEqual(2, self.replicas())


class DigestTest(base.FlowTestCase):
    """The chart's digest explains, and decides nothing."""

    def setUp(self) -> None:
        super().setUp()
        self.created()

    def kept(self) -> desired_state.DesiredState:
        """What is wanted of the release."""
        release = cluster_release.Release(
            self.admin, self.row(), runtime.get()
        )
        found = release.read_stored().desired
        assert found is not None
        return found

    def refusal(self) -> str:
        error = self.assertRaises(exception.NotSupported, self.resize, 3)
        return str(error)

    def stored(self) -> str:
        """The digest of what is in the store."""
        return runtime.get().charts.digest(self.kept().chart)

    def test_the_refusal_names_both_builds(self) -> None:
        first = self.stored()
        self.assertEqual(first, self.kept().digest)
        put_build(self.helm, PATCHED)
        text = self.refusal()
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

    def test_an_equal_digest_is_not_named(self) -> None:
        # Another helm, for instance, makes something else of it.
        self.helm.otherwise = PATCHED
        self.assertNotIn("sha256", self.refusal())

    def test_an_unknown_digest_is_not_named_and_stored_later(self) -> None:
        secret = (kinds.SECRET, base.NAMESPACE, base.INTENT)
        wanted = dataclasses.replace(self.kept(), digest="")
        self.server.patch(*secret, {"data": wanted.to_secret()})
        put_build(self.helm, PATCHED)
        self.assertNotIn("sha256", self.refusal())
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
        error = self.assertRaises(exception.NotSupported, self.resize, 3)
        self.assertIn("(control-plane, default-worker)", str(error))
        self.assertNotIn("sha256", str(error))
        self.assertEqual(2, self.replicas())
        self.assertEqual([], self.helm.upgrades)
