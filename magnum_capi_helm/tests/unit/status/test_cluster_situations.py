# SPDX-License-Identifier: Apache-2.0

"""Each situation, in the shapes of every Cluster API and provider.

What is to be said stands beside the objects in ``tests/data/status``.
"""

from __future__ import annotations

import dataclasses
import json

from oslotest import base

from magnum_capi_helm.status import cluster as cluster_status
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.unit.status import documents
from magnum_capi_helm.tests.unit.status import shapes

#: The words of Nova in the recorded situation "quota".
RECORDED = (
    "Quota exceeded for cores: Requested 2, but already used 20 of 20 cores "
    "(HTTP 403) (Request-ID: req-6b8d7ce5-7e2d-4c4e-9b65-6d5f7b9f4a44)"
)
WHO = ("worker", "master")
LATE = "web-0d864f219217-default-worker-dcnmb-wmqzh"


class RecordedTest(base.BaseTestCase):
    maxDiff = None

    def test_each_situation_is_told_as_it_stands_in_its_file(self) -> None:
        """And the views of one look never disagree."""
        names = documents.names()
        self.assertEqual(17, len(names))
        for name in names:
            file = documents.load(name)
            found = documents.in_every_shape(file["objects"])
            expected = cluster_status.Expected(
                documents.rows(file["workers"]), documents.REQUIRED
            )
            for shape, seen in found.items():
                case = f"{name} as {shape} shows it"
                wanted = dict(file["told"])
                if shape.startswith("1.8/"):
                    wanted |= file.get("told_by_1.8", {})
                told = documents.told(seen, file["workers"], file["now"])
                self.assertEqual(wanted, told, case)
                clock = view.Clock(file["now"])
                seen = dataclasses.replace(seen, clock=clock)
                wrong = shapes.disagreements(
                    cluster_status.grow(seen, expected),
                    seen,
                    cluster_status.verdict(seen, expected),
                )
                self.assertEqual([], list(wrong), case)


class RefusedServerTest(base.BaseTestCase):
    def test_words_of_openstack_become_a_sentence(self) -> None:
        file = documents.load("quota")
        text = json.dumps(file["objects"])
        for name, words in documents.load("_said").items():
            said = json.dumps(words["said"])[1:-1]
            objects = json.loads(text.replace(RECORDED, said))
            reason = (
                f"nodegroup default-worker: machine {LATE}: {words['told']}"
            )
            for shape, seen in documents.in_every_shape(objects).items():
                found = documents.told(seen, 3, file["now"])
                groups = found["groups"]
                told = [groups[f"default-{e}"]["reason"] for e in WHO]
                self.assertEqual(
                    [reason, reason, "", "HEALTHY"],
                    [found["reason"], *told, found["health"]],
                    f"{name} as {shape} shows it",
                )

    def test_a_server_in_error_without_a_message_is_named(self) -> None:
        # The provider up to 0.14 leaves the message of the fault out.
        file = documents.load("quota")
        for each in file["objects"]:
            if each["metadata"]["name"] != LATE:
                continue
            for known in documents.all_conditions(each):
                if known["type"] in ("InstanceReady", "Ready"):
                    known["reason"] = "InstanceStateError"
                if known.get("message") == RECORDED:
                    known["message"] = ""
            each["status"].pop("failureMessage", None)
        for shape, seen in documents.in_every_shape(file["objects"]).items():
            self.assertEqual(
                f"nodegroup default-worker: machine {LATE}: the server went "
                "into the state ERROR: `openstack server show` says why, "
                "under the machine's name; auto-healing replaces the machine, "
                "or resize with --nodes-to-remove",
                documents.told(seen, 3, file["now"])["reason"],
                shape,
            )


class NetworkTest(base.BaseTestCase):
    def test_a_network_that_cannot_be_made(self) -> None:
        file = documents.load("_network")
        text = json.dumps(file["objects"])
        for name, words in file["words"].items():
            said = json.dumps(words["said"])[1:-1]
            objects = json.loads(
                text.replace("WORDS", said).replace(
                    "CONDITION", words["condition"]
                )
            )
            for shape, seen in documents.in_every_shape(objects).items():
                found = documents.told(seen, 2, 1795286741.0)
                self.assertEqual(
                    (f"infrastructure: {words['told']}", None, "UNKNOWN"),
                    (found["reason"], found["api_address"], found["health"]),
                    f"{name} as {shape} shows it",
                )

    def test_a_fault_that_was_mended_is_none(self) -> None:
        # Providers up to 0.13 leave the message of it for ever.
        file = documents.load("scaling_up")
        for each in file["objects"]:
            if each["kind"].startswith("OpenStack"):
                each["status"]["failureReason"] = "UpdateError"
                each["status"]["failureMessage"] = "Neutron is away"
        ready = [
            each
            for each in file["objects"]
            if each["status"].get("ready") is not False
        ]
        for seen in documents.in_every_shape(ready).values():
            self.assertNotIn(
                "infrastructure",
                documents.told(seen, 3, file["now"])["reason"],
            )


class BlockedTest(base.BaseTestCase):
    BUDGET = (
        "cannot evict pod as it would violate the pod's disruption budget. "
        "The disruption budget db needs 1 healthy pods and has 1 currently"
    )
    TWO = (
        "failed to evict Pod, This pod has more than one "
        "PodDisruptionBudget, which the eviction subresource does not "
        "support."
    )
    RELAX = (
        "their PodDisruptionBudget allows no eviction; relax it or add "
        "replicas"
    )
    LEAVE_ONE = (
        "more than one PodDisruptionBudget selects them, and Kubernetes then "
        "evicts none; leave one"
    )
    GOING = "Pod shop/a: deletionTimestamp set, but still not removed"

    def test_a_node_that_cannot_be_drained_says_which_pods(self) -> None:
        refused = 'admission webhook "x.example" denied the request: not today'
        rows = [
            ((f"Pod shop/db-0: {self.BUDGET}",), "shop/db-0", self.RELAX),
            (
                (f"Pods a/b, a/c, a/d, ... (2 more): {self.BUDGET}",),
                "a/b, a/c, a/d, ... (2 more)",
                self.RELAX,
            ),
            (
                (self.GOING, f"Pod shop/db-0: {self.TWO}"),
                "shop/db-0",
                self.LEAVE_ONE,
            ),
            # Others that refuse an eviction have their words.
            (
                (f"Pod shop/db-0: failed to evict Pod, {refused}",),
                "shop/db-0",
                f"{refused}: delete them, or what refuses it",
            ),
        ]
        for items, pods, advice in rows:
            reason = f"pods {pods} keep it from being drained: {advice}"
            self.assertEqual({reason}, self._reasons(items))

    def test_pods_that_go_are_no_error(self) -> None:
        file = documents.load("scaling_down")
        self.assertEqual(
            {file["told"]["reason"]}, self._reasons((self.GOING,))
        )

    def _reasons(self, items: tuple[str, ...]) -> set[str]:
        """The reason, without the machine's name, while a node is drained."""
        file = documents.load("scaling_down")
        lines = ("Drain not completed yet (started at 2026-11-21T18:47:31Z):",)
        drain = "\n* ".join((*lines, *items))
        name = ""
        for each in file["objects"]:
            if each["kind"] != "Machine" or not view.deleting(each):
                continue
            name = each["metadata"]["name"]
            for known in documents.all_conditions(each):
                if known["type"] in ("Deleting", "DrainingSucceeded"):
                    known["message"] = drain
        owner = f"nodegroup default-worker: machine {name}: "
        return {
            documents.told(
                documents.shaped(file["objects"], core, "0.14"),
                2,
                file["now"],
            )["reason"].removeprefix(owner)
            for core in ("1.9", "1.13", "1.14", "1.16")
        }


class UnreachableTest(base.BaseTestCase):
    """A control plane that runs, and an API that never answered."""

    ADDRESS = "https://127.88.232.18:6443"

    def _reasons(self, seconds: float) -> set[tuple[str, str, str]]:
        """Reason, health and ``api``, so long after the network was ready."""
        file = documents.load("provisioning")
        found = set()
        for seen in documents.in_every_shape(file["objects"]).values():
            # The infrastructure was ready at 18:45:42.
            said = documents.told(seen, 2, 1795286742.0 + seconds)
            reason = said["reason"].partition(self.ADDRESS)[0]
            found.add((reason, said["health"], said["nodes"]["api"]))
        return found

    def test_an_unreachable_api_is_named_within_five_minutes(self) -> None:
        """Before that it is starting."""
        plane = "nodegroup default-master: 0 of 1 machines ready"
        for seconds, *told in (
            (
                240,
                "the management cluster can't reach the Kubernetes API at ",
                "UNHEALTHY",
                f"not reachable from the management cluster: {self.ADDRESS}",
            ),
            (230, plane, "UNKNOWN", "starting"),
        ):
            self.assertEqual({tuple(told)}, self._reasons(seconds))

    def test_a_server_that_is_not_there_yet_explains_more(self) -> None:
        file = documents.load("provisioning")
        for each in file["objects"]:
            for known in documents.all_conditions(each):
                if each["kind"] == "Machine" and (
                    known["type"] == "InfrastructureReady"
                ):
                    known["status"] = "False"
                    known["reason"] = "WaitingForInfrastructure"
        for seen in documents.in_every_shape(file["objects"]).values():
            self.assertEqual(
                "nodegroup default-master: 0 of 1 machines ready",
                documents.told(seen, 2, file["now"] + 3600)["reason"],
            )


class UnjoinedTest(base.BaseTestCase):
    """Servers that run, and whose kubeadm does not join the cluster."""

    MACHINE = "web-0d864f219217-default-worker-cl4br-7s7nj"
    COUNT = "0 of 2 machines ready"

    def _reasons(self, seconds: float, **status: str) -> set[str]:
        """Reason of the group, so long after the servers of workers ran.

        :param status: of ``InfrastructureReady``, if they do not run
        """
        file = documents.load("control_plane_initialised")
        for each in file["objects"]:
            if each["kind"] != "Machine":
                continue
            for known in documents.all_conditions(each):
                if known["type"] == "InfrastructureReady":
                    known |= {"status": "True", **status}
        found = set()
        for seen in documents.in_every_shape(file["objects"]).values():
            # It was so at 18:46:01.
            said = documents.told(seen, 2, 1795286761.0 + seconds)
            found.add(said["groups"]["default-worker"]["reason"])
        return found

    def test_the_console_is_named_after_five_minutes(self) -> None:
        console = (
            f"nodegroup default-worker: machine {self.MACHINE}: its server "
            "has run for 5 minutes, and Cluster API sees no node of it: "
            f"`openstack console log show {self.MACHINE}` may say why; if "
            "`kubectl get nodes` lists the node, the cloud controller "
            "manager or the pods' network does not run"
        )
        waits = f"nodegroup default-worker: {self.COUNT}"
        rows: list[tuple[float, dict[str, str], str]] = [
            (300, {}, console),
            (299, {}, waits),
            (900, {"status": "False"}, waits),
        ]
        for seconds, status, reason in rows:
            self.assertEqual(
                {reason}, self._reasons(seconds, **status), str(seconds)
            )
