# SPDX-License-Identifier: Apache-2.0

"""Server groups: made with a cluster, and deleted with it."""

from __future__ import annotations

from typing import Any

from magnum_capi_helm.cloud import server_groups
from magnum_capi_helm.cloud import sessions
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.tests.fakes import openstack
from magnum_capi_helm.tests.unit.lifecycle import base

SCOPE = (base.NAMESPACE, base.RELEASE)
LABELS = {"server_group_policies": "soft-anti-affinity"}
MASTER = f"{base.RELEASE}-default-master"
WORKER = f"{base.RELEASE}-default-worker"


class ServerGroupsTestCase(base.FlowTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.nova = self.openstack.server_groups
        self.client: Any = self.management

    def secret(self) -> Any:
        name = names.server_groups(base.RELEASE)
        return self.server.get(kinds.SECRET, base.NAMESPACE, name)


class CreationTest(ServerGroupsTestCase):
    def test_each_group_gets_one(self) -> None:
        self.complete(labels=LABELS)
        self.assertEqual(
            {MASTER: "soft-anti-affinity", WORKER: "soft-anti-affinity"},
            self.nova.policies(),
        )
        ids = {each["name"]: id_ for id_, each in self.nova.groups.items()}
        values = self.helm.upgrades[-1].values
        self.assertEqual(ids[MASTER], values["controlPlane"]["serverGroupId"])
        [worker] = values["nodeGroups"]
        self.assertEqual(ids[WORKER], worker["serverGroupId"])

    def test_without_a_policy_nova_is_not_asked(self) -> None:
        self.complete()
        self.assertIsNone(self.secret())
        self.delete()
        self.capi.finish()
        self.poll()
        self.assertEqual([], self.nova.requests)

    def test_their_names_are_written_before_nova_is_asked(self) -> None:
        self.nova.refusals["POST"] = 403
        row = self.create(labels=LABELS)
        self.assertEqual("CREATE_FAILED", row.status)
        self.assertIn("Quota exceeded", row.status_reason)
        self.assertEqual([], self.helm.upgrades)
        self.assertIsNotNone(self.secret())

    def test_only_a_group_of_a_dead_conductor_is_used_again(self) -> None:
        theirs = self.nova.add(WORKER, "another")
        made = self.nova.add(MASTER, openstack.PROJECT)
        self.created(labels=LABELS)
        values = self.helm.upgrades[-1].values
        self.assertEqual(made, values["controlPlane"]["serverGroupId"])
        [worker] = values["nodeGroups"]
        self.assertNotEqual(theirs, worker["serverGroupId"])
        self.assertEqual([MASTER, WORKER, WORKER], sorted(self.nova.names()))


class DeletionTest(ServerGroupsTestCase):
    def deleted(self) -> None:
        self.delete()
        self.capi.finish()
        self.poll()

    def test_they_go_with_the_cluster(self) -> None:
        self.complete(labels=LABELS)
        self.delete()
        self.poll()
        # They stay as long as there are machines.
        self.assertEqual([MASTER, WORKER], self.nova.names())
        self.capi.finish()
        self.poll()
        self.assertEqual([], self.nova.names())
        self.assertIsNone(self.secret())
        self.assertEqual({}, self.openstack.credentials)

    def test_the_clusters_own_credential_deletes_them(self) -> None:
        self.complete(labels=LABELS)
        self.openstack.mocker.post(
            f"{openstack.IDENTITY}/auth/tokens",
            json=openstack.token_info(),
            headers={"X-Subject-Token": "own-token"},
            status_code=201,
            additional_matcher=lambda request: (
                "application_credential" in request.text
            ),
        )
        self.nova.requests.clear()
        server_groups.delete(self.client, SCOPE)
        self.assertEqual(
            [("GET", "own-token"), *[("DELETE", "own-token")] * 2],
            self.nova.requests,
        )

    def without_own_credential(self) -> None:
        self.openstack.mocker.post(
            f"{openstack.IDENTITY}/auth/tokens",
            status_code=401,
            json={"error": {"message": "no", "code": 401}},
            additional_matcher=lambda request: (
                "application_credential" in request.text
            ),
        )

    def test_the_service_user_deletes_groups_of_an_absent_user(self) -> None:
        self.complete(labels=LABELS)
        self.without_own_credential()
        self.nova.requests.clear()
        server_groups.delete(self.client, SCOPE)
        self.assertEqual([], self.nova.names())
        self.assertEqual({"service-token"}, {t for _, t in self.nova.requests})

    def test_the_service_user_reads_all_pages_of_the_cloud(self) -> None:
        self.complete(labels=LABELS)
        theirs = self.nova.add(MASTER, "another")
        self.without_own_credential()
        self.nova.max_limit = 1
        server_groups.delete(self.client, SCOPE)
        self.assertEqual([theirs], list(self.nova.groups))

    def test_a_deletion_finds_a_group_of_a_dead_conductor_by_name(
        self,
    ) -> None:
        self.nova.refusals["POST"] = 403
        self.create(labels=LABELS)
        self.nova.refusals.clear()
        self.nova.add(MASTER, openstack.PROJECT)
        theirs = self.nova.add(MASTER, "another")
        self.without_own_credential()
        server_groups.delete(self.client, SCOPE)
        self.assertEqual([theirs], list(self.nova.groups))

    def test_absent_groups_count_as_deleted(self) -> None:
        self.complete(labels=LABELS)
        self.nova.groups.clear()
        self.deleted()
        self.assertIsNone(self.secret())

    def test_a_nova_that_refuses_keeps_the_deletion_waiting(self) -> None:
        self.complete(labels=LABELS)
        self.nova.refusals["DELETE"] = 403
        self.deleted()
        row = self.row()
        self.assertEqual("DELETE_IN_PROGRESS", row.status)
        self.assertIn("server groups", row.status_reason)
        self.assertNotEqual({}, self.openstack.credentials)
        self.nova.refusals.clear()
        self.poll()
        self.assertEqual([], self.nova.names())
        self.assertEqual({}, self.openstack.credentials)

    def test_a_secret_that_says_nothing(self) -> None:
        self.complete(labels=LABELS)
        secret = self.secret()
        secret["data"] = {}
        self.server.replace(kinds.SECRET, secret)
        with self.assertRaisesRegex(
            errors.ManagementError, f"those named {base.RELEASE}-\\*"
        ):
            server_groups.delete(self.client, SCOPE)


class OneGroupTest(ServerGroupsTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.complete(labels=LABELS)
        self.session = sessions.user_session(self.context)

    def test_a_new_nodegroup_gets_its_own_server_group(self) -> None:
        labels = self.secret()["metadata"]["labels"]
        ids = server_groups.ensure(
            self.client, SCOPE, labels, self.session, {"gpu": "affinity"}
        )
        self.assertEqual(["gpu"], list(ids))
        self.assertEqual(
            "affinity", self.nova.policies()[f"{base.RELEASE}-gpu"]
        )
        server_groups.delete(self.client, SCOPE)
        self.assertEqual([], self.nova.names())

    def test_a_removed_nodegroup_loses_its_own_server_group(self) -> None:
        labels = self.secret()["metadata"]["labels"]
        server_groups.delete(self.client, SCOPE, ["default-worker"])
        self.assertEqual([MASTER], self.nova.names())
        self.assertEqual(labels, self.secret()["metadata"]["labels"])
        server_groups.delete(self.client, SCOPE)
        self.assertEqual([], self.nova.names())

    def test_a_group_that_has_none(self) -> None:
        self.nova.requests.clear()
        server_groups.delete(self.client, SCOPE, ["gpu"])
        found = server_groups.ensure(self.client, SCOPE, {}, self.session, {})
        self.assertEqual({}, found)
        self.assertEqual([], self.nova.requests)
        self.assertIsNotNone(self.secret())
