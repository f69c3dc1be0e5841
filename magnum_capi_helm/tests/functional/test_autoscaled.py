# SPDX-License-Identifier: Apache-2.0

"""Nodegroups of the autoscaler, with the real webhooks of Cluster API."""

from __future__ import annotations

import functools

from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import names
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.functional import base
from magnum_capi_helm.tests.functional import programs

_BOUNDS = {
    "auto_scaling_enabled": "true",
    "min_node_count": "1",
    "max_node_count": "5",
}
_WORKERS = "default-worker"


class AutoscaledTest(base.LabCase):
    """The user's count first, then that of the autoscaler."""

    def test_a_group_starts_with_its_count_and_is_scaled_then(self) -> None:
        # One cluster for all: making one takes most of the time.
        self.uuid = self.cluster(
            self.template(), node_count=3, labels=_BOUNDS, merge_labels=True
        )
        made = self.until_status(self.uuid, ("CREATE_COMPLETE",))
        self.release = str(made["stack_id"])
        self._has(_WORKERS, 3)
        self._a_new_group_starts_above_its_minimum_of_0()
        self._the_count_of_the_autoscaler_stays()

    def _a_new_group_starts_above_its_minimum_of_0(self) -> None:
        self._coe("create", "--node-count", "2", "--max-nodes", "4", "burst")
        self._has("burst", 2)

    def _the_count_of_the_autoscaler_stays(self) -> None:
        """An update of a group runs helm, which takes the field away."""
        for group, count in ((_WORKERS, 4), ("burst", 1)):
            self.plane.patch(
                kinds.MACHINE_DEPLOYMENT,
                self.namespace,
                names.machine_deployment(self.release, group),
                {"spec": {"replicas": count}},
            )
            self.until(functools.partial(self._is, group, count), 120)
        self._coe("update", "--max-nodes", "3", "burst")
        self._has(_WORKERS, 4)
        self._has("burst", 1)

    def _coe(self, command: str, *words: str) -> None:
        """``openstack coe nodegroup``; waits for the end."""
        *options, group = words
        programs.openstack(
            *("coe", "nodegroup", command, *options, self.uuid, group)
        )
        done = self.until_status(
            self.uuid, ("UPDATE_COMPLETE", "UPDATE_FAILED")
        )
        self.assertEqual("UPDATE_COMPLETE", done["status"], str(done))

    def _is(self, group: str, count: int) -> bool:
        return self._row(group) == count

    def _row(self, group: str) -> int:
        return int(self.magnum.nodegroups(self.uuid)[group]["node_count"])

    def _has(self, group: str, count: int) -> None:
        """Fail unless row, MachineDeployment and machines have the count."""
        name = names.machine_deployment(self.release, group)
        live = self.plane.get(kinds.MACHINE_DEPLOYMENT, self.namespace, name)
        machines = self.plane.list(
            kinds.MACHINE,
            self.namespace,
            f"{view.DEPLOYMENT_LABEL}={name}",
        )
        self.assertEqual(
            (count, count, count),
            (
                self._row(group),
                view.spec_of(live).get("replicas"),
                len([each for each in machines if not view.deleting(each)]),
            ),
            group,
        )
