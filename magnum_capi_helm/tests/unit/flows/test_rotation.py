# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Rotation of a cluster's credential, up to the end of the old one."""

from __future__ import annotations

import base64
import json
import logging
from typing import Any, cast

import fixtures
from magnum.common import exception
import yaml

from magnum_capi_helm import conf
from magnum_capi_helm import exceptions
from magnum_capi_helm.cloud import catalogue
from magnum_capi_helm.credentials import keypairs
from magnum_capi_helm.credentials import ledger
from magnum_capi_helm.credentials import upkeep
from magnum_capi_helm.management import kinds
from magnum_capi_helm.resolve import location
from magnum_capi_helm.tests.fakes import cloud as fake_cloud
from magnum_capi_helm.tests.fakes import management
from magnum_capi_helm.tests.fakes import openstack
from magnum_capi_helm.tests.unit.flows import base

NAME = f"{base.RELEASE}-cloud-credentials"
KEY = "ssh-ed25519 AAAA mine"


class RotationTestCase(base.FlowTestCase):
    """A cluster that is complete, and Keystone over HTTP."""

    keypairs: dict[tuple[str, str], str] | None = None

    def setUp(self) -> None:
        super().setUp()
        self.complete()
        conf.CONF.set_override("app_cred_grace", 0, "capi_helm")
        conf.CONF.set_override(
            "app_cred_grace_without_reloader", 0, "capi_helm"
        )
        self.first = self.in_use()

    def catalogue(self, session: Any) -> fake_cloud.FakeCloud:
        found = super().catalogue(session)
        found.keypairs = self.keypairs
        return found

    def secret(self) -> Any:
        found = self.server.get(kinds.SECRET, base.NAMESPACE, NAME)
        assert found is not None
        return found

    def in_use(self) -> str:
        """Id of the credential that the cluster has."""
        clouds = yaml.safe_load(
            base64.b64decode(self.secret()["data"]["clouds.yaml"])
        )
        auth = clouds["clouds"]["openstack"]["auth"]
        return str(auth["application_credential_id"])

    def listed(self) -> list[dict[str, Any]]:
        """What the ledger says."""
        annotations = self.secret()["metadata"]["annotations"]
        found: list[dict[str, Any]] = json.loads(
            annotations[ledger.ANNOTATION]
        )
        return found

    def owners(self) -> dict[str, str]:
        """Id of each credential in Keystone -> its user."""
        return {
            key: each["user_id"]
            for key, each in self.openstack.credentials.items()
        }


class RotateTest(RotationTestCase):
    """``coe credential rotate``."""

    def test_the_cluster_gets_a_new_one_and_a_poll_deletes_the_old_one(
        self,
    ) -> None:
        self.rotate()
        self.assertNotEqual(self.first, self.in_use())
        self.assertEqual({self.first, self.in_use()}, set(self.owners()))
        self.assertEqual("UPDATE_COMPLETE", self.row().status)
        self.health_poll()
        self.assertEqual({self.in_use(): "fake_user"}, self.owners())
        self.assertEqual([self.in_use()], [e["id"] for e in self.listed()])

    def test_nothing_of_the_release_is_touched(self) -> None:
        upgrades = len(self.helm.upgrades)
        self.management.requests.clear()
        self.rotate()
        self.assertEqual(upgrades, len(self.helm.upgrades))
        written = {
            (each.kind, each.name)
            for each in self.management.requests
            if each.verb not in ("get", "list")
        }
        self.assertEqual(
            {("Secret", NAME), ("Lease", f"{base.RELEASE}")}, written
        )

    def test_another_user_becomes_the_owner(self) -> None:
        self.login(user="other_user")
        self.rotate()
        self.assertEqual("other_user", self.row().user_id)
        self.assertEqual("other_user", self.owners()[self.in_use()])
        labels = self.secret()["metadata"]["labels"]
        self.assertEqual("other_user", labels[location.USER_ID])
        self.health_poll()
        self.assertEqual({self.in_use(): "other_user"}, self.owners())

    def test_roles_that_the_user_has_by_now_are_passed_on(self) -> None:
        self.login(roles=("member", "load-balancer_member", "admin"))
        self.rotate()
        made = self.openstack.credentials[self.in_use()]
        self.assertEqual(
            [{"name": "member"}, {"name": "load-balancer_member"}],
            made["roles"],
        )

    def test_the_name_is_written_down_before_keystone_is_asked(self) -> None:
        self.openstack.refusals["POST"] = 500
        self.assertRaises(exception.MagnumException, self.rotate)
        self.assertEqual(["fake_user"] * 2, [e["user"] for e in self.listed()])
        self.assertEqual(self.first, self.in_use())
        self.assertEqual("CREATE_COMPLETE", self.row().status)

    def test_one_that_does_not_work_is_not_handed_over(self) -> None:
        self.openstack.stillborn = True
        error = self.assertRaises(exception.MagnumException, self.rotate)
        self.assertIn("does not accept", str(error))
        self.assertEqual(self.first, self.in_use())
        self.openstack.stillborn = False
        self.after_a_while()
        self.assertEqual([self.first], list(self.owners()))

    def after_a_while(self) -> None:
        """Time enough for a dead conductor's Lease to expire."""
        for _ in range(4):
            self.health_poll()
            self.plane.clock.advance(3600)

    def test_a_conductor_that_dies_at_any_step_leaves_one_that_works(
        self,
    ) -> None:
        for verb in ("patch", "apply"):
            self.management.kill_before(verb, kinds.SECRET, NAME)
            self.assertRaises(management.Killed, self.rotate)
            self.management.recover()
            self.assertEqual(self.first, self.in_use(), verb)
            self.after_a_while()
            self.assertEqual([self.first], list(self.owners()), verb)
            self.assertEqual(1, len(self.listed()), verb)
            self.server.patch(
                kinds.LEASE,
                base.NAMESPACE,
                base.RELEASE,
                {"spec": {"holderIdentity": ""}},
            )

    def test_a_poll_that_dies_after_keystone_deleted_it_is_repeated(
        self,
    ) -> None:
        self.rotate()
        self.management.kill_before("patch", kinds.SECRET, NAME)
        self.assertRaises(management.Killed, self.health_poll)
        self.management.recover()
        self.assertEqual([self.in_use()], list(self.owners()))
        self.after_a_while()
        self.assertEqual(1, len(self.listed()))

    def test_many_old_ones_go_together(self) -> None:
        self.rotate()
        self.login(user="other_user")
        self.rotate()
        self.rotate()
        self.assertEqual(4, len(self.owners()))
        self.health_poll()
        self.assertEqual({self.in_use(): "other_user"}, self.owners())

    def test_delete_leaves_none_of_any_user(self) -> None:
        self.login(user="other_user")
        self.rotate()
        self.delete()
        self.capi.finish()
        self.poll()
        self.assertEqual({}, self.owners())

    def test_no_secret_is_in_any_log(self) -> None:
        logs = self.useFixture(fixtures.FakeLogger(level=logging.DEBUG))
        self.rotate()
        self.health_poll()
        self.assertNotIn(openstack.SECRET, logs.output)

    def test_a_secret_that_was_deleted_by_hand_is_made_again(self) -> None:
        self.server.delete(kinds.SECRET, base.NAMESPACE, NAME)
        self.rotate()
        self.assertIn(self.in_use(), self.owners())

    def test_a_credential_of_1_4_0_is_deleted_by_its_id(self) -> None:
        """Which wrote no list; of a long user id it cut the label."""
        labels = {location.USER_ID: "fake_use"}
        self.server.patch(
            kinds.SECRET,
            base.NAMESPACE,
            NAME,
            {"metadata": {"annotations": None, "labels": labels}},
        )
        self.login(user="other_user")
        self.rotate()
        self.health_poll()
        self.assertEqual({self.in_use(): "other_user"}, self.owners())

    def test_one_that_1_4_0_made_after_a_swap_back_is_not_lost(self) -> None:
        meta = self.secret()["metadata"]
        stale = json.dumps([{"user": "fake_user", "name": "x", "id": "gone"}])
        meta["annotations"][ledger.ANNOTATION] = stale
        self.server.patch(
            kinds.SECRET, base.NAMESPACE, NAME, {"metadata": meta}
        )
        self.delete()
        self.capi.finish()
        self.poll()
        self.assertEqual({}, self.owners())


class StatusTest(RotationTestCase):
    """What a rotation says of the cluster."""

    def test_a_failed_update_is_not_complete_for_it(self) -> None:
        row = self.row()
        row.status = "UPDATE_FAILED"
        row.status_reason = "No valid host was found"
        row.save()
        self.rotate()
        self.assertEqual("UPDATE_FAILED", self.row().status)
        self.assertEqual("No valid host was found", self.row().status_reason)


class RefusalTest(RotationTestCase):
    """What is refused, before anything is written."""

    def refused(self, expected: type[Exception]) -> str:
        before = self.secret(), self.row().as_dict()
        error = self.assertRaises(expected, self.rotate)
        self.assertEqual(before, (self.secret(), self.row().as_dict()))
        self.assertEqual([self.first], list(self.owners()))
        return str(error)

    def test_tokens_with_which_nobody_can_rotate(self) -> None:
        tokens: tuple[tuple[dict[str, Any], str], ...] = (
            ({"restricted": True}, "--unrestricted"),
            ({"project": "another"}, "log in to project fake_project"),
            ({"roles": ("admin",)}, "no role that a cluster may act with"),
        )
        for token, complaint in tokens:
            self.login(**token)
            text = self.refused(exception.InvalidParameterValue)
            self.assertIn(complaint, text, token)

    def test_somebody_else_who_works_on_the_cluster(self) -> None:
        with self.busy():
            self.refused(exception.OperationInProgress)

    def test_a_cluster_that_is_being_deleted(self) -> None:
        row = self.row()
        self.delete()
        error = self.assertRaises(
            exception.NotSupported,
            self.driver.rotate_credential,
            self.context,
            row,
        )
        self.assertIn("being deleted", str(error))

    def test_a_file_of_access_rules_that_is_wrong(self) -> None:
        for text, complaint in (
            ("- {service: compute}", "rule 1: give service, method and path"),
            ("{}", "give a list"),
            ("[", "neither YAML nor JSON"),
        ):
            path = self.create_tempfiles([("rules", text)], ".yaml")[0]
            conf.CONF.set_override("app_cred_access_rules", path, "capi_helm")
            self.assertIn(
                complaint, self.refused(exception.MagnumException), text
            )

    def test_access_rules_are_passed_on(self) -> None:
        rule = {"service": "compute", "method": "GET", "path": "/**"}
        path = self.create_tempfiles([("rules", json.dumps([rule]))])[0]
        conf.CONF.set_override("app_cred_access_rules", path, "capi_helm")
        self.rotate()
        made = self.openstack.credentials[self.in_use()]
        self.assertEqual([rule], made["access_rules"])


class HandOverTest(RotationTestCase):
    """When the old one may go: once the cluster's pods use the new one."""

    def settled(self) -> bool:
        """Whether the old one is deleted, a minute later."""
        self.plane.clock.advance(60)
        self.health_poll()
        return self.first not in self.owners()

    def addon(self, name: str = "cloud-config", **fields: Any) -> None:
        kind = (
            kinds.MANIFESTS if name == "cloud-config" else kinds.HELM_RELEASE
        )
        key = (kind, base.NAMESPACE, f"{base.RELEASE}-{name}")
        if self.server.get(*key) is None:
            meta = {"name": key[2], "namespace": key[1]}
            self.server.create(kind, {"metadata": meta, "spec": {}})
        self.server.patch(*key, fields)

    def test_not_before_its_copy_in_the_cluster_is_deployed_again(
        self,
    ) -> None:
        self.addon(status={"phase": "Upgrading"})
        self.rotate()
        self.assertFalse(self.settled())
        self.addon(status={"phase": "Deployed"})
        self.assertTrue(self.settled())

    def test_not_while_the_copy_is_of_the_old_data(self) -> None:
        key = f"{NAME}.secret.addons.stackhpc.com/checksum"
        self.addon(
            status={"phase": "Deployed"},
            metadata={"annotations": {key: "of the old data"}},
        )
        self.rotate()
        self.assertFalse(self.settled())
        noted = upkeep.checksum(self.secret()["data"])
        self.addon(metadata={"annotations": {key: noted}})
        self.assertTrue(self.settled())

    def test_the_reloader_needs_a_while(self) -> None:
        self.addon("reloader")
        conf.CONF.set_override("app_cred_grace", 3600, "capi_helm")
        self.rotate()
        self.assertFalse(self.settled())
        conf.CONF.set_override("app_cred_grace", 0, "capi_helm")
        self.assertTrue(self.settled())

    def test_without_a_reloader_people_need_longer(self) -> None:
        conf.CONF.set_override(
            "app_cred_grace_without_reloader", 3600, "capi_helm"
        )
        self.rotate()
        self.assertFalse(self.settled())

    def test_what_keystone_refuses_is_logged_and_tried_again(self) -> None:
        self.openstack.refusals["DELETE"] = 403
        self.rotate()
        self.assertFalse(self.settled())
        self.assertIn("role admin", self.log.output)
        self.openstack.refusals.clear()
        self.assertTrue(self.settled())

    def test_another_conductor_s_lease_is_respected(self) -> None:
        self.rotate()
        with self.busy():
            self.assertFalse(self.settled())
        self.assertTrue(self.settled())


class KeypairTest(RotationTestCase):
    """The new owner gets the keypair that machines ask for."""

    def setUp(self) -> None:
        self.keypairs = {("", "mine"): KEY}
        super().setUp()
        self.login(user="other_user")

    def forget(self) -> None:
        """As with a cluster of 1.4.0."""
        change = {"data": {"keypair.json": None}}
        name = f"{base.RELEASE}-intent"
        self.server.patch(kinds.SECRET, base.NAMESPACE, name, change)

    def outcome(
        self, asking: str, owner: str, user: str = "other_user"
    ) -> str:
        """The key that a user gets, or why he gets none.

        :param asking: what he has under that name
        :param owner: what Nova has for the owner so far
        """
        keys = {("", "mine"): asking, ("fake_user", "mine"): owner}
        self.keypairs = {name: key for name, key in keys.items() if key}
        try:
            found = keypairs.missing(
                self.plane.runtime(),
                (base.NAMESPACE, base.RELEASE),
                self.row(),
                cast("catalogue.Cloud", self.catalogue(None)),
                user,
            )
        except exceptions.InvalidInput as error:
            return str(error)
        return found.public_key if found else ""

    def test_who_gets_which_key(self) -> None:
        another = "your keypair 'mine' is not the cluster's of that name"
        for title, asking, owner, expected in (
            ("he has none", "", "", KEY),
            ("he has it, with another comment", f"{KEY}-at-home", "", ""),
            ("he has another one", "ssh-ed25519 BBBB", KEY, another),
        ):
            found = self.outcome(asking, owner)
            self.assertEqual(expected, found[: len(expected) or None], title)
        self.assertEqual("", self.outcome("ssh-ed25519 BBBB", "", "fake_user"))

    def test_of_1_4_0_s_cluster_nova_knows_it_under_the_old_owner(
        self,
    ) -> None:
        self.forget()
        for title, asking, owner, expected in (
            ("he has none", "", KEY, KEY),
            ("nobody has", "", "", "nobody has the keypair 'mine'"),
            ("he alone has one", "ssh-ed25519 BBBB", "", ""),
        ):
            found = self.outcome(asking, owner)
            self.assertEqual(expected, found[: len(expected) or None], title)

    def test_it_is_imported_and_kept(self) -> None:
        self.forget()
        self.keypairs = {("fake_user", "mine"): KEY}
        self.rotate()
        self.assertEqual(KEY, self.keypairs["", "mine"])
        self.assertIn("keypair.json", self.intent_keys())

    def test_a_refusal_comes_before_the_first_write(self) -> None:
        self.keypairs = {("", "mine"): "ssh-ed25519 BBBB"}
        before = self.secret()
        self.assertRaises(exception.InvalidParameterValue, self.rotate)
        self.assertEqual(before, self.secret())

    def test_a_cluster_without_one_needs_none(self) -> None:
        row = self.row()
        row.keypair = None
        row.save()
        self.keypairs = {}
        self.rotate()
        self.assertEqual({}, self.keypairs)


class DeadTest(RotationTestCase):
    """What the health poll says of the credential."""

    def reason(self) -> str | None:
        """Ten minutes later."""
        self.health_poll()
        self.plane.clock.advance(3600)
        row = self.health_poll()
        found = (row.health_status_reason or {}).get("credential")
        self.assertEqual(
            "UNHEALTHY" if found else "HEALTHY", row.health_status
        )
        return found

    def test_a_new_one_is_seen_at_once_by_every_conductor(self) -> None:
        self.assertIsNone(self.reason())
        self.openstack.credentials.clear()
        self.assertIn("openstack coe credential rotate", self.reason() or "")
        base.install(self, self.plane.runtime("conductor-2"))
        self.assertIsNotNone(self.reason())
        self.rotate()
        base.install(self, self.plane.runtime("conductor-1"))
        self.assertEqual("HEALTHY", self.health_poll().health_status)

    def test_a_secret_that_is_damaged_or_gone_says_so(self) -> None:
        damaged = {"data": {"clouds.yaml": "bm90OiBbY2xvdWRz"}}
        self.server.patch(kinds.SECRET, base.NAMESPACE, NAME, damaged)
        self.assertIn(f"the Secret {NAME} does not say", self.reason() or "")
        self.server.delete(kinds.SECRET, base.NAMESPACE, NAME)
        self.assertIn("not on the management cluster", self.reason() or "")

    def test_a_keystone_that_does_not_answer_says_nothing(self) -> None:
        self.openstack.stop(openstack.IDENTITY)
        self.assertIsNone(self.reason())

    def test_keystone_is_asked_once_in_a_while(self) -> None:
        self.reason()
        asked = self.openstack.mocker.call_count
        self.health_poll()
        self.assertEqual(asked, self.openstack.mocker.call_count)

    def test_a_cluster_that_is_being_made_has_none_yet(self) -> None:
        self.server.delete(kinds.SECRET, base.NAMESPACE, NAME)
        row = self.row()
        row.status = "CREATE_IN_PROGRESS"
        row.save()
        self.assertIsNone(self.reason())

    def test_it_can_be_switched_off(self) -> None:
        conf.CONF.set_override("app_cred_check_interval", 0, "capi_helm")
        self.openstack.credentials.clear()
        self.assertIsNone(self.reason())
