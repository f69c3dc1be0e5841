# SPDX-License-Identifier: Apache-2.0

"""``magnum-capi-helm cluster credentials``: by whom, which, and what then."""

from __future__ import annotations

import base64
import datetime
import io
import json
import time
from typing import Any

import fixtures
import yaml

from magnum_capi_helm.cli import base as commands
from magnum_capi_helm.cli import cluster
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.fakes import openstack
from magnum_capi_helm.tests.unit.cli import command_case
from magnum_capi_helm.tests.unit.lifecycle import base

NAME = f"{base.RELEASE}-cloud-credentials"
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


class ReplaceTestCase(base.FlowTestCase):
    """A cluster that is complete; ann is a member of its project."""

    def setUp(self) -> None:
        super().setUp()
        self.complete()
        self.first = self.in_use()
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

    def replace(self, *argv: str) -> dict[str, str]:
        """The line of the cluster, once the command was run."""
        self.run_it("web", "--os-cloud", "ops", *argv)
        [line] = json.loads(self.out.getvalue())
        return {key: line[key] for key in ("Result", "Detail")}

    def run_it(self, *argv: str) -> int:
        """Run the command; its exit code."""
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

    def secret(self) -> Any:
        found = self.server.get(kinds.SECRET, base.NAMESPACE, NAME)
        assert found is not None
        return found

    def in_use(self) -> str:
        """Id of the credential that the cluster has."""
        clouds = base64.b64decode(self.secret()["data"]["clouds.yaml"])
        auth = yaml.safe_load(clouds)["clouds"]["openstack"]["auth"]
        return str(auth["application_credential_id"])

    def owners(self) -> dict[str, str]:
        """Id of each credential in Keystone -> its user."""
        return {
            key: each["user_id"]
            for key, each in self.openstack.credentials.items()
        }


class ReplacedTest(ReplaceTestCase):
    def test_the_dry_run_changes_no_credential(self) -> None:
        before = self.secret()
        self.assertEqual(
            {"Result": "would change", "Detail": TOLD}, self.replace()
        )
        self.assertEqual(before, self.secret())
        self.assertEqual({self.first: "fake_user"}, self.owners())

    def test_the_cluster_gets_one_of_the_operators_user(self) -> None:
        upgrades = len(self.helm.upgrades)
        self.assertEqual(
            {"Result": "changed", "Detail": TOLD}, self.replace("--apply")
        )
        self.assertEqual("ann-id", self.owners()[self.in_use()])
        self.assertEqual("ann-id", self.row().user_id)
        self.assertEqual("UPDATE_IN_PROGRESS", self.row().status)
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

    def test_the_old_one_stays_until_the_cluster_has_the_new_one(
        self,
    ) -> None:
        """The addon provider has noted which data its copy is of."""
        name = f"{base.RELEASE}-cloud-config"
        note = f"secret.addons.stackhpc.com/{NAME}"
        change = {"metadata": {"annotations": {note: "of the old data"}}}
        self.server.patch(kinds.MANIFESTS, base.NAMESPACE, name, change)
        owners = self.owners

        class Hurried(cluster.Credentials):
            @property
            def pause(self) -> float:  # type: ignore[override]
                raise errors.CapiHelmError(f"{len(owners())} there")

        words = "web --os-cloud ops --apply --revoke-at-once"
        code, lines = command_case.run_json(Hurried, *words.split())
        self.assertEqual(1, code)
        self.assertIn("2 there", str(lines))

    def test_a_dead_one_of_a_user_who_is_gone(self) -> None:
        del self.openstack.credentials[self.first]
        self.assertEqual(
            "changed", self.replace("--invalid", "--apply")["Result"]
        )
        self.assertEqual({self.in_use(): "ann-id"}, self.owners())


class ChosenTest(ReplaceTestCase):
    def test_a_working_credential_is_not_invalid(self) -> None:
        self.assertEqual(
            {"Result": "nothing to do", "Detail": "the credential works"},
            self.replace("--invalid", "--apply"),
        )
        self.assertEqual({self.first: "fake_user"}, self.owners())

    def test_a_newer_credential_is_not_replaced_again(self) -> None:
        now = datetime.datetime.now(datetime.timezone.utc)
        before = now.isoformat()
        self.replace("--before", before, "--apply")
        second = self.in_use()
        self.assertNotEqual(self.first, second)
        self.assertEqual(
            {
                "Result": "nothing to do",
                "Detail": "the credential is newer than --before",
            },
            self.replace("--before", before, "--apply"),
        )
        self.assertEqual(second, self.in_use())

    def test_a_replacement_of_all_needs_a_reason(self) -> None:
        error = self.assertRaises(
            errors.InvalidInput, self.run_it, "--all", "--apply"
        )
        self.assertEqual(
            "--all and --project need --invalid, or --before TIME: which "
            "credentials are to be replaced?",
            str(error),
        )
        self.assertEqual(0, self.run_it("--all", "--invalid"))

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

    def test_a_cluster_without_a_release_needs_no_credential(self) -> None:
        row = self.row()
        row.stack_id = None
        row.save()
        self.assertEqual("nothing to do", self.replace()["Result"])


class RefusedTest(ReplaceTestCase):
    def refused(self) -> str:
        """Why; nothing was written."""
        before = self.secret()
        line = self.replace("--apply")
        self.assertEqual("refused", line["Result"], line)
        self.assertEqual(before, self.secret())
        self.assertEqual({self.first: "fake_user"}, self.owners())
        return line["Detail"]

    def test_a_user_without_a_role_in_the_project_is_refused(self) -> None:
        self.ann["projects"] = ["another"]
        self.assertRegex(
            self.refused(),
            f"not let you into project {openstack.PROJECT}, .*: log in as a "
            "user who has a role",
        )

    def test_an_administrator_without_another_role_is_refused(self) -> None:
        self.ann["roles"] = ("admin",)
        self.assertIn(
            "the user has no role that a cluster may act with", self.refused()
        )

    def test_a_login_that_is_not_there(self) -> None:
        self.run_it("web", "--os-cloud", "nope")
        self.assertIn("Cloud nope was not found", self.out.getvalue())
        self.write({})
        self.run_it("web")
        [line] = json.loads(self.out.getvalue())
        self.assertEqual("refused", line["Result"])
        self.assertIn("the login of the environment", line["Detail"])

    def test_a_cluster_that_is_being_made(self) -> None:
        row = self.row()
        row.status = "CREATE_IN_PROGRESS"
        row.save()
        self.assertEqual(
            "the cluster is CREATE_IN_PROGRESS: its first credential is part "
            "of its creation",
            self.refused(),
        )

    def test_keystone_that_does_not_say_whether_it_is_dead(self) -> None:
        self.openstack.stop(f"{openstack.IDENTITY}/auth/tokens")
        line = self.replace("--invalid", "--apply")
        self.assertEqual("refused", line["Result"])
