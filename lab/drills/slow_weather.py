# SPDX-License-Identifier: Apache-2.0
"""Controllers that are frozen, slow, killed or held, one after the other."""

from __future__ import annotations

import collections
import random
import time

from lab.chaos import processes
from lab.drills import moments
from magnum_capi_helm.tests.functional import beside
from magnum_capi_helm.tests.functional import programs

#: Seconds of a fault, and between two.
_LONG, _CALM = (2.0, 20.0), (2.0, 12.0)
#: Seconds in which a slow controller runs and stands.
_RUNS, _STANDS = 0.1, 0.6


class Weather(beside.Beside):
    """Half of the faults begin when a helm has just ended.

    :param dice: what decides
    """

    def __init__(self, dice: random.Random, world: moments.World) -> None:
        super().__init__(0)
        self._dice, self._world = dice, world
        self.seen: collections.Counter[str] = collections.Counter()
        self.problem: Exception | None = None

    def look(self) -> bool:
        """Make the next fault."""
        kinds = {
            self._freeze: 6,
            self._slow: 4,
            self._hold: 4,
            self._kill: 1,
        }
        (fault,) = self._dice.choices([*kinds], [*kinds.values()])
        self._over.wait(self._dice.uniform(*_CALM))
        if self._dice.random() < 0.5:
            self._await_helm()
        try:
            fault(self._dice.uniform(*_LONG))
        except Exception as problem:
            self.problem = problem
            return False
        return True

    def _await_helm(self) -> None:
        """Return up to a second after the end of a helm."""
        known: set[int] = set()
        over = time.monotonic() + 15
        while time.monotonic() < over and not self._over.wait(0.4):
            now = set(processes.helms(str(programs.LAB)))
            if known - now:
                self.seen["(just after a helm)"] += 1
                self._over.wait(self._dice.uniform(0, 1))
                return
            known = now

    def _chosen(self, word: str) -> list[str]:
        count = self._dice.choice((1, 1, 2, 4))
        found = self._dice.sample(moments.MANAGERS, count)
        self.seen.update(f"{each} {word}" for each in found)
        return found

    def _freeze(self, seconds: float) -> None:
        found = self._chosen("frozen")
        for each in found:
            self._world.stop(each)
        self._over.wait(seconds)
        for each in found:
            self._world.go_on(each)

    def _slow(self, seconds: float) -> None:
        found = self._chosen("slow")
        over = time.monotonic() + seconds
        while time.monotonic() < over:
            for each in found:
                self._world.stop(each)
            self._over.wait(_STANDS)
            for each in found:
                self._world.go_on(each)
            time.sleep(_RUNS)

    def _hold(self, seconds: float) -> None:
        self.seen["addon provider frozen"] += 1
        moments.hold_addons(seconds)
        self._over.wait(seconds / 2)

    def _kill(self, seconds: float) -> None:
        name = self._dice.choice(moments.MANAGERS)
        self.seen[f"{name} killed"] += 1
        self._world.kill(name)
        self._over.wait(seconds / 2)
        programs.lab("start", name)
