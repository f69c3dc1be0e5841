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

"""What workloads leave behind, and who removes it."""

from __future__ import annotations

from typing import Any

from keystoneauth1 import exceptions as ka_exceptions

from magnum_capi_helm import conf
from magnum_capi_helm import runtime
from magnum_capi_helm.cmd import checks
from magnum_capi_helm.management import kinds
from magnum_capi_helm.tests.fakes import openstack
from magnum_capi_helm.tests.unit.flows import base
from magnum_capi_helm.tests.unit.flows import test_deletion

NEIGHBOUR = f"{base.RELEASE}-b"
WEB = f"kube_service_{base.RELEASE}_default_web"
JANITOR = "janitor.capi.stackhpc.com"
POLICY = "janitor.capi.stackhpc.com/volumes-policy"


def _address(release: str = base.RELEASE) -> str:
    return (
        "Floating IP for Kubernetes external service default/web "
        f"from cluster {release}"
    )


class LeftoversTestCase(test_deletion.DeletionTestCase):
    """A cluster whose machines are gone, with whatever a test adds."""

    def setUp(self) -> None:
        super().setUp()
        self.there = self.openstack.workloads

    def drained(self, **fields: Any) -> None:
        """Deleted, as far as its machines go."""
        self.created(**fields)
        self.delete()
        self.capi.drain()

    def set(self, **options: Any) -> None:
        """Options of ``[capi_helm]``."""
        for name, value in options.items():
            conf.CONF.set_override(name, value, "capi_helm")

    def reason(self) -> str:
        """What Magnum shows after one more poll."""
        self.poll()
        return str(self.row().status_reason)

    def janitor(self, *, done: bool = False) -> None:
        """The janitor takes care of the cluster, or is done with it."""
        self.server.patch(
            kinds.OPENSTACK_CLUSTER,
            base.NAMESPACE,
            base.RELEASE,
            {"metadata": {"finalizers": [] if done else [JANITOR]}},
        )


class ServicesTest(LeftoversTestCase):
    """Load balancers, floating IPs and security groups of Services."""

    def test_they_go_after_the_machines_and_before_the_network(self) -> None:
        self.complete()
        self.there.balancer(WEB)
        self.there.address("192.0.2.7", _address(), f"port-of-{WEB}")
        self.there.group(
            "lb-sg-1",
            "Security Group for default/web Service LoadBalancer in cluster "
            + base.RELEASE,
        )
        self.delete()
        self.assertIn("3 machines still to be deleted", self.reason())
        self.assertEqual([], self.there.requests)
        self.capi.drain()
        waiting = (
            f"load balancers of Kubernetes Services still to be deleted: {WEB}"
        )
        self.assertEqual(waiting, self.reason())
        self.assertEqual({WEB}, self.there.names())
        self.assertEqual(waiting, self.reason(), "a pending one is waited for")
        self.there.settle()
        self.assertIn("network still to be deleted", self.reason())
        self.finish()
        self.assertEqual(set(), self.there.names())

    def test_as_the_clusters_own_user(self) -> None:
        self.there.balancer(WEB)
        self.drained()
        self.poll()
        [body] = [
            each.json()["auth"]["identity"]
            for each in self.openstack.mocker.request_history
            if each.path.endswith("/auth/tokens")
            and "application_credential" in each.json()["auth"]["identity"]
        ]
        made = next(iter(self.openstack.credentials))
        self.assertEqual(made, body["application_credential"]["id"])

    def test_what_belongs_to_somebody_else_stays(self) -> None:
        self.there.balancer(f"kube_service_{NEIGHBOUR}_default_web")
        self.there.balancer(
            f"k8s-clusterapi-cluster-ns-{base.RELEASE}-kubeapi"
        )
        self.there.balancer("mine")
        self.there.address("192.0.2.7", _address(NEIGHBOUR))
        self.there.address("192.0.2.8", "of the user", f"port-of-{WEB}")
        self.there.group("default", "Default security group")
        before = self.there.names()
        self.drained()
        self.assertIn("network still to be deleted", self.reason())
        self.finish()
        self.assertEqual(before, self.there.names())

    def test_what_somebody_else_uses_stays_and_is_named(self) -> None:
        self.there.balancer(
            WEB, tags=[WEB, f"kube_service_{NEIGHBOUR}_default_web"]
        )
        self.there.address("192.0.2.7", _address(), "port-of-a-server")
        self.drained()
        stays = (
            f"load balancer {WEB} stays: another cluster uses it; "
            "floating IP 192.0.2.7 stays: something else uses it"
        )
        self.assertEqual(
            f"network still to be deleted; {stays}", self.reason()
        )
        self.finish()
        self.assertEqual({WEB, "192.0.2.7"}, self.there.names())
        [line] = self.warnings()
        self.assertIn(stays, line)

    def test_one_that_is_busy_is_waited_for_and_then_deleted(self) -> None:
        for status in ("PENDING_CREATE", "PENDING_UPDATE", "ERROR"):
            self.there.balancer(f"{WEB}-{status}", provisioning_status=status)
        self.drained()
        self.poll()
        states = {
            each["name"]: each["provisioning_status"]
            for each in self.there.things["loadbalancers"].values()
        }
        self.assertEqual(
            {
                f"{WEB}-PENDING_CREATE": "PENDING_CREATE",
                f"{WEB}-PENDING_UPDATE": "PENDING_UPDATE",
                f"{WEB}-ERROR": "PENDING_DELETE",
            },
            states,
        )
        asked = [each for each in self.there.requests if "DELETE" in each]
        self.assertEqual(1, len(asked), "no requests that can't succeed")
        self.there.settle()
        for each in self.there.things["loadbalancers"].values():
            each["provisioning_status"] = "ACTIVE"
        self.poll()
        self.there.settle()
        self.finish()

    def test_a_lot_of_them_is_shortened(self) -> None:
        for number in range(5):
            self.there.balancer(f"{WEB}{number}")
        self.drained()
        self.assertTrue(
            self.reason().endswith(f"{WEB}0, {WEB}1, {WEB}2 and 2 more")
        )

    def test_after_the_cluster_object_is_gone(self) -> None:
        self.there.balancer(WEB)
        self.created()
        self.delete()
        self.capi.finish()
        self.assertIn(WEB, self.reason())
        self.there.settle()
        self.poll()
        self.assertTrue(self.gone())


class VolumesTest(LeftoversTestCase):
    """Volumes and snapshots, by the label volumes_policy."""

    def setUp(self) -> None:
        super().setUp()
        self.there.volume("pvc-1", cluster=base.RELEASE)
        self.there.volume("pvc-2", cluster=base.RELEASE, keep="true")
        self.there.volume("pvc-3", cluster=NEIGHBOUR)
        self.there.snapshot("snap-1", cluster=base.RELEASE)
        self.all = self.there.names()

    def test_they_are_kept_unless_the_label_says_otherwise(self) -> None:
        for labels in ({}, {"volumes_policy": "keep"}):
            self.drained(labels=labels)
            self.finish()
            self.assertEqual(self.all, self.there.names(), labels)

    def test_they_are_deleted_when_the_label_says_so(self) -> None:
        self.drained(labels={"volumes_policy": "delete"})
        self.assertEqual(
            "snapshots of Kubernetes volumes still to be deleted: snap-1; "
            "Kubernetes volumes still to be deleted: pvc-1",
            self.reason(),
        )
        self.there.settle()
        self.finish()
        self.assertEqual({"pvc-2", "pvc-3"}, self.there.names())

    def test_the_operators_default_decides_where_no_label_is(self) -> None:
        conf.CONF.set_override(
            "volumes_policy", "delete", "capi_helm_cluster_labels"
        )
        self.drained()
        self.poll()
        self.there.settle()
        self.finish()
        self.assertEqual({"pvc-2", "pvc-3"}, self.there.names())

    def test_a_volume_in_use_is_waited_for(self) -> None:
        made = self.there.volume("pvc-4", "in-use", cluster=base.RELEASE)
        self.drained(labels={"volumes_policy": "delete"})
        self.poll()
        self.there.settle()
        self.assertIn("still to be deleted: pvc-4", self.reason())
        self.there.things["volumes"][made]["status"] = "available"
        self.poll()
        self.there.settle()
        self.finish()

    def test_a_label_that_is_no_policy_keeps_them(self) -> None:
        self.complete()
        row = self.row()
        row.labels = {"volumes_policy": "burn"}
        row.save()
        self.delete()
        self.finish()
        self.assertEqual(self.all, self.there.names())


class HinderedTest(LeftoversTestCase):
    """Services that refuse never hold a deletion up for good."""

    def test_what_cannot_be_deleted_is_given_up_in_the_end(self) -> None:
        self.there.balancer(WEB)
        self.there.balancer(f"{WEB}2")
        self.there.refusals["DELETE", "loadbalancers"] = 403
        self.drained()
        self.assertIn(f"still to be deleted: {WEB}, {WEB}2; ", self.reason())
        self.assertIn("can't be deleted: ", self.reason())
        refused = [each for each in self.there.requests if "DELETE" in each]
        self.assertEqual(2, len(refused), "one request for each poll")
        self.plane.clock.advance(570)
        self.assertNotIn("network", self.reason())
        self.plane.clock.advance(30)
        self.assertIn("network still to be deleted; load", self.reason())
        self.finish()
        [line] = [each for each in self.warnings() if "goes on" in each]
        self.assertIn(f"{WEB}, {WEB}2", line)
        self.assertEqual({WEB, f"{WEB}2"}, self.there.names())

    def test_the_wait_begins_anew_when_something_goes(self) -> None:
        self.there.balancer(WEB)
        stuck = self.there.balancer(f"{WEB}2", provisioning_status="PENDING_X")
        self.drained()
        self.poll()
        self.plane.clock.advance(570)
        self.there.settle()
        self.poll()
        self.plane.clock.advance(570)
        self.assertNotIn("network", self.reason())
        self.plane.clock.advance(30)
        self.assertIn("network", self.reason())
        del self.there.things["loadbalancers"][stuck]
        self.finish()
        self.assertEqual([], self.warnings())

    def test_a_service_that_does_not_answer_is_named(self) -> None:
        self.there.address("192.0.2.7", _address(), "port-of-something")
        self.drained()
        self.openstack.stop(openstack.BALANCER)
        waiting = self.reason()
        self.assertIn("load balancers of Kubernetes Services can't", waiting)
        # It may be that of a load balancer.
        self.assertIn("still to be deleted: 192.0.2.7", waiting)
        self.plane.clock.advance(601)
        self.finish()

    def test_a_cloud_without_octavia(self) -> None:
        self.drained()
        catalog = openstack.token_info(("admin",))
        catalog["token"]["catalog"] = [
            each
            for each in catalog["token"]["catalog"]
            if each["type"] != "load-balancer"
        ]
        self.openstack.mocker.post(
            f"{openstack.IDENTITY}/auth/tokens",
            json=catalog,
            headers={"X-Subject-Token": "token"},
            status_code=201,
        )
        self.finish()
        self.assertNotIn(
            "loadbalancers", {each[1] for each in self.there.requests}
        )

    def test_without_a_credential_magnums_user_does_it(self) -> None:
        self.there.balancer(WEB)
        self.there.volume("pvc-1", cluster=base.RELEASE)
        self.drained(labels={"volumes_policy": "delete"})
        self.server.delete(
            kinds.SECRET, base.NAMESPACE, test_deletion.CREDENTIALS
        )
        self.poll()
        self.there.settle()
        self.finish()
        self.assertEqual(set(), self.there.names())

    def test_machines_without_a_credential_say_so(self) -> None:
        self.complete()
        self.server.delete(
            kinds.SECRET, base.NAMESPACE, test_deletion.CREDENTIALS
        )
        self.delete()
        self.assertIn(
            f"the Secret {test_deletion.CREDENTIALS}, without which",
            self.reason(),
        )

    def test_a_credential_that_keystone_refuses(self) -> None:
        self.there.balancer(WEB)
        self.drained()
        refused = ka_exceptions.BadRequest("no")
        self.openstack.mocker.post(
            f"{openstack.IDENTITY}/auth/tokens", exc=refused
        )
        self.assertIn(
            "what Kubernetes made in the project can't be deleted: Keystone",
            self.reason(),
        )


class JanitorTest(LeftoversTestCase):
    """Where cluster-api-janitor-openstack runs, it is its work."""

    def test_the_driver_leaves_it_to_the_janitor(self) -> None:
        self.there.balancer(WEB)
        self.created()
        self.janitor()
        self.delete()
        self.capi.drain()
        self.assertEqual(
            "network still to be deleted: cluster-api-janitor-openstack is "
            "not done with the project",
            self.reason(),
        )
        self.assertEqual([], self.there.requests)

    def test_options_overrule_what_is_seen(self) -> None:
        for chosen, janitor, left in (
            ("driver", True, set()),
            ("none", False, {WEB}),
        ):
            self.set(cleanup=chosen)
            self.there.balancer(WEB)
            self.created()
            if janitor:
                self.janitor()
            self.delete()
            self.capi.drain()
            self.poll()
            self.there.settle()
            self.assertEqual(left, self.there.names(), chosen)
            self.janitor(done=True)
            self.finish()

    def test_it_learns_what_the_user_wants_of_volumes(self) -> None:
        for labels, expected in (
            ({}, None),
            ({"volumes_policy": "keep"}, "keep"),
            ({"volumes_policy": "delete"}, "delete"),
        ):
            self.created(labels=labels)
            self.janitor()
            self.delete()
            found = self.server.get(
                kinds.OPENSTACK_CLUSTER, base.NAMESPACE, base.RELEASE
            )
            assert found is not None
            notes = found["metadata"].get("annotations") or {}
            self.assertEqual(expected, notes.get(POLICY), labels)
            self.janitor(done=True)
            self.finish()

    def test_it_learns_it_where_helm_has_no_release_any_more(self) -> None:
        self.complete(labels={"volumes_policy": "keep"})
        self.server.delete(
            kinds.SECRET,
            base.NAMESPACE,
            f"sh.helm.release.v1.{base.RELEASE}.v1",
        )
        self.delete()
        self.poll()
        found = self.server.get(
            kinds.OPENSTACK_CLUSTER, base.NAMESPACE, base.RELEASE
        )
        assert found is not None
        self.assertEqual("keep", found["metadata"]["annotations"][POLICY])

    def test_check_says_who_cleans_up(self) -> None:
        self.assertIn("unknown: there is no cluster yet", self.who())
        self.create()
        self.assertEqual("the driver: no cluster has a janitor", self.who())
        self.janitor()
        self.assertEqual("cluster-api-janitor-openstack", self.who())
        for chosen, who in (("none", "nobody"), ("driver", "the driver")):
            self.set(cleanup=chosen)
            self.assertEqual(
                f"{who} ([capi_helm] cleanup = {chosen})", self.who()
            )

    def who(self) -> str:
        """The line of ``magnum-capi-helm check``."""
        found = {each.name: each for each in checks.run(runtime.get())}
        return found["clean-up"].detail
