# SPDX-License-Identifier: Apache-2.0
"""Health: three words, and a map that says of what."""

from __future__ import annotations

from collections.abc import Callable
import datetime
from typing import Any, NamedTuple

from oslotest import base

from magnum_capi_helm.status import health
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.unit.status import shapes

ALL, OLD = shapes.GENERATIONS, (shapes.V1BETA1,)
WITH_NEW = (shapes.BOTH, shapes.V1BETA2)
NODES = {
    "node-cp-1.Ready": "True",
    "node-w-1.Ready": "True",
    "node-w-2.Ready": "True",
}


#: Conditions of a machine.
FULL = {
    "NodeReady": ("True", "", ""),
    "NodeHealthy": (
        *("False", "NodeNotHealthy"),
        "* Node.DiskPressure: kubelet has disk pressure",
    ),
}


class Case(NamedTuple):
    """Shapes, changes of a complete release, health, and the reason."""

    shapes: tuple[str, ...]
    change: Callable[[str], dict[str, Any]]
    status: str
    reason: dict[str, str]


def cluster(shape: str, name: str, *status: str) -> dict[str, Any]:
    found = {name: (status[0], "X", "")}
    return {"cluster": shapes.cluster(shape, old=found, new=found)}


def control_plane(shape: str, **conditions: Any) -> dict[str, Any]:
    plane = shapes.control_plane(shape, old=conditions, new=conditions)
    return {"control_plane": plane}


def worker(
    shape: str, status: str, message: str = "", **changes: Any
) -> dict[str, Any]:
    """A single machine whose node has a status."""
    found = (status, "SomeReason", message)
    if status == "Unknown" and message:
        found = (status, "NodeReadyUnknown", message)
    old = (status, "NodeConditionsFailed" if message else "X", message)
    changes["old"] = {"NodeHealthy": old}
    changes["new"] = {"NodeHealthy": found, "NodeReady": found}
    return {"machines": (shapes.machine(shape, "w-1", **changes),)}


def workers(shape: str, **conditions: Any) -> dict[str, Any]:
    group = shapes.workers(shape, group="gpu", old=conditions, new=conditions)
    return {"deployments": (group,)}


ROWS: dict[str, Case] = {
    "all is well": Case(ALL, lambda _: {}, "HEALTHY", {}),
    "a paused cluster": Case(
        ALL,
        lambda s: {"cluster": shapes.cluster(s, paused=True)},
        "UNKNOWN",
        {"cluster": "paused"},
    ),
    "a node that is not ready": Case(
        ALL,
        lambda s: worker(s, "False"),
        "UNHEALTHY",
        {"node-w-1.Ready": "False"},
    ),
    "a node whose kubelet stopped": Case(
        ALL,
        lambda s: worker(
            s, "Unknown", "* Node.Ready: Kubelet stopped posting node status."
        ),
        "UNHEALTHY",
        {"node-w-1.Ready": "Unknown"},
    ),
    "a node that has just registered": Case(
        WITH_NEW,
        lambda s: worker(
            s, "Unknown", "* Node.Ready: Condition not yet reported"
        ),
        "UNKNOWN",
        {"node-w-1.Ready": "Unknown"},
    ),
    # Without a node the machine's own name stands for it.
    "a machine that lost its node": Case(
        ALL,
        lambda s: worker(s, "Unknown", node=False),
        "UNKNOWN",
        {"w-1.Ready": "Unknown"},
    ),
    "a machine that is being deleted is not judged": Case(
        ALL, lambda s: worker(s, "False", deleting=True), "HEALTHY", {}
    ),
    "an API that the management cluster does not reach": Case(
        WITH_NEW,
        lambda s: cluster(s, "RemoteConnectionProbe", "False"),
        "UNHEALTHY",
        {
            "api": "not reachable from the management cluster: "
            "https://192.0.2.10:6443"
        },
    ),
    "an API whose state is unknown": Case(
        WITH_NEW,
        lambda s: cluster(s, "RemoteConnectionProbe", "Unknown"),
        "UNKNOWN",
        {"api": "unknown"},
    ),
    "the old set has no probe, but the first start": Case(
        OLD,
        lambda s: cluster(s, "ControlPlaneInitialized", "False"),
        "UNKNOWN",
        {"api": "starting"},
    ),
    "a control plane that is not available": Case(
        WITH_NEW,
        lambda s: control_plane(
            s, Available=("False", "Down", "* etcd\n  is down")
        ),
        "UNHEALTHY",
        {"controlplane": "etcd is down"},
    ),
    # There Available only tells of the first start; Ready sums up.
    "an ill control plane in the old set": Case(
        OLD,
        lambda s: control_plane(s, Ready=("False", "X", "etcd is down")),
        "UNHEALTHY",
        {"controlplane": "etcd is down"},
    ),
    "no control plane": Case(
        ALL,
        lambda _: {"control_plane": None},
        "UNKNOWN",
        {"controlplane": "unknown"},
    ),
    "a group that is not available": Case(
        ALL,
        lambda s: workers(
            s, Ready=("False", "X", ""), Available=("False", "X", "")
        ),
        "UNHEALTHY",
        {"nodegroup.gpu": "not available"},
    ),
    "a node that is ready and under pressure": Case(
        WITH_NEW,
        lambda s: {"machines": (shapes.machine(s, "w-1", new=FULL),)},
        "UNHEALTHY",
        {
            "node-w-1.Ready": "True",
            "node-w-1.DiskPressure": "kubelet has disk pressure",
        },
    ),
    "a new condition that is well when it is false": Case(
        WITH_NEW,
        lambda s: workers(s, RollingOut=("True", "", "")),
        "HEALTHY",
        {},
    ),
}


def _minute_ago() -> str:
    moment = datetime.datetime.fromtimestamp(
        shapes.NOW - 60, datetime.timezone.utc
    )
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


class HealthTest(base.BaseTestCase):
    def test_each_case_has_its_status_and_reason(self) -> None:
        for case, (generations, change, status, reason) in ROWS.items():
            for shape in generations:
                changes = change(shape)
                nodes = {} if "machines" in changes else NODES
                judged = health.health(shapes.complete(shape, **changes))
                self.assertEqual(
                    (status, {"api": "ok", **nodes, **reason}),
                    (judged.status, judged.reason),
                    f"{case}, {shape}",
                )

    def test_a_node_of_a_new_machine_starts_unless_silent(self) -> None:
        """One that is not ready starts; one that fell silent does not."""
        for status, reason, expected in (
            ("False", "NodeNotReady", ("HEALTHY", "starting")),
            ("Unknown", "NodeReadyUnknown", ("UNHEALTHY", "Unknown")),
        ):
            node_ready = dict.fromkeys(
                ("NodeHealthy", "NodeReady"), (status, reason, "")
            )
            machine = shapes.machine(shapes.V1BETA2, "w-1", new=node_ready)
            machine["metadata"]["creationTimestamp"] = _minute_ago()
            for each in machine["status"]["conditions"]:
                each["lastTransitionTime"] = _minute_ago()
            seen = shapes.complete(shapes.V1BETA2, machines=(machine,))
            judged = health.health(seen)
            node = judged.reason["node-w-1.Ready"]
            self.assertEqual(expected, (judged.status, node))

    def test_a_plane_without_quorum_is_ill_whatever_moves(self) -> None:
        lost = "1 of 3 etcd members is healthy, at least 2 required"
        mute = "Failed to get etcd members"
        away = ("False", "NotAvailable", lost)
        unknown = ("Unknown", "InspectionFailed", mute)
        for seconds, condition, expected in (
            (59, away, ("UNKNOWN", f"changing: {lost}")),
            (60, away, ("UNHEALTHY", lost)),
            (59, unknown, ("UNKNOWN", f"unknown: {mute}")),
            (60, unknown, ("UNHEALTHY", mute)),
        ):
            plane = shapes.control_plane(
                shapes.V1BETA2,
                3,
                ready=2,
                new={
                    "Available": condition,
                    "Initialized": ("True", "", ""),
                    "Remediating": ("True", "", ""),
                },
            )
            for each in plane["status"]["conditions"]:
                each["lastTransitionTime"] = _minute_ago()
                if each["type"] == "Initialized":
                    each["lastTransitionTime"] = "2026-11-20T12:00:00Z"
            clock = view.Clock(shapes.NOW - 60 + seconds)
            seen = shapes.complete(
                shapes.V1BETA2, control_plane=plane, clock=clock
            )
            judged = health.health(seen)
            self.assertEqual(
                expected, (judged.status, judged.reason["controlplane"])
            )

    def test_without_a_cluster_nothing_is_known(self) -> None:
        absent = (
            "the Cluster object demo-45f11a8de301 is not on the management "
            "cluster"
        )
        self.assertEqual(
            health.Health("UNKNOWN", {"cluster": absent}),
            health.health(view.View(release=shapes.RELEASE)),
        )


_QUOTA = "Quota exceeded for cores"


def _deployment(*conditions: dict[str, str]) -> dict[str, Any]:
    return {"kind": "Deployment", "status": {"conditions": list(conditions)}}


class AutoscalerTest(base.BaseTestCase):
    def _health(
        self, shape: str, stopped: str | None, **group: Any
    ) -> dict[str, str]:
        """The entries of a cluster whose second worker may be missing."""
        fault = ("False", "InstanceCreateFailed", _QUOTA)
        missing = group.get("ready") == 1
        conditions = {"InfrastructureReady": fault} if missing else {}
        objects = shapes.complete(
            shape,
            deployments=(shapes.workers(shape, **group),),
            machines=(
                shapes.machine(shape, "w-1"),
                shapes.machine(shape, "w-2", old=conditions, new=conditions),
            ),
        )
        return health.of_autoscaler(objects, stopped)

    def test_each_fault_of_the_autoscaler_has_its_reason(self) -> None:
        group = "autoscaler.default-worker"
        fault = f"1 of 2 nodes ready: machine w-2: {_QUOTA} [cloud]"
        most = "at its maximum of 9 nodes"
        rows: list[tuple[str | None, dict[str, Any], dict[str, str]]] = [
            ("", {}, {"autoscaler": "ok"}),
            (None, {}, {"autoscaler": "unknown"}),
            ("crashed", {}, {"autoscaler": "not running: crashed"}),
            ("", {"count": 9}, {"autoscaler": "ok", group: most}),
            ("", {"ready": 1}, {"autoscaler": "ok", group: fault}),
        ]
        for shape in shapes.GENERATIONS:
            found = [
                (stopped, fields, self._health(shape, stopped, **scaled))
                for stopped, fields, _ in rows
                for scaled in ({"autoscaled": True, **fields},)
            ]
            self.assertEqual(rows, found, shape)

    def test_each_state_of_the_deployment_has_its_reason(self) -> None:
        available = {"type": "Available", "status": "True"}
        missing = {"type": "Available", "status": "False"}
        message = "Deployment does not have minimum availability."
        rows: list[tuple[dict[str, Any] | None, str]] = [
            (None, "its Deployment does not exist"),
            (_deployment(), "it has no replica yet"),
            (_deployment(available), ""),
            (_deployment(missing), "no replica is available"),
            (_deployment({**missing, "message": message}), message),
        ]
        self.assertEqual(
            rows, [(row, health.stopped_reason(row)) for row, _ in rows]
        )
