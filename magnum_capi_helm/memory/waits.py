# SPDX-License-Identifier: Apache-2.0

"""When what failed, or is looked at now and then, is due; by release.

All of it is of one process, and by its own monotonic clock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
import contextlib
import random
import threading
import time

from magnum_capi_helm.management import snapshot


class Backoff:
    """When something that keeps failing may be tried again.

    :param clock: monotonic seconds
    """

    _FIRST = 10.0
    _LONGEST = 300.0

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._next: dict[snapshot.Scope, tuple[float, float]] = {}

    def ready(self, scope: snapshot.Scope) -> bool:
        """Whether the wait since the last failure is over."""
        return self._clock() >= self._next.get(scope, (0.0, 0.0))[0]

    def failed(self, scope: snapshot.Scope) -> None:
        """Wait longer than the last time."""
        pause = self._next.get(scope, (0.0, self._FIRST / 2))[1] * 2
        pause = min(pause, self._LONGEST)
        self._next[scope] = (self._clock() + pause, pause)

    def succeeded(self, scope: snapshot.Scope) -> None:
        """Start afresh."""
        self._next.pop(scope, None)


class Courtesy:
    """Lets in a few at a time, and nobody waits for long.

    Python runs one thread at a time: fifty that compute leave next to
    nothing to the one that answers a user. Who can't get in for too long
    goes on all the same, since what the others wait for may be away.

    :param places: for how many
    :param patience: seconds
    """

    def __init__(self, places: int, patience: float) -> None:
        self._free = threading.Semaphore(places)
        self._patience = patience

    @contextlib.contextmanager
    def turn(self) -> Iterator[None]:
        """Wait for a place, and keep it in the block."""
        placed = self._free.acquire(timeout=self._patience)
        try:
            yield
        finally:
            if placed:
                self._free.release()


class Baton:
    """One release at a time has it.

    :param seconds: after which another one gets it all the same: whoever had
        it may be gone
    :param clock: monotonic seconds
    """

    def __init__(
        self, seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._seconds = seconds
        self._clock = clock
        self._lock = threading.Lock()
        self._holder: snapshot.Scope | None = None
        self._until = 0.0

    def take(self, scope: snapshot.Scope) -> bool:
        """Whether that release gets it now: nobody has it, it neither."""
        with self._lock:
            now = self._clock()
            if self._holder is not None and now < self._until:
                return False
            self._holder, self._until = scope, now + self._seconds
            return True

    def pass_on(self, scope: snapshot.Scope) -> None:
        """That release needs it no more, if it has it."""
        with self._lock:
            if self._holder == scope:
                self._holder = None


class FirstSeen:
    """Since when, on this process's own clock, a thing has looked the same.

    :param clock: monotonic seconds
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seen: dict[snapshot.Scope, tuple[object, float]] = {}

    def age(self, scope: snapshot.Scope, looks: object) -> float:
        """Seconds since it began to look like this."""
        now = self._clock()
        known = self._seen.get(scope)
        if known is None or known[0] != looks:
            self._seen[scope] = (looks, now)
            return 0.0
        return now - known[1]


class Rounds:
    """When something that is looked at now and then is due.

    :param clock: monotonic seconds
    :param spread: a number from 0 to 1: when the first look falls due, so
        that a conductor that starts does not look at everything at once
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        spread: Callable[[], float] = random.random,
    ) -> None:
        self._clock = clock
        self._spread = spread
        self._next: dict[snapshot.Scope, float] = {}

    def due(self, scope: snapshot.Scope, interval: float) -> bool:
        """Whether it is time; the first one comes within ``interval``."""
        first = self._clock() + self._spread() * interval
        return self._clock() >= self._next.setdefault(scope, first)

    def again(self, scope: snapshot.Scope, seconds: float) -> None:
        """It is due in so many seconds; 0: at once."""
        self._next[scope] = self._clock() + seconds
