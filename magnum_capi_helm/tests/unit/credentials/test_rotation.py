# SPDX-License-Identifier: Apache-2.0

"""Rotation of a cluster's credential, up to the end of the old one."""

from __future__ import annotations

import json
import logging
from typing import Any

import fixtures
from magnum.common import exception

from magnum_capi_helm.cloud import credential_secret
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import location
from magnum_capi_helm.status import addon
from magnum_capi_helm.tests.fakes import management
from magnum_capi_helm.tests.fakes import openstack
from magnum_capi_helm.tests.unit.credentials import rotating
from magnum_capi_helm.tests.unit.lifecycle import base


class RotateTest(rotating.RotationTestCase):
    def test_the_cluster_gets_a_new_one_and_a_poll_ends_the_old(self) -> None:
        logs = self.useFixture(fixtures.FakeLogger(level=logging.DEBUG))
        self.rotate()
        self.assertNotEqual(self.first, self.in_use())
        self.assertEqual({self.first, self.in_use()}, set(self.owners()))
        self.poll()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)
        self.health_poll()
        self.assertEqual({self.in_use(): "fake_user"}, self.owners())
        self.assertEqual([self.in_use()], [e["id"] for e in self.listed()])
        self.assertNotIn(openstack.SECRET, logs.output)

    def test_the_update_is_complete_when_addons_have_the_new_one(self) -> None:
        key = f"secret.addons.stackhpc.com/{base.CREDENTIALS}"
        handled = "addons.stackhpc.com/last-handled-configuration"
        late = "addon cloud-config: its latest change is still to be installed"
        before = addon.checksum(self.secret())
        # The newest revision is older than an operation may take.
        self.plane.clock.advance(86400)
        upgrades = len(self.helm.upgrades)
        self.management.requests.clear()
        self.rotate()
        # A rotation touches no part of the release.
        self.assertEqual(upgrades, len(self.helm.upgrades))
        self.assertEqual(
            {
                ("Secret", base.CREDENTIALS),
                ("Lease", base.RELEASE),
                ("Cluster", base.RELEASE),
            },
            {
                (each.kind, each.name)
                for each in self.management.requests
                if each.verb not in ("get", "list")
            },
        )
        present = addon.checksum(self.secret())
        rows = [
            (before, before, "UPDATE_IN_PROGRESS", late),
            (present, before, "UPDATE_IN_PROGRESS", late),
            (present, present, "UPDATE_COMPLETE", None),
        ]
        for noted, of_then, status, reason in rows:
            note = {
                "spec": {"clusterName": base.RELEASE},
                "metadata": {"annotations": {key: of_then}},
            }
            notes = {key: noted, handled: json.dumps(note)}
            self.addon(
                status={"phase": "Deployed"}, metadata={"annotations": notes}
            )
            self.poll()
            row = self.row()
            self.assertEqual((status, reason), (row.status, row.status_reason))

    def test_another_user_becomes_the_owner(self) -> None:
        self.rotate()
        self.login(user="other_user")
        self.rotate()
        self.assertEqual("other_user", self.row().user_id)
        self.assertEqual("other_user", self.owners()[self.in_use()])
        labels = self.secret()["metadata"]["labels"]
        self.assertEqual("other_user", labels[location.USER_ID])
        self.assertEqual(3, len(self.owners()))
        # The old ones go together.
        self.health_poll()
        self.assertEqual({self.in_use(): "other_user"}, self.owners())

    def test_the_name_is_written_down_before_keystone_is_asked(self) -> None:
        self.openstack.refusals["POST"] = 500
        self.assertRaises(exception.MagnumException, self.rotate)
        self.assertEqual(["fake_user"] * 2, [e["user"] for e in self.listed()])
        self.assertEqual(self.first, self.in_use())
        self.assertEqual("CREATE_COMPLETE", self.row().status)

    def test_a_credential_that_fails_is_not_handed_over(self) -> None:
        self.openstack.stillborn = True
        self.assertIn("does not accept", self.error_of(self.rotate))
        self.assertEqual(self.first, self.in_use())
        self.openstack.stillborn = False
        self.after_a_while()
        self.assertEqual([self.first], list(self.owners()))

    def after_a_while(self) -> None:
        """Time enough for a dead conductor's Lease to expire."""
        for _ in range(4):
            self.health_poll()
            self.plane.clock.advance(3600)

    def test_a_conductor_that_dies_leaves_one_that_works(self) -> None:
        for verb in ("patch", "apply"):
            self.management.kill_before(verb, kinds.SECRET, base.CREDENTIALS)
            self.assertRaises(management.Killed, self.rotate)
            self.management.recover()
            self.assertEqual(self.first, self.in_use(), verb)
            self.after_a_while()
            self.assertEqual([self.first], list(self.owners()), verb)
            self.assertEqual(1, len(self.listed()), verb)
            self.hold()

    def test_a_poll_that_dies_after_the_deletion_is_repeated(self) -> None:
        self.rotate()
        self.management.kill_before("patch", kinds.SECRET, base.CREDENTIALS)
        self.assertRaises(management.Killed, self.health_poll)
        self.management.recover()
        self.assertEqual([self.in_use()], list(self.owners()))
        self.after_a_while()
        self.assertEqual(1, len(self.listed()))

    def test_delete_leaves_none_of_any_user(self) -> None:
        self.login(user="other_user")
        self.rotate()
        self.vanish()
        self.assertEqual({}, self.owners())

    def test_a_secret_that_was_deleted_by_hand_is_made_again(self) -> None:
        self.server.delete(kinds.SECRET, base.NAMESPACE, base.CREDENTIALS)
        self.rotate()
        self.assertIn(self.in_use(), self.owners())

    def test_a_credential_of_1_4_0_is_deleted_by_its_id(self) -> None:
        """Which wrote no list; of a long user id it cut the label."""
        labels = {location.USER_ID: "fake_use"}
        self.edit(
            kinds.SECRET,
            base.CREDENTIALS,
            {"metadata": {"annotations": None, "labels": labels}},
        )
        self.login(user="other_user")
        self.rotate()
        self.health_poll()
        self.assertEqual({self.in_use(): "other_user"}, self.owners())

    def test_a_credential_of_1_4_0_after_a_swap_back_is_deleted(self) -> None:
        meta = self.secret()["metadata"]
        stale = json.dumps([{"user": "fake_user", "name": "x", "id": "gone"}])
        meta["annotations"][credential_secret.ANNOTATION] = stale
        self.edit(kinds.SECRET, base.CREDENTIALS, {"metadata": meta})
        self.vanish()
        self.assertEqual({}, self.owners())


class StatusTest(rotating.RotationTestCase):
    def test_a_failed_update_is_not_complete_for_it(self) -> None:
        self.save(
            status="UPDATE_FAILED", status_reason="No valid host was found"
        )
        self.rotate()
        self.assertEqual("UPDATE_FAILED", self.row().status)
        self.assertEqual("No valid host was found", self.why())


class RefusalTest(rotating.RotationTestCase):
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
        self.assertIn("magnum-capi-helm cluster credentials", str(error))

    def test_a_file_of_access_rules_that_is_wrong(self) -> None:
        for text, complaint in (
            ("- {service: compute}", "rule 1: give service, method and path"),
            ("{}", "give a list"),
            ("[", "is no YAML"),
            ("- {service: 2026-02-30}", "rule 1"),
        ):
            path = self.create_tempfiles([("rules", text)], ".yaml")[0]
            self.set_option(app_cred_access_rules=path)
            self.assertIn(
                "Magnum is not configured for this",
                self.refused(exception.MagnumException),
            )
            self.assertIn(complaint, self.log.output, text)

    def test_access_rules_are_passed_on(self) -> None:
        rule = {"service": "compute", "method": "GET", "path": "/**"}
        path = self.create_tempfiles([("rules", json.dumps([rule]))])[0]
        self.set_option(app_cred_access_rules=path)
        self.rotate()
        made = self.openstack.credentials[self.in_use()]
        self.assertEqual([rule], made["access_rules"])
