# SPDX-License-Identifier: Apache-2.0

"""When this process could not read the management cluster.

What an operation may take is counted in time in which it can go on, and be
seen to go on. Each reading of the polls says here whether it got an answer.
A conductor that is started during an outage knows of the rest of it, and one
that is started after it of nothing: so each has to watch for a while before
it calls anything late.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
import time
from typing import TypeVar

from magnum_capi_helm.management import snapshot
from magnum_capi_helm.model import errors

S = TypeVar("S")

#: Outages that are remembered: more than one operation outlives.
_REMEMBERED = 50
#: Seconds that a process watches before it calls anything late.
_WATCH = 600.0


class Outages:
    """From the first reading that failed to the first that did not.

    :param clock: seconds since 1970, to be compared with those of objects
    :param steady: monotonic seconds
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.time,
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock = clock
        self._steady = steady
        #: Monotonic seconds of the first answer.
        self._watching: float | None = None
        self._since: float | None = None
        self._over: list[tuple[float, float]] = []

    def began(self, at: float | None = None) -> None:
        """A reading failed; it began ``at``, by default now."""
        if self._since is None:
            self._since = self._clock() if at is None else at

    def ended(self) -> None:
        """A reading got its answer."""
        self.watching()
        since, self._since = self._since, None
        if since is not None:
            over = [*self._over, (since, self._clock())]
            self._over = over[-_REMEMBERED:]

    def watching(self, since: float | None = None) -> float:
        """For how many seconds it has been watched; it answers now.

        :param since: monotonic seconds; where this is the first answer: when
            it came, by default now
        """
        now = self._steady()
        if self._watching is None:
            self._watching = now if since is None else since
        return now - self._watching

    def unwatched(self, limit: float) -> float:
        """Seconds for which this process calls nothing late yet.

        :param limit: seconds that the operation may take
        """
        return min(_WATCH, limit) - self.watching()

    def spans(self, now: float) -> tuple[tuple[float, float], ...]:
        """When it could not be read, up to ``now``."""
        since = self._since
        present = () if since is None else ((since, now),)
        return (*self._over, *present)

    def watched(self, read: snapshot.Read[S]) -> snapshot.Read[S]:
        """The same reading, which says whether it got an answer."""

        def watched(
            scopes: Collection[snapshot.Scope],
            fresh: bool,
            known: Mapping[snapshot.Scope, S],
        ) -> Mapping[snapshot.Scope, S]:
            at = self._clock()
            try:
                found = read(scopes, fresh, known)
            except errors.ManagementUnreachable:
                self.began(at)
                raise
            self.ended()
            return found

        return watched
