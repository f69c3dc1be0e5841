# SPDX-License-Identifier: Apache-2.0

"""Turns and time of helm, and what is asked of a management cluster."""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import threading
from typing import Any, cast

import fixtures

from magnum_capi_helm import runtime
from magnum_capi_helm import schedules
from magnum_capi_helm.helm import turns
from magnum_capi_helm.kubernetes import client
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.lifecycle import upgrade
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.operations import apply
from magnum_capi_helm.tests.fakes import held
from magnum_capi_helm.tests.fakes import records
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.lifecycle import upgrading


class InLineCase(base.FlowTestCase):
    """The one turn is another cluster's, for as long as a test wants."""

    @contextlib.contextmanager
    def helm_is_busy(self) -> Iterator[None]:
        has, ends = threading.Event(), threading.Event()

        def hold() -> None:
            with self.plane.turns.turn():
                has.set()
                ends.wait(30)

        thread = threading.Thread(target=hold)
        thread.start()
        has.wait(30)
        try:
            yield
        finally:
            ends.set()
            thread.join()

    def turns_come(self) -> None:
        while self.plane.due:
            self.plane.due.pop(0)()

    def conductor_dies(self) -> None:
        """Another one goes on, whose line is empty."""
        self.plane.due = []
        self.plane.turns = turns.Turns(1, self.plane.due.append)
        base.install(self, self.plane.runtime("conductor-2"))

    def lease_is_free(self) -> bool:
        lease = self.server.get(kinds.LEASE, base.NAMESPACE, base.RELEASE)
        return lease is not None and not lease["spec"]["holderIdentity"]


class CreateTest(InLineCase):
    def test_a_create_leaves_helm_to_its_turn(self) -> None:
        with self.helm_is_busy():
            row = self.create()
            self.assertEqual(
                ("CREATE_IN_PROGRESS", "waiting for helm: 0 before it"),
                (row.status, row.status_reason),
            )
            self.assertTrue(self.lease_is_free())
            self.assertEqual([], self.helm.upgrades)
        self.turns_come()
        self.assertEqual(1, len(self.helm.upgrades))
        self.settle()
        self.assertEqual("CREATE_COMPLETE", self.row().status)

    def test_a_poll_in_line_says_where_and_asks_for_nothing(self) -> None:
        with self.helm_is_busy():
            self.plane.turns.later("another", lambda: None)
            self.create()
            before = len(self.management.requests)
            self.poll()
            self.assertEqual("waiting for helm: 1 before it", self.why())
            self.assertEqual([], self.management.requests[before:])
            with self.saves() as saved:
                self.poll()
            self.assertEqual([], saved)
        self.turns_come()
        self.assertEqual(1, len(self.helm.upgrades))

    def test_a_poll_that_finds_no_turn_gets_in_line(self) -> None:
        with self.helm_is_busy():
            self.create()
        self.conductor_dies()
        with self.helm_is_busy():
            self.poll()
            self.assertEqual([], self.helm.upgrades)
        self.turns_come()
        self.assertEqual(1, len(self.helm.upgrades))


class ChangeTest(InLineCase, upgrading.UpgradeTestCase):
    def test_changes_leave_helm_to_their_turn(self) -> None:
        for change in (
            lambda: self.resize(3),
            # Which applies all once more.
            lambda: self.resize(3),
            lambda: self.add("gpu"),
            lambda: self.change("gpu", max_node_count=7),
            lambda: self.remove("gpu"),
        ):
            ran = len(self.helm.upgrades)
            with self.helm_is_busy():
                change()
                self.assertEqual(ran, len(self.helm.upgrades))
                self.assertTrue(self.lease_is_free())
            self.turns_come()
            self.assertEqual(ran + 1, len(self.helm.upgrades))
            self.settle()

    def test_a_deletion_leaves_helm_to_its_turn(self) -> None:
        with self.helm_is_busy():
            self.delete()
            self.poll()
            self.assertEqual(
                "deletion waits: waiting for helm: 0 before it", self.why()
            )
            self.assertEqual([], self.helm.uninstalls)
        self.turns_come()
        self.assertEqual(1, len(self.helm.uninstalls))

    def test_a_deletion_replaces_what_it_makes_needless(self) -> None:
        ran = len(self.helm.upgrades)
        with self.helm_is_busy():
            self.resize(3)
            self.delete()
        self.turns_come()
        self.assertEqual(ran, len(self.helm.upgrades))
        self.assertEqual(1, len(self.helm.uninstalls))

    def test_an_upgrade_that_finds_no_turn_writes_nothing(self) -> None:
        self.useFixture(fixtures.MockPatchObject(upgrade, "_PATIENCE", 0.05))
        template = self.template(image_id="ubuntu-1.35")
        with self.helm_is_busy():
            self.assertEqual(
                "too many clusters are being changed, try again in a moment",
                self.refused(template),
            )
        self.upgrade(template)
        self.assertEqual("UPDATE_IN_PROGRESS", self.row().status)


class PendingRevisionTest(base.NodegroupTestCase):
    def conductor(self, seconds: int) -> runtime.Runtime:
        """Return a runtime whose helms may take so long."""
        self.set_option(helm_timeout=seconds)
        built = runtime.build(cast("client.Client", self.management))
        built.ages = schedules.AgeTracker(self.plane.clock)
        return built

    def begun(
        self,
        status: str = "pending-upgrade",
        chart: str = "0.27.0",
        **changed: object,
    ) -> None:
        """A helm began the next revision, with the values that there are."""
        made = records.Revision(
            release=base.RELEASE,
            namespace=base.NAMESPACE,
            version=2,
            status=status,
            chart_version=chart,
            values={**self.helm.upgrades[0].values, **changed},
        ).record()
        self.server.create(kinds.SECRET, made)

    def patience(self, rt: runtime.Runtime) -> float:
        """For how many seconds the newest revision is left to somebody."""
        release = held.release(self.row(), rt)
        revisions = release.revisions()
        for seconds in range(0, 1000, 10):
            try:
                apply.give_up_dead(release, revisions)
            except errors.HelmBusy:
                self.plane.clock.advance(10)
                continue
            return seconds
        raise AssertionError

    def test_any_helm_has_the_time_that_one_of_ours_has(self) -> None:
        rows: tuple[tuple[int, dict[str, Any], float], ...] = (
            (60, {}, 90),
            (60, {"status": "pending-install"}, 90),
            (60, {"status": "pending-rollback"}, 90),
            (60, {"chart": "0.28.0"}, 90),
            (60, {"osDistro": "flatcar"}, 90),
            (300, {}, 330),
            (600, {"status": "pending-rollback"}, 630),
        )
        name = names.helm_record(base.RELEASE, 2)
        record = (kinds.SECRET, base.NAMESPACE, name)
        for timeout, change, seconds in rows:
            self.begun(**change)
            rt = self.conductor(timeout)
            self.assertEqual(seconds, self.patience(rt), (timeout, change))
            self.server.delete(*record)


_INTENT = "Secret web-1f639a523a52-intent"
_LEASE = "Lease web-1f639a523a52"
_CREDENTIAL = "Secret web-1f639a523a52-cloud-credentials"
#: What a poll shares with the polls of all other clusters.
_SHARED = (
    "list Cluster",
    "list KubeadmControlPlane",
    "list MachineDeployment",
    "list Machine",
    "list Secret",
)
_ADDONS = ("list HelmRelease", "list Manifests")
_SERVERS = (
    "list OpenStackCluster",
    "list OpenStackMachine",
    "list OpenStackServer",
)
_CREATE = (
    "get Namespace kube-system",
    "get Namespace magnum-fakeproject",
    "create Namespace magnum-fakeproject",
    # The driver's own access to a namespace that it has just made.
    "create SelfSubjectAccessReview",
    f"create {_LEASE}",
    # The credential's name is stored before Keystone makes the credential.
    f"apply {_CREDENTIAL}",
    "apply Secret web-1f639a523a52-ca",
    "apply Secret web-1f639a523a52-etcd",
    "apply Secret web-1f639a523a52-proxy",
    "apply Secret web-1f639a523a52-sa",
    f"apply {_CREDENTIAL}",
    f"create {_INTENT}",
    f"replace {_LEASE}",
)
#: The templates are compared with these.
_COMPARED = (
    "get Secret sh.helm.release.v1.web-1f639a523a52.v1",
    "get KubeadmControlPlane web-1f639a523a52-control-plane",
    "get Cluster web-1f639a523a52",
)
_RESIZE = (
    f"get {_INTENT}",
    "list Secret",
    *_COMPARED,
    f"get {_LEASE}",
    f"replace {_LEASE}",
    # Another conductor may have worked before the Lease was taken.
    "list Secret",
    f"get {_INTENT}",
    f"patch {_INTENT}",
    f"replace {_LEASE}",
)
_COMPLETING = (
    *_SHARED,
    *_ADDONS,
    f"get {_LEASE}",
    f"replace {_LEASE}",
    f"get {_INTENT}",
    # Nothing that was read before the Lease leads to COMPLETE.
    *_SHARED,
    *_ADDONS,
    "get Secret sh.helm.release.v1.web-1f639a523a52.v2",
    f"get {_CREDENTIAL}",
    # A deletion meanwhile.
    f"get {_LEASE}",
    f"replace {_LEASE}",
)
_GROUP = (
    # Is the cluster being deleted?
    f"get {_LEASE}",
    "get Namespace kube-system",
    f"get {_INTENT}",
    # Names of live groups are taken.
    *_SHARED,
    *_ADDONS,
    "list Secret",
    *_COMPARED,
    f"patch {_INTENT}",
    f"get {_LEASE}",
    f"get {_LEASE}",
    f"replace {_LEASE}",
    "list Secret",
    f"get {_INTENT}",
    f"patch {_INTENT}",
    f"replace {_LEASE}",
)


class SentTest(base.FlowTestCase):
    def begin(self) -> None:
        """Forget what was sent; operations share the look for a freeze."""
        runtime.get().maintenance.read()
        self.management.requests.clear()

    def sent(self) -> list[str]:
        requests = self.management.requests
        return [f"{e.verb} {e.kind} {e.name}".strip() for e in requests]

    def assert_sent(self, *expected: str) -> None:
        self.assertEqual(list(expected), self.sent())
        self.management.requests.clear()

    def test_a_create_sends_these_requests(self) -> None:
        self.management.requests.clear()
        self.create()
        # Some are sent side by side.
        self.assertEqual(sorted(_CREATE), sorted(self.sent()))

    def test_a_resize_sends_these_requests(self) -> None:
        self.complete()
        self.begin()
        self.resize(4)
        self.assert_sent(*_RESIZE)

    def test_a_new_nodegroup_sends_these_requests(self) -> None:
        self.complete()
        self.begin()
        self.add("more")
        self.assert_sent(*_GROUP)

    def test_polls_read_what_is_not_settled(self) -> None:
        self.complete()
        self.resize(4)
        self.management.requests.clear()
        self.poll()
        progress = "patch Cluster web-1f639a523a52"
        self.assert_sent(*_SHARED, *_SERVERS, *_ADDONS, progress)
        self.poll()
        self.assert_sent(*_SHARED, *_SERVERS, *_ADDONS)

    def test_a_poll_that_completes_sends_these_requests(self) -> None:
        self.complete()
        self.resize(4)
        self.capi.settle()
        self.management.requests.clear()
        self.poll()
        self.assert_sent(*_COMPLETING)
        self.poll()
        self.assert_sent(*_SHARED, *_ADDONS)
