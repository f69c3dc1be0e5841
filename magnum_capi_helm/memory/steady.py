# SPDX-License-Identifier: Apache-2.0

"""What polls found of clusters that have not changed since.

Most polls find what the one before found. While neither an object nor the
cluster's row is another one, there is nothing to judge, to read from the
database or to write. That is not believed for ever: rows of nodegroups may
have changed, and some things are a matter of time.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
import math
import random
import threading
import time
from typing import Generic, TypeVar

from magnum_capi_helm.management import snapshot

T = TypeVar("T")


class Steady(Generic[T]):
    """What was found, by release.

    :param seconds: for which it is believed, on average: those of many
        clusters do not end together
    :param clock: monotonic seconds
    :param spread: a number from 0 to 1
    """

    def __init__(
        self,
        seconds: float,
        clock: Callable[[], float] = time.monotonic,
        spread: Callable[[], float] = random.random,
    ) -> None:
        self._seconds = seconds
        self._clock = clock
        self._spread = spread
        self._lock = threading.Lock()
        self._found: dict[snapshot.Scope, tuple[Hashable, float, T]] = {}
        self._sweep = 0.0

    def recall(self, scope: snapshot.Scope, looks: Hashable) -> T | None:
        """What was found when it looked like this, or None."""
        known = self._found.get(scope)
        if known is None or known[0] != looks or self._clock() >= known[1]:
            return None
        return known[2]

    def knows(self, scope: snapshot.Scope) -> bool:
        """Whether there is anything to recall."""
        return scope in self._found

    def keep(
        self,
        scope: snapshot.Scope,
        looks: Hashable,
        found: T,
        at_most: float = math.inf,
    ) -> None:
        """Remember what was found.

        :param at_most: seconds, where time alone will change it
        """
        seconds = self._seconds * (0.5 + self._spread())
        until = self._clock() + min(seconds, at_most)
        with self._lock:
            self._found[scope] = (looks, until, found)
            if self._clock() >= self._sweep:
                self._drop_old()

    def forget(self, scope: snapshot.Scope) -> None:
        """Look again: somebody here is about to change something."""
        with self._lock:
            self._found.pop(scope, None)

    def _drop_old(self) -> None:
        """Clusters that are gone are not asked for again."""
        now = self._clock()
        self._sweep = now + self._seconds
        self._found = {
            scope: known
            for scope, known in self._found.items()
            if now < known[1]
        }
