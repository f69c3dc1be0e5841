# SPDX-License-Identifier: Apache-2.0
"""A conductor dies in the middle of helm, and nobody is to wait for it."""

from __future__ import annotations

import json
import os
import signal
import time
from typing import Any

from lab.chaos import processes
from lab.drills import planes
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import names
from magnum_capi_helm.tests.functional import programs

#: How often it is tried to meet a helm at work.
_TIMES = 8


class UnlockTest(planes.PlaneCase):
    """One cluster; Magnum is killed, and comes back."""

    record = "unlock"

    def test_what_a_dead_conductor_left_is_freed(self) -> None:
        shop = self.made("shop", self.template())
        release = self.release(shop)
        machines = self.machines(shop)
        self.addCleanup(programs.lab, "start", "magnum")
        count = self._killed_at_work(shop, release)
        self.tell(f"shop is resized to {count}; the conductor is killed while")
        self.tell("  helm is at work")
        code, lines = self._unlock(shop)
        self._tells("", code, lines)
        self.assertEqual(
            ["stale", "pending-upgrade"], [each["State"] for each in lines]
        )
        self.assertEqual({"refused"}, {each["Result"] for each in lines})
        self.assertTrue(self._held(release))
        code, lines = self._unlock(shop, "--apply")
        self._tells("--apply", code, lines)
        self.assertEqual({"refused"}, {each["Result"] for each in lines})
        self.assertTrue(self._held(release))
        code, lines = self._unlock(shop, "--apply", "--force")
        self._tells("--apply --force", code, lines)
        self.assertEqual(
            (0, {"freed"}), (code, {each["Result"] for each in lines})
        )
        self.assertFalse(self._held(release))
        code, lines = self._unlock(shop)
        self._tells("", code, lines)
        self.assertEqual((0, ["free"]), (code, [e["State"] for e in lines]))
        self._goes_on(shop, count)
        self.assertLess(machines.items(), self.machines(shop).items())
        self.tell("no machine was replaced")
        self.deleted(shop)

    def _killed_at_work(self, cluster: str, release: str) -> int:
        """To how many nodes it is resized when helm is met."""
        for count in range(2, 2 + _TIMES):
            self.ask(cluster, count)
            if self._met(release):
                _kill(release)
                programs.lab("stop", "magnum", "--kill")
                if self._pending(release):
                    return count
                programs.lab("start", "magnum")
            self.until_status(cluster, ("UPDATE_COMPLETE",))
        raise AssertionError("no helm was met at work")

    def _met(self, release: str) -> bool:
        until = time.monotonic() + 30
        while time.monotonic() < until:
            if self._pending(release):
                return True
            time.sleep(0.05)
        return False

    def _pending(self, release: str) -> bool:
        selector = f"owner=helm,name={release},status=pending-upgrade"
        found = self.plane.list(
            kinds.SECRET, self.namespace, selector, metadata_only=True
        )
        return bool(found)

    def _held(self, release: str) -> bool:
        name = names.lease(release)
        found: Any = self.plane.get(kinds.LEASE, self.namespace, name)
        return bool(found["spec"].get("holderIdentity"))

    def _unlock(
        self, cluster: str, *words: str
    ) -> tuple[int, list[dict[str, str]]]:
        """Exit code and lines."""
        done = programs.completed(
            "cluster", "unlock", cluster, *words, "-f", "json"
        )
        self._said = done.stderr.strip().splitlines()
        self.assertTrue(done.stdout, done.stderr)
        return done.returncode, json.loads(done.stdout)

    def _tells(
        self, words: str, code: int, lines: list[dict[str, str]]
    ) -> None:
        self.tell(f"$ magnum-capi-helm cluster unlock shop {words}".rstrip())
        for each in self._said:
            if "audit:" not in each:
                self.tell(f"  {each}")
        for line in lines:
            by = (
                "the conductor"
                if line["By"] not in ("", "helm")
                else line["By"]
            )
            shown = (line["What"], line["State"], by, line["Result"])
            self.tell(f"  {' | '.join(filter(None, shown))}")
        self.tell(f"  (exit code {code})")

    def _goes_on(self, cluster: str, count: int) -> None:
        programs.lab("start", "magnum")
        self.tell("Magnum starts again")
        row = self.until_status(cluster, ("UPDATE_COMPLETE", "UPDATE_FAILED"))
        self.assertEqual("UPDATE_COMPLETE", row["status"], str(row))
        self.assertEqual(count + 1, len(self.machines(cluster)))
        self.tell(f"shop is UPDATE_COMPLETE, with {count} workers")


def _kill(release: str) -> None:
    """As when the power fails: helm, too, has no time to say that it failed.

    Told to end, as it is when its conductor dies alone, it would say so.
    """
    record = (programs.LAB / "run" / "magnum.pid").read_text()
    conductor = int(record.split()[0])
    os.kill(conductor, signal.SIGSTOP)
    for helm in processes.helms(release):
        os.kill(helm, signal.SIGKILL)
    os.kill(conductor, signal.SIGKILL)
