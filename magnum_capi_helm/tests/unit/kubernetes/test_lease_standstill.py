# SPDX-License-Identifier: Apache-2.0

"""A conductor stands still in the middle of its work, and wakes up late.

Another one has taken its Lease meanwhile. Whatever it was about to do, it
writes nothing more, and the other one finishes.
"""

from __future__ import annotations

from collections.abc import Callable
import contextlib
import functools
from typing import Any

from magnum.common import exception
import requests

from magnum_capi_helm.cloud import catalogue
from magnum_capi_helm.cloud import credential_secret
from magnum_capi_helm.cloud import server_groups
from magnum_capi_helm.cloud import sessions
from magnum_capi_helm.credentials import application_credential
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import lease
from magnum_capi_helm.kubernetes import maintenance
from magnum_capi_helm.model import call
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.fakes import management
from magnum_capi_helm.tests.fakes import openstack
from magnum_capi_helm.tests.unit.lifecycle import base

_ASKING = management.Request("replace", "Lease", base.RELEASE)


class StandstillTest(base.FlowTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.complete()

    def test_a_resize_that_wakes_up_late_writes_nothing(self) -> None:
        self._at_every_request(
            lambda count: functools.partial(self.resize, count)
        )

    def test_a_poll_that_wakes_up_late_writes_nothing(self) -> None:
        def poll(count: int) -> Callable[[], None]:
            self.resize(count)
            self.capi.settle()
            return self.poll

        self._at_every_request(poll)

    def test_a_rotation_that_wakes_up_late_writes_nothing(self) -> None:
        def rotate(count: int) -> Callable[[], None]:
            self.resize(count)
            self.settle()
            return self._rotate

        self._at_every_request(rotate)

    def _rotate(self) -> None:
        with contextlib.suppress(exception.OperationInProgress):
            self.rotate()

    def _at_every_request(
        self, prepare: Callable[[int], Callable[[], None]]
    ) -> None:
        """Of those that are made while it holds the Lease.

        :param prepare: gives what makes them, for a size of the workers
        """
        held = self._held_at(prepare(3))
        self.assertGreater(len(held), 3)
        for at in held:
            count = 1 + at % 2
            self._settle()
            self._stand_still(at, prepare(count))
            self._settle()
            self.assertLessEqual(
                self.statuses(), {"CREATE_COMPLETE", "UPDATE_COMPLETE"}
            )
            self.assertEqual(count, self.replicas())

    def _held_at(self, act: Callable[[], None]) -> list[int]:
        held: list[bool] = []
        self.management.before = lambda: held.append(self._holds())
        act()
        self.management.before = lambda: None
        return [at for at, holds in enumerate(held) if holds]

    def _stand_still(self, at: int, act: Callable[[], None]) -> None:
        first = len(self.management.requests)
        # Helms and rows so far. No row is read here: it may be any thread.
        known: list[tuple[int, int]] = []

        def before() -> None:
            if len(self.management.requests) == first + at and not known:
                known.append((len(self.helm.upgrades), len(saved)))
                self.plane.clock.advance(lease.DURATION + 1)
                self.hold("other")

        self.management.before = before
        with self.saves() as saved:
            act()
        self.management.before = lambda: None
        late = [
            each
            for each in self.management.requests[first + at :]
            # It asks whether the Lease is still its own.
            if each.verb not in management.READS and each != _ASKING
        ]
        self.assertEqual([], late, f"request {at}")
        helms, rows = known[0]
        self.assertEqual(helms, len(self.helm.upgrades), f"request {at}")
        # Magnum itself says that it began.
        ends = [each for each in saved[rows:] if "_COMPLETE" in each]
        self.assertEqual([], ends, f"request {at}")

    def _holds(self) -> bool:
        holder = str(self.live(kinds.LEASE)["spec"]["holderIdentity"])
        return holder.startswith("conductor-")

    def _settle(self) -> None:
        self.hold()
        self.poll()
        self.settle()
        # As in the beginning, nobody knows whether it is frozen.
        self.plane.clock.advance(maintenance.AGE)


SCOPE = (base.NAMESPACE, base.RELEASE)


class AtKeystoneTest(base.FlowTestCase):
    def test_a_create_leaves_no_credential(self) -> None:
        self._nothing_is_left(self.create)

    def test_a_create_with_a_late_answer_leaves_no_credential(self) -> None:
        self.openstack.blips = [(True, requests.ReadTimeout())]
        self._nothing_is_left(self.create)

    def test_a_rotation_with_a_cut_answer_leaves_no_credential(self) -> None:
        self.complete()
        self.openstack.blips = [(True, requests.ConnectionError())]
        self._nothing_is_left(self.rotate)

    def test_a_credential_left_in_keystone_is_named_in_the_log(self) -> None:
        self.openstack.refusals["DELETE"] = 403
        self._stand_still(self.create)
        [left] = self.openstack.credentials.values()
        self.assertRegex(
            "\n".join(self.warnings()),
            f"{left['name']} of user fake_user may be left in Keystone, "
            "delete it there",
        )
        self.assertNotIn(openstack.SECRET, self.log.output)

    def _nothing_is_left(self, act: Callable[[], object]) -> None:
        self._stand_still(act)
        self.assertEqual({}, self.openstack.credentials)
        # Of the service user the deletion was: this is the user's own.
        tokens = [
            each.headers["X-Auth-Token"]
            for each in self.openstack.mocker.request_history
            if each.method == "DELETE"
        ]
        self.assertEqual("user-token", tokens[-1])

    def _stand_still(self, act: Callable[[], object]) -> None:
        self.openstack.meanwhile = self._deleted
        with contextlib.suppress(exception.MagnumException):
            act()
        self.assertTrue(self.gone())

    def _deleted(self) -> None:
        base.install(self, self.plane.runtime("conductor-2"))
        self.hold()
        self.plane.clock.advance(lease.DURATION + 1)
        self.delete()
        self.poll()
        # What has no machines yet is gone by now.
        with contextlib.suppress(exception.ClusterNotFound):
            self.row()
            self.capi.finish()
            self.poll()


class LeaseLostTest(base.FlowTestCase):
    by_http = True

    def setUp(self) -> None:
        super().setUp()
        namespace = {"metadata": {"name": base.NAMESPACE}}
        self.server.create(kinds.NAMESPACE, namespace)
        self.nova = self.openstack.server_groups
        self.nova.add("of-another-cluster", openstack.PROJECT)
        self.client: Any = self.management
        self.session = sessions.user_session(self.context)
        #: Writes until the Lease is lost.
        self.left = 9

    def test_a_call_without_its_lease_asks_openstack_for_nothing(self) -> None:
        cloud = catalogue.Cloud(self.session)
        keypair = cluster_spec.Keypair("new", "ssh-ed25519 CCCC")
        entry = credential_secret.Entry("fake_user", "magnum-x")

        def create() -> None:
            owner = application_credential.Owner(
                self.session, "fake_user", ("member",)
            )
            application_credential.create(entry, owner, self.saved())

        # How many writes come before.
        for before, ask in (
            (0, lambda: cloud.import_keypair(keypair)),
            (0, create),
            (1, self._ensure),
        ):
            self.left = before
            with call.lease_guard(self._confirm):
                self.assertRaises(errors.LeaseLost, ask)
        asked = {each.method for each in self.openstack.mocker.request_history}
        self.assertEqual({"GET"}, asked)

    def test_server_groups_that_nobody_knows_of_are_deleted(self) -> None:
        def deleted() -> None:
            server_groups.delete(self.client, SCOPE)

        self._stand_still(deleted)
        self.assertEqual(["of-another-cluster"], self.nova.names())

    def test_server_groups_that_are_still_written_down_stay(self) -> None:
        """Who has the Lease by now may have found them, and use them."""
        self._stand_still(lambda: None)
        there = [f"{base.RELEASE}-gpu", "of-another-cluster"]
        self.assertEqual(sorted(there), self.nova.names())
        server_groups.delete(self.client, SCOPE)
        self.assertEqual(["of-another-cluster"], self.nova.names())

    def _stand_still(self, others: Callable[[], None]) -> None:

        def meanwhile() -> None:
            with call.lease_guard(lambda: None):
                others()
            self.left = 0

        self.nova.meanwhile = meanwhile
        with call.lease_guard(self._confirm):
            self.assertRaises(errors.LeaseLost, self._ensure)

    def _ensure(self) -> None:
        server_groups.ensure(
            self.client, SCOPE, {}, self.session, {"gpu": "affinity"}
        )

    def _confirm(self) -> None:
        if not self.left:
            raise errors.LeaseLost(base.RELEASE, "other")
        self.left -= 1
