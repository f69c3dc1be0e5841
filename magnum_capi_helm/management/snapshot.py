# SPDX-License-Identifier: Apache-2.0

"""Looks at releases, shared by all polls of a process.

A caller says how fresh a look it needs (``not_before``, on the monotonic
clock); the age of a look counts from the *start* of its reading. One reading
is under way at a time. Who asks meanwhile, and can't take what it began too
early for, waits for the next one, which all that wait share. A reading that
fails, fails once for all of them; nobody takes a stale look for it.

Polls come in tides: a conductor asks for all its clusters every so many
seconds, over the seconds that Magnum needs to start its threads. So who asks
first reads for all that asked the last time.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
import dataclasses
import threading
import time
from typing import Generic, TypeAlias, TypeVar

from magnum_capi_helm.model import errors

#: Namespace and release.
Scope: TypeAlias = tuple[str, str]
S = TypeVar("S")
_Error: TypeAlias = errors.CapiHelmError
#: Reads some releases: whether it must be fresh, and what is known of them.
Read: TypeAlias = Callable[
    [Collection[Scope], bool, Mapping[Scope, S]], Mapping[Scope, S]
]

#: Seconds for which polls may share a look when they ask for no fresh one.
MAX_AGE = 2.0
#: Of a look that took long: so many times as long as that, up to a limit.
#: So looking takes a fifth of the time at most.
_AGE_FOR_COST = 4.0
_LONGEST = 10.0
#: Seconds for which who asked is expected to ask again.
AGAIN = 90.0
#: Seconds in which the first callers of a tide come together.
GATHERING = 0.01
ANY = float("-inf")


@dataclasses.dataclass
class _Reading(Generic[S]):
    """One reading: being prepared, under way, or done."""

    after: _Reading[S] | None
    scopes: set[Scope] = dataclasses.field(default_factory=set)
    done: threading.Event = dataclasses.field(default_factory=threading.Event)
    started: float = 0.0
    seen: Mapping[Scope, S] = dataclasses.field(default_factory=dict)
    error: _Error | None = None

    def serves(self, scope: Scope, wanted: float) -> bool:
        """Whether who asks now may wait for it: it did not fail, either."""
        return (
            self.started >= wanted
            and scope in self.scopes
            and not self.done.is_set()
        )


@dataclasses.dataclass(frozen=True)
class _Seen(Generic[S]):
    """A look that others may share."""

    started: float
    fresh: bool
    look: S

    def serves(self, wanted: float, fresh: bool) -> bool:
        """Whether it is young enough; only a fresh one is for who writes.

        Others may come from the memory of an API server that is behind.
        """
        return self.started >= wanted and (self.fresh or not fresh)


@dataclasses.dataclass
class _Lane(Generic[S]):
    """Readings one after the other."""

    latest: _Reading[S] | None = None
    next: _Reading[S] | None = None


class Snapshots(Generic[S]):
    """Readings of releases on one management cluster.

    :param read: :mod:`magnum_capi_helm.management.observation`
    :param clock: monotonic seconds
    :param max_age: seconds; 0: whoever asks later reads again
    :param again: seconds within which who asked is expected to ask again
    :param gathering: seconds
    """

    def __init__(
        self,
        read: Read[S],
        clock: Callable[[], float] = time.monotonic,
        max_age: float = MAX_AGE,
        again: float = AGAIN,
        gathering: float = GATHERING,
    ) -> None:
        self._read = read
        self._clock = clock
        self._max_age = self._age = max_age
        self._again = again
        self._gathering = gathering
        self._lock = threading.Lock()
        # Who needs a fresh look has no time for a reading of everything.
        self._fresh, self._usual = _Lane[S](), _Lane[S]()
        self._seen: dict[Scope, _Seen[S]] = {}
        self._failed: dict[Scope, tuple[float, _Error]] = {}
        self._asked: dict[Scope, float] = {}
        #: When the last usual reading began that did not fail; so far, when
        #: the first one could have.
        self.good = clock()
        #: When the last usual reading began, failed or not; None: none did.
        self.tried: float | None = None

    def get(self, scope: Scope, *, not_before: float = ANY) -> S:
        """A look whose reading started at ``not_before`` or later.

        :raises CapiHelmError: the reading failed; there is no look
        """
        fresh = not_before > ANY
        now = self._clock()
        wanted = max(now - self._age, not_before)
        while True:
            with self._lock:
                if not fresh:
                    self._asked[scope] = now
                found = self._seen.get(scope)
                if found is not None and found.serves(wanted, fresh):
                    return found.look
                self._refuse(scope, max(now - self._max_age, not_before))
                reading, mine = self._join(scope, wanted, fresh)
            if mine:
                self._fill(reading, fresh)
            reading.done.wait()
            if reading.started >= wanted:
                return _result(reading, scope)

    def forget(self, scope: Scope) -> None:
        """Drop what is known of a release that is gone."""
        with self._lock:
            self._seen.pop(scope, None)
            self._asked.pop(scope, None)
            self._failed.pop(scope, None)

    def _refuse(self, scope: Scope, wanted: float) -> None:
        """Fail as others just did: their reading is not tried at once again.

        :raises CapiHelmError: it failed at ``wanted`` or later
        """
        failed = self._failed.get(scope)
        if failed is not None and failed[0] >= wanted:
            raise failed[1].with_traceback(None)

    def _join(
        self, scope: Scope, wanted: float, fresh: bool
    ) -> tuple[_Reading[S], bool]:
        """The reading to wait for, and whether the caller has to do it."""
        lane = self._fresh if fresh else self._usual
        latest = lane.latest
        if latest is not None and latest.serves(scope, wanted):
            return latest, False
        mine = lane.next is None
        reading = lane.next or _Reading(lane.latest)
        reading.scopes.add(scope)
        lane.next = reading
        return reading, mine

    def _begin(
        self, reading: _Reading[S], lane: _Lane[S], fresh: bool
    ) -> dict[Scope, S]:
        """Close a reading for who comes later; what is known so far."""
        with self._lock:
            lane.latest, lane.next, reading.after = reading, None, None
            reading.started = now = self._clock()
            if not fresh:
                self.tried = now
                self._asked = {
                    scope: asked
                    for scope, asked in self._asked.items()
                    if now - asked < self._again
                }
                reading.scopes |= self._asked.keys()
            return {
                scope: self._seen[scope].look
                for scope in reading.scopes & self._seen.keys()
            }

    def _fill(self, reading: _Reading[S], fresh: bool) -> None:
        lane = self._fresh if fresh else self._usual
        try:
            if reading.after is not None:
                reading.after.done.wait()
            if not fresh:
                time.sleep(self._gathering)
            known = self._begin(reading, lane, fresh)
            reading.seen = self._read(reading.scopes, fresh, known)
            self._keep(reading, fresh)
        except errors.CapiHelmError as error:
            self._fail(reading, error)
        except BaseException as error:
            why = f"reading releases broke off: {type(error).__name__}"
            self._fail(reading, errors.ManagementError(why))
            raise
        finally:
            with self._lock:
                if lane.next is reading:
                    lane.next = None
            reading.done.set()

    def _fail(self, reading: _Reading[S], error: _Error) -> None:
        reading.error = error
        with self._lock:
            # What is known stays known, but is no answer.
            self._failed |= {
                scope: (reading.started, error) for scope in reading.scopes
            }

    def _keep(self, reading: _Reading[S], fresh: bool) -> None:
        with self._lock:
            if not fresh:
                self.good = reading.started
                took = self._clock() - reading.started
                if self._max_age:
                    age = max(self._max_age, took * _AGE_FOR_COST)
                    self._age = max(self._max_age, min(age, _LONGEST))
                self._seen = {
                    scope: found
                    for scope, found in self._seen.items()
                    if reading.started - found.started < self._again
                }
            for scope, seen in reading.seen.items():
                # Of two lanes, a later reading may be done earlier.
                found = self._seen.get(scope)
                if found is None or found.started <= reading.started:
                    self._seen[scope] = _Seen(reading.started, fresh, seen)
                self._failed.pop(scope, None)


def _result(reading: _Reading[S], scope: Scope) -> S:
    if reading.error is not None:
        raise reading.error.with_traceback(None)
    return reading.seen[scope]
