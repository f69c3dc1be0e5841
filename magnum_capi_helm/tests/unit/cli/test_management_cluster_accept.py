# SPDX-License-Identifier: Apache-2.0

"""Show and record with ``magnum-capi-helm management-cluster accept``."""

from __future__ import annotations

from magnum.common import exception

from magnum_capi_helm.cli import management_cluster
from magnum_capi_helm.config import conf
from magnum_capi_helm.kubernetes import kinds
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


class SeveralTest(placing.LocationTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.made()

    def move(self) -> None:
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
        self.move()
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
        self.move()
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
