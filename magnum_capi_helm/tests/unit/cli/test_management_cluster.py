# SPDX-License-Identifier: Apache-2.0

"""``management-cluster accept``, ``freeze`` and ``thaw``."""

from __future__ import annotations

import io
from typing import Any

import fixtures
from magnum.common import exception

from magnum_capi_helm.cli import base as commands
from magnum_capi_helm.cli import management_cluster
from magnum_capi_helm.config import conf
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import maintenance
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.fakes import api_server
from magnum_capi_helm.tests.fakes import plane
from magnum_capi_helm.tests.unit.cli import command_case
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.lifecycle import placing


def run(*argv: str) -> tuple[int, list[tuple[str, str]]]:
    code, lines = command_case.run_json(management_cluster.Accept, *argv)
    return code, [(each["Result"], each["Detail"]) for each in lines]


def copy(
    source: api_server.ApiServer,
    target: api_server.ApiServer,
    *without: kinds.Kind,
) -> None:
    """All objects, as a backup or a move takes them along."""
    for kind in (kinds.NAMESPACE, *kinds.ALL):
        for each in source.list(kind, None):
            name = each["metadata"]["name"]
            where = (kind, each["metadata"].get("namespace", ""), name)
            if kind not in without and target.get(*where) is None:
                target.create(kind, each)


class AcceptTest(placing.OriginTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.complete()
        self.old = self.management.identity()

    def rebuild(self, *without: kinds.Kind) -> str:
        """The same objects on another one; its identity."""
        self.other = self.move()
        copy(self.server, self.other.server, *without)
        return self.other.management.identity()

    def test_another_identity_is_shown_and_recorded(self) -> None:
        self.assertEqual((0, [("nothing to do", "")]), run("--all", "--apply"))
        new = self.rebuild()
        detail = f"{self.old} -> {new}"
        self.assertEqual((0, [("would change", detail)]), run("web"))
        self.assertEqual(f"{base.RELEASE}@{self.old}", self.recorded())
        self.assertRaises(exception.MagnumException, self.rotate)
        self.other.management.requests.clear()
        self.assertEqual((0, [("changed", detail)]), run("web", "--apply"))
        verbs = {each.verb for each in self.other.management.requests}
        self.assertEqual({"get", "list"}, verbs)
        self.assertEqual(f"{base.RELEASE}@{new}", self.recorded())
        self.rotate()
        self.assertEqual((0, [("nothing to do", "")]), run("web"))
        self.save(stack_id=None)
        self.assertEqual((0, [("nothing to do", "")]), run("web"))

    def test_accepted_it_can_be_changed_and_deleted(self) -> None:
        # Leases are not moved, nor are they in every backup.
        self.rebuild(kinds.LEASE)
        run("web", "--apply")
        self.resize(3)
        capi = self.other.cluster_api(base.NAMESPACE, base.RELEASE)
        capi.settle()
        self.poll()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)

    def test_without_a_release_it_says_what_that_means(self) -> None:
        new = self.rebuild(kinds.SECRET)
        detail = (
            f"{self.old} -> {new}; no helm release: the cluster can be polled "
            "and deleted, not changed"
        )
        self.assertEqual((0, [("would change", detail)]), run("web"))

    def test_without_the_cluster_it_is_refused(self) -> None:
        self.rebuild(kinds.CLUSTER)
        code, [(result, detail)] = run("web", "--apply")
        self.assertEqual((1, "refused"), (code, result))
        self.assertRegex(detail, f"no Cluster {base.RELEASE}: .*with --lost$")
        self.assertEqual(f"{base.RELEASE}@{self.old}", self.recorded())

    def test_a_silent_management_cluster_is_refused(self) -> None:
        self.management.unreachable()
        for option in ((), ("--lost",)):
            _, [(result, detail)] = run("web", *option)
            self.assertEqual("refused", result)
            self.assertIn("does not answer", detail)

    def test_gone_is_only_what_left_no_trace(self) -> None:
        for without, word in (
            ((kinds.SECRET, kinds.LEASE), "the Cluster"),
            ((kinds.CLUSTER, kinds.LEASE), "the helm release"),
        ):
            self.rebuild(*without)
            code, [(result, detail)] = run("web", "--lost", "--apply")
            self.assertEqual((1, "refused"), (code, result))
            self.assertIn(f"has {word} {base.RELEASE}: delete the", detail)
        # A Lease may be older than the cluster.
        self.rebuild(kinds.CLUSTER, kinds.SECRET)
        code, [(result, _)] = run("web", "--lost", "--apply")
        self.assertEqual((0, "changed"), (code, result))

    def test_a_cluster_accepted_as_gone_can_be_deleted(self) -> None:
        new = self.rebuild(*kinds.ALL)
        self.delete()
        self.poll()
        self.assertEqual({"DELETE_IN_PROGRESS"}, self.statuses())
        code, [(result, detail)] = run("web", "--lost", "--apply")
        self.assertEqual((0, "changed"), (code, result))
        self.assertIn(f"accepted as gone from {new}: ", detail)
        self.assertEqual(f"{base.RELEASE}@{new}@@gone", self.recorded())
        self.assertEqual((0, [("nothing to do", "")]), run("web", "--lost"))
        self.poll()
        self.assertEqual({}, self.openstack.credentials)


class AcceptOfSeveralTest(placing.LocationTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.made()

    def relocate(self) -> None:
        """Its objects are on a now."""
        copy(self.planes["b"].server, self.planes["a"].server)

    def clear(self) -> None:
        """Nothing is left on b."""
        for kind in kinds.ALL:
            for each in self.planes["b"].server.list(kind, base.NAMESPACE):
                where = (kind, base.NAMESPACE, each["metadata"]["name"])
                self.planes["b"].server.delete(*where)
                self.planes["b"].server.release(*where)

    def identity(self, name: str) -> str:
        return self.planes[name].management.identity()

    def test_a_moved_cluster_is_found_by_its_object(self) -> None:
        self.health_poll()
        self.relocate()
        self.clear()
        old, new = self.identity("b"), self.identity("a")
        self.assertEqual(
            (0, [("changed", f"b {old} -> a {new}")]), run("web", "--apply")
        )
        self.assertEqual(f"{base.RELEASE}@{new}@a", self.recorded())
        # Polls run in another process, and read the record again.
        for each in self.planes.values():
            each.clock.advance(600)
        self.assertEqual("HEALTHY", self.health_poll().health_status)

    def test_a_cluster_on_both_needs_the_name_of_one(self) -> None:
        self.relocate()
        _, [(result, detail)] = run("web", "--apply")
        self.assertEqual("refused", result)
        self.assertIn("the management clusters a, b all have", detail)
        _, [(result, _)] = run("web", "--management-cluster", "a", "--apply")
        self.assertEqual("changed", result)
        self.assertTrue(self.recorded().endswith("@a"))
        self.assertRaises(
            errors.NotConfigured, run, "web", "--management-cluster", "c"
        )

    def test_gone_means_gone_from_where_it_was(self) -> None:
        self.clear()
        run("web", "--lost", "--apply")
        self.assertEqual(
            f"{base.RELEASE}@{self.identity('b')}@b@gone", self.recorded()
        )
        self.delete()
        self.poll()
        self.assertEqual({}, self.openstack.credentials)

    def test_gone_from_one_that_was_rebuilt_has_to_name_it(self) -> None:
        home = self.planes["b"].home
        self.planes["b"] = plane.Plane(conf.CONF.capi_helm.chart_store, home)
        self.restart()
        _, [(result, detail)] = run("web", "--lost", "--apply")
        self.assertEqual("refused", result)
        self.assertIn("a, b are not the one that is recorded", detail)
        _, [(result, _)] = run(
            "web", "--lost", "--management-cluster", "b", "--apply"
        )
        self.assertEqual("changed", result)


class Freeze(management_cluster.Freeze):
    """Without a pause between two looks."""

    pause = 0.0


class FreezeTest(base.FlowTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.err = io.StringIO()
        # What another process knows is too old at once.
        self.useFixture(
            fixtures.MonkeyPatch(f"{maintenance.__name__}.AGE", 0.0)
        )

    def run_command(
        self, kind: type, *argv: str
    ) -> tuple[int, list[dict[str, Any]]]:
        return command_case.run_json(kind, *argv, err=self.err)

    def frozen(self) -> bool:
        found = self.server.get(kinds.NAMESPACE, "", "kube-system") or {}
        return maintenance.parsed(found).freeze is not None

    def test_unless_told_to_apply_it_writes_nothing(self) -> None:
        self.complete()
        with self.busy():
            code, [line] = self.run_command(Freeze, "--reason", "etcd moves")
        self.assertEqual((0, False), (code, self.frozen()))
        self.assertEqual(
            ("open", "", base.RELEASE),
            (line["State"], line["Reason"], line["Still at work"]),
        )
        self.assertIn("add --apply to freeze it", self.err.getvalue())

    def test_freeze_shows_that_all_is_quiet(self) -> None:
        code, [line] = self.run_command(
            Freeze, "--reason", "etcd moves", "--apply"
        )
        self.assertEqual((0, True), (code, self.frozen()))
        self.assertRegex(line.pop("Since"), r"^20\d\d-\d\d-\d\dT.*\+00:00$")
        self.assertEqual(
            {
                "Management cluster": "",
                "State": "frozen",
                "By": commands.operator("freeze").user,
                "Reason": "etcd moves",
                "Still at work": "nobody",
            },
            line,
        )

    def test_freeze_waits_for_work_under_way(self) -> None:
        self.complete()
        looks = []

        def look() -> None:
            """The third look finds the Lease given back."""
            looks.append(1)
            if len(looks) == 5:
                idle = {"spec": {"holderIdentity": ""}}
                self.edit(kinds.LEASE, base.RELEASE, idle)

        with self.busy():
            self.management.before = look
            code, [line] = self.run_command(
                Freeze, "--reason", "etcd moves", "--apply"
            )
        self.assertEqual((0, "nobody"), (code, line["Still at work"]))
        self.assertEqual(
            f"still at work: {base.RELEASE}\nstill at work: nobody\n",
            self.err.getvalue(),
        )

    def test_a_reason_is_needed_before_anything_is_asked(self) -> None:
        self.assertRaises(
            errors.InvalidInput, self.run_command, Freeze, "--reason", " "
        )
        self.assertEqual([], self.management.requests)

    def test_the_log_says_who_began_and_ended_a_maintenance(self) -> None:
        reason = ("--reason", "etcd moves")
        for kind, argv, state, frozen in (
            (Freeze, reason, "open", False),
            (Freeze, (*reason, "--apply"), "frozen", True),
            (management_cluster.Thaw, (), "frozen", True),
            (management_cluster.Thaw, ("--apply",), "open", False),
            (management_cluster.Thaw, ("--apply",), "open", False),
        ):
            code, [line] = self.run_command(kind, *argv)
            self.assertEqual(
                (0, state, frozen), (code, line["State"], self.frozen())
            )
        who = commands.operator("freeze").user
        self.assertEqual(
            [
                f"management cluster: accepted: {action}, user {who}"
                for action in ("freeze", "thaw", "thaw")
            ],
            self.audited(),
        )

    def audited(self) -> list[str]:
        lines = self.log.output.splitlines()
        return [
            each.partition("audit: ")[2] for each in lines if "audit: " in each
        ]

    def test_a_maintenance_that_could_not_begin_is_in_the_log(self) -> None:
        who = commands.operator("freeze").user
        logged = []
        for verb, kind, became in (
            # Leases are listed once it is frozen.
            ("list", kinds.LEASE, "accepted"),
            ("patch", kinds.NAMESPACE, "refused"),
        ):
            error = errors.ManagementError(f"may not {verb} (403)")
            self.fails(verb, kind, error=error)
            order = ("--reason", "x", "--apply")
            self.assertRaises(
                errors.ManagementError, self.run_command, Freeze, *order
            )
            logged.append(f"management cluster: {became}: freeze, user {who}")
            self.assertEqual(logged, self.audited())
            self.management.recover()


class FreezeOfSeveralTest(placing.LocationTestCase):
    run_command = FreezeTest.run_command

    def setUp(self) -> None:
        super().setUp()
        self.err = io.StringIO()

    def test_thaw_needs_the_name_of_one_of_several(self) -> None:
        error = self.assertRaises(
            errors.InvalidInput, self.run_command, management_cluster.Thaw
        )
        self.assertEqual("give --management-cluster, one of a, b", str(error))
        self.assertRaises(
            errors.NotConfigured,
            self.run_command,
            management_cluster.Thaw,
            "--management-cluster",
            "c",
        )
        words = ("--management-cluster", "b", "--apply")
        _, [line] = self.run_command(management_cluster.Thaw, *words)
        self.assertEqual("b", line["Management cluster"])
        self.assertIn(
            "audit: management cluster b: accepted: thaw", self.log.output
        )
