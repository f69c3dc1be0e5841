# SPDX-License-Identifier: Apache-2.0

"""A whole fleet, while Magnum's kubeconfig names an empty cluster."""

from __future__ import annotations

import time
from typing import Any

from lab.drills import fleet
from magnum_capi_helm.kubernetes import client
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.tests.functional import elsewhere

_COUNT, _BATCH = fleet.size(10), 5
#: Seconds: several polls of each kind.
_LONG = 90
_DONE = ("CREATE_COMPLETE", "CREATE_FAILED")
_UPDATED = ("UPDATE_COMPLETE", "UPDATE_FAILED")


class ElsewhereTest(elsewhere.ElsewhereCase, fleet.FleetCase):
    """Ten clusters, and a mistake in one line of magnum.conf."""

    record = "elsewhere"

    def test_a_mistake_costs_nothing(self) -> None:
        named = [f"fleet-{number:02}" for number in range(1, _COUNT + 1)]
        template = self.template()
        self.make(named, template, _BATCH)
        self.until_all("health_status", "HEALTHY", 180)
        self.before = self.machines()
        self.tell(f"{_COUNT} clusters, {len(self.before)} machines: HEALTHY")
        other = self.another_one()
        self.tell("kubeconfig_file names an empty management cluster")
        self._nothing_changes()
        self._commands_say_it()
        self._create_is_refused(template)
        self._resize_waits(named[1])
        self._deletion_waits(named[-1])
        self._assert_empty(other)
        self.reset()
        self.tell("kubeconfig_file names the right one again")
        self._all_is_as_before(named[1], named[-1])

    def _nothing_changes(self) -> None:
        """Not a status, for several polls."""
        before = self.column("status")
        self.until_all("health_status", "UNKNOWN", 180)
        until = time.monotonic() + _LONG
        while time.monotonic() < until:
            self.assertEqual(before, self.column("status"))
            time.sleep(5)
        for name, reason in self.column("health_status_reason").items():
            self.assertIn(elsewhere.FOREIGN, str(reason), name)
        self.tell(
            f"  {_LONG} s later: {_COUNT} x {before[next(iter(before))]}, "
            f"health UNKNOWN: {elsewhere.FOREIGN} ..."
        )

    def _commands_say_it(self) -> None:
        said = self.typed("list", code=1)
        self.assertEqual(set(self.fleet), set(said.of("Name")))
        said = self.typed("management-cluster", "accept", "--all", code=1)
        self.assertEqual({"refused"}, set(said.of("Result").values()))

    def _create_is_refused(self, template: str) -> None:
        made = self.cluster(template, name="fleet-new")
        found = self.until_status(made, _DONE)
        self._tell_row("a create", found)
        self.assertEqual("CREATE_FAILED", found["status"])
        self.assertEqual([], self.credentials_of(made))
        self.delete(made)
        self.tell("  the cluster that failed can be deleted there")

    def _resize_waits(self, name: str) -> None:
        path = f"/clusters/{self.fleet[name]}/actions/resize"
        self.magnum.call("POST", path, {"node_count": 2})
        found = self._until_told(name)
        self._tell_row("a resize to 2", found)
        self.assertEqual("UPDATE_IN_PROGRESS", found["status"])

    def _deletion_waits(self, name: str) -> None:
        self.magnum.call("DELETE", f"/clusters/{self.fleet[name]}")
        found = self._until_told(name)
        self._tell_row("a deletion", found)
        self.assertEqual("DELETE_IN_PROGRESS", found["status"])
        self.assertEqual(1, len(self.credentials_of(self.fleet[name])))

    def _until_told(self, name: str) -> dict[str, Any]:
        def told() -> dict[str, Any] | None:
            found = self.row(name)
            reason = str(found["status_reason"])
            return found if elsewhere.FOREIGN in reason else None

        found: dict[str, Any] = self.until(
            told, 180, lambda: str(self.row(name))
        )
        return found

    def _tell_row(self, what: str, row: dict[str, Any]) -> None:
        told = filter(None, (what, row["status"], row["status_reason"]))
        self.tell(f"  {': '.join(told)}")

    def _assert_empty(self, other: client.Client) -> None:
        for kind in (kinds.SECRET, kinds.LEASE):
            found = other.list(kind, self.namespace)
            self.assertEqual([], found, kind.name)
        namespace = other.get(kinds.NAMESPACE, "", self.namespace)
        self.assertIsNone(namespace)
        self.tell("  nothing was made on the empty one, not a namespace")

    def _all_is_as_before(self, resized: str, deleted: str) -> None:
        release = self.release.pop(deleted)
        uuid = self.fleet.pop(deleted)
        self.delete(uuid)
        self.assertEqual([], self.left_of(release))
        self.assertEqual([], self.credentials_of(uuid))
        self.tell("  the deletion is done, nothing is left of that one")
        found = self.until_status(self.fleet[resized], _UPDATED)
        self._tell_row("the resize", found)
        self.assertEqual("UPDATE_COMPLETE", found["status"])
        self.until_all("health_status", "HEALTHY", 300)
        self.tell(f"  {len(self.fleet)} x HEALTHY")
        stayed = {u: r for u, r in self.before.items() if r != release}
        now = self.machines()
        self.assertEqual(stayed, {u: now.get(u) for u in stayed})
        (new,) = now.keys() - stayed.keys()
        self.assertEqual(self.release[resized], now[new])
        self.tell(
            f"  the {len(stayed)} machines are the same, and the one of the "
            "resize is beside them"
        )
