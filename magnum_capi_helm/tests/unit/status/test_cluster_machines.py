# SPDX-License-Identifier: Apache-2.0

"""The verdict on a release whose machines fail, are autoscaled or are none."""

from __future__ import annotations

from typing import Any

from oslotest import base

from magnum_capi_helm.status import view
from magnum_capi_helm.tests.unit.status import core_objects
from magnum_capi_helm.tests.unit.status import provider_objects
from magnum_capi_helm.tests.unit.status import releases
from magnum_capi_helm.tests.unit.status import shapes

NO_HOST = provider_objects.NO_HOST
NO_ROOM = provider_objects.NO_ROOM


class MachinesTest(base.BaseTestCase):
    def _seen(self, shape: str, **changes: Any) -> view.View:
        failed = ("False", "InstanceCreateFailed", NO_HOST)
        late: dict[str, Any] = {
            "node": False,
            "old": {"InfrastructureReady": failed},
            "new": {"InfrastructureReady": failed},
        }
        return releases.complete(
            shape,
            deployments=(core_objects.workers(shape, ready=1),),
            machines=(
                core_objects.machine(shape, "cp-1", group=None),
                core_objects.machine(shape, "w-1"),
                core_objects.machine(shape, "w-2", **late),
            ),
            infra_machines=(
                provider_objects.server("w-1"),
                provider_objects.server(
                    "w-2", {"InstanceReady": failed}, NO_HOST
                ),
            ),
            **changes,
        )

    def test_the_reason_is_that_of_the_server(self) -> None:
        for shape in shapes.GENERATIONS:
            found = releases.verdict(self._seen(shape))
            reason = f"nodegroup default-worker: machine w-2: {NO_ROOM}"
            self.assertEqual(reason, found.reason)
            self.assertEqual(reason, found.groups["default-worker"].reason)
            self.assertTrue(found.groups["default-worker"].fault)
            self.assertTrue(found.groups["default-master"].done)

    def test_a_fault_of_one_group_beats_progress_of_another(self) -> None:
        for shape in shapes.GENERATIONS:
            plane = core_objects.control_plane(shape, ready=0)
            found = releases.verdict(self._seen(shape, control_plane=plane))
            self.assertEqual(
                {
                    "default-master": (
                        "nodegroup default-master: 0 of 1 machines ready"
                    ),
                    "default-worker": (
                        f"nodegroup default-worker: machine w-2: {NO_ROOM}"
                    ),
                },
                {name: each.reason for name, each in found.groups.items()},
            )
            self.assertEqual(
                found.groups["default-worker"].reason, found.reason
            )

    def test_an_old_fault_of_a_settled_group_is_no_reason(self) -> None:
        for shape in shapes.GENERATIONS:
            seen = releases.complete(
                shape,
                infra_machines=(
                    provider_objects.server("w-1", failure="old"),
                ),
            )
            self.assertEqual("", releases.verdict(seen).reason)


class AutoscaledTest(base.BaseTestCase):
    def test_the_count_of_a_scaled_group_is_that_of_the_autoscaler(
        self,
    ) -> None:
        scaled = frozenset({"default-worker"})
        for shape in shapes.GENERATIONS:
            seen = releases.complete(
                shape, deployments=(core_objects.workers(shape, 5),)
            )
            self.assertTrue(releases.verdict(seen, autoscaled=scaled).complete)
            self.assertFalse(releases.verdict(seen).complete)

    def test_it_is_not_done_before_its_machines_are(self) -> None:
        scaled = frozenset({"default-worker"})
        seen = releases.complete(
            shapes.V1BETA2,
            deployments=(core_objects.workers(shapes.V1BETA2, 5, ready=4),),
        )
        self.assertEqual(
            "nodegroup default-worker: 4 of 5 machines ready",
            releases.verdict(seen, autoscaled=scaled).reason,
        )


class ZeroTest(base.BaseTestCase):
    def test_a_group_of_no_machines_is_done_when_all_are_gone(self) -> None:
        for shape in shapes.GENERATIONS:
            workers = core_objects.workers(shape, 0)
            scaled = frozenset({"default-worker"})
            seen = releases.complete(shape, deployments=(workers,))
            found = releases.verdict(seen, autoscaled=scaled)
            self.assertEqual("", found.reason)
