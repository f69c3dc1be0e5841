# SPDX-License-Identifier: Apache-2.0

"""One request upgrades real nodes by several minor versions of Kubernetes.

``python3 -m lab up --nodes --minors`` first.
"""

from __future__ import annotations

import collections
import time
from typing import Any

import requests

from lab.demo import workload
from lab.nodes import programs as node_programs
from lab.nodes import system
from magnum_capi_helm.kubernetes import helm_records
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.functional.nodes import base
from magnum_capi_helm.tests.functional.nodes import skew
from magnum_capi_helm.tests.functional.nodes import test_upgrade

_OLD, *_HOPS = node_programs.kubernetes()
#: kubeadm 1.33.13 wants this etcd (``constants.go``), later ones want 3.6.
_OLD_ETCD, _NEW_ETCD = "3.5.24", "3.6."
#: Each minor version of the control plane, and then the workers.
_STEPS = [
    *(f"control plane to {each}" for each in _HOPS),
    f"workers to {_HOPS[-1]}",
]
#: API servers are one minor version apart, workers are three older at last.
_WIDEST = skew.Skew(servers=1, behind=3, ahead=0)
_PLANE = "control-plane"
_ENDED = ("UPDATE_COMPLETE", "UPDATE_FAILED")
#: Seconds to replace a machine, where nothing else is going on.
_REPLACED = 150
#: So many requests are sent to the API at least. For each control plane
#: machine that leaves, a client may lose two: the request that is under way as
#: etcd loses the member, and so its API server, and the next to that server,
#: until CAPO removes it from the load balancer. Of 3,000 requests to the
#: workload two may be lost.
_ASKED, _LOST_BY_SERVER, _LOST = 3000, 2, 2 / 3000
#: Clients of the API: alone, one does not ask so often in the time.
_CLIENTS = 3
#: Seconds without a look, in which much could happen unseen.
_BLIND = 30


class MinorsTest(base.NodesCase):
    """A control plane node and two workers."""

    record_name = "nodes-several-minors"
    masters, workers = 1, 2

    def setUp(self) -> None:
        super().setUp()
        if len(_HOPS) != _WIDEST.behind:
            self.skipTest(
                f"machines have Kubernetes {_OLD} to {_HOPS[-1]}: `python3 -m "
                "lab up --nodes --minors` first"
            )
        self.steps: list[str] = []
        self.skews: list[skew.Skew] = []
        #: The fewest workers that were ready before the last step.
        self.fewest = self.workers
        #: Part of the cluster -> UID of each machine -> version.
        self.seen: dict[str, dict[str, str]] = {_PLANE: {}, "worker": {}}
        self.looked = self.blind = 0.0

    def template(self, **fields: Any) -> str:
        """The UUID of a new template, with the oldest Kubernetes."""
        return super().template(**{"image_id": system.name(_OLD), **fields})

    def test_each_minor_version_is_passed_under_load(self) -> None:
        newer = self.template(image_id=system.name(_HOPS[-1]))
        self.make(master_count=self.masters, node_count=self.workers)
        self.record(
            f"a cluster of {self.masters} + {self.workers} with {_OLD} is "
            "complete"
        )
        self.assertEqual({_OLD_ETCD}, self.etcd_versions())
        revision, client = self.revision(), self.serve()
        patient = self.serve(workload.PATIENT, "patient")
        callers = [self.ask_api() for _ in range(_CLIENTS)]
        self.begin_to_look()
        for each in (client, patient, *callers):
            each.take()

        began = time.monotonic()
        path = f"/clusters/{self.uuid}/actions/upgrade"
        body = {"cluster_template": newer, "max_batch_size": 1}
        self.magnum.call("POST", path, body)
        replaced = self.masters * len(_HOPS) + self.workers
        self.until(self.is_over, replaced * _REPLACED, self.shown)
        took = time.monotonic() - began
        served, answered = client.take(), [each.take() for each in callers]
        advised = patient.take()
        self.record(f"upgraded to {_HOPS[-1]} in {took:.0f} s")
        self.record(f"requests to a workload: {served}")
        self.record(f"requests to a workload as the guide advises: {advised}")
        for counts in answered:
            self.record(f"requests to the Kubernetes API: {counts}")
        self.record(f"a look each {took / len(self.skews):.1f} s")

        self.assertEqual("UPDATE_COMPLETE", self.row()["status"], self.shown())
        self.assertEqual(len(_STEPS), self.revision() - revision)
        self.each_step_had_its_machines()
        self.versions_fitted()
        self.all_is_new()
        self.few_requests_were_lost(advised, answered)

    # While it is upgraded

    def begin_to_look(self) -> None:
        """Look for the first time, as a client with a certificate."""
        self.seen_api = self.api()
        self.looker = self.new_client("looker")
        self.looked = time.monotonic()
        self.is_over()

    def is_over(self) -> bool:
        """Look at the cluster; return whether the upgrade has ended."""
        # First the nodes: they are of this step, or of one before.
        nodes, row = self.nodes_now(), self.row()
        step = step_of(str(row["status_reason"]))
        if step and step not in self.steps:
            self.steps.append(step)
            self.record(step)
        for part, versions in self.seen.items():
            for uid, machine in self.machines(part).items():
                versions[uid] = str(view.spec_of(machine)["version"])
        ended = row["status"] in _ENDED
        if nodes:
            self.note(nodes, waits=not ended and self.steps != _STEPS)
        return ended

    def nodes_now(self) -> dict[str, view.Object]:
        """Return the nodes by name; none: the API does not answer."""
        path = "/api/v1/nodes"
        try:
            answer = self.seen_api.call(path, certificate=self.looker)
            answer.raise_for_status()
        except requests.RequestException as error:
            self.record(f"no look at nodes: {error}")
            return {}
        return {view.name_of(each): each for each in answer.json()["items"]}

    def note(self, nodes: dict[str, view.Object], *, waits: bool) -> None:
        """Note the versions of nodes, and how many workers are ready.

        :param waits: no worker is replaced yet
        """
        now = time.monotonic()
        self.blind, self.looked = max(self.blind, now - self.looked), now
        # A node that is about to join has no label of a control plane.
        servers = {k: node for k, node in nodes.items() if _PLANE in k}
        workers = {k: node for k, node in nodes.items() if _PLANE not in k}
        self.skews.append(
            skew.measure(
                test_upgrade.versions(servers), test_upgrade.versions(workers)
            )
        )
        if waits:
            ready = sum(map(base.is_ready, workers.values()))
            self.fewest = min(self.fewest, ready)

    # Afterwards

    def each_step_had_its_machines(self) -> None:
        """Each member was replaced for each version, each worker once."""
        found = {
            part: collections.Counter(versions.values())
            for part, versions in self.seen.items()
        }
        for part, counts in found.items():
            self.record(
                f"machines of {part}: "
                f"{', '.join(f'{n} x {each}' for each, n in counts.items())}"
            )
        self.assertEqual(
            {
                _PLANE: dict.fromkeys((_OLD, *_HOPS), self.masters),
                "worker": dict.fromkeys((_OLD, _HOPS[-1]), self.workers),
            },
            found,
        )
        self.assertEqual(_STEPS, self.steps)

    def versions_fitted(self) -> None:
        """No part was too old or too new, and no worker was away early."""
        widest = skew.widest(self.skews)
        self.record(f"minor versions apart, at most: {widest}")
        self.record(
            f"ready workers in steps of the control plane: {self.fewest}"
        )
        self.assertLess(self.blind, _BLIND)
        self.assertEqual(_WIDEST, widest)
        self.assertEqual(self.workers, self.fewest)

    def all_is_new(self) -> None:
        """All nodes, etcd and kube-proxy have another version."""
        wanted = _HOPS[-1]
        self.assertEqual(wanted, self.row()["coe_version"])
        nodes = self.nodes()
        self.assertEqual({wanted}, test_upgrade.versions(nodes))
        self.assertEqual(self.masters + self.workers, len(nodes))
        self.assertEqual(self.control_plane_nodes(), self.etcd_members())
        [etcd] = self.etcd_versions()
        self.assertTrue(etcd.startswith(_NEW_ETCD), etcd)
        image = f"registry.k8s.io/kube-proxy:{wanted}"
        self.until(
            lambda: self.proxies() == {image},
            120,
            lambda: f"{image}: {self.proxies()}",
        )
        self.record(f"etcd has {etcd}, kube-proxy {wanted}")
        self.until_health(self.uuid, "HEALTHY")

    def few_requests_were_lost(
        self, served: workload.Counts, answered: list[workload.Counts]
    ) -> None:
        """So many for each server that left, and of the workload's a share."""
        self.assertGreaterEqual(sum(each.asked for each in answered), _ASKED)
        most = _LOST_BY_SERVER * self.masters * len(_HOPS)
        for each in answered:
            self.assertLessEqual(each.lost, most)
        self.assertGreater(served.answered, 0)
        self.assertLessEqual(served.lost / served.asked, _LOST)

    # Helpers

    def shown(self) -> str:
        """Return the cluster's status with its reason."""
        row = self.row()
        return f"{row['status']}: {row['status_reason']}"

    def revision(self) -> int:
        """Return the number of the release's newest revision."""
        scope = (self.namespace, self.release)
        return helm_records.revisions(self.plane, *scope)[-1].version

    def proxies(self) -> set[str]:
        """Return the images of kube-proxy that nodes run."""
        words = ("--namespace=kube-system", "--selector=k8s-app=kube-proxy")
        return {
            str(container["image"])
            for pod in self.get("pods", *words)
            for container in view.spec_of(pod)["containers"]
        }


class HighlyAvailableMinorsTest(MinorsTest):
    """Three control plane nodes and two workers."""

    record_name = "nodes-several-minors-3"
    masters, workers = 3, 2


def step_of(reason: str) -> str:
    """Return what a step changes, by the text of its upgrade, or nothing."""
    step, _, rest = reason.partition(": ")
    return rest.partition(": ")[0] if step.startswith("upgrade, step") else ""
