# SPDX-License-Identifier: Apache-2.0

"""``coe ca rotate`` while clients ask the API, and the conductor dies."""

from __future__ import annotations

import pathlib
import time

import requests

from magnum_capi_helm.status import view
from magnum_capi_helm.tests.functional import programs
from magnum_capi_helm.tests.functional.nodes import base
from magnum_capi_helm.tests.functional.nodes import inside

#: The CAs that a kubelet trusts.
_TRUSTED = "/etc/kubernetes/pki/ca.crt"
#: Of so many requests of a rotation, one may be lost.
_LOST = 1000
#: Rounds in which all machines are replaced.
_ROUNDS = 3


class RotationTest(base.NodesCase):
    """A control plane node and a worker."""

    record_name = "nodes-ca-rotation"
    masters, workers = 1, 1

    def test_all_cas_but_etcds_are_replaced_under_load(self) -> None:
        self.make(master_count=self.masters, node_count=self.workers)
        self.record(
            f"a cluster of {self.masters} + {self.workers} is complete"
        )
        members, old = self.etcd_members(), self.new_client("old")
        seen = set(self.all_machines())

        began = time.monotonic()
        self.magnum.call("PATCH", f"/certificates/{self.uuid}")
        first = self.ask_api(self.new_client("first"))
        seen |= self.conductor_dies_in(1, 2)
        self.until_reason("step 3 of 6", 2 * base.PATIENCE)
        second = self.ask_api(self.new_client("second"))
        seen |= self.conductor_dies_in(3, 4)
        self.until_reason("step 5 of 6", 2 * base.PATIENCE)
        counts = first.take()
        first.stop()
        self.record(
            f"requests with a kubeconfig of the begin, until step 5: {counts}"
        )
        seen |= self.conductor_dies_in(5, 6)
        self.complete(2 * base.PATIENCE)
        machines = self.all_machines()
        replaced = len(seen | set(machines)) - len(machines)
        self.record(
            f"rotated in {time.monotonic() - began:.0f} s, {replaced} "
            "machines were replaced"
        )
        last = second.take()
        self.record(f"requests with a kubeconfig of step 3, so far: {last}")
        lost, answered = (
            counts.lost + last.lost,
            counts.answered + last.answered,
        )
        self.assertLessEqual(lost, answered / _LOST)
        self.assertEqual(_ROUNDS * (self.masters + self.workers), replaced)

        self.old_client_is_refused(old)
        self.until_health(self.uuid, "HEALTHY")
        # etcd has other members, and its CA.
        self.kubeconfig.unlink()
        self.take_kubeconfig()
        self.assertEqual(set(), members & self.etcd_members())

    def conductor_dies_in(self, *steps: int) -> set[str]:
        """Kill Magnum in each step, and start it again.

        :returns: the names of the machines in these steps
        """
        seen: set[str] = set()
        for step in steps:
            self.until_reason(f"step {step} of 6", 2 * base.PATIENCE)
            programs.lab("stop", "magnum", "--kill")
            programs.lab("start", "magnum")
            self.record(f"step {step}: the conductor is killed and started")
            seen |= set(self.all_machines())
        return seen

    def old_client_is_refused(self, old: pathlib.Path) -> None:
        """The old CA signs no client, and no machine trusts it."""
        new = self.magnum.authority(self.uuid)
        self.assertNotEqual(old.with_suffix(".ca").read_bytes(), new)
        api = self.api()
        answer = api.call("/api/v1/nodes", certificate=old)
        self.assertEqual(requests.codes.unauthorized, answer.status_code)
        answer = api.call("/api/v1/nodes", certificate=self.new_client("new"))
        self.assertEqual(requests.codes.ok, answer.status_code)
        for node in answer.json()["items"]:
            host = inside.machine_of(view.name_of(node))
            trusted = host.run("cat", _TRUSTED)
            self.assertEqual(new.decode().strip(), trusted.strip())
        self.record("a client of the old CA gets 401, no machine trusts it")

    def all_machines(self) -> list[str]:
        """Return the names of all machines."""
        return [
            view.name_of(machine)
            for group in ("control-plane", "default-worker")
            for machine in self.machines(group).values()
        ]


class HighlyAvailableRotationTest(RotationTest):
    """Three control plane nodes and two workers."""

    record_name = "nodes-ca-rotation-3"
    masters, workers = 3, 2
