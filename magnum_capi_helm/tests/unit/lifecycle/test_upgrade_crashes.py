# SPDX-License-Identifier: Apache-2.0

"""Upgrades whose conductor dies: nothing happened, or the polls finish it."""

from __future__ import annotations

import contextlib
from typing import Any
from unittest import mock

from magnum import objects

from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.tests.fakes import helm as fake_helm
from magnum_capi_helm.tests.fakes import management
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.lifecycle import upgrading

#: Where it dies, after how many such requests -> whether the upgrade happens.
_KILLS = (
    ("replace", kinds.LEASE, 0, False),
    ("dry-run", kinds.CONTROL_PLANE, 0, False),
    ("patch", kinds.SECRET, 0, False),
    ("patch", kinds.SECRET, 1, True),
)


class CrashTest(upgrading.UpgradeTestCase):
    """At every step."""

    def killed(self, new: Any) -> None:
        """The upgrade meets the end of its conductor; another one polls."""
        with contextlib.suppress(management.Killed):
            self.upgrade(new)
        self.management.recover()
        self.lease_expires()

    def rows_refuse(self) -> Any:
        """The conductor is killed when it is about to write a group's row."""
        return mock.patch.object(
            objects.NodeGroup, "save", side_effect=management.Killed
        )

    def lease_expires(self) -> None:
        """The dead one's Lease is free."""
        self.server.patch(
            kinds.LEASE,
            base.NAMESPACE,
            base.RELEASE,
            {"spec": {"holderIdentity": ""}},
        )

    def assert_ends(self, new: Any, happens: bool) -> None:
        """Polls find an end, and it is the right one."""
        for _ in range(3):
            self.poll()
            self.capi.settle()
        self.poll()
        self.assertLessEqual(
            self.statuses(), {"UPDATE_COMPLETE", "CREATE_COMPLETE"}
        )
        expected = "1.35.1" if happens else "1.34.2"
        for version, _ in self.machines().values():
            self.assertEqual(expected, version)
        moved = self.row().cluster_template_id == new.uuid
        self.assertEqual(happens, moved)
        images = {each.image_id for each in self.groups().values()}
        self.assertEqual(1, len(images))
        self.assertEqual(base.INTENT_KEYS, self.intent_keys())

    def test_an_upgrade_killed_before_the_lease_does_not_happen(self) -> None:
        self._kill_at(0)

    def test_an_upgrade_killed_in_the_dry_run_does_not_happen(self) -> None:
        self._kill_at(1)

    def test_an_upgrade_killed_before_the_intent_does_not_happen(self) -> None:
        self._kill_at(2)

    def test_an_upgrade_killed_after_the_rows_goes_on(self) -> None:
        self._kill_at(3)

    def _kill_at(self, step: int) -> None:
        verb, kind, after, happens = _KILLS[step]
        new = self.template(image_id="ubuntu-1.35")
        self.management.kill_before(verb, kind, after=after)
        self.killed(new)
        self.assert_ends(new, happens)

    def test_an_upgrade_killed_before_the_rows_goes_on(self) -> None:
        new = self.template(image_id="ubuntu-1.35")
        with self.rows_refuse():
            self.killed(new)
        self.assert_ends(new, happens=True)

    def test_an_upgrade_killed_before_helm_wrote_goes_on(self) -> None:
        new = self.template(image_id="ubuntu-1.35")
        self.helm.outcomes = [fake_helm.Outcome.KILLED]
        self.killed(new)
        # Nobody works on the pending revision any more.
        self.poll()
        self.plane.clock.advance(400)
        self.assert_ends(new, happens=True)

    def test_labels_alone_are_applied_after_a_kill(self) -> None:
        # Nothing that the rows show is different: the desired state says it.
        new = self.template(labels={"api_server_log_level": "5"})
        with self.rows_refuse():
            self.killed(new)
        self.poll()
        self.capi.settle()
        self.poll()
        self.assertEqual({"UPDATE_COMPLETE"}, self.statuses())
        told = self.helm.upgrades[-1].values
        self.assertEqual(5, told["apiServer"]["logLevel"])

    def test_a_helm_that_could_not_is_run_by_a_poll(self) -> None:
        self.helm.outcomes = [fake_helm.Outcome.UNREACHABLE]
        self.upgrade(self.template(image_id="ubuntu-1.35"))
        self.assertEqual({"UPDATE_IN_PROGRESS"}, self.statuses())
        self.poll()
        self.settle()
        self.assertEqual({"UPDATE_COMPLETE"}, self.statuses())

    def test_a_helm_that_never_will_is_a_failed_upgrade(self) -> None:
        self.helm.outcomes = [fake_helm.Outcome.REFUSED] * 2
        self.upgrade(self.template(image_id="ubuntu-1.35"))
        self.poll()
        self.assertEqual("UPDATE_FAILED", self.row().status)
        self.assertIn("webhook denied", self.row().status_reason)
        # A resize to the count there is applies it again.
        self.resize(2)
        self.settle()
        self.assertEqual({"UPDATE_COMPLETE"}, self.statuses())
        self.assertEqual("v1.35.1", self.row().coe_version)
