# SPDX-License-Identifier: Apache-2.0

"""A Keystone that is away for a moment while a credential is made."""

from __future__ import annotations

import requests

from magnum_capi_helm.cloud import credential_secret
from magnum_capi_helm.cloud import keystone
from magnum_capi_helm.cloud import sessions
from magnum_capi_helm.credentials import application_credential
from magnum_capi_helm.credentials import cloud_secret
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import errors
from magnum_capi_helm.operations import operation as operations
from magnum_capi_helm.tests.fakes import openstack
from magnum_capi_helm.tests.unit.lifecycle import base

_CUT = requests.ConnectionError


class BlipsTest(base.FlowTestCase):
    """What becomes of one, and of what was made without an answer."""

    def setUp(self) -> None:
        super().setUp()
        self.row_ = self.saved()
        self.before = 0
        namespace = {"metadata": {"name": base.NAMESPACE}}
        self.server.create(kinds.NAMESPACE, namespace)

    def test_what_passes_is_waited_for(self) -> None:
        for blips in (
            [(False, 429)],
            [(False, 503)],
            [(False, 500), (False, 502)],
            [(False, _CUT())],
            [(True, _CUT())],
            [(True, 504)],
            [(True, _CUT()), (True, _CUT())],
        ):
            said = str(blips)
            tries = len(blips) + 1
            self._ensure(*blips)
            self.assertEqual(tries, self._asked(), said)
            self.assertEqual([self._in_use()], [*self.openstack.credentials])

    def test_one_that_arrives_while_it_is_looked_for_is_waited_for(
        self,
    ) -> None:
        """Deleted is what is there; the next try finds it, as a conflict."""
        self._ensure((False, 504), (False, 409))
        self.assertEqual(3, self._asked())
        self.assertEqual([self._in_use()], [*self.openstack.credentials])

    def test_others_of_the_user_stay(self) -> None:
        theirs = {"id": "theirs", "name": "mine", "user_id": openstack.USER}
        self.openstack.credentials["theirs"] = theirs
        self._ensure((True, 503), keep=True)
        self.assertEqual(
            {"theirs", self._in_use()}, set(self.openstack.credentials)
        )

    def test_a_refusal_is_no_blip(self) -> None:
        for status in (400, 401, 403, 404):
            self.assertRaises(
                errors.CapiHelmError, self._ensure, (False, status)
            )
            self.assertEqual(1, self._asked(), status)

    def test_who_waited_long_has_waited_enough(self) -> None:
        self.assertRaises(
            errors.CloudUnreachable,
            self._ensure,
            (False, requests.ReadTimeout()),
        )
        self.assertEqual(1, self._asked())

    def test_what_does_not_pass_is_told_as_it_was(self) -> None:
        for blip, said in (
            ((False, 503), "Keystone answered 503"),
            ((False, 500), "Keystone answered 500"),
            ((True, _CUT()), "Keystone does not answer"),
        ):
            error = self.assertRaises(
                errors.CloudUnreachable, self._ensure, *[blip] * 3
            )
            self.assertEqual(said, str(error))
            self.assertEqual(3, self._asked(), said)

    def test_deletions_and_look_ups_tell_it_as_well(self) -> None:
        self._ensure()
        self.openstack.refusals["DELETE"] = 503
        self.openstack.mocker.get(
            f"{openstack.IDENTITY}/users?name=jo", status_code=503
        )
        for ask in (
            lambda: application_credential.delete_all(
                operations.Operation(
                    self.context, self.row_, self.plane.runtime()
                )
            ),
            lambda: keystone.user_ids(sessions.service_session(), "jo"),
        ):
            error = self.assertRaises(errors.CloudUnreachable, ask)
            self.assertEqual("Keystone answered 503", str(error))

    def _ensure(
        self, *blips: tuple[bool, int | Exception], keep: bool = False
    ) -> None:
        """One more credential, in a Keystone that has none of the cluster."""
        if not keep:
            self.openstack.credentials.clear()
        self.openstack.blips = list(blips)
        self.before = len(self.openstack.mocker.request_history)
        session = sessions.user_session(self.context)
        cloud_secret.create(
            operations.Operation(
                self.context, self.row_, self.plane.runtime()
            ),
            self.row_,
            session,
            cloud_secret.cloud_access(session),
            first=True,
        )

    def _asked(self) -> int:
        """How often Keystone was asked to make one."""
        return sum(
            each.method == "POST" and each.path.endswith("_credentials")
            for each in self.openstack.mocker.request_history[self.before :]
        )

    def _in_use(self) -> str:
        secret = self.server.get(
            kinds.SECRET, base.NAMESPACE, base.CREDENTIALS
        )
        login = credential_secret.login(secret)
        return login.id if login else ""
