# SPDX-License-Identifier: Apache-2.0

"""``cluster credentials`` for a cluster that is being deleted."""

from __future__ import annotations

import json
from typing import Any
from unittest import mock

from magnum.common import exception

from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import lease
from magnum_capi_helm.tests.fakes import cloud
from magnum_capi_helm.tests.fakes import openstack
from magnum_capi_helm.tests.unit.cli import test_cluster_credentials_replace
from magnum_capi_helm.tests.unit.lifecycle import base

LONG_AGO = "2026-01-01T00:00:00.000000Z"
GIVEN = (
    "a new one of user ann-id (member, reader), for Cluster API to go on "
    "with the deletion; the owner of the cluster was fake_user before"
)


class DeletingTestCase(test_cluster_credentials_replace.ReplaceTestCase):
    """The owner is gone, and the cluster is being deleted."""

    #: Of all users; None: they have any.
    keypairs: dict[tuple[str, str], str] | None = None

    def setUp(self) -> None:
        super().setUp()
        self.openstack.credentials.clear()
        self.delete()
        self.assertEqual({"DELETE_IN_PROGRESS"}, self.statuses())

    def catalogue(self, session: Any) -> cloud.FakeCloud:
        """What the new owner sees of OpenStack."""
        found = super().catalogue(session)
        found.keypairs = self.keypairs
        return found

    def ended(self) -> None:
        """Cluster API deletes the servers, and the polls the rest."""
        self.capi.finish()
        self.poll()
        self.assertRaises(exception.ClusterNotFound, self.row)
        self.assertEqual({}, self.owners())
        self.assertEqual([], self.server.names(kinds.LEASE))
        self.assertNotIn(
            test_cluster_credentials_replace.NAME,
            self.server.names(kinds.SECRET),
        )


class DeletingTest(DeletingTestCase):
    def test_the_deletion_goes_on_with_a_new_one(self) -> None:
        upgrades = len(self.helm.upgrades)
        self.assertEqual(
            {"Result": "changed", "Detail": GIVEN},
            self.replace("--invalid", "--apply"),
        )
        self.assertEqual("ann-id", self.owners()[self.in_use()])
        self.assertEqual(upgrades, len(self.helm.upgrades))
        self.assertEqual({"DELETE_IN_PROGRESS"}, self.statuses())
        self.assertEqual("ann-id", self.row().user_id)
        self.ended()

    def test_the_dry_run_changes_no_credential(self) -> None:
        before = self.secret()
        self.assertEqual(
            {"Result": "would change", "Detail": GIVEN},
            self.replace("--invalid"),
        )
        self.assertEqual(before, self.secret())
        self.assertEqual({}, self.owners())

    def test_the_secret_that_cluster_api_reads_is_made_anew(self) -> None:
        keys = set(self.secret()["data"])
        self.server.delete(
            kinds.SECRET, base.NAMESPACE, test_cluster_credentials_replace.NAME
        )
        self.assertEqual("changed", self.replace("--apply")["Result"])
        self.assertEqual(keys, set(self.secret()["data"]))
        self.assertEqual({"clouds.yaml", "cacert"}, keys)
        self.ended()

    def test_a_failed_deletion_is_in_progress_with_all_its_time(
        self,
    ) -> None:
        mark = {lease.DELETE_MARK: LONG_AGO}
        self.server.patch(
            kinds.LEASE,
            base.NAMESPACE,
            base.RELEASE,
            {"metadata": {"annotations": mark}},
        )
        self.poll()
        self.assertEqual("DELETE_FAILED", self.row().status)
        self.assertEqual("changed", self.replace("--apply")["Result"])
        self.assertEqual("DELETE_IN_PROGRESS", self.row().status)
        self.poll()
        self.assertEqual("DELETE_IN_PROGRESS", self.row().status)
        self.ended()

    def test_a_deletion_needs_no_keypair(self) -> None:
        self.keypairs = {}
        self.server.delete(kinds.SECRET, base.NAMESPACE, base.INTENT)
        row = self.row()
        row.keypair = "lost"
        row.save()
        self.assertEqual("changed", self.replace("--apply")["Result"])
        self.ended()

    def test_the_addon_that_is_gone_is_not_waited_for(self) -> None:
        name = f"{base.RELEASE}-cloud-config"
        note = f"secret.addons.stackhpc.com/{base.CREDENTIALS}"
        change = {"metadata": {"annotations": {note: "of the old data"}}}
        self.server.patch(kinds.MANIFESTS, base.NAMESPACE, name, change)
        self.assertEqual(
            "changed", self.replace("--apply", "--revoke-at-once")["Result"]
        )

    def test_another_conductor_at_work_is_waited_for(self) -> None:
        with self.busy():
            self.assertEqual("failed", self.replace("--apply")["Result"])
        self.assertEqual({}, self.owners())

    def test_a_command_that_lost_the_lease_leaves_no_credential(self) -> None:
        def taken() -> None:
            """The process stands still until another one has the Lease."""
            self.plane.clock.advance(60)
            self.server.patch(
                kinds.LEASE,
                base.NAMESPACE,
                base.RELEASE,
                {"spec": {"holderIdentity": "other", "renewTime": "now"}},
            )

        before = self.secret()["data"]
        with mock.patch.object(self.openstack, "meanwhile", taken):
            line = self.replace("--apply")
        self.assertEqual("failed", line["Result"])
        self.assertEqual(before, self.secret()["data"])
        self.assertEqual({}, self.owners())

    def test_a_deletion_that_ended_gets_no_credential(self) -> None:
        self.capi.finish()
        self.poll()
        self.run_it("--all", "--invalid", "--os-cloud", "ops", "--apply")
        self.assertEqual([], json.loads(self.out.getvalue()))
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

    def by_service_user(self, *argv: str) -> dict[str, str]:
        """The line of the cluster; nobody else is logged in."""
        self.write({})
        self.run_it("web", "--service-user", *argv)
        [line] = json.loads(self.out.getvalue())
        return {key: line[key] for key in ("Result", "Detail")}

    def test_the_service_user_owns_the_new_credential(self) -> None:
        self.assertEqual("changed", self.by_service_user("--apply")["Result"])
        self.assertEqual({self.in_use(): "magnum-id"}, self.owners())
        self.ended()

    def test_without_a_role_the_command_that_gives_one_is_named(
        self,
    ) -> None:
        self.magnum["projects"] = []
        line = self.by_service_user("--apply")
        self.assertEqual("refused", line["Result"])
        self.assertIn(
            f"openstack role add --user USER --project {openstack.PROJECT} "
            "member",
            line["Detail"],
        )
        self.assertEqual({}, self.owners())

    def test_a_project_that_is_deleted_is_named_as_such(self) -> None:
        self.magnum["projects"] = []
        self.openstack.deleted.add(openstack.PROJECT)
        self.assertEqual(
            {
                "Result": "refused",
                "Detail": f"project {openstack.PROJECT} is deleted: no user "
                "can log in",
            },
            self.by_service_user("--apply"),
        )

    def test_the_service_user_excludes_another_login(self) -> None:
        self.assertRaises(
            SystemExit, self.run_it, "web", "--service-user", "--os-cloud", "a"
        )
