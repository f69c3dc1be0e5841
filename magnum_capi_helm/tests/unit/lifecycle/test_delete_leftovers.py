# SPDX-License-Identifier: Apache-2.0

"""What deletions leave behind or wait for, and how long."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest import mock

from keystoneauth1 import exceptions as ka_exceptions

from magnum_capi_helm import runtime
from magnum_capi_helm.cloud import leftovers
from magnum_capi_helm.cloud import sessions
from magnum_capi_helm.config import conf
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.management_clusters import registry
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.fakes import openstack
from magnum_capi_helm.tests.unit.lifecycle import base

JANITOR = "janitor.capi.stackhpc.com"
POLICY = "janitor.capi.stackhpc.com/volumes-policy"


NEIGHBOUR = f"{base.RELEASE}-b"
WEB = f"kube_service_{base.RELEASE}_default_web"


def address(release: str = base.RELEASE) -> str:
    return (
        "Floating IP for Kubernetes external service default/web "
        f"from cluster {release}"
    )


class LeftoversTestCase(base.DeletionTestCase):
    """A deleted cluster without machines, and leftovers of its workloads."""

    def setUp(self) -> None:
        super().setUp()
        self.there = self.openstack.workloads

    def drained(self, **fields: Any) -> None:
        self.created(**fields)
        self.delete()
        self.capi.drain()

    def reason(self) -> str:
        self.poll()
        return str(self.row().status_reason)


class ServicesTest(LeftoversTestCase):
    """Load balancers, floating IPs and security groups of Services."""

    def test_they_go_after_the_machines_and_before_the_network(self) -> None:
        self.complete()
        self.there.balancer(WEB)
        self.there.address("192.0.2.7", address(), f"port-of-{WEB}")
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
        # The cluster's own user removes them.
        ways = [
            each.json()["auth"]["identity"]
            for each in self.openstack.mocker.request_history
            if each.path.endswith("/auth/tokens")
        ]
        name = "application_credential"
        used = {each[name]["id"] for each in ways if name in each}
        self.assertEqual(set(self.openstack.credentials), used)
        self.there.settle()
        self.assertIn("network still to be deleted", self.reason())
        self.finish()
        self.assertEqual(set(), self.there.names())

    def test_shared_objects_stay_and_are_named(self) -> None:
        self.there.balancer(
            WEB,
            tags=[
                WEB,
                f"kube_service_{NEIGHBOUR}_default_web",
            ],
        )
        self.there.address("192.0.2.7", address(), "port-of-a-server")
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

    def test_a_busy_load_balancer_is_waited_for_and_then_deleted(self) -> None:
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
        self.created()
        self.delete()
        # The clean-up needs no Cluster.
        self.capi.finish()
        names = [f"{WEB}{number}" for number in range(3)]
        end = f"{', '.join(names)} and 2 more"
        self.assertTrue(self.reason().endswith(end), end)
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

    def test_they_are_kept_unless_a_policy_says_otherwise(self) -> None:
        for policy in ("", "keep", "burn"):
            self.created()
            if policy:
                self.save(labels={"volumes_policy": policy})
            self.delete()
            self.finish()
            self.assertEqual(self.all, self.there.names(), policy)

    def test_they_are_deleted_when_the_label_says_so(self) -> None:
        """Or the operator's default, where there is no label."""
        self.drained(labels={"volumes_policy": "delete"})
        self.assertEqual(
            "snapshots of Kubernetes volumes still to be deleted: snap-1 and "
            "Kubernetes volumes still to be deleted: pvc-1",
            self.reason(),
        )
        self.there.settle()
        self.finish()
        self.assertEqual({"pvc-2", "pvc-3"}, self.there.names())
        self.there.volume("pvc-1", cluster=base.RELEASE)
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

    def test_a_volume_after_an_error_goes_where_cinder_can(self) -> None:
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


class JanitorTest(LeftoversTestCase):
    """Where cluster-api-janitor-openstack runs, it is its work."""

    def janitor(self, *, done: bool = False) -> None:
        """The janitor takes care of the cluster, or is done with it."""
        self.edit(
            kinds.OPENSTACK_CLUSTER,
            base.RELEASE,
            {"metadata": {"finalizers": [] if done else [JANITOR]}},
        )

    def test_the_driver_leaves_it_to_the_janitor(self) -> None:
        self.there.balancer(WEB)
        self.created()
        self.janitor()
        self.delete()
        self.capi.drain()
        self.assertRegex(
            self.reason(),
            "^network still .*; cluster-api-janitor-openstack is not done",
        )
        self.assertEqual([], self.there.requests)

    def test_options_overrule_what_is_seen(self) -> None:
        for chosen, janitor, left in (
            ("driver", True, set()),
            ("none", False, {WEB}),
        ):
            self.set_option(cleanup=chosen)
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

    def test_the_janitor_learns_the_policy_for_volumes(self) -> None:
        """With a release, and without one."""
        for policy in ("", "keep", "delete"):
            labels = {"volumes_policy": policy} if policy else {}
            self.created(labels=labels)
            self.janitor()
            if policy == "keep":
                record = names.helm_record(base.RELEASE, 1)
                self.server.delete(kinds.SECRET, base.NAMESPACE, record)
            self.delete()
            self.poll()
            notes = view.annotations_of(self.live(kinds.OPENSTACK_CLUSTER))
            self.assertEqual(policy, notes.get(POLICY, ""))
            self.janitor(done=True)
            self.capi.finish()
            while not self.gone():
                self.poll()


class HinderedTest(LeftoversTestCase):
    """Services that refuse never hold a deletion up for good."""

    def test_an_undeletable_load_balancer_is_given_up_in_the_end(self) -> None:
        self.there.balancer(WEB)
        self.there.balancer(f"{WEB}2")
        self.there.refusals["DELETE", "loadbalancers"] = 403
        self.drained()
        self.assertIn(
            f"still to be deleted: {WEB}, {WEB}2; ",
            self.reason(),
        )
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

    def test_a_failed_deletion_goes_on_when_something_goes(self) -> None:
        self.there.volume("pvc-1", cluster=base.RELEASE)
        self.there.snapshot("snap-1", cluster=base.RELEASE)
        snapshot = "snapshots of Kubernetes volumes still to be deleted: "
        self.there.refusals["DELETE", "snapshots"] = 403
        self.drained(labels={"volumes_policy": "delete"})
        self.overdue()
        self.poll()
        self.there.refusals["DELETE", "snapshots"] = 503
        self.health_poll()
        status, reason = self.state()
        self.assertEqual("DELETE_FAILED", status)
        self.assertIn("503", str(reason))
        self.assertNotIn("403", str(reason))
        self.there.settle()
        self.health_poll()
        status, reason = self.state()
        self.assertEqual("DELETE_IN_PROGRESS", status)
        self.assertTrue(str(reason).startswith(f"{snapshot}snap-1; "))

    def test_a_service_that_does_not_answer_is_named(self) -> None:
        self.there.address("192.0.2.7", address(), "port-of-something")
        self.drained()
        self.openstack.stop(openstack.BALANCER)
        waiting = self.reason()
        self.assertIn("load balancers of Kubernetes Services can't", waiting)
        # It may be that of a load balancer.
        self.assertIn("still to be deleted: 192.0.2.7", waiting)
        self.plane.clock.advance(601)
        self.finish()

    def test_a_slow_cinder_keeps_no_load_balancer(self) -> None:
        # Else the network stays, too: load balancers are in it.
        self.there.balancer(WEB)
        self.there.volume("pvc-1", cluster=base.RELEASE)

        def clock() -> float:
            asked = {each[1] for each in self.there.requests}
            return 60.0 if asked & {"volumes", "snapshots"} else 0.0

        outcome = leftovers.sweep(
            sessions.service_session(),
            openstack.PROJECT,
            base.RELEASE,
            volumes=True,
            clock=clock,
        )
        sent = {each[:2] for each in self.there.requests}
        self.assertIn(("DELETE", "loadbalancers"), sent)
        self.assertEqual(("pvc-1",), outcome.left["Kubernetes volumes"])

    def test_a_deletion_needs_no_octavia(self) -> None:
        self.drained()
        catalog = openstack.token_info(("admin",), without="load-balancer")
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
        """Machines that need it say so."""
        self.there.balancer(WEB)
        self.there.volume("pvc-1", cluster=base.RELEASE)
        self.created(labels={"volumes_policy": "delete"})
        self.delete()
        self.server.delete(kinds.SECRET, base.NAMESPACE, base.CREDENTIALS)
        missing = f"the Secret {base.CREDENTIALS}, without which"
        self.assertIn(missing, self.reason())
        self.capi.drain()
        self.poll()
        self.there.settle()
        self.finish()
        self.assertEqual(set(), self.there.names())

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


class DeletionTimeoutTest(base.DeletionTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.complete()
        self.delete()

    def failed(self) -> None:
        """A poll finds that it takes too long."""
        self.overdue()
        self.poll()
        self.assertEqual("DELETE_FAILED", self.row().status)

    def test_an_overdue_deletion_fails_and_names_the_machines(self) -> None:
        """It stays failed while nothing moves."""
        self.poll()
        self.assertEqual({"DELETE_IN_PROGRESS"}, self.statuses())
        self.failed()
        self.assertRegex(
            self.why(),
            "^not done in time: 3 machines still to be deleted: web-",
        )
        groups = self.groups().values()
        self.assertEqual(
            {"DELETE_IN_PROGRESS"}, {each.status for each in groups}
        )
        for _ in range(2):
            self.health_poll()
            self.assertEqual("DELETE_FAILED", self.row().status)
        with self.busy():
            self.health_poll()
        self.assertEqual("DELETE_FAILED", self.row().status)
        self.assertEqual(1, len(self.warnings()), self.warnings())
        # Asking again gives it all its time.
        self.delete()
        self.poll()
        self.assertEqual("DELETE_IN_PROGRESS", self.row().status)

    def test_without_a_limit_it_never_fails(self) -> None:
        """Nor while the management cluster is unreachable."""
        self.overdue()
        self.management.unreachable()
        self.poll()
        self.assertEqual("DELETE_IN_PROGRESS", self.row().status)
        self.assertIn("does not answer", self.why())
        self.management.recover()
        self.set_option(operation_timeout=0)
        self.poll()
        self.assertEqual("DELETE_IN_PROGRESS", self.row().status)

    def test_a_refusal_is_the_reason_of_an_overdue_deletion(self) -> None:
        self.overdue()
        self.fails(
            "get", kinds.CLUSTER, error=errors.ManagementError("refused (403)")
        )
        self.poll()
        reason = "not done in time: deletion waits: refused (403)"
        self.assertEqual(("DELETE_FAILED", reason), self.state())

    def test_a_poll_that_finds_no_management_cluster_is_too_late(self) -> None:
        # The text of a failed deletion tells whether it makes progress.
        failed = ("DELETE_FAILED", "not done in time: 3 machines")

        def fail_meanwhile(_: Any) -> None:
            self.save(status=failed[0], status_reason=failed[1])
            raise errors.ManagementUnreachable("no answer")

        with mock.patch.object(registry, "runtime_of", fail_meanwhile):
            self.poll()
        self.assertEqual(failed, self.state())

    def fault(self, message: str) -> None:
        """Nova has that fault for a server; without one, the server runs."""
        servers = self.server.names(kinds.OPENSTACK_SERVER)
        if message and not servers:
            servers = [self.capi.server_in_error("default-worker")]
        for name in servers:
            self.openstack.servers.faults[name] = message
            if not message:
                where = (kinds.OPENSTACK_SERVER, base.NAMESPACE, name)
                self.server.delete(*where)
        scope = (base.NAMESPACE, base.RELEASE)
        runtime.get().faults.pop(scope, None)

    def user(self, *, deleted: bool) -> None:
        """The owner of the credential, and a new look at Keystone."""
        (set.add if deleted else set.discard)(
            self.openstack.deleted, openstack.USER
        )
        self.plane.clock.advance(301)

    def test_a_reason_alone_is_no_progress_and_is_told(self) -> None:
        """Each change is made behind the one before it."""
        busy, full = "volume is busy", "disk is full"
        user = f"user {openstack.USER} is deleted"
        changes: list[tuple[Callable[[], None], tuple[str, ...]]] = [
            (lambda: None, ()),
            (lambda: self.fault(busy), (busy,)),
            (lambda: self.fault(full), (full,)),
            (lambda: self.user(deleted=True), (full, user)),
            (lambda: self.fault(""), (user,)),
            (lambda: self.user(deleted=False), ()),
        ]
        self.failed()
        for number, (change, told) in enumerate(changes):
            change()
            self.health_poll()
            row = self.row()
            self.assertEqual("DELETE_FAILED", row.status, str(number))
            self.assertTrue(
                row.status_reason.startswith(
                    "not done in time: 3 machines still to be deleted: web-"
                ),
                row.status_reason,
            )
            for phrase in (busy, full, user):
                self.assertEqual(
                    phrase in told,
                    phrase in row.status_reason,
                    f"{number}: {row.status_reason}",
                )

    def test_machines_that_go_are_progress_with_any_reason(self) -> None:
        self.fault("volume is busy")
        self.failed()
        stays = self.server.names(kinds.OPENSTACK_SERVER)
        for fault, left in (
            ("disk is full", "2 machines still to be deleted: "),
            ("", "1 machine still to be deleted: "),
        ):
            machines = self.server.names(kinds.MACHINE)
            gone = next(each for each in machines if each not in stays)
            self.server.delete(kinds.MACHINE, base.NAMESPACE, gone)
            self.fault(fault)
            self.health_poll()
            row = self.row()
            self.assertEqual("DELETE_IN_PROGRESS", row.status, left)
            self.assertTrue(row.status_reason.startswith(left), left)
            self.failed()

    def test_when_it_moves_it_is_in_progress_with_all_its_time(self) -> None:
        self.failed()
        self.capi.drain()
        self.health_poll()
        moving = ("DELETE_IN_PROGRESS", "network still to be deleted")
        self.assertEqual(moving, self.state())
        self.poll()
        self.assertEqual("DELETE_IN_PROGRESS", self.row().status)
        self.failed()
        self.capi.finish()
        self.health_poll()
        self.assertEqual("DELETE_IN_PROGRESS", self.row().status)
        # Nothing is left: the rows go.
        self.poll()
        self.assertTrue(self.gone())
        self.assertEqual([], self.server.names(kinds.LEASE))
