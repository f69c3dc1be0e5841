# SPDX-License-Identifier: Apache-2.0

"""Checks of a cluster's credential: health, hand-over and deletions."""

from __future__ import annotations

import json
import re

from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.status import addon
from magnum_capi_helm.tests.fakes import openstack
from magnum_capi_helm.tests.unit.credentials import rotating
from magnum_capi_helm.tests.unit.lifecycle import base


class HealthTest(rotating.RotationTestCase):
    def reason(self) -> str | None:
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
        self.edit(kinds.SECRET, base.CREDENTIALS, damaged)
        self.assertIn(
            f"the Secret {base.CREDENTIALS} does not say", self.reason() or ""
        )
        self.server.delete(kinds.SECRET, base.NAMESPACE, base.CREDENTIALS)
        self.assertIn("not on the management cluster", self.reason() or "")
        # A cluster that is being made has none yet.
        self.save(status="CREATE_IN_PROGRESS")
        self.assertIsNone(self.reason())

    def test_a_good_or_silent_keystone_is_no_problem(self) -> None:
        self.reason()
        asked = self.openstack.mocker.call_count
        # It is asked once in a while, and with an interval of 0 never.
        self.health_poll()
        self.assertEqual(asked, self.openstack.mocker.call_count)
        self.openstack.stop(openstack.IDENTITY)
        self.assertIsNone(self.reason())
        self.set_option(app_cred_check_interval=0)
        self.openstack.credentials.clear()
        self.assertIsNone(self.reason())


class HandOverTest(rotating.RotationTestCase):
    """The old one is deleted once the cluster's pods use the new one."""

    def old_is_deleted(self) -> bool:
        self.plane.clock.advance(60)
        self.health_poll()
        return self.first not in self.owners()

    def test_not_before_its_copy_in_the_cluster_is_deployed_again(
        self,
    ) -> None:
        self.rotate()
        key = f"secret.addons.stackhpc.com/{base.CREDENTIALS}"
        handled = "addons.stackhpc.com/last-handled-configuration"
        old, new = "of the old data", addon.checksum(self.secret())
        for phase, noted, of_then, deleted in (
            ("Upgrading", new, new, False),
            # The copy is of the old data.
            ("Deployed", old, old, False),
            # The provider has not begun with the new data.
            ("Deployed", new, old, False),
            ("Deployed", new, new, True),
        ):
            note = json.dumps({"metadata": {"annotations": {key: of_then}}})
            self.addon(
                status={"phase": phase},
                metadata={"annotations": {key: noted, handled: note}},
            )
            self.assertEqual(deleted, self.old_is_deleted())

    def test_the_reloader_needs_a_while(self) -> None:
        self.addon("reloader")
        self.set_option(app_cred_grace=3600)
        self.rotate()
        self.assertFalse(self.old_is_deleted())
        self.set_option(app_cred_grace=0)
        self.assertTrue(self.old_is_deleted())

    def test_without_a_reloader_people_need_longer(self) -> None:
        self.set_option(app_cred_grace_without_reloader=3600)
        self.rotate()
        self.assertFalse(self.old_is_deleted())

    def test_a_refused_deletion_is_logged_and_tried_again(self) -> None:
        self.openstack.refusals["DELETE"] = 403
        self.rotate()
        self.assertFalse(self.old_is_deleted())
        self.assertIn("role admin", self.log.output)
        self.openstack.refusals.clear()
        # Another conductor's Lease is respected.
        with self.busy():
            self.assertFalse(self.old_is_deleted())
        self.assertTrue(self.old_is_deleted())


WAITING = "3 machines still to be deleted: "
REPLACE = (
    f"magnum-capi-helm cluster credentials {base.UUID} --service-user --apply"
)
#: All that Keystone is asked of the project and of the owner.
PEOPLE = re.compile(f"{openstack.IDENTITY}/(projects|users)/[^/]+$")


class DeletionLoginTestCase(base.DeletionTestCase):
    """A cluster that is being deleted; no machine goes."""

    def setUp(self) -> None:
        super().setUp()
        self.complete()
        self.first = dict(self.openstack.credentials)
        self.delete()

    def reason(self, seconds: float = 61) -> str:
        self.poll()
        self.poll_after(seconds)
        return str(self.why())

    def asked(self) -> int:
        return int(self.openstack.mocker.call_count)


class RefusedTest(DeletionLoginTestCase):
    def test_the_reason_names_what_is_gone_and_the_next_step(self) -> None:
        project, user = openstack.PROJECT, openstack.USER
        deleted, disabled = self.openstack.deleted, self.openstack.disabled
        enable = f"openstack project set --enable {project}"
        page = "cluster without its project"
        see = f"magnum-capi-helm describe {base.UUID}"
        for things, id_, what, phrases in (
            (deleted, project, "project", [page, see]),
            (disabled, project, "project", [enable]),
            (deleted, user, "user", [REPLACE]),
            (disabled, user, "user", [REPLACE]),
        ):
            things.add(id_)
            found = self.reason(301)
            self.assertTrue(found.startswith(WAITING), found)
            state = "deleted" if things is deleted else "disabled"
            for phrase in (f"{what} {id_} is {state}", *phrases):
                self.assertIn(phrase, found)
            things.clear()
            self.plane.clock.advance(301)

    def test_a_credential_that_was_deleted(self) -> None:
        self.openstack.credentials.clear()
        found = self.reason()
        self.assertIn(
            "Keystone refuses the cluster's application credential", found
        )
        self.assertIn(REPLACE, found)
        self.assertNotIn(openstack.SECRET, found)
        self.capi.drain()
        found = self.reason()
        self.assertTrue(found.startswith("network still to be deleted"), found)
        self.assertIn(REPLACE, found)

    def test_a_secret_that_is_gone(self) -> None:
        self.server.delete(kinds.SECRET, base.NAMESPACE, base.CREDENTIALS)
        self.poll()
        found = str(self.why())
        self.assertIn(f"the Secret {base.CREDENTIALS}", found)
        self.assertIn(REPLACE, found)
        self.openstack.deleted.add(openstack.PROJECT)
        self.assertIn("is deleted", self.reason(301))

    def test_a_service_user_that_may_not_read_people(self) -> None:
        self.openstack.credentials.clear()
        for status in (403, 503):
            self.openstack.mocker.get(PEOPLE, status_code=status, json={})
            found = self.reason(301)
            self.assertIn("Keystone refuses the cluster's", found)
            self.assertNotIn("is deleted", found)

    def test_without_a_project_the_rest_goes_when_the_objects_do(self) -> None:
        """As an operator makes them go, who takes their finalizers off."""
        self.openstack.deleted.add(openstack.PROJECT)
        self.reason()
        self.capi.drain()
        self.assertTrue(
            self.reason().startswith("network still to be deleted")
        )
        self.finish()
        self.assertEqual({}, self.remains())
        self.assertEqual({}, self.openstack.credentials)

    def test_a_new_credential_ends_it_with_the_next_poll(self) -> None:
        self.openstack.credentials.clear()
        self.assertIn(REPLACE, self.reason())
        self.openstack.credentials.update(self.first)
        annotations = {"metadata": {"annotations": {"changed": "yes"}}}
        self.edit(kinds.SECRET, base.CREDENTIALS, annotations)
        self.poll()
        self.assertNotIn(REPLACE, str(self.why()))

    def test_a_good_credential_or_silent_keystone_is_no_problem(self) -> None:
        self.assertRegex(self.reason(), f"^{WAITING}[^;]*$")
        self.openstack.deleted.add(openstack.PROJECT)
        self.openstack.stop(openstack.IDENTITY)
        self.assertRegex(self.reason(301), f"^{WAITING}[^;]*$")


class RequestsTest(DeletionLoginTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.openstack.credentials.clear()

    def test_never_while_the_deletion_moves(self) -> None:
        self.poll()
        before = self.asked()
        for name in self.server.names(kinds.MACHINE):
            self.poll_after(50)
            self.server.delete(kinds.MACHINE, base.NAMESPACE, name)
        self.assertEqual(before, self.asked())

    def test_once_in_five_minutes_while_it_does_not(self) -> None:
        self.assertIn(REPLACE, self.reason())
        before = self.asked()
        for _ in range(10):
            self.poll_after(10)
            self.assertIn(REPLACE, str(self.why()))
        self.assertEqual(before, self.asked())
        self.poll_after(301)
        self.assertLess(before, self.asked())

    def test_at_once_where_the_health_poll_has_found_it_refused(self) -> None:
        self.save(health_status_reason={"credential": "Keystone refuses"})
        self.poll()
        self.assertIn(REPLACE, str(self.why()))
