# SPDX-License-Identifier: Apache-2.0

"""Creation of a cluster, through Magnum's own handler."""

from __future__ import annotations

import base64
import collections
import json
from typing import Any

import fixtures
from magnum.common import exception
import testtools
import yaml

from magnum_capi_helm import runtime
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.lifecycle import create
from magnum_capi_helm.model import desired_state
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
        """Return how many slots are free."""
        slots, free = runtime.get().create_slots, 0
        while slots.acquire(blocking=False):
            free += 1
        for _ in range(free):
            slots.release()
        return free

    def test_a_create_has_a_slot_while_it_is_planned(self) -> None:
        self.create()
        self.assertEqual(({1}, 3), (self.taken, self.free()))

    def test_a_refused_create_gives_its_slot_back(self) -> None:
        self.assertRaises(
            exception.MagnumException, self.create, flavor_id="m1.huge"
        )
        self.assertEqual(({1}, 3), (self.taken, self.free()))

    def test_a_create_has_no_slot_while_its_chart_is_fetched(self) -> None:
        def pull(*arguments: Any) -> None:
            self.taken.add(3 - self.free())
            original(*arguments)

        original = self.helm.pull
        self.useFixture(fixtures.MockPatchObject(self.helm, "pull", pull))
        self.create()
        self.assertEqual({0, 1}, self.taken)
        self.assertEqual(1, len(self.helm.pulls))

    def test_a_create_does_not_wait_for_a_slot_for_ever(self) -> None:
        self.useFixture(fixtures.MockPatchObject(create, "_PATIENCE", 0.01))
        for _ in range(3):
            runtime.get().create_slots.acquire()
        self.create()
        self.assertEqual({"CREATE_IN_PROGRESS"}, self.statuses())
        self.assertEqual(({3}, 0), (self.taken, self.free()))


class CreateTest(base.FlowTestCase):
    """A create that goes through."""

    by_http = True

    def secret(self, name: str) -> Any:
        found = self.server.get(kinds.SECRET, base.NAMESPACE, name)
        self.assertIsNotNone(found, name)
        return found

    def test_a_new_cluster_is_created_and_complete_when_all_is_ready(
        self,
    ) -> None:
        self.create()
        self.assertEqual({"CREATE_IN_PROGRESS"}, self.statuses())
        self.poll()
        self.assertEqual({"CREATE_IN_PROGRESS"}, self.statuses())
        self.capi.settle()
        self.poll()

        row, groups = self.row(), self.groups()
        self.assertEqual({"CREATE_COMPLETE"}, self.statuses())
        self.assertIsNone(row.status_reason)
        self.assertEqual("https://203.0.113.10:6443", row.api_address)
        self.assertEqual("v1.34.2", row.coe_version)
        self.assertEqual(1, len(groups["default-master"].node_addresses))
        self.assertEqual(2, len(groups["default-worker"].node_addresses))
        self.assertEqual(2, self.replicas())
        self.assertEqual([], self.warnings())

    def test_a_create_sends_these_requests(self) -> None:
        self.server.create(
            kinds.NAMESPACE, {"metadata": {"name": base.NAMESPACE}}
        )
        self.create()
        asked = collections.Counter(map(tuple, self.management.requests))
        secret = {
            name: asked.pop(("apply", "Secret", f"{base.RELEASE}-{name}"))
            for name in ("ca", "cloud-credentials", "etcd", "proxy", "sa")
        }
        # The credential's name before, its secret after Keystone was asked.
        self.assertEqual(
            {"ca": 1, "cloud-credentials": 2, "etcd": 1, "proxy": 1, "sa": 1},
            secret,
        )
        self.assertEqual(
            {
                ("get", "Namespace", "kube-system"): 1,
                ("get", "Namespace", base.NAMESPACE): 1,
                ("create", "SelfSubjectAccessReview", ""): 1,
                ("create", "Lease", base.RELEASE): 1,
                ("replace", "Lease", base.RELEASE): 1,
                ("create", "Secret", base.INTENT): 1,
            },
            asked,
        )

    def test_the_release_name_follows_from_the_uuid(self) -> None:
        row = self.create()
        self.assertEqual("web-1f639a523a52", row.stack_id)
        self.assertEqual(
            [row.stack_id], [c.release for c in self.helm.upgrades]
        )

    def test_the_release_name_is_saved_before_helm_runs(self) -> None:
        self.helm.outcomes = [helm.Outcome.KILLED]
        with testtools.ExpectedException(management.Killed):
            self.create()
        self.assertEqual(base.RELEASE, self.row().stack_id)

    def test_the_intent_is_written_before_helm_runs(self) -> None:
        self.helm.outcomes = [helm.Outcome.KILLED]
        with testtools.ExpectedException(management.Killed):
            self.create()
        wanted = desired_state.from_secret(self.secret(base.INTENT)["data"])
        self.assertEqual("0.27.0", wanted.chart.version)
        self.assertEqual(
            "m1.medium", wanted.values["nodeGroups"][0]["machineFlavor"]
        )

    def test_the_credentials_name_is_written_before_keystone_is_asked(
        self,
    ) -> None:
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
        self.login(restricted=False)
        self.create()
        self.assertEqual(1, len(self.openstack.credentials))

    def test_the_values_carry_the_fingerprint_of_the_rows(self) -> None:
        self.create()
        live = self.server.get(kinds.CLUSTER, base.NAMESPACE, base.RELEASE)
        assert live is not None
        wanted = desired_state.from_secret(self.secret(base.INTENT)["data"])
        self.assertEqual(
            wanted.fingerprint,
            live["metadata"]["annotations"]["magnum.openstack.org/intent"],
        )

    def test_the_template_may_choose_the_chart_version(self) -> None:
        self.create({"labels": {"capi_helm_chart_version": "0.26.1"}})
        self.assertEqual(["0.26.1"], self.helm.pulls)
        self.assertEqual("0.26.1", self.helm.upgrades[0].chart_version)

    def test_the_lease_is_given_back(self) -> None:
        self.create()
        lease = self.server.get(kinds.LEASE, base.NAMESPACE, base.RELEASE)
        assert lease is not None
        self.assertEqual("", lease["spec"]["holderIdentity"])
