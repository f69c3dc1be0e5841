# SPDX-License-Identifier: Apache-2.0

"""A conductor stands still while it asks OpenStack, and wakes up late.

Another one has deleted the cluster meanwhile, with all that names what was
asked for: nothing of it may be left.
"""

from __future__ import annotations

from collections.abc import Callable
import contextlib
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
from magnum_capi_helm.model import call
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.fakes import openstack
from magnum_capi_helm.tests.unit.lifecycle import base

SCOPE = (base.NAMESPACE, base.RELEASE)


class AtKeystoneTest(base.FlowTestCase):
    """While an application credential is made."""

    def test_a_create_leaves_no_credential(self) -> None:
        self._nothing_is_left(self.create)

    def test_a_create_with_a_late_answer_leaves_no_credential(self) -> None:
        self.openstack.blips = [(True, requests.ReadTimeout())]
        self._nothing_is_left(self.create)

    def test_a_create_with_a_cut_answer_leaves_no_credential(self) -> None:
        self.openstack.blips = [(True, requests.ConnectionError())]
        self._nothing_is_left(self.create)

    def test_a_rotation_leaves_no_credential(self) -> None:
        self.complete()
        self._nothing_is_left(self.rotate)

    def test_a_rotation_with_a_late_answer_leaves_no_credential(self) -> None:
        self.complete()
        self.openstack.blips = [(True, requests.ReadTimeout())]
        self._nothing_is_left(self.rotate)

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
        """When Keystone is asked; another conductor deletes the cluster."""
        self.openstack.meanwhile = self._deleted
        with contextlib.suppress(exception.MagnumException):
            act()
        self.assertRaises(exception.ClusterNotFound, self.row)

    def _deleted(self) -> None:
        base.install(self, self.plane.runtime("conductor-2"))
        self.server.patch(
            kinds.LEASE,
            base.NAMESPACE,
            base.RELEASE,
            {"spec": {"holderIdentity": "", "renewTime": "later"}},
        )
        self.plane.clock.advance(lease.DURATION + 1)
        self.delete()
        self.poll()
        # What has no machines yet is gone by now.
        with contextlib.suppress(exception.ClusterNotFound):
            self.row()
            self.capi.finish()
            self.poll()


class LeaseLostTest(base.FlowTestCase):
    """What is made under a Lease that is lost after some writes."""

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
        """When Nova is asked, while others go on."""

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
