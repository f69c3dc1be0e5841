# SPDX-License-Identifier: Apache-2.0

"""``cluster credentials``: by whom, which, and what then."""

from __future__ import annotations

import datetime
import io
import json
import time
from typing import Any
from unittest import mock

import fixtures
import yaml

from magnum_capi_helm.cli import base as commands
from magnum_capi_helm.cli import cluster
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import lease
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.fakes import openstack
from magnum_capi_helm.tests.unit.cli import command_case
from magnum_capi_helm.tests.unit.credentials import rotating
from magnum_capi_helm.tests.unit.lifecycle import base

PASSWORD = "of-the-operator"
LOGIN: dict[str, Any] = {
    "auth_type": "password",
    "region_name": openstack.REGION,
    "auth": {
        "auth_url": openstack.IDENTITY,
        "username": "ann",
        "password": PASSWORD,
        "project_name": "another",
        "user_domain_name": "Default",
        "project_domain_name": "Default",
    },
}
TOLD = (
    "a new one of user ann-id (member, reader); the owner of the cluster was "
    "fake_user before"
)


class ReplaceTestCase(rotating.CredentialTestCase):
    """A cluster that is complete; ann is a member of its project."""

    def setUp(self) -> None:
        super().setUp()
        self.ann = {
            "id": "ann-id",
            "roles": ("member", "reader"),
            "projects": [openstack.PROJECT],
        }
        self.openstack.people["ann"] = self.ann
        self.write({"ops": LOGIN})
        self.out, self.err = io.StringIO(), io.StringIO()

    def write(self, logins: dict[str, Any]) -> None:
        """The operator's clouds.yaml, and nothing in the environment."""
        text = yaml.safe_dump({"clouds": logins})
        path = self.create_tempfiles([("clouds", text)], ext=".yaml")[0]
        for name, value in (
            ("OS_CLIENT_CONFIG_FILE", path),
            ("OS_CLOUD", None),
            ("OS_AUTH_URL", None),
        ):
            self.useFixture(fixtures.EnvironmentVariable(name, value))

    def replace(self, *argv: str) -> tuple[str, str]:
        """Return result and detail of the cluster."""
        return self.outcome("--os-cloud", "ops", *argv)

    def outcome(self, *argv: str) -> tuple[str, str]:
        self.run_it("web", *argv)
        [line] = json.loads(self.out.getvalue())
        return line["Result"], line["Detail"]

    def run_it(self, *argv: str) -> int:
        self.out, self.err = io.StringIO(), io.StringIO()
        code = command_case.run(
            cluster.Credentials,
            *(*argv, "-f", "json"),
            out=self.out,
            err=self.err,
            pause=0.0,
        )
        for each in (self.out, self.err):
            self.assertNotIn(openstack.SECRET, each.getvalue())
            self.assertNotIn(PASSWORD, each.getvalue())
        self.assertNotIn(PASSWORD, self.log.output)
        return code

    def outdate_addon(self) -> None:
        """The addon provider has noted which data its copy is of."""
        name = f"{base.RELEASE}-cloud-config"
        note = f"secret.addons.stackhpc.com/{base.CREDENTIALS}"
        change = {"metadata": {"annotations": {note: "of the old data"}}}
        self.edit(kinds.MANIFESTS, name, change)


class ReplacedTest(ReplaceTestCase):
    def test_the_cluster_gets_one_of_the_operators_user(self) -> None:
        before = self.secret()
        self.assertEqual(("would change", TOLD), self.replace())
        self.assertEqual(before, self.secret())
        self.assertEqual({self.first: "fake_user"}, self.owners())
        upgrades = len(self.helm.upgrades)
        self.assertEqual(("changed", TOLD), self.replace("--apply"))
        self.assertEqual("ann-id", self.owners()[self.in_use()])
        row = self.row()
        self.assertEqual(
            ("ann-id", "UPDATE_IN_PROGRESS"), (row.user_id, row.status)
        )
        self.poll()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)
        made = self.openstack.credentials[self.in_use()]
        self.assertEqual(
            [{"name": "member"}, {"name": "reader"}], made["roles"]
        )
        # No machine was touched, and the old one is in use by pods still.
        self.assertEqual(upgrades, len(self.helm.upgrades))
        self.assertIn(self.first, self.owners())
        who = commands.operator("cluster credentials")
        self.assertIn(
            f"INFO audit: cluster {self.uuid}: accepted: {who}",
            self.log.output.splitlines(),
        )

    def test_the_old_one_is_revoked_at_once_if_it_has_leaked(self) -> None:
        self.replace("--apply", "--revoke-at-once")
        self.assertEqual({self.in_use(): "ann-id"}, self.owners())
        self.assertNotEqual(self.first, self.in_use())

    def test_the_old_one_stays_until_the_cluster_has_the_new_one(self) -> None:
        self.outdate_addon()

        def hurry() -> None:
            raise errors.CapiHelmError(f"{len(self.owners())} there")

        words = "web --os-cloud ops --apply --revoke-at-once"
        kind = command_case.polled(cluster.Credentials, hurry)
        code, lines = command_case.run_json(kind, *words.split())
        self.assertEqual(1, code)
        self.assertIn("2 there", str(lines))

    def test_a_dead_one_of_a_user_who_is_gone(self) -> None:
        del self.openstack.credentials[self.first]
        result, _ = self.replace("--invalid", "--apply")
        self.assertEqual("changed", result)
        self.assertEqual({self.in_use(): "ann-id"}, self.owners())


class ChosenTest(ReplaceTestCase):
    def test_a_good_or_a_newer_credential_is_not_replaced(self) -> None:
        self.assertEqual(
            ("nothing to do", "the credential works"),
            self.replace("--invalid", "--apply"),
        )
        self.assertEqual({self.first: "fake_user"}, self.owners())
        now = datetime.datetime.now(datetime.timezone.utc)
        before = now.isoformat()
        self.replace("--before", before, "--apply")
        second = self.in_use()
        self.assertNotEqual(self.first, second)
        self.assertEqual(
            ("nothing to do", "the credential is newer than --before"),
            self.replace("--before", before, "--apply"),
        )
        self.assertEqual(second, self.in_use())
        self.save(stack_id=None)
        self.assertEqual(("nothing to do", ""), self.replace())

    def test_a_time_is_of_utc_unless_it_says_otherwise(self) -> None:
        # The host is elsewhere.
        self.addCleanup(time.tzset)
        self.useFixture(fixtures.EnvironmentVariable("TZ", "UTC-5"))
        time.tzset()
        for text, seconds in (
            ("1970-01-01T01:00", 3600.0),
            ("1970-01-01T01:00+01:00", 0.0),
            ("1970-01-02", 86400.0),
        ):
            self.assertEqual(seconds, cluster._moment(text), text)
        self.assertRaises(SystemExit, self.run_it, "web", "--before", "noon")


class RefusedTest(ReplaceTestCase):
    def test_a_refusal_writes_nothing(self) -> None:
        before = self.secret()
        self.ann["projects"] = ["another"]
        result, detail = self.replace("--apply")
        self.assertEqual("refused", result)
        self.assertRegex(
            detail,
            f"not let you into project {openstack.PROJECT}, .*: log in as a "
            "user who has a role",
        )
        self.ann["projects"] = [openstack.PROJECT]
        self.save(status="CREATE_IN_PROGRESS")
        self.assertEqual(
            (
                "refused",
                "the cluster is CREATE_IN_PROGRESS: its first credential is "
                "part of its creation",
            ),
            self.replace("--apply"),
        )
        # Keystone does not say whether it is dead.
        self.openstack.stop(f"{openstack.IDENTITY}/auth/tokens")
        self.assertEqual("refused", self.replace("--invalid", "--apply")[0])
        self.assertEqual(before, self.secret())
        self.assertEqual({self.first: "fake_user"}, self.owners())

    def test_a_login_that_is_not_there(self) -> None:
        self.run_it("web", "--os-cloud", "nope")
        self.assertIn("Cloud nope was not found", self.out.getvalue())
        self.write({})
        result, detail = self.outcome()
        self.assertEqual("refused", result)
        self.assertIn("the login of the environment", detail)


LATER = "the credential is newer than --before"
REVOKED = f"revoke the old credential; {LATER}"


class RunAgainTest(ReplaceTestCase):
    """The cluster has a new credential, and the old one is there still."""

    def setUp(self) -> None:
        super().setUp()
        now = datetime.datetime.now(datetime.timezone.utc)
        self.before = now.isoformat()
        self.replace("--before", self.before, "--apply")
        self.second = self.in_use()
        self.assertEqual({self.first, self.second}, set(self.owners()))

    def again(self, *argv: str) -> tuple[str, str]:
        words = ("--before", self.before, "--revoke-at-once")
        return self.replace(*words, *argv)

    def test_a_leaked_credential_is_revoked(self) -> None:
        self.assertEqual(("would change", REVOKED), self.again())
        self.assertEqual({self.first, self.second}, set(self.owners()))
        self.assertEqual(("changed", REVOKED), self.again("--apply"))
        self.assertEqual({self.second: "ann-id"}, self.owners())
        self.assertEqual(("nothing to do", LATER), self.again("--apply"))

    def test_a_later_credential_or_a_deletion_revokes_nothing(self) -> None:
        for before, status in (
            ("1970-01-02", "UPDATE_COMPLETE"),
            (self.before, "DELETE_IN_PROGRESS"),
        ):
            self.before = before
            self.save(status=status)
            self.assertEqual(("nothing to do", LATER), self.again("--apply"))
            self.assertEqual({self.first, self.second}, set(self.owners()))


LONG_AGO = "2026-01-01T00:00:00.000000Z"
GIVEN = (
    "a new one of user ann-id (member, reader), for Cluster API to go on "
    "with the deletion; the owner of the cluster was fake_user before"
)


class DeletingTestCase(ReplaceTestCase):
    """The owner is gone, and the cluster is being deleted."""

    def setUp(self) -> None:
        super().setUp()
        self.openstack.credentials.clear()
        self.delete()
        self.assertEqual({"DELETE_IN_PROGRESS"}, self.statuses())

    def ended(self) -> None:
        """Cluster API deletes the servers, and the polls the rest."""
        self.capi.finish()
        self.poll()
        self.assertTrue(self.gone())
        self.assertEqual({}, self.owners())
        self.assertEqual([], self.server.names(kinds.LEASE))
        self.assertNotIn(base.CREDENTIALS, self.server.names(kinds.SECRET))


class DeletingTest(DeletingTestCase):
    def test_the_deletion_goes_on_with_a_new_one(self) -> None:
        upgrades = len(self.helm.upgrades)
        self.assertEqual(
            ("changed", GIVEN), self.replace("--invalid", "--apply")
        )
        self.assertEqual("ann-id", self.owners()[self.in_use()])
        self.assertEqual(upgrades, len(self.helm.upgrades))
        self.assertEqual({"DELETE_IN_PROGRESS"}, self.statuses())
        self.assertEqual("ann-id", self.row().user_id)
        self.ended()

    def test_the_secret_that_cluster_api_reads_is_made_anew(self) -> None:
        keys = set(self.secret()["data"])
        self.server.delete(kinds.SECRET, base.NAMESPACE, base.CREDENTIALS)
        self.assertEqual(("changed", GIVEN), self.replace("--apply"))
        self.assertEqual(keys, set(self.secret()["data"]))
        self.assertEqual({"clouds.yaml", "cacert"}, keys)
        self.ended()

    def test_a_failed_deletion_is_in_progress_with_all_its_time(self) -> None:
        mark = {lease.DELETE_MARK: LONG_AGO}
        self.edit(
            kinds.LEASE, base.RELEASE, {"metadata": {"annotations": mark}}
        )
        self.poll()
        self.assertEqual("DELETE_FAILED", self.row().status)
        self.assertEqual(("changed", GIVEN), self.replace("--apply"))
        self.assertEqual("DELETE_IN_PROGRESS", self.row().status)
        self.poll()
        self.assertEqual("DELETE_IN_PROGRESS", self.row().status)
        self.ended()

    def test_a_deletion_needs_no_keypair(self) -> None:
        self.keypairs = {}
        self.server.delete(kinds.SECRET, base.NAMESPACE, base.INTENT)
        self.save(keypair="lost")
        self.assertEqual(("changed", GIVEN), self.replace("--apply"))
        self.ended()

    def test_the_addon_that_is_gone_is_not_waited_for(self) -> None:
        self.outdate_addon()
        result, _ = self.replace("--apply", "--revoke-at-once")
        self.assertEqual("changed", result)

    def test_a_command_that_lost_the_lease_leaves_no_credential(self) -> None:
        def taken() -> None:
            """The process stands still until another one has the Lease."""
            self.plane.clock.advance(60)
            self.hold("other")

        before = self.secret()["data"]
        with mock.patch.object(self.openstack, "meanwhile", taken):
            result, _ = self.replace("--apply")
        self.assertEqual("failed", result)
        self.assertEqual(before, self.secret()["data"])
        self.assertEqual({}, self.owners())


class ServiceUserTest(DeletingTestCase):
    """Magnum's service user, with a role in the project for the occasion."""

    def setUp(self) -> None:
        super().setUp()
        self.magnum = {
            "id": "magnum-id",
            "roles": ("member",),
            "projects": [openstack.PROJECT],
        }
        self.openstack.people["magnum"] = self.magnum

    def by_service_user(self) -> tuple[str, str]:
        self.write({})
        return self.outcome("--service-user", "--apply")

    def test_the_service_user_needs_a_role_and_becomes_the_owner(self) -> None:
        self.magnum["projects"] = []
        result, detail = self.by_service_user()
        self.assertEqual("refused", result)
        role = f"openstack role add --user USER --project {openstack.PROJECT}"
        self.assertIn(f"{role} member", detail)
        self.openstack.deleted.add(openstack.PROJECT)
        self.assertEqual(
            (
                "refused",
                f"project {openstack.PROJECT} is deleted: no user can log in",
            ),
            self.by_service_user(),
        )
        self.assertEqual({}, self.owners())
        self.openstack.deleted.clear()
        self.magnum["projects"] = [openstack.PROJECT]
        self.assertEqual("changed", self.by_service_user()[0])
        self.assertEqual({self.in_use(): "magnum-id"}, self.owners())
        self.ended()
