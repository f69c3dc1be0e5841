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

"""Creation of a cluster, through Magnum's own handler."""

from __future__ import annotations

import base64
import collections
import json
from typing import Any

from magnum.common import exception
import testtools
import yaml

from magnum_capi_helm import conf
from magnum_capi_helm import exceptions
from magnum_capi_helm import intent
from magnum_capi_helm import runtime
from magnum_capi_helm.management import client
from magnum_capi_helm.management import connection
from magnum_capi_helm.management import kinds
from magnum_capi_helm.tests.fakes import helm
from magnum_capi_helm.tests.fakes import management
from magnum_capi_helm.tests.fakes import openstack
from magnum_capi_helm.tests.unit.flows import base

CREDENTIALS = f"{base.RELEASE}-cloud-credentials"
INTENT = f"{base.RELEASE}-intent"


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

    def test_what_it_asks_of_the_management_cluster(self) -> None:
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
                ("get", "Namespace", "kube-system"): 2,
                ("get", "Namespace", base.NAMESPACE): 1,
                ("create", "Lease", base.RELEASE): 1,
                ("replace", "Lease", base.RELEASE): 1,
                ("patch", "Secret", INTENT): 1,
                ("create", "Secret", INTENT): 1,
                ("apply", "Secret", INTENT): 1,
                ("get", "Secret", INTENT): 1,
                ("list", "Secret", ""): 1,
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
        wanted = intent.from_secret(self.secret(INTENT)["data"])
        self.assertEqual("0.27.0", wanted.chart.version)
        self.assertEqual(
            "m1.medium", wanted.values["nodeGroups"][0]["machineFlavor"]
        )

    def test_the_credentials_name_is_written_before_keystone_is_asked(
        self,
    ) -> None:
        asked: list[Any] = []

        def refuse(request: Any, context: Any) -> Any:
            secret = self.secret(CREDENTIALS)
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
        data = self.secret(CREDENTIALS)["data"]
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
        wanted = intent.from_secret(self.secret(INTENT)["data"])
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


class RefusedCreateTest(base.FlowTestCase):
    """Requests that are refused before anything is written."""

    by_http = True

    def refused(
        self,
        *words: str,
        template: dict[str, Any] | None = None,
        **fields: Any,
    ) -> None:
        """Refused in one line with such words; nothing is left of it."""
        error = self.assertRaises(
            exception.MagnumException, self.create, template, **fields
        )
        row = self.row()
        self.assertEqual({"CREATE_FAILED"}, self.statuses())
        self.assertEqual(str(error), row.status_reason)
        for word in words:
            self.assertIn(word, row.status_reason)
        self.assertNotIn("\n", row.status_reason)
        self.assertIsNone(row.stack_id)
        self.assertEqual({}, self.openstack.credentials)
        self.assertEqual([], self.helm.upgrades)
        self.assertEqual(["kube-system"], self.server.names(kinds.NAMESPACE))
        self.assertEqual(1, len(self.warnings()), self.warnings())

    def test_an_image_without_kube_version(self) -> None:
        self.openstack.images = [
            openstack.image("ubuntu-1.34", kube_version=None)
        ]
        self.refused("ubuntu-1.34", "kube_version", "openstack image set")

    def test_an_image_that_is_gone(self) -> None:
        self.openstack.images = []
        self.refused("ubuntu-1.34", "not found")

    def test_an_unknown_flavor(self) -> None:
        self.refused("m1.huge", "not found", flavor_id="m1.huge")

    def test_a_flavor_that_is_too_small(self) -> None:
        self.refused("m1.tiny", "512 MiB", "too small", flavor_id="m1.tiny")

    def test_a_label_with_a_value_that_is_not_allowed(self) -> None:
        self.refused(
            "boot_volume_size", "'big'", labels={"boot_volume_size": "big"}
        )

    def test_a_chart_that_is_nowhere(self) -> None:
        self.helm.published = {"0.27.0"}
        self.refused(
            "9.9.9",
            "capi_helm_chart_version",
            template={"labels": {"capi_helm_chart_version": "9.9.9"}},
        )

    def test_no_kubeconfig(self) -> None:
        missing = "/nowhere/kubeconfig"
        real = client.Client(
            lambda: connection.Connection(missing, (1.0, 1.0))
        )
        made = self.plane.runtime()
        base.install(
            self,
            runtime.Runtime(
                management=real,
                helm=made.helm,
                charts=made.charts,
                leases=made.leases,
                snapshots=made.snapshots,
                health_snapshots=made.health_snapshots,
            ),
        )
        self.refused("no kubeconfig", "[capi_helm] kubeconfig_file")

    def test_an_unreachable_management_cluster(self) -> None:
        self.management.unreachable()
        self.refused("management cluster", "does not answer")

    def test_a_management_cluster_without_cluster_api(self) -> None:
        self.management.unserved.add(kinds.CLUSTER)
        self.refused("serves no Cluster of", "not the right one")

    def test_a_user_with_a_restricted_application_credential(self) -> None:
        self.login(restricted=True)
        self.refused("restricted", "--unrestricted")

    def test_a_user_who_is_nothing_but_admin(self) -> None:
        self.login(roles=("admin",))
        self.refused("no role", "any role but admin")

    def test_a_user_without_a_role_that_the_operator_allows(self) -> None:
        conf.CONF.set_override("app_cred_roles", ["member"], "capi_helm")
        self.login(roles=("reader", "admin"))
        self.refused("no role", "allowed: member")

    def test_a_network_service_that_does_not_answer(self) -> None:
        self.openstack.stop(openstack.NETWORK)
        self.refused("network")

    def test_a_ca_file_that_is_missing(self) -> None:
        conf.CONF.set_override("openstack_ca_file", "/nowhere", "drivers")
        self.refused("openstack_ca_file")


class InterruptedCreateTest(base.FlowTestCase):
    """What becomes of a create that did not get through."""

    by_http = True

    def test_a_cluster_that_was_deleted_meanwhile_makes_nothing(self) -> None:
        def destroy(request: Any, context: Any) -> Any:
            self.row().destroy()
            return {"flavors": self.openstack.flavors}

        self.openstack.mocker.get(
            f"{openstack.COMPUTE}/flavors/detail", json=destroy
        )
        self.assertRaises(exception.ClusterNotFound, self.create)
        self.assertEqual({}, self.openstack.credentials)
        self.assertEqual([], self.helm.upgrades)
        self.assertEqual([], self.server.names(kinds.SECRET))
        self.assertEqual([], self.server.names(kinds.LEASE))

    def test_a_cluster_that_is_being_deleted_makes_nothing(self) -> None:
        def delete(request: Any, context: Any) -> Any:
            self.delete()
            return {"flavors": self.openstack.flavors}

        self.openstack.mocker.get(
            f"{openstack.COMPUTE}/flavors/detail", json=delete
        )
        self.create()
        self.assertEqual({"DELETE_IN_PROGRESS"}, self.statuses())
        self.assertEqual([], self.helm.upgrades)
        self.assertEqual([], self.server.names(kinds.SECRET))
        self.poll()
        self.assertRaises(exception.ClusterNotFound, self.row)

    def test_a_delete_while_the_credential_is_made_wins(self) -> None:
        def delete(request: Any, context: Any) -> Any:
            self.delete()
            context.status_code = 201
            body = request.json()["application_credential"]
            return {
                "application_credential": {**body, "id": "a", "secret": "b"}
            }

        self.openstack.mocker.post(
            f"{openstack.IDENTITY}/users/fake_user/application_credentials",
            json=delete,
        )
        self.create()
        self.assertEqual({"DELETE_IN_PROGRESS"}, self.statuses())
        self.assertEqual([], self.helm.upgrades)
        self.poll()
        self.assertRaises(exception.ClusterNotFound, self.row)
        self.assertEqual([], self.server.names(kinds.SECRET))

    def test_an_unreachable_helm_is_left_to_the_polls(self) -> None:
        self.helm.outcomes = [helm.Outcome.UNREACHABLE]
        self.create()
        self.assertEqual({"CREATE_IN_PROGRESS"}, self.statuses())
        self.assertIn("unreachable", self.row().status_reason)

        self.poll()
        self.assertEqual(2, len(self.helm.upgrades))
        self.capi.settle()
        self.poll()
        self.assertEqual({"CREATE_COMPLETE"}, self.statuses())
        self.assertIsNone(self.row().status_reason)

    def test_an_answer_of_helm_that_was_lost_is_no_failure(self) -> None:
        self.helm.outcomes = [helm.Outcome.LATE]
        self.create()
        self.capi.settle()
        self.poll()
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
        self.openstack.refusals["POST"] = 403
        self.create()
        self.assertEqual({"CREATE_FAILED"}, self.statuses())
        self.assertIn(
            "Keystone makes no application credential for you: no",
            self.row().status_reason,
        )
        self.assertEqual([], self.helm.upgrades)

    def test_a_keystone_that_does_not_answer_is_the_reason(self) -> None:
        """No poll can ask it again: only the user has a token."""
        self.openstack.refusals["POST"] = 503
        self.create()
        self.poll()
        self.assertEqual({"CREATE_FAILED"}, self.statuses())
        self.assertIn("Keystone", self.row().status_reason)
        self.assertNotIn("stopped", self.row().status_reason)

    def test_a_management_cluster_lost_half_way_is_left_to_the_polls(
        self,
    ) -> None:
        self.management.fail(
            exceptions.ManagementUnreachable("no answer"),
            verbs=["list"],
            kind=kinds.SECRET,
            times=1,
        )
        self.create()
        self.assertEqual({"CREATE_IN_PROGRESS"}, self.statuses())
        self.poll()
        self.capi.settle()
        self.poll()
        self.assertEqual({"CREATE_COMPLETE"}, self.statuses())

    def test_killed_before_the_credential_it_has_failed(self) -> None:
        self.management.kill_before("apply", kinds.SECRET, CREDENTIALS)
        self.killed_create()
        self.poll()
        self.assertEqual({"CREATE_FAILED"}, self.statuses())
        self.assertIn("delete the cluster", self.row().status_reason)
        self.assertEqual([], self.helm.upgrades)

    def test_killed_before_the_intent_it_has_failed(self) -> None:
        self.management.kill_before("apply", kinds.SECRET, INTENT)
        self.killed_create()
        self.poll()
        self.assertEqual({"CREATE_FAILED"}, self.statuses())
        self.assertIn("delete the cluster", self.row().status_reason)
        self.delete()
        self.poll()
        self.assertEqual({}, self.openstack.credentials)

    def test_killed_after_the_intent_the_poll_installs(self) -> None:
        self.management.kill_before("list", kinds.SECRET)
        self.killed_create()
        self.poll()
        self.assertEqual(1, len(self.helm.upgrades))
        self.capi.settle()
        self.poll()
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
