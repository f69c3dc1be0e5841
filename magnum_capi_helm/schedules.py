# SPDX-License-Identifier: Apache-2.0

"""When work for a release is due, and results that polls reuse.

All of it is in the memory of one process and measured by its own clock.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
import math
import random
import time
from typing import Generic, TypeAlias, TypeVar

from magnum_capi_helm.kubernetes import location

Scope: TypeAlias = location.Scope
T = TypeVar("T")


class _Kept(Generic[T]):
    """One value for each release.

    :param clock: monotonic seconds
    :param spread: a number from 0 to 1
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        spread: Callable[[], float] = random.random,
    ) -> None:
        self._clock = clock
        self._spread = spread
        self._kept: dict[Scope, T] = {}

    def forget(self, scope: Scope) -> None:
        """Drop the value of a release."""
        self._kept.pop(scope, None)


class Backoff(_Kept[tuple[float, float]]):
    """Pauses between tries of something that keeps failing.

    The end of a pause is kept, and its length.
    """

    _FIRST = 10.0
    _LONGEST = 300.0

    def is_over(self, scope: Scope) -> bool:
        """Return whether the pause after the last failure is over."""
        return self._clock() >= self._kept.get(scope, (0.0, 0.0))[0]

    def record_failure(self, scope: Scope) -> None:
        """Begin a pause, twice as long as the one before."""
        _, before = self._kept.get(scope, (0.0, self._FIRST / 2))
        pause = min(before * 2, self._LONGEST)
        self._kept[scope] = (self._clock() + pause, pause)


class AgeTracker(_Kept[dict[str, tuple[object, float]]]):
    """Tracks for how long properties of releases have been the same."""

    def age(self, scope: Scope, name: str, value: object) -> float:
        """Return the seconds since a property got this value."""
        now = self._clock()
        properties = self._kept.setdefault(scope, {})
        before, since = properties.get(name, (None, now))
        if name not in properties or before != value:
            properties[name] = (value, now)
            return 0.0
        return now - since

    def restart(self, scope: Scope, name: str) -> None:
        """Forget since when a property has its value."""
        self._kept.get(scope, {}).pop(name, None)


class Schedule(_Kept[float]):
    """When a periodic check of a release is due.

    The first checks are spread: a conductor that starts does not check all
    releases at once.
    """

    def is_due(self, scope: Scope, interval: float) -> bool:
        """Return whether it is due; the first one is within ``interval``."""
        first = self._clock() + self._spread() * interval
        return self._clock() >= self._kept.setdefault(scope, first)

    def set_due(self, scope: Scope, seconds: float) -> None:
        """Make the check due in so many seconds; 0: at once."""
        self._kept[scope] = self._clock() + seconds


class PollCache(_Kept[tuple[Hashable, float, T]], Generic[T]):
    """Results of polls, by release, while nothing has changed.

    Most polls have the result of the poll before. While neither an object nor
    the cluster's row has changed, there is nothing to judge, to read from the
    database or to write: a round of polls of 500 clusters takes 0.2 s of CPU
    instead of 6 s. Entries expire: rows of nodegroups may have changed,
    and some verdicts depend on the time.

    :param seconds: average life of an entry; those of many clusters do not
        expire together
    :param clock: monotonic seconds
    :param spread: a number from 0 to 1
    """

    def __init__(
        self,
        seconds: float,
        clock: Callable[[], float] = time.monotonic,
        spread: Callable[[], float] = random.random,
    ) -> None:
        super().__init__(clock, spread)
        self._seconds = seconds

    def get(self, scope: Scope, version: Hashable) -> T | None:
        """Return the result for this version of the facts, or None."""
        entry = self._kept.get(scope)
        if entry is None or entry[0] != version or self._clock() >= entry[1]:
            return None
        return entry[2]

    def has(self, scope: Scope) -> bool:
        """Return whether there is an entry for a release."""
        return scope in self._kept

    def put(
        self,
        scope: Scope,
        version: Hashable,
        result: T,
        at_most: float = math.inf,
    ) -> None:
        """Keep a result.

        :param at_most: seconds after which time alone changes the result
        """
        seconds = min(self._seconds * (0.5 + self._spread()), at_most)
        self._kept[scope] = (version, self._clock() + seconds, result)
