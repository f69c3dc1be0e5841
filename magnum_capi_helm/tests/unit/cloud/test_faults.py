# SPDX-License-Identifier: Apache-2.0

"""Faults that CAPO does not report."""

from __future__ import annotations

import json
import ssl
from typing import Any
import urllib.error

import fixtures
from oslotest import base as oslotest_base
import requests_mock

from magnum_capi_helm import runtime
from magnum_capi_helm.cloud import credential_secret
from magnum_capi_helm.cloud import faults
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import responses
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.fakes import cluster_api
from magnum_capi_helm.tests.fakes import openstack
from magnum_capi_helm.tests.unit.cli import command_case
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.status import shapes

NO_HOST = "No valid host was found. "
NO_ROOM = shapes.NO_ROOM
MUTE = (
    "no server yet: Cluster API's OpenStack provider does not say why: "
    "its log may, ask the operator"
)
IN_ERROR = "the server went into the state ERROR"


class FaultsCase(base.DeletionTestCase):
    def reason(self) -> str:
        """The cluster's status_reason after one more poll."""
        self.poll()
        return str(self.row().status_reason)


class ServersTest(FaultsCase):
    """Servers in ERROR, of which only Nova knows why."""

    def fail(self, group: str, number: int = 0) -> str:
        """The server of a machine goes into ERROR; its name."""
        machine = self.capi.server_in_error(group, number)
        self.openstack.servers.faults[machine] = NO_HOST
        return machine

    def asked(self) -> list[str]:
        """The servers that Nova was asked about since the last call."""
        found = list(self.openstack.servers.asked)
        self.openstack.servers.asked.clear()
        return found

    def test_the_first_poll_says_what_nova_says_and_no_other_asks(
        self,
    ) -> None:
        self.create()
        for chart, group in (
            ("control-plane", "default-master"),
            ("default-worker", "default-worker"),
        ):
            machine = self.fail(chart)
            expected = (
                f"nodegroup {group}: machine {machine}: {NO_ROOM} "
                "(since 12:00 UTC) [no-host]"
            )
            for asked in ([machine], [], []):
                self.assertEqual(expected, self.reason())
                self.assertEqual(asked, self.asked())
            self.capi.settle()
            self.server.delete(kinds.OPENSTACK_SERVER, base.NAMESPACE, machine)

    def test_nova_is_not_asked_where_no_server_is_in_error(self) -> None:
        self.create()
        self.poll()
        self.capi.fail_machine("default-worker")
        self.poll()
        self.capi.settle()
        self.poll()
        self.assertEqual("CREATE_COMPLETE", self.row().status)
        self.health_poll()
        self.assertEqual([], self.asked())

    def test_nova_that_does_not_answer_is_told_and_asked_again(self) -> None:
        self.create()
        machine = self.fail("default-worker")
        for status in (503, 403):
            self.openstack.servers.refusal = status
            self.plane.clock.advance(61)
            found = self.reason()
            self.assertIn(f"machine {machine}: {IN_ERROR}", found)
            self.assertIn("Nova could not be asked: server", found)
            self.assertTrue(self.asked())
            # Not with the next poll.
            self.assertEqual(found, self.reason())
            self.assertEqual([], self.asked())
        self.openstack.servers.refusal = 0
        self.plane.clock.advance(61)
        self.assertIn(NO_ROOM, self.reason())

    def test_keystone_that_does_not_answer_is_told(self) -> None:
        self.create()
        self.fail("default-worker")
        self.openstack.stop("http://keystone.test")
        self.assertIn(
            "Nova could not be asked: Keystone: no answer", self.reason()
        )
        self.server.delete(kinds.SECRET, base.NAMESPACE, base.CREDENTIALS)
        self.plane.clock.advance(61)
        self.assertIn("Nova could not be asked: Keystone", self.reason())

    def test_a_server_without_a_fault_is_in_error_all_the_same(self) -> None:
        self.create()
        for number, known in ((0, True), (1, False)):
            machine = self.fail("default-worker", number)
            if known:
                self.openstack.servers.faults[machine] = None
            else:
                del self.openstack.servers.faults[machine]
            self.assertIn(f"{IN_ERROR}: `openstack server", self.reason())

    def check_later_fault(self, *, known: bool) -> None:
        """Polls tell a fault that Nova has a minute after the state.

        :param known: whether Nova has the server before
        """
        [machine] = self.server.names(kinds.OPENSTACK_SERVER)
        self.openstack.servers.faults[machine] = None
        if not known:
            del self.openstack.servers.faults[machine]
        self.assertIn(IN_ERROR, self.reason())
        self.assertEqual([machine], self.asked())
        self.openstack.servers.faults[machine] = "volume is busy"
        for seconds, told, asked in (
            (59, IN_ERROR, []),
            (1, "volume is busy", [machine]),
            (61, "volume is busy", []),
        ):
            self.plane.clock.advance(seconds)
            self.assertIn(told, self.reason())
            self.assertEqual(asked, self.asked())
        scope = (base.NAMESPACE, base.RELEASE)
        runtime.get().faults.pop(scope, None)

    def test_a_deletion_tells_a_later_fault_too(self) -> None:
        self.complete()
        self.fail("default-worker")
        self.delete()
        for known in (True, False):
            self.check_later_fault(known=known)

    def test_a_slow_nova_holds_up_a_poll_for_ten_seconds(self) -> None:
        self.create()
        machines = [self.fail("default-worker", each) for each in range(2)]

        def slow(request: object, context: object) -> dict[str, object]:
            self.openstack.servers.asked.append("one")
            self.plane.clock.advance(11)
            fault = {"message": NO_HOST, "created": "2026-11-21T12:00:00Z"}
            return {"server": {"id": "x", "status": "ERROR", "fault": fault}}

        self.openstack.mocker.register_uri(
            requests_mock.ANY,
            requests_mock.ANY,
            additional_matcher=lambda each: "/servers/" in each.path,
            json=slow,
        )
        self.assertIn(f"machine {machines[0]}: {NO_ROOM}", self.reason())
        self.assertEqual(["one"], self.asked())
        # The other one has its turn later.
        self.plane.clock.advance(61)
        self.assertIn("(and 1 more machines)", self.reason())
        self.assertEqual(["one"], self.asked())

    def test_a_new_server_of_the_name_is_asked_about_anew(self) -> None:
        self.create()
        machine = self.fail("default-worker")
        self.assertIn(NO_ROOM, self.reason())
        self.asked()
        live = self.server.get(kinds.OPENSTACK_SERVER, base.NAMESPACE, machine)
        assert live is not None
        self.openstack.servers.faults["other"] = "volume is busy"
        self.server.set_status(
            kinds.OPENSTACK_SERVER,
            base.NAMESPACE,
            machine,
            {**live["status"], "instanceID": "other"},
        )
        self.assertIn("volume is busy", self.reason())
        self.assertEqual(["other"], self.asked())


class PortsTest(FaultsCase):
    """Ports that Neutron refuses: CAPO makes an event and nothing else."""

    def event(
        self, second: int, kind: str, message: str, year: int = 2026
    ) -> None:
        name = f"{self.machine}.{second}"
        meta = {"name": name, "namespace": base.NAMESPACE}
        event = {
            "metadata": meta,
            "type": kind,
            "message": message,
            "lastTimestamp": f"{year}-11-21T12:00:{second:02}Z",
        }
        self.server.create(kinds.EVENT, event)

    def test_the_last_event_is_the_reason_if_it_warns(self) -> None:
        self.create()
        self.machine = self.capi.server_in_error("default-worker", status={})
        owner = f"nodegroup default-worker: machine {self.machine}: "
        for second, kind, message, told in (
            (1, "Warning", "Failed to create port p: a", True),
            (3, "Warning", "Failed to create port p: b", True),
            (2, "Normal", "Created port q with id 1", False),
            (4, "Normal", "Created port p with id 2", False),
        ):
            self.event(second, kind, message)
            reason = self.reason()
            if told:
                self.assertEqual(
                    f"{owner}{message} (since 12:00 UTC) [cloud]", reason
                )
            elif second == 4:
                self.assertNotIn("port", reason)
        # Without the permission it is not told.
        self.event(5, "Warning", "Failed to create port p")
        error = responses.ForbiddenError("may not list events (403)")
        self.management.fail(error, verbs=("list",), kind=kinds.EVENT)
        self.plane.clock.advance(61)
        self.assertIn(f"{owner}{MUTE}", self.reason())

    def test_a_deletion_tells_the_event_after_a_minute(self) -> None:
        self.complete()
        self.machine = self.capi.server_in_error(
            "default-worker", status={"instanceID": "1"}
        )
        owner = (kinds.OPENSTACK_SERVER, base.NAMESPACE, self.machine)
        held = {"finalizers": ["openstackserver.cluster.x-k8s.io"]}
        self.server.patch(*owner, {"metadata": held})
        self.delete()
        self.server.delete(*owner)
        text = "Failed to delete port with id 1: forbidden"
        self.event(1, "Warning", text, year=2099)
        self.assertNotIn(text, self.reason())
        self.useFixture(
            fixtures.MonkeyPatch("magnum_capi_helm.cloud.faults._MUTE", -1e12)
        )
        self.assertIn(f"machine {self.machine}: {text}", self.reason())


class NeedsTest(FaultsCase):
    """Needs of a server that are gone: CAPO up to 0.14 says nothing."""

    def mute(self, spec: dict[str, Any]) -> str:
        """The reason with a server about which CAPO says nothing."""
        self.create()
        machine = self.capi.server_in_error("default-worker", status={})
        name = (kinds.OPENSTACK_SERVER, base.NAMESPACE, machine)
        self.server.patch(*name, {"spec": spec})
        images = f"{openstack.IMAGE}/v2/images"
        self.openstack.mocker.get(images, json={"images": []})
        self.openstack.mocker.get(f"{images}/ubuntu-v9", status_code=404)
        owner = f"nodegroup default-worker: machine {machine}: "
        return self.reason().removeprefix(owner)

    def test_an_image_that_is_gone(self) -> None:
        self.assertEqual(
            "image ubuntu-v9 does not exist or is not active: it was deleted "
            "or hidden after the cluster was made; ask for it to be restored, "
            "after which auto-healing replaces a machine in ERROR, or upgrade "
            "to a template with another image [image-missing]",
            self.mute({"image": {"filter": {"name": "ubuntu-v9"}}}),
        )

    def test_openstack_is_not_asked_in_the_first_minute(self) -> None:
        self.useFixture(
            fixtures.MonkeyPatch("magnum_capi_helm.cloud.faults._MUTE", 1e12)
        )
        self.assertEqual(
            "nodegroup default-worker: 1 of 2 machines ready",
            self.mute({"image": {"filter": {"name": "ubuntu-v9"}}}),
        )

    def test_a_refused_login_is_the_reason(self) -> None:
        self.create()
        name = self.capi.server_in_error("default-worker", status={})
        self.openstack.credentials.clear()
        self.assertIn("[credential-refused]", self.reason())
        # Before CAPO makes an OpenStackServer, too.
        self.server.delete(kinds.OPENSTACK_SERVER, base.NAMESPACE, name)
        self.server.patch(
            kinds.OPENSTACK_MACHINE, base.NAMESPACE, name, {"status": None}
        )
        self.plane.clock.advance(61)
        self.assertIn("[credential-refused]", self.reason())


class NetworkTest(FaultsCase):
    """A network that stays: CAPO makes an event and nothing else."""

    def test_the_last_event_of_the_deletion_is_the_reason(self) -> None:
        self.complete()
        self.delete()
        self.capi.drain()
        network = (kinds.OPENSTACK_CLUSTER, base.NAMESPACE, base.RELEASE)
        self.server.patch(*network, {"metadata": {"finalizers": ["capo"]}})
        self.server.delete(*network)
        refused = "Failed to delete security group g: 409: it is in use"
        for hour, message, told in (
            ("2026-11-20", "Failed to create router", False),
            ("2099-01-01", refused, True),
        ):
            self.server.create(
                kinds.EVENT,
                {
                    "metadata": {"name": hour, "namespace": base.NAMESPACE},
                    "type": "Warning",
                    "message": message,
                    "lastTimestamp": f"{hour}T12:00:00Z",
                },
            )
            reason = self.reason()
            self.assertEqual(told, message in reason, reason)


class VolumesTest(FaultsCase):
    """Volumes in ERROR, of which only Cinder knows why."""

    def test_cinders_last_message_is_the_reason(self) -> None:
        self.create()
        failed = cluster_api.condition(
            "InstanceReady",
            False,
            "volume v-1 did not become available: volume v-1 is in error "
            "state",
        )
        machine = self.capi.server_in_error(
            "default-worker",
            status={"instanceState": "ERROR", "conditions": [failed]},
        )
        owner = f"nodegroup default-worker: machine {machine}: volume v-1 "
        answers: list[dict[str, str]] = []
        self.openstack.mocker.get(
            f"{openstack.VOLUME}/messages?resource_uuid=v-1",
            json={"messages": answers},
        )
        self.assertIn(f"{owner}could not be made: `openst", self.reason())
        for second, words in ((5, "no room"), (4, "an older one")):
            answers.append(
                {
                    "created_at": f"2026-11-21T12:00:0{second}",
                    "user_message": words,
                }
            )
        self.plane.clock.advance(61)
        self.assertEqual(
            f"{owner}could not be made: no room [cloud]", self.reason()
        )


class BalancerTest(FaultsCase):
    """The API's load balancer in ERROR, for which CAPO waits."""

    NAME = f"k8s-clusterapi-cluster-{base.NAMESPACE}-{base.RELEASE}-kubeapi"

    def create(self, *args: Any, **fields: Any) -> None:
        super().create(*args, **fields)
        self.server.patch(
            kinds.OPENSTACK_CLUSTER,
            base.NAMESPACE,
            base.RELEASE,
            {"spec": {"apiServerLoadBalancer": {"enabled": True}}},
        )

    def test_its_state_is_the_reason_until_it_is_made(self) -> None:
        self.create()
        self.assertIn("0 of 1 machines ready", self.reason())
        made = self.openstack.workloads.balancer(
            self.NAME, provisioning_status="ERROR"
        )
        self.assertIn(
            f"infrastructure: load balancer {self.NAME} is in state ERROR: ",
            self.reason(),
        )
        balancer = self.openstack.workloads.things["loadbalancers"][made]
        balancer["provisioning_status"] = "PENDING_CREATE"
        self.assertIn("0 of 1 machines ready", self.reason())
        asked = len(self.openstack.workloads.requests)
        self.capi.settle_infrastructure()
        self.reason()
        self.assertEqual(asked, len(self.openstack.workloads.requests))

    def test_octavia_that_does_not_answer_is_told(self) -> None:
        self.create()
        self.openstack.stop(openstack.BALANCER)
        self.assertIn(
            "infrastructure: no load balancer yet: Octavia could not be "
            "asked: ",
            self.reason(),
        )


class DescribeTest(command_case.DescribeTestCase):
    def test_the_reason_stands_at_the_server(self) -> None:
        machine = self.capi.server_in_error("default-worker")
        self.openstack.servers.faults[machine] = NO_HOST
        name = machine.replace(base.RELEASE, "R")
        self.assertEqual(
            [
                "MachineDeployment R-default-worker (nodegroup "
                "default-worker, 1 of 2 ready): not ready",
                f"Machine {name} (server server-{name}): not ready",
                f"OpenStackServer {name} (ERROR): not ready: {NO_ROOM} "
                "(since 12:00 UTC) [no-host]",
            ],
            self.lines()[2:],
        )
        self.assertIn(f"machine {name}: {NO_ROOM}", self.lines()[0])


def _network(**status: Any) -> view.Object:
    found = shapes.network()
    found["metadata"]["namespace"] = "magnum-p"
    found["spec"] = {"apiServerLoadBalancer": {"enabled": True}}
    found["status"] |= status
    return found


class QuestionsTest(oslotest_base.BaseTestCase):
    def test_octavia_is_asked_until_the_network_is_made(self) -> None:
        name = f"k8s-clusterapi-cluster-magnum-p-{shapes.RELEASE}-kubeapi"
        question = runtime.Question("Octavia", name)
        events = runtime.Question(
            "Kubernetes", shapes.RELEASE, "OpenStackCluster"
        )
        disabled = _network()
        disabled["spec"]["apiServerLoadBalancer"]["enabled"] = False
        leaving = _network()
        leaving["metadata"]["deletionTimestamp"] = "2026-11-21T11:00:00Z"
        newer = _network()
        newer["spec"] = {
            "apiServer": {"managedLoadBalancer": {"enabled": True}}
        }
        for network, asked in (
            (_network(), [question]),
            (newer, [question]),
            (_network(ready=True), []),
            (disabled, []),
            (leaving, [events]),
        ):
            self.assertEqual(asked, faults.about_network(network))


_CAS = "-----BEGIN CERTIFICATE-----"
_UNKNOWN = "x509: certificate signed by unknown authority"
_EXPIRED = "x509: certificate has expired or is not yet valid"
#: What OpenSSL says -> what CAPO says.
_REFUSED = {
    "self-signed certificate in certificate chain": _UNKNOWN,
    "unable to get local issuer certificate": _UNKNOWN,
    "certificate has expired": _EXPIRED,
    "": "",
}


def _secret(url: str, cas: str, **more: Any) -> dict[str, Any]:
    auth = {"application_credential_id": "a", "auth_url": url}
    clouds = json.dumps({"clouds": {"openstack": {"auth": auth, **more}}})
    return {
        "metadata": {"name": "login"},
        "data": credential_secret.data(clouds, cas),
    }


class UntrustedTest(oslotest_base.BaseTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.asked: list[str] = []
        self.problem = "self-signed certificate"
        for name, fake in (
            ("urllib.request.urlopen", self._open),
            ("ssl.create_default_context", lambda cadata: cadata),
        ):
            self.useFixture(fixtures.MonkeyPatch(name, fake))

    def _open(self, url: str, *, timeout: float, context: str) -> None:
        self.assertEqual(_CAS, context)
        self.asked.append(url)
        error: OSError = ConnectionRefusedError()
        if self.problem:
            error = ssl.SSLCertVerificationError(1, "failed")
            error.verify_message = self.problem
        try:
            raise error
        except OSError as why:
            raise urllib.error.URLError(why) from why

    def test_openssls_words_become_those_of_capo(self) -> None:
        secret = _secret("https://keystone.test/v3", _CAS)
        for self.problem, expected in _REFUSED.items():
            self.assertEqual(expected, faults.untrusted(secret))

    def test_only_a_cluster_with_cas_of_its_own_is_asked_about(self) -> None:
        for secret in (
            None,
            {"metadata": {"name": "login"}},
            _secret("https://keystone.test/v3", ""),
            _secret("http://keystone.test/v3", _CAS),
            _secret("https://keystone.test/v3", _CAS, verify=False),
        ):
            self.assertEqual("", faults.untrusted(secret))
        self.assertEqual([], self.asked)
