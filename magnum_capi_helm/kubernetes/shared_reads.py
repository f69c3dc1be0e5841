# SPDX-License-Identifier: Apache-2.0

"""Share reads of the management cluster between polls.

Without this, 500 clusters take 2,000 requests and 4 seconds of CPU in each
round of health polls.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
import dataclasses
import threading
import time
from typing import Generic, TypeAlias, TypeVar, cast

from magnum_capi_helm.kubernetes import location
from magnum_capi_helm.model import errors

Scope: TypeAlias = location.Scope
T = TypeVar("T")
#: Reads some releases: scopes, whether it must be fresh, earlier results.
Read: TypeAlias = Callable[
    [Collection[Scope], bool, Mapping[Scope, T]], Mapping[Scope, T]
]

#: A read that took long is shared for so many times its duration, up to a
#: limit: Magnum needs ten seconds and more to start the polls of 500 clusters,
#: and watches take two or three.
_AGE_FOR_DURATION = 4.0
_LONGEST_AGE = 10.0
#: Seconds for which a read for polls waits for the other polls of a burst.
#: Without it the first poll reads for itself alone, and 500 clusters in
#: progress take 30 requests and a second of CPU instead of 7 and 0.1.
GATHERING = 0.01


@dataclasses.dataclass(frozen=True)
class _Outcome(Generic[T]):
    """The result of a read for one release, or the error of the read."""

    started: float
    value: T | None = None
    error: errors.CapiHelmError | None = None

    def result(self) -> T:
        if self.error is not None:
            raise self.error.with_traceback(None)
        return cast("T", self.value)


class SharedReads(Generic[T]):
    """Reads of one management cluster, shared by all polls of a process.

    Magnum polls all clusters in bursts: a conductor starts a thread for each
    cluster every so many seconds. The first poll of a burst reads for all
    clusters that were polled lately; the others wait and use the same read.
    Its age counts from its start. A read that fails, fails once for all of
    them; an older result never replaces it.

    :param read: ``reads.Reader.read``
    :param max_age: seconds for which a read is shared, if it was fast; 0: it
        is not shared with later polls
    :param again: seconds within which a polled cluster is polled again
    :param clock: monotonic seconds
    :param gathering: seconds that a read waits for more polls
    """

    def __init__(
        self,
        read: Read[T],
        max_age: float,
        again: float,
        clock: Callable[[], float] = time.monotonic,
        gathering: float = GATHERING,
    ) -> None:
        self._read = read
        self._clock = clock
        self._max_age = self._age = max_age
        self._again = again
        self._gathering = gathering
        self._lock = threading.Lock()
        #: Held during a read: there is one at a time.
        self._reading = threading.Lock()
        self._results: dict[Scope, _Outcome[T]] = {}
        self._failures: dict[Scope, _Outcome[T]] = {}
        #: When each release was polled last.
        self._polled: dict[Scope, float] = {}
        #: Start of the last read for polls that did not fail, in seconds
        #: since 1970; until there is one: start of the first read.
        self.last_success: float | None = None
        #: Start of the last read for polls.
        self.last_attempt: float | None = None

    def get(self, scope: Scope) -> T:
        """Return a read that is young enough for a poll.

        :raises CapiHelmError: the read failed
        """
        now = self._clock()
        with self._lock:
            self._polled[scope] = now
            outcome = self._find(scope, now)
        if outcome is None:
            with self._reading:
                with self._lock:
                    outcome = self._find(scope, now)
                outcome = outcome or self._read_all(scope)
        return outcome.result()

    def read(self, scope: Scope) -> T:
        """Read one release now, and not from the API server's cache.

        :raises CapiHelmError: the read failed
        """
        started = self._clock()
        with self._lock:
            before = self._before({scope})
        values = self._read({scope}, True, before)
        return self._keep(started, values)[scope].result()

    def forget(self, scope: Scope) -> None:
        """Drop the results of a release that is gone."""
        with self._lock:
            self._results.pop(scope, None)
            self._failures.pop(scope, None)
            self._polled.pop(scope, None)

    def _find(self, scope: Scope, now: float) -> _Outcome[T] | None:
        """Return an outcome that is young enough, if need be a failure."""
        for outcome, age in (
            (self._results.get(scope), self._age),
            (self._failures.get(scope), self._max_age),
        ):
            if outcome is not None and outcome.started >= now - age:
                return outcome
        return None

    def _read_all(self, scope: Scope) -> _Outcome[T]:
        """Read for all polls of a burst."""
        time.sleep(self._gathering)
        with self._lock:
            started = self._clock()
            self.last_attempt = time.time()
            self.last_success = self.last_success or self.last_attempt
            self._drop_old(started)
            scopes = self._polled.keys() | {scope}
            before = self._before(scopes)
        try:
            values = self._read(scopes, False, before)
        except BaseException as error:
            outcome = _Outcome[T](started, error=_as_failure(error))
            with self._lock:
                self._failures |= dict.fromkeys(scopes, outcome)
            raise
        self.last_success = self.last_attempt
        if self._max_age:
            age = (self._clock() - started) * _AGE_FOR_DURATION
            self._age = max(self._max_age, min(age, _LONGEST_AGE))
        return self._keep(started, values)[scope]

    def _before(self, scopes: Collection[Scope]) -> dict[Scope, T]:
        """Return the results of earlier reads."""
        return {
            scope: self._results[scope].result()
            for scope in scopes
            if scope in self._results
        }

    def _keep(
        self, started: float, values: Mapping[Scope, T]
    ) -> dict[Scope, _Outcome[T]]:
        outcomes = {
            scope: _Outcome(started, value) for scope, value in values.items()
        }
        with self._lock:
            for scope, outcome in outcomes.items():
                # A read of one release may overtake a read of all.
                before = self._results.get(scope)
                if before is None or before.started <= started:
                    self._results[scope] = outcome
                self._failures.pop(scope, None)
        return outcomes

    def _drop_old(self, now: float) -> None:
        oldest = now - self._again
        self._polled = {
            scope: moment
            for scope, moment in self._polled.items()
            if moment > oldest
        }
        self._results = {
            scope: result
            for scope, result in self._results.items()
            if result.started > oldest
        }


def _as_failure(error: BaseException) -> errors.CapiHelmError:
    """Return the error for the callers that waited for the read."""
    if isinstance(error, errors.CapiHelmError):
        return error
    why = type(error).__name__
    return errors.ManagementError(f"reading releases broke off: {why}")
