# SPDX-License-Identifier: Apache-2.0

"""Upgrades that take longer than ``operation_timeout``."""

from __future__ import annotations

import time

from keystoneauth1 import exceptions as ka_exceptions

from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.functional import base

#: Minutes: the least that the option takes.
_LIMIT = 1
#: Seconds for which the lab holds each new machine back: with three workers,
#: one after the other, the upgrade takes longer than the limit.
_HOLD = 30
_HELD = "lab.example.org/hold"
_DONE = ("UPDATE_COMPLETE", "UPDATE_FAILED")


class SlowUpgradeTest(base.LabCase):
    """One cluster with three workers, and one upgrade after the other."""

    def test_only_an_upgrade_without_progress_fails(self) -> None:
        self.configure(operation_timeout=str(_LIMIT))
        # Before the cluster: what is made last is deleted first, and Magnum
        # deletes no template that a cluster has.
        newer = self.template(image_id="ubuntu-v1.35.1")
        stuck = self.template(
            image_id="ubuntu-v1.35.1", flavor_id="m1.worker.stuck"
        )
        self.uuid = self.cluster(
            self.template(), node_count=3, create_timeout=15
        )
        made = self.until_status(self.uuid, ("CREATE_COMPLETE",))
        self.release = str(made["stack_id"])
        self.one_that_moves_slowly_is_complete(newer)
        self.one_that_stands_still_fails(stuck)

    def one_that_moves_slowly_is_complete(self, newer: str) -> None:
        old = self._machines()
        held: dict[str, float] = {}
        began = time.monotonic()
        self._upgrade(newer)
        while (found := self._status()) not in _DONE:
            self._hold_back(self._machines() - old, held)
            self.assertLess(time.monotonic() - began, 900)
            time.sleep(base.POLL)
        self.assertEqual("UPDATE_COMPLETE", found)
        self.assertGreater(time.monotonic() - began, 60 * _LIMIT)
        self.assertEqual(set(), old & self._machines())

    def one_that_stands_still_fails(self, stuck: str) -> None:
        self._upgrade(stuck)
        failed = self.until_status(self.uuid, _DONE, 60 * _LIMIT + 120)
        self.assertEqual("UPDATE_FAILED", failed["status"])
        self.assertIn(
            "not done in time: nodegroup default-worker",
            failed["status_reason"],
        )

    # Helpers

    def _status(self) -> str:
        return str((self.magnum.find(self.uuid) or {}).get("status"))

    def _upgrade(self, template: str) -> None:
        self.until(lambda: self._accepted(template), 60)
        self.until_status(self.uuid, ("UPDATE_IN_PROGRESS",), 120)

    def _accepted(self, template: str) -> bool:
        """Whether the request was accepted; else another one is under way."""
        path = f"/clusters/{self.uuid}/actions/upgrade"
        body = {"cluster_template": template, "max_batch_size": 1}
        try:
            self.magnum.call("POST", path, body)
        except ka_exceptions.BadRequest as error:
            if "try again in a moment" not in str(error):
                raise
            return False
        return True

    def _machines(self) -> set[str]:
        """Names of the cluster's OpenStackMachines."""
        selector = f"{view.CLUSTER_NAME_LABEL}={self.release}"
        found = self.plane.list(
            kinds.OPENSTACK_MACHINE, self.namespace, selector
        )
        return {view.name_of(each) for each in found}

    def _hold_back(self, new: set[str], held: dict[str, float]) -> None:
        """Let each new machine come up some seconds later.

        :param held: when each began to be held back, monotonic seconds
        """
        now = time.monotonic()
        for name in new:
            if name not in held:
                held[name] = now
                self._annotate(name, "1")
            elif now - held[name] >= _HOLD:
                self._annotate(name, None)

    def _annotate(self, name: str, value: str | None) -> None:
        self.plane.patch(
            kinds.OPENSTACK_MACHINE,
            self.namespace,
            name,
            {"metadata": {"annotations": {_HELD: value}}},
        )
