# SPDX-License-Identifier: Apache-2.0

"""What workloads leave behind, and who removes it."""

from __future__ import annotations

from magnum_capi_helm.config import conf
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.lifecycle import deleting


class ServicesTest(deleting.LeftoversTestCase):
    """Load balancers, floating IPs and security groups of Services."""

    def test_they_go_after_the_machines_and_before_the_network(self) -> None:
        self.complete()
        self.there.balancer(deleting.WEB)
        self.there.address(
            "192.0.2.7", deleting.address(), f"port-of-{deleting.WEB}"
        )
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
            "load balancers of Kubernetes Services still to be deleted: "
            f"{deleting.WEB}"
        )
        self.assertEqual(waiting, self.reason())
        self.assertEqual({deleting.WEB}, self.there.names())
        self.assertEqual(waiting, self.reason(), "a pending one is waited for")
        self.there.settle()
        self.assertIn("network still to be deleted", self.reason())
        self.finish()
        self.assertEqual(set(), self.there.names())

    def test_services_are_cleaned_up_by_the_clusters_user(self) -> None:
        self.there.balancer(deleting.WEB)
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

    def test_objects_of_others_stay(self) -> None:
        self.there.balancer(f"kube_service_{deleting.NEIGHBOUR}_default_web")
        self.there.balancer(
            f"k8s-clusterapi-cluster-ns-{base.RELEASE}-kubeapi"
        )
        self.there.balancer("mine")
        self.there.address("192.0.2.7", deleting.address(deleting.NEIGHBOUR))
        self.there.address(
            "192.0.2.8", "of the user", f"port-of-{deleting.WEB}"
        )
        self.there.group("default", "Default security group")
        before = self.there.names()
        self.drained()
        self.assertIn("network still to be deleted", self.reason())
        self.finish()
        self.assertEqual(before, self.there.names())

    def test_shared_objects_stay_and_are_named(self) -> None:
        self.there.balancer(
            deleting.WEB,
            tags=[
                deleting.WEB,
                f"kube_service_{deleting.NEIGHBOUR}_default_web",
            ],
        )
        self.there.address("192.0.2.7", deleting.address(), "port-of-a-server")
        self.drained()
        stays = (
            f"load balancer {deleting.WEB} stays: another cluster uses it; "
            "floating IP 192.0.2.7 stays: something else uses it"
        )
        self.assertEqual(
            f"network still to be deleted; {stays}", self.reason()
        )
        self.finish()
        self.assertEqual({deleting.WEB, "192.0.2.7"}, self.there.names())
        [line] = self.warnings()
        self.assertIn(stays, line)

    def test_a_busy_load_balancer_is_waited_for_and_then_deleted(self) -> None:
        for status in ("PENDING_CREATE", "PENDING_UPDATE", "ERROR"):
            self.there.balancer(
                f"{deleting.WEB}-{status}", provisioning_status=status
            )
        self.drained()
        self.poll()
        states = {
            each["name"]: each["provisioning_status"]
            for each in self.there.things["loadbalancers"].values()
        }
        self.assertEqual(
            {
                f"{deleting.WEB}-PENDING_CREATE": "PENDING_CREATE",
                f"{deleting.WEB}-PENDING_UPDATE": "PENDING_UPDATE",
                f"{deleting.WEB}-ERROR": "PENDING_DELETE",
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
            self.there.balancer(f"{deleting.WEB}{number}")
        self.drained()
        self.assertTrue(
            self.reason().endswith(
                f"{deleting.WEB}0, {deleting.WEB}1, {deleting.WEB}2 and 2 more"
            )
        )

    def test_the_clean_up_needs_no_cluster_object(self) -> None:
        self.there.balancer(deleting.WEB)
        self.created()
        self.delete()
        self.capi.finish()
        self.assertIn(deleting.WEB, self.reason())
        self.there.settle()
        self.poll()
        self.assertTrue(self.gone())


class VolumesTest(deleting.LeftoversTestCase):
    """Volumes and snapshots, by the label volumes_policy."""

    def setUp(self) -> None:
        super().setUp()
        self.there.volume("pvc-1", cluster=base.RELEASE)
        self.there.volume("pvc-2", cluster=base.RELEASE, keep="true")
        self.there.volume("pvc-3", cluster=deleting.NEIGHBOUR)
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
            "snapshots of Kubernetes volumes still to be deleted: snap-1 and "
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

    def test_a_volume_after_an_error_goes_where_cinder_deletes_it(
        self,
    ) -> None:
        for each in ("", "_extending", "_managing", "_restoring"):
            self.there.volume(
                f"pvc{each}", f"error{each}", cluster=base.RELEASE
            )
        stuck = self.there.volume(
            "pvc_deleting", "error_deleting", cluster=base.RELEASE
        )
        self.drained(labels={"volumes_policy": "delete"})
        self.poll()
        self.there.settle()
        self.assertEqual(
            "Kubernetes volumes still to be deleted: pvc_deleting",
            self.reason(),
        )
        self.there.things["volumes"][stuck]["status"] = "error"
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
