# SPDX-License-Identifier: Apache-2.0

"""Users read that an operator has paused a part of their cluster.

A change is asked for each time: a paused part would never be done.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.status import conditions
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.functional.cloud import fault_case

_READS = "the operator has paused it: nothing is changed"
_ANNOTATION: dict[str, Any] = {
    "metadata": {"annotations": {conditions.PAUSED_ANNOTATION: "true"}}
}
_NO_ANNOTATION: dict[str, Any] = {
    "metadata": {"annotations": {conditions.PAUSED_ANNOTATION: None}}
}


class PausedTest(fault_case.OneCluster):
    """One cluster, of which one part after the other is paused."""

    project = "demo"

    def test_each_paused_part_is_named(self) -> None:
        self.make()
        self.complete("CREATE")
        self._annotated(
            "the MachineDeployment is paused",
            2,
            (kinds.MACHINE_DEPLOYMENT, f"{self.name}-default-worker"),
            f"nodegroup default-worker: {_READS}",
        )
        self._annotated(
            "the control plane is paused",
            1,
            (kinds.CONTROL_PLANE, f"{self.name}-control-plane"),
            f"nodegroup default-master: {_READS}",
            where=fault_case.CONTROL_PLANE,
        )
        self._annotated(
            "a Machine is paused, and is to go",
            0,
            (kinds.MACHINE, self._worker()),
            rf"nodegroup default-worker: machine \S+: {_READS}",
        )
        self._cluster()
        self._addon()

    def _worker(self) -> str:
        [worker] = [
            view.name_of(each)
            for each in self.plane.list(kinds.MACHINE, self.namespace)
            if view.name_of(each).startswith(f"{self.name}-default-worker")
        ]
        return worker

    def _annotated(
        self,
        fault: str,
        count: int,
        named: tuple[kinds.Kind, str],
        reads: str,
        where: str = fault_case.WORKERS,
    ) -> None:
        self._pause(named, _ANNOTATION)
        self._change(fault, count, self._paused(named), reads, where)
        self._go_on(named, _NO_ANNOTATION)

    def _cluster(self) -> None:
        named = kinds.CLUSTER, self.name
        self._pause(named, {"spec": {"paused": True}})
        self._change(
            "the Cluster is paused",
            1,
            self._paused(named),
            "the operator has paused the cluster: nothing is changed",
            "all",
            entry="cluster: paused",
        )
        self._go_on(named, {"spec": {"paused": False}})

    def _addon(self) -> None:
        """The addon provider writes nothing about a pause."""
        named = kinds.HELM_RELEASE, f"{self.name}-ccm-openstack"
        self._pause(named, {"spec": {"paused": True}})
        self._change(
            "an addon is paused",
            # The same count: no machine comes before the addon.
            1,
            lambda: "spec.paused: true",
            f"addon ccm-openstack: {_READS}",
            "addons",
        )
        self._go_on(named, {"spec": {"paused": None}})

    def _pause(
        self, named: tuple[kinds.Kind, str], change: dict[str, Any]
    ) -> None:
        kind, name = named
        self.plane.patch(kind, self.namespace, name, change)

    def _paused(self, named: tuple[kinds.Kind, str]) -> Callable[[], str]:
        """Give the message of an object's condition Paused."""
        kind, name = named

        def said() -> str:
            obj = self.plane.get(kind, self.namespace, name)
            found = conditions.v1beta2(obj).get("Paused")
            return found.message if found and found.bad else ""

        return said

    def _change(
        self,
        fault: str,
        count: int,
        said: Callable[[], str],
        reads: str,
        where: str,
        **fields: Any,
    ) -> None:
        """Ask for a size, and wait until the pause is named."""
        self.ask(self.uuid, count)
        self.paused = self.watch(fault, said, reads, where=where, **fields)
        self.until_named(self.paused)

    def _go_on(
        self, named: tuple[kinds.Kind, str], change: dict[str, Any]
    ) -> None:
        self._pause(named, change)
        self.finish(self.paused)
        self.complete("UPDATE")
