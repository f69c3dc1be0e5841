# SPDX-License-Identifier: Apache-2.0

"""Creation of a cluster, through Magnum's own handler."""

from __future__ import annotations

import base64
from collections.abc import Callable
import json
import types
from typing import Any
import uuid

import fixtures
from magnum.common import exception
import testtools
import yaml

from magnum_capi_helm import runtime
from magnum_capi_helm.config import conf
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.lifecycle import create
from magnum_capi_helm.model import desired_state
from magnum_capi_helm.model import errors
from magnum_capi_helm.operations import holding
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.fakes import helm
from magnum_capi_helm.tests.fakes import management
from magnum_capi_helm.tests.fakes import openstack
from magnum_capi_helm.tests.unit.lifecycle import base


class SlotsTest(base.FlowTestCase):
    """Few creates are planned at a time."""

    def setUp(self) -> None:
        super().setUp()
        self.taken: set[int] = set()

    def catalogue(self, session: Any) -> Any:
        self.taken.add(3 - self.free())
        return super().catalogue(session)

    def free(self) -> int:
        slots, free = runtime.get().create_slots, 0
        while slots.acquire(blocking=False):
            free += 1
        for _ in range(free):
            slots.release()
        return free

    def test_a_refused_create_gives_its_slot_back(self) -> None:
        self.error_of(self.create, flavor_id="m1.huge")
        self.assertEqual(({1}, 3), (self.taken, self.free()))

    def test_a_create_has_no_slot_while_its_chart_is_fetched(self) -> None:
        def pull(*arguments: Any) -> None:
            self.taken.add(3 - self.free())
            original(*arguments)

        original = self.helm.pull
        self.useFixture(fixtures.MockPatchObject(self.helm, "pull", pull))
        self.create()
        self.assertEqual({0, 1}, self.taken)
        self.assertEqual(3, self.free())
        self.assertEqual(1, len(self.helm.pulls))

    def test_a_create_does_not_wait_for_a_slot_for_ever(self) -> None:
        self.useFixture(fixtures.MockPatchObject(create, "_PATIENCE", 0.01))
        for _ in range(3):
            runtime.get().create_slots.acquire()
        self.create()
        self.assertEqual({"CREATE_IN_PROGRESS"}, self.statuses())
        self.assertEqual(({3}, 0), (self.taken, self.free()))


class CreateTest(base.FlowTestCase):
    by_http = True

    def secret(self, name: str) -> Any:
        return self.live(kinds.SECRET, name)

    def test_a_new_cluster_is_complete_when_all_is_ready(self) -> None:
        self.create()
        self.assertEqual({"CREATE_IN_PROGRESS"}, self.statuses())
        self.poll()
        self.assertEqual({"CREATE_IN_PROGRESS"}, self.statuses())
        self.settle()
        row, groups = self.row(), self.groups()
        self.assertEqual({"CREATE_COMPLETE"}, self.statuses())
        self.assertIsNone(row.status_reason)
        self.assertEqual("https://203.0.113.10:6443", row.api_address)
        self.assertEqual("v1.34.2", row.coe_version)
        self.assertEqual(1, len(groups["default-master"].node_addresses))
        self.assertEqual(2, len(groups["default-worker"].node_addresses))
        self.assertEqual(2, self.replicas())
        self.assertEqual([], self.warnings())

    def test_the_credential_is_named_before_keystone_is_asked(self) -> None:
        asked: list[Any] = []

        def refuse(request: Any, context: Any) -> Any:
            secret = self.secret(base.CREDENTIALS)
            asked.append((secret["metadata"]["annotations"], request.json()))
            context.status_code = 500
            return {}

        self.openstack.mocker.post(
            f"{openstack.IDENTITY}/users/fake_user/application_credentials",
            json=refuse,
        )
        self.create()
        [(annotations, body)] = asked[:1]
        [written] = json.loads(
            annotations["magnum.openstack.org/application-credentials"]
        )
        self.assertEqual("fake_user", written["user"])
        self.assertEqual(
            written["name"], body["application_credential"]["name"]
        )

    def test_the_secret_holds_the_credential_that_keystone_made(self) -> None:
        self.create()
        [made] = self.openstack.credentials.values()
        data = self.secret(base.CREDENTIALS)["data"]
        clouds = yaml.safe_load(base64.b64decode(data["clouds.yaml"]))
        self.assertEqual(
            {
                "auth": {
                    "auth_url": "http://keystone.test/v3",
                    "application_credential_id": made["id"],
                    "application_credential_secret": "s3cret",
                },
                "auth_type": "v3applicationcredential",
                "identity_api_version": 3,
                "interface": "public",
                "region_name": "RegionOne",
                "verify": True,
            },
            clouds["clouds"]["openstack"],
        )
        self.assertIn(b"BEGIN CERTIFICATE", base64.b64decode(data["cacert"]))

    def test_the_credential_is_the_users_own_and_never_admin(self) -> None:
        self.login(roles=("admin", "member", "reader"))
        self.create()
        [made] = self.openstack.credentials.values()
        self.assertEqual("fake_user", made["user_id"])
        self.assertEqual(
            [{"name": "member"}, {"name": "reader"}], made["roles"]
        )

    def test_an_unrestricted_application_credential_may_create(self) -> None:
        """The template may choose the chart version."""
        self.login(restricted=False)
        self.create({"labels": {"capi_helm_chart_version": "0.26.1"}})
        self.assertEqual(1, len(self.openstack.credentials))
        self.assertEqual(["0.26.1"], self.helm.pulls)
        self.assertEqual("0.26.1", self.helm.upgrades[0].chart_version)
        # The values carry the fingerprint of the rows.
        notes = view.annotations_of(self.live(kinds.CLUSTER))
        wanted = desired_state.from_secret(self.secret(base.INTENT)["data"])
        stamp = notes["magnum.openstack.org/intent"]
        self.assertEqual(wanted.fingerprint, stamp)
        lease = self.live(kinds.LEASE)
        self.assertEqual("", lease["spec"]["holderIdentity"])


NAME = f"{base.RELEASE}-etcd-key"
ON = {"labels": {"etcd_encryption_enabled": "true"}}


class EncryptionKeyTest(base.FlowTestCase):
    def secret(self, name: str = NAME, namespace: str = base.NAMESPACE) -> Any:
        return self.server.get(kinds.SECRET, namespace, name)

    def key(self) -> bytes:
        return base64.b64decode(self.secret()["data"]["key"], validate=True)

    def test_a_cluster_that_wants_it_has_a_key_of_32_bytes(self) -> None:
        self.create()
        self.assertIsNone(self.secret())
        self.delete()
        self.poll()
        self.poll()
        self.created(ON)
        self.assertEqual(32, len(self.key()))
        before = self.secret()
        self.assertEqual("Opaque", before["type"])
        self.assertIs(True, before["immutable"])
        values = self.helm.upgrades[-1].values
        self.assertTrue(values["etcd"]["encryption"]["enabled"])
        self.assertNotIn(before["data"]["key"], self.log.output)
        # The key that is there stays.
        with self.new_operation().lock() as held:
            held.ensure_etcd_key()
        self.assertEqual(before, self.secret())
        self.vanish()
        self.assertIsNone(self.secret())

    def test_the_key_is_stored_before_the_intent(self) -> None:
        # The polls go on from the desired state, and make no key.
        refused = errors.ManagementError("no room")
        self.useFixture(
            fixtures.MockPatchObject(
                holding.Held, "store", side_effect=refused
            )
        )
        self.create(ON)
        self.assertNotIn("intent.json", self.intent_keys())
        self.assertEqual(32, len(self.key()))

    def test_each_cluster_has_another(self) -> None:
        for name in ("one", "two"):
            self.server.create(kinds.NAMESPACE, {"metadata": {"name": name}})
            held: Any = types.SimpleNamespace(
                management=self.plane.runtime().management,
                namespace=name,
                release="web",
                object_labels={},
            )
            holding.Held.ensure_etcd_key(held)
        one, two = (
            self.secret("web-etcd-key", namespace)["data"]["key"]
            for namespace in ("one", "two")
        )
        self.assertNotEqual(one, two)


URL = "https://charts.mirror.test"


class AddonRepositoryTest(base.FlowTestCase):
    def addons(self) -> dict[str, Any]:
        found: dict[str, Any] = self.helm.upgrades[-1].values["addons"]
        return found

    def test_a_new_cluster_has_its_addons_from_there(self) -> None:
        """A cluster keeps what it was made with."""
        self.created()
        self.assertNotIn("calico", self.addons()["cni"])
        self.set_option(addon_repository=URL)
        self.resize(3)
        self.assertNotIn("calico", self.addons()["cni"])
        self.vanish()
        self.create()
        self.assertEqual(
            {"repo": URL}, self.addons()["cni"]["calico"]["chart"]
        )
        self.assertEqual(URL, self.addons()["etcdDefrag"]["chart"]["repo"])


class RefusedCreateTest(base.FlowTestCase):
    by_http = True

    def refused(
        self,
        *words: str,
        template: dict[str, Any] | None = None,
        **fields: Any,
    ) -> None:
        """Refused in one line with such words; nothing is left of it."""
        self.uuid = str(uuid.uuid4())
        seen = len(self.warnings())
        text = self.error_of(self.create, template, **fields)
        row = self.row()
        self.assertEqual({"CREATE_FAILED"}, self.statuses())
        self.assertEqual(text, row.status_reason)
        for word in words:
            self.assertIn(word, row.status_reason)
        self.assertNotIn("\n", row.status_reason)
        self.assertIsNone(row.stack_id)
        self.assertEqual({}, self.openstack.credentials)
        self.assertEqual([], self.helm.upgrades)
        self.assertEqual(["kube-system"], self.server.names(kinds.NAMESPACE))
        self.assertEqual(1, len(self.warnings()) - seen, self.warnings())

    def test_an_absent_chart_is_refused(self) -> None:
        self.helm.published = {"0.27.0"}
        self.refused(
            "9.9.9",
            "capi_helm_chart_version",
            template={"labels": {"capi_helm_chart_version": "9.9.9"}},
        )

    def test_an_unreachable_management_cluster_refuses_a_create(self) -> None:
        self.management.unreachable()
        self.refused("management cluster", "does not answer")

    def test_a_create_without_cluster_api_is_refused(self) -> None:
        self.management.unserved.add(kinds.CLUSTER)
        self.refused("serves no Cluster of cluster.x-k8s.io")

    def test_a_user_who_can_make_no_credential_is_refused(self) -> None:
        self.login(restricted=True)
        self.refused("restricted", "--unrestricted")
        self.login(roles=("admin",))
        self.refused("no role", "any role but admin")
        self.set_option(app_cred_roles=["member"])
        self.login(roles=("reader", "admin"))
        self.refused("no role", "allowed: member")

    def test_a_missing_ca_file_refuses_a_create(self) -> None:
        conf.CONF.set_override("openstack_ca_file", "/nowhere", "drivers")
        self.refused("Magnum is not configured for this")
        self.assertIn("openstack_ca_file", self.log.output)


class InterruptedCreateTest(base.FlowTestCase):
    by_http = True

    def amid(self, act: Callable[[], object]) -> None:
        """Let something happen while the driver asks Nova for flavors."""

        def answer(request: Any, context: Any) -> Any:
            act()
            return {"flavors": self.openstack.flavors}

        url = f"{openstack.COMPUTE}/flavors/detail"
        self.openstack.mocker.get(url, json=answer)

    def assert_nothing_made(self) -> None:
        self.assertEqual([], self.helm.upgrades)
        self.assertEqual([], self.server.names(kinds.SECRET))

    def test_a_cluster_that_was_deleted_meanwhile_makes_nothing(self) -> None:
        self.amid(lambda: self.row().destroy())
        self.assertRaises(exception.ClusterNotFound, self.create)
        self.assertEqual({}, self.openstack.credentials)
        self.assert_nothing_made()
        self.assertEqual([], self.server.names(kinds.LEASE))

    def give_up(self) -> None:
        self.backdate(minutes=16)
        self.poll()

    def test_a_cluster_that_a_poll_gave_up_makes_nothing(self) -> None:
        self.amid(self.give_up)
        self.create()
        self.assertEqual({"CREATE_FAILED"}, self.statuses())
        self.assert_nothing_made()
        self.assertEqual([], self.server.names(kinds.LEASE))

    def test_a_cluster_that_is_being_deleted_makes_nothing(self) -> None:
        self.amid(self.delete)
        self.create()
        self.assertEqual({"DELETE_IN_PROGRESS"}, self.statuses())
        self.assert_nothing_made()
        self.poll()
        self.assertTrue(self.gone())

    def test_a_delete_while_the_credential_is_made_wins(self) -> None:
        def delete(request: Any, context: Any) -> Any:
            self.delete()
            context.status_code = 201
            body = request.json()["application_credential"]
            made = {**body, "id": "a", "secret": "b"}
            return {"application_credential": made}

        self.openstack.mocker.post(
            f"{openstack.IDENTITY}/users/fake_user/application_credentials",
            json=delete,
        )
        self.create()
        self.assertEqual({"DELETE_IN_PROGRESS"}, self.statuses())
        self.poll()
        self.assertTrue(self.gone())
        self.assert_nothing_made()

    def test_an_unreachable_helm_is_left_to_the_polls(self) -> None:
        self.helm.outcomes = [helm.Outcome.UNREACHABLE]
        self.create()
        self.assertEqual({"CREATE_IN_PROGRESS"}, self.statuses())
        self.assertIn("unreachable", self.why())

        self.poll()
        self.assertEqual(2, len(self.helm.upgrades))
        self.settle()
        self.assertEqual({"CREATE_COMPLETE"}, self.statuses())
        self.assertIsNone(self.why())

    def test_an_answer_of_helm_that_was_lost_is_no_failure(self) -> None:
        self.helm.outcomes = [helm.Outcome.LATE]
        self.create()
        self.settle()
        self.assertEqual({"CREATE_COMPLETE"}, self.statuses())
        self.assertEqual(1, len(self.helm.upgrades))

    def test_a_refusal_by_helm_is_told_and_not_raised(self) -> None:
        self.helm.outcomes = [helm.Outcome.REFUSED]
        self.create()
        self.assertEqual({"CREATE_FAILED"}, self.statuses())
        rows = [self.row(), *self.groups().values()]
        for row in rows:
            self.assertEqual(
                "helm upgrade: admission webhook denied the request",
                row.status_reason,
            )

    def test_a_refusal_by_keystone_is_told_and_not_raised(self) -> None:
        for status, told in (
            (403, "Keystone makes no application credential for you. no"),
            (503, "Keystone answered 503"),
        ):
            self.uuid = str(uuid.uuid4())
            self.openstack.refusals["POST"] = status
            self.create()
            self.assertEqual({"CREATE_FAILED"}, self.statuses())
            self.assertIn(told, self.why())
            self.assertEqual([], self.helm.upgrades)

    def test_a_create_lost_half_way_is_left_to_the_polls(self) -> None:
        self.fails("list", kinds.SECRET, times=1)
        self.create()
        self.assertEqual({"CREATE_IN_PROGRESS"}, self.statuses())
        self.poll()
        self.settle()
        self.assertEqual({"CREATE_COMPLETE"}, self.statuses())

    def test_a_create_killed_before_the_intent_has_failed(self) -> None:
        """Or before the credential."""
        for write in (
            ("apply", kinds.SECRET, base.CREDENTIALS),
            ("create", kinds.SECRET, base.INTENT),
        ):
            self.management.kill_before(*write)
            self.killed_create()
            self.poll()
            self.assertEqual({"CREATE_FAILED"}, self.statuses())
            self.assertIn("delete the cluster", self.why())
            self.assertEqual([], self.helm.upgrades)
            self.delete()
            self.poll()
            self.assertEqual({}, self.openstack.credentials)
            self.assertTrue(self.gone())

    def test_a_poll_installs_a_create_killed_after_the_intent(self) -> None:
        self.helm.outcomes = [helm.Outcome.NOT_STARTED]
        self.killed_create()
        self.poll()
        self.assertEqual(1, len(self.helm.upgrades))
        self.settle()
        self.assertEqual({"CREATE_COMPLETE"}, self.statuses())

    def killed_create(self) -> None:
        """The conductor dies in the create; another has seen its Lease
        for long enough."""
        with testtools.ExpectedException(management.Killed):
            self.create()
        self.management.recover()
        base.install(self, self.plane.runtime("conductor-2"))
        self.poll()
        self.assertEqual({"CREATE_IN_PROGRESS"}, self.statuses())
        self.plane.clock.advance(31)
