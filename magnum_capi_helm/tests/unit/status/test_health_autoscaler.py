# SPDX-License-Identifier: Apache-2.0

"""Why a nodegroup does not grow."""

from __future__ import annotations

from typing import Any

from oslotest import base

from magnum_capi_helm.status import health
from magnum_capi_helm.tests.unit.status import core_objects
from magnum_capi_helm.tests.unit.status import releases
from magnum_capi_helm.tests.unit.status import shapes

_QUOTA = "Quota exceeded for cores"


def _deployment(*conditions: dict[str, str]) -> dict[str, Any]:
    return {"kind": "Deployment", "status": {"conditions": list(conditions)}}


class StoppedTest(base.BaseTestCase):
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


class HealthTest(base.BaseTestCase):
    def _health(
        self, shape: str, stopped: str | None, **group: Any
    ) -> dict[str, str]:
        """The entries of a cluster whose second worker may be missing."""
        fault = ("False", "InstanceCreateFailed", _QUOTA)
        missing = group.get("ready") == 1
        conditions = {"InfrastructureReady": fault} if missing else {}
        objects = releases.complete(
            shape,
            deployments=(core_objects.workers(shape, **group),),
            machines=(
                core_objects.machine(shape, "w-1"),
                core_objects.machine(
                    shape, "w-2", old=conditions, new=conditions
                ),
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
