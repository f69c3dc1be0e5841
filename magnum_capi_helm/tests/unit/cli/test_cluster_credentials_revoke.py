# SPDX-License-Identifier: Apache-2.0

"""``cluster credentials --revoke-at-once`` that was stopped half way."""

from __future__ import annotations

import datetime

from magnum_capi_helm.tests.unit.cli import test_cluster_credentials_replace

LATER = "the credential is newer than --before"
REVOKED = f"revoke the old credential; {LATER}"


class RunAgainTest(test_cluster_credentials_replace.ReplaceTestCase):
    """The cluster has a new credential, and the old one is there still."""

    def setUp(self) -> None:
        super().setUp()
        now = datetime.datetime.now(datetime.timezone.utc)
        self.before = now.isoformat()
        self.replace("--before", self.before, "--apply")
        self.second = self.in_use()
        self.assertEqual({self.first, self.second}, set(self.owners()))

    def again(self, *argv: str) -> tuple[str, str]:
        """Result and detail of the same command, run again."""
        line = self.replace("--before", self.before, "--revoke-at-once", *argv)
        return line["Result"], line["Detail"]

    def test_a_leaked_credential_is_revoked(self) -> None:
        self.assertEqual(("changed", REVOKED), self.again("--apply"))
        self.assertEqual({self.second: "ann-id"}, self.owners())
        self.assertEqual(("nothing to do", LATER), self.again("--apply"))

    def test_the_dry_run_revokes_no_credential(self) -> None:
        self.assertEqual(("would change", REVOKED), self.again())
        self.assertEqual({self.first, self.second}, set(self.owners()))

    def test_a_later_credential_has_not_leaked(self) -> None:
        self.before = "1970-01-02"
        self.assertEqual(("nothing to do", LATER), self.again("--apply"))
        self.assertEqual({self.first, self.second}, set(self.owners()))

    def test_a_deletion_revokes_by_itself(self) -> None:
        row = self.row()
        row.status = "DELETE_IN_PROGRESS"
        row.save()
        self.assertEqual(("nothing to do", LATER), self.again("--apply"))
        self.assertEqual({self.first, self.second}, set(self.owners()))
