# SPDX-License-Identifier: Apache-2.0

"""Application credentials, against a Keystone over HTTP."""

from __future__ import annotations

import base64
import json
from typing import Any

import requests
import yaml

from magnum_capi_helm.cloud import credential_secret
from magnum_capi_helm.cloud import sessions
from magnum_capi_helm.config import conf
from magnum_capi_helm.credentials import application_credential
from magnum_capi_helm.credentials import cloud_secret
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import errors
from magnum_capi_helm.operations import cluster_operation
from magnum_capi_helm.tests.fakes import openstack
from magnum_capi_helm.tests.unit.lifecycle import base


class RolesTest(base.FlowTestCase):
    def test_roles_are_configured_sorted_and_never_admin(self) -> None:
        for has, configured, expected in (
            (["member", "reader"], [], ("member", "reader")),
            (["reader", "member"], [], ("member", "reader")),
            (["member", "reader"], ["reader"], ("reader",)),
            (["admin", "member"], [], ("member",)),
            (["admin"], ["admin"], ()),
            (["Admin", "member"], [], ("member",)),
            (["ADMIN"], ["ADMIN"], ()),
            (["member"], ["load-balancer_member"], ()),
            ([], [], ()),
        ):
            with self.subTest(f"{has}, {configured}"):
                self.set_option(app_cred_roles=configured)
                self.assertEqual(expected, self.roles(*has))

    def roles(self, *has: str) -> tuple[str, ...]:
        self.login(roles=has)
        session = sessions.user_session(self.context)
        try:
            found = application_credential.owner_of(session)
            self.assertEqual("fake_user", found.user_id)
            return found.roles
        except errors.InvalidInput as error:
            self.assertIn("no role that a cluster may act with", str(error))
            return ()


class CreationTestCase(base.FlowTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.row_ = self.saved()
        namespace = {"metadata": {"name": base.NAMESPACE}}
        self.server.create(kinds.NAMESPACE, namespace)

    def operation(self) -> cluster_operation.Operation:
        return cluster_operation.Operation(
            self.context, self.row_, self.plane.runtime()
        )

    def ensure(self) -> None:
        session = sessions.user_session(self.context)
        access = cloud_secret.cloud_access(session)
        owner = application_credential.owner_of(session)
        operation = self.operation()
        cloud_secret.create(operation, self.row_, owner, access, first=True)


class CreateTest(CreationTestCase):
    def secret(self) -> Any:
        return self.live(kinds.SECRET, base.CREDENTIALS)

    def test_the_name_is_unique_and_says_whose_it_is(self) -> None:
        self.ensure()
        [made] = self.openstack.credentials.values()
        self.assertRegex(made["name"], f"^magnum-{base.UUID}-[0-9a-f]{{8}}$")
        self.assertEqual("Magnum cluster (web)", made["description"])
        self.assertIsNot(True, made.get("unrestricted"))

    def test_a_role_that_implies_admin_in_any_case_is_refused(self) -> None:
        for name in ("admin", "Admin", "ADMIN"):
            self.openstack.implied = name
            error = self.assertRaises(errors.CloudError, self.ensure)
            self.assertIn("implies the role admin", str(error), name)
            self.assertNotIn("data", self.secret(), name)

    def test_a_lost_answer_leaves_no_credential(self) -> None:
        """Keystone made it, the conductor never learned its id."""
        self.openstack.refusals["POST"] = 500
        self.assertRaises(errors.CloudError, self.ensure)
        self.assertNotIn("data", self.secret())
        meta = self.secret()["metadata"]
        [written] = json.loads(
            meta["annotations"][credential_secret.ANNOTATION]
        )
        self.assertEqual("fake_user", written["user"])
        for id_, name in (("lost", written["name"]), ("theirs", "theirs")):
            made = {"id": id_, "name": name, "user_id": "fake_user"}
            self.openstack.credentials[id_] = made
        application_credential.delete_all(self.operation())
        self.assertEqual(["theirs"], list(self.openstack.credentials))

    def test_the_bundle_of_the_operator_is_passed_on(self) -> None:
        path = self.create_tempfiles(
            [("ca", "# Gr\xfcn\nthe CA", "latin-1")], ".pem"
        )[0]
        conf.CONF.set_override("openstack_ca_file", path, "drivers")
        conf.CONF.set_override("verify_ca", False, "drivers")
        self.ensure()
        data = self.secret()["data"]
        self.assertEqual(
            "# Gr\ufffdn\nthe CA", base64.b64decode(data["cacert"]).decode()
        )
        clouds = yaml.safe_load(base64.b64decode(data["clouds.yaml"]))
        self.assertIs(False, clouds["clouds"]["openstack"]["verify"])

    def test_a_cloud_without_regions_has_no_region_name(self) -> None:
        login = credential_secret.Login("id", "secret")
        access = cloud_secret.CloudAccess("http://k/v3", None, "CA")
        text = cloud_secret.clouds_yaml(access, login)
        entry = yaml.safe_load(text)["clouds"]["openstack"]
        self.assertNotIn("region_name", entry)


class DeleteTest(base.FlowTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.complete()

    def delete_credentials(self) -> None:
        application_credential.delete_all(self.new_operation())

    def test_the_service_user_asks_and_not_the_user(self) -> None:
        for _ in range(2):
            self.delete_credentials()
            self.assertEqual({}, self.openstack.credentials)
        request = next(
            each
            for each in self.openstack.mocker.request_history
            if each.method == "DELETE"
        )
        self.assertEqual("service-token", request.headers["X-Auth-Token"])
        self.assertIn("/users/fake_user/", request.path)

    def test_without_a_secret_credentials_are_found_by_name(self) -> None:
        """Somebody deleted it by hand."""
        self.server.delete(kinds.SECRET, base.NAMESPACE, base.CREDENTIALS)
        self.openstack.credentials["theirs"] = {
            "id": "theirs",
            "name": "magnum-of-another-cluster",
            "user_id": "fake_user",
        }
        self.delete_credentials()
        self.assertEqual(["theirs"], list(self.openstack.credentials))

    def test_an_entry_without_a_whole_name_deletes_nothing(self) -> None:
        """All credentials of all clusters begin with the name of the last."""
        key = credential_secret.ANNOTATION
        for entry in (
            '{"user": "fake_user"}',
            '{"user": "fake_user", "name": "magnum-"}',
        ):
            change: dict[str, Any] = {
                "metadata": {"annotations": {key: f"[{entry}]"}},
                "data": {"clouds.yaml": None},
            }
            self.edit(kinds.SECRET, base.CREDENTIALS, change)
            self.delete_credentials()
            self.assertEqual(1, len(self.openstack.credentials), entry)

    def test_a_refusal_names_the_missing_role(self) -> None:
        for status in (401, 403):
            self.openstack.refusals["DELETE"] = status
            error = self.assertRaises(
                errors.CloudError, self.delete_credentials
            )
            self.assertIn("role admin", str(error))
        self.assertEqual(1, len(self.openstack.credentials))

    def test_a_damaged_secret_is_reported(self) -> None:
        """1.4.0's Secret, edited by hand."""
        for notes, data in (
            (None, {"clouds.yaml": "bm90OiBbY2xvdWRz"}),
            ({credential_secret.ANNOTATION: "{"}, {}),
        ):
            change = {"metadata": {"annotations": notes}, "data": data}
            self.edit(kinds.SECRET, base.CREDENTIALS, change)
            self.assertRaises(errors.CapiHelmError, self.delete_credentials)


_CUT = requests.ConnectionError


class OutagesTest(CreationTestCase):
    """Keystone is away for a moment while a credential is made."""

    def test_a_short_outage_is_tried_again(self) -> None:
        for blips in (
            [(False, 429)],
            [(False, 503)],
            [(False, 500), (False, 502)],
            [(False, _CUT())],
            [(True, _CUT())],
            [(True, 504)],
            [(True, _CUT()), (True, _CUT())],
            # A credential that arrives late, then a conflict.
            [(False, 504), (False, 409)],
        ):
            self._ensure(*blips)
            self.assertEqual(len(blips) + 1, self._asked(), str(blips))
            self.assertEqual([self._in_use()], [*self.openstack.credentials])

    def test_others_of_the_user_stay(self) -> None:
        theirs = {"id": "theirs", "name": "mine", "user_id": openstack.USER}
        self.openstack.credentials["theirs"] = theirs
        self._ensure((True, 503), keep=True)
        self.assertEqual(
            {"theirs", self._in_use()}, set(self.openstack.credentials)
        )

    def test_a_refusal_or_a_read_timeout_is_not_tried_again(self) -> None:
        for answer in (400, 401, 403, 404, requests.ReadTimeout()):
            self.assertRaises(
                errors.CapiHelmError, self._ensure, (False, answer)
            )
            self.assertEqual(1, self._asked(), answer)

    def test_a_long_outage_is_reported_with_its_status(self) -> None:
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

    def test_deletions_report_the_status_too(self) -> None:
        self._ensure()
        self.openstack.refusals["DELETE"] = 503
        error = self.assertRaises(
            errors.CloudUnreachable,
            application_credential.delete_all,
            self.operation(),
        )
        self.assertEqual("Keystone answered 503", str(error))

    def _ensure(
        self, *blips: tuple[bool, int | Exception], keep: bool = False
    ) -> None:
        """One more credential, in a Keystone that has none of the cluster."""
        if not keep:
            self.openstack.credentials.clear()
        self.openstack.blips = list(blips)
        self.before = len(self.openstack.mocker.request_history)
        self.ensure()

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
