# SPDX-License-Identifier: Apache-2.0
"""Health: three words, and a map that says of what."""

from __future__ import annotations

from collections.abc import Callable
import datetime
from typing import Any

from oslotest import base

from magnum_capi_helm.status import health
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.unit.status import core_objects
from magnum_capi_helm.tests.unit.status import releases
from magnum_capi_helm.tests.unit.status import shapes

OLD = (shapes.V1BETA1,)
WITH_NEW = (shapes.BOTH, shapes.V1BETA2)
NODES = {
    "node-cp-1.Ready": "True",
    "node-w-1.Ready": "True",
    "node-w-2.Ready": "True",
}


def cluster(
    shape: str, name: str, condition: tuple[str, str, str]
) -> dict[str, Any]:
    """A Cluster with a condition of either set."""
    condition_map = {name: condition}
    return {
        "cluster": core_objects.cluster(
            shape, old=condition_map, new=condition_map
        )
    }


def control_plane(shape: str, **conditions: Any) -> dict[str, Any]:
    """A control plane with conditions of both sets."""
    plane = core_objects.control_plane(shape, old=conditions, new=conditions)
    return {"control_plane": plane}


def worker(
    shape: str,
    status: str,
    reasons: tuple[str, str] = ("SomeReason", "SomeReason"),
    message: str = "",
    **changes: Any,
) -> dict[str, Any]:
    """A single machine whose node has a status.

    :param reasons: of the old set of conditions, and of the new one
    """
    old, new = [(status, reason, message) for reason in reasons]
    changes["old"] = {"NodeHealthy": old}
    changes["new"] = {"NodeHealthy": new, "NodeReady": new}
    return {"machines": (core_objects.machine(shape, "w-1", **changes),)}


def workers(shape: str, **conditions: Any) -> dict[str, Any]:
    """A MachineDeployment with conditions of both sets."""
    group = core_objects.workers(
        shape, group="gpu", old=conditions, new=conditions
    )
    return {"deployments": (group,)}


#: Shapes, changes of a complete release -> health, and reason without the
#: nodes and the API that are well.
ROWS: dict[
    str,
    tuple[
        tuple[str, ...],
        Callable[[str], dict[str, Any]],
        str,
        dict[str, str],
    ],
] = {
    "all is well": (shapes.GENERATIONS, lambda _: {}, "HEALTHY", {}),
    "a paused cluster": (
        shapes.GENERATIONS,
        lambda s: {"cluster": core_objects.cluster(s, paused=True)},
        "UNKNOWN",
        {"cluster": "paused"},
    ),
    "a node that is not ready": (
        shapes.GENERATIONS,
        lambda s: worker(s, "False"),
        "UNHEALTHY",
        {"node-w-1.Ready": "False"},
    ),
    "a node whose kubelet stopped": (
        shapes.GENERATIONS,
        lambda s: worker(
            s,
            "Unknown",
            ("NodeConditionsFailed", "NodeReadyUnknown"),
            "* Node.Ready: Kubelet stopped posting node status.",
        ),
        "UNHEALTHY",
        {"node-w-1.Ready": "Unknown"},
    ),
    "a node that has just registered": (
        WITH_NEW,
        lambda s: worker(
            s,
            "Unknown",
            ("NodeConditionsFailed", "NodeReadyUnknown"),
            "* Node.Ready: Condition not yet reported",
        ),
        "UNKNOWN",
        {"node-w-1.Ready": "Unknown"},
    ),
    # Without a node the machine's own name stands for it.
    "a machine that lost its node": (
        shapes.GENERATIONS,
        lambda s: worker(s, "Unknown", node=False),
        "UNKNOWN",
        {"w-1.Ready": "Unknown"},
    ),
    "a machine that is being deleted is not judged": (
        shapes.GENERATIONS,
        lambda s: worker(s, "False", deleting=True),
        "HEALTHY",
        {},
    ),
    "an API that the management cluster does not reach": (
        WITH_NEW,
        lambda s: cluster(s, "RemoteConnectionProbe", ("False", "", "")),
        "UNHEALTHY",
        {
            "api": "not reachable from the management cluster: "
            "https://192.0.2.10:6443"
        },
    ),
    "an API whose state is unknown": (
        WITH_NEW,
        lambda s: cluster(s, "RemoteConnectionProbe", ("Unknown", "", "")),
        "UNKNOWN",
        {"api": "unknown"},
    ),
    "the old set has no probe, but the first start": (
        OLD,
        lambda s: cluster(s, "ControlPlaneInitialized", ("False", "X", "")),
        "UNKNOWN",
        {"api": "starting"},
    ),
    "a control plane that is not available": (
        WITH_NEW,
        lambda s: control_plane(
            s, Available=("False", "Down", "* etcd\n  is down")
        ),
        "UNHEALTHY",
        {"controlplane": "etcd is down"},
    ),
    # There Available only tells of the first start; Ready sums up.
    "an ill control plane in the old set": (
        OLD,
        lambda s: control_plane(s, Ready=("False", "X", "etcd is down")),
        "UNHEALTHY",
        {"controlplane": "etcd is down"},
    ),
    "no control plane": (
        shapes.GENERATIONS,
        lambda _: {"control_plane": None},
        "UNKNOWN",
        {"controlplane": "unknown"},
    ),
    "a group that is not available": (
        shapes.GENERATIONS,
        lambda s: workers(
            s, Ready=("False", "X", ""), Available=("False", "X", "")
        ),
        "UNHEALTHY",
        {"nodegroup.gpu": "not available"},
    ),
    "a node that is ready and under pressure": (
        WITH_NEW,
        lambda s: {
            "machines": (
                core_objects.machine(
                    s,
                    "w-1",
                    new={
                        "NodeReady": ("True", "", ""),
                        "NodeHealthy": (
                            "False",
                            "NodeNotHealthy",
                            "* Node.DiskPressure: kubelet has disk pressure",
                        ),
                    },
                ),
            )
        },
        "UNHEALTHY",
        {
            "node-w-1.Ready": "True",
            "node-w-1.DiskPressure": "kubelet has disk pressure",
        },
    ),
    "a new condition that is well when it is false": (
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
                judged = health.health(releases.complete(shape, **changes))
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
            changes = worker(shapes.V1BETA2, status, (reason, reason))
            (machine,) = changes["machines"]
            machine["metadata"]["creationTimestamp"] = _minute_ago()
            for each in machine["status"]["conditions"]:
                each["lastTransitionTime"] = _minute_ago()
            objects = releases.complete(shapes.V1BETA2, **changes)
            judged = health.health(objects)
            node = judged.reason["node-w-1.Ready"]
            self.assertEqual(expected, (judged.status, node))

    def test_a_control_plane_without_quorum_is_ill_whatever_moves(
        self,
    ) -> None:
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
            plane = core_objects.control_plane(
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
            seen = releases.complete(
                shapes.V1BETA2, control_plane=plane, clock=clock
            )
            judged = health.health(seen)
            self.assertEqual(
                expected, (judged.status, judged.reason["controlplane"])
            )

    def test_without_a_cluster_nothing_is_known(self) -> None:
        judged = health.health(view.View(release=shapes.RELEASE))
        self.assertEqual(
            health.Health(
                "UNKNOWN",
                {
                    "cluster": "the Cluster object demo-45f11a8de301 is not "
                    "on the management cluster"
                },
            ),
            judged,
        )
