# SPDX-License-Identifier: Apache-2.0

"""Share reads of the management cluster between polls."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
import dataclasses
import functools
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

#: Seconds for which polls share a read. Following many releases takes one, and
#: Magnum needs some to start the polls of all clusters.
MAX_AGE = 4.0
#: Seconds within which a cluster that was polled is expected to be polled
#: again.
AGAIN = 90.0
#: Seconds for which a read for polls waits for the other polls of a burst.
GATHERING = 0.01
ANY = float("-inf")


@dataclasses.dataclass(frozen=True)
class _Outcome(Generic[T]):
    """The result of a read for one release, or the error of the read."""

    started: float
    fresh: bool
    value: T | None = None
    error: errors.CapiHelmError | None = None

    def result(self) -> T:
        if self.error is not None:
            raise self.error.with_traceback(None)
        return cast("T", self.value)


@dataclasses.dataclass
class _Queue:
    """Callers that wait for a read: one read is under way at a time."""

    turn: threading.Lock = dataclasses.field(default_factory=threading.Lock)
    waiting: set[Scope] = dataclasses.field(default_factory=set)


class SharedReads(Generic[T]):
    """Reads of one management cluster, shared by all polls of a process.

    A caller gives the oldest read that it accepts (``not_before``, on the
    monotonic clock); the age of a read counts from its start. A caller that
    needs a newer one waits until the read under way has ended; the next read
    is for all callers that wait. A read that fails, fails once for all of
    them; an older result never replaces it.

    Magnum polls all clusters in bursts: a conductor starts a thread for each
    cluster every so many seconds. The first poll of a burst therefore reads
    for all clusters of the burst before.

    :param read: ``reads.Reader.read``
    :param clock: monotonic seconds
    :param max_age: seconds; 0: later callers read again
    :param again: seconds within which a polled cluster is polled again
    :param gathering: seconds that a read for polls waits for more of them
    """

    def __init__(
        self,
        read: Read[T],
        clock: Callable[[], float] = time.monotonic,
        max_age: float = MAX_AGE,
        again: float = AGAIN,
        gathering: float = GATHERING,
    ) -> None:
        self._read = read
        self._clock = clock
        self._max_age = max_age
        self._again = again
        self._gathering = gathering
        self._lock = threading.Lock()
        # A caller that needs a fresh read does not wait for all clusters.
        self._queues = {False: _Queue(), True: _Queue()}
        self._results: dict[Scope, _Outcome[T]] = {}
        self._failures: dict[Scope, _Outcome[T]] = {}
        self._polled: dict[Scope, float] = {}
        #: Start of the last read for polls that did not fail, in seconds
        #: since 1970; until there is one: start of the first read.
        self.last_success: float | None = None
        #: Start of the last read for polls.
        self.last_attempt: float | None = None

    def get(self, scope: Scope, *, not_before: float = ANY) -> T:
        """Return a read that started at ``not_before`` or later.

        :param not_before: monotonic seconds. If it is given, the read is
            fresh: it does not come from the API server's cache.
        :raises CapiHelmError: the read failed
        """
        fresh = not_before > ANY
        now = self._clock()
        queue = self._queues[fresh]
        oldest = max(now - self._max_age, not_before)
        find = functools.partial(self._find, scope, fresh, oldest)
        with self._lock:
            if not fresh:
                self._polled[scope] = now
            outcome = find()
            if outcome is None:
                queue.waiting.add(scope)
        if outcome is None:
            with queue.turn:
                with self._lock:
                    outcome = find()
                outcome = outcome or self._read_all(queue, scope, fresh)
        return outcome.result()

    def forget(self, scope: Scope) -> None:
        """Drop the results of a release that is gone."""
        with self._lock:
            self._results.pop(scope, None)
            self._failures.pop(scope, None)
            self._polled.pop(scope, None)

    def _find(
        self, scope: Scope, fresh: bool, oldest: float
    ) -> _Outcome[T] | None:
        """Return an outcome that is young enough, a failure if need be."""
        for outcome in (self._results.get(scope), self._failures.get(scope)):
            if (
                outcome is not None
                and outcome.started >= oldest
                and (outcome.fresh or outcome.error or not fresh)
            ):
                return outcome
        return None

    def _read_all(
        self, queue: _Queue, scope: Scope, fresh: bool
    ) -> _Outcome[T]:
        """Read for all callers that wait, and for expected polls."""
        if not fresh:
            time.sleep(self._gathering)
        with self._lock:
            scopes, queue.waiting = queue.waiting | {scope}, set()
            started = self._clock()
            if not fresh:
                self.last_attempt = time.time()
                self.last_success = self.last_success or self.last_attempt
                self._drop_old(started)
                scopes |= self._polled.keys()
            before = {
                each: self._results[each].result()
                for each in scopes & self._results.keys()
            }
        try:
            values = self._read(scopes, fresh, before)
        except BaseException as error:
            outcome = _Outcome[T](started, fresh, error=_as_failure(error))
            with self._lock:
                self._failures |= dict.fromkeys(scopes, outcome)
            raise
        with self._lock:
            return self._keep(started, fresh, values)[scope]

    def _keep(
        self, started: float, fresh: bool, values: Mapping[Scope, T]
    ) -> dict[Scope, _Outcome[T]]:
        if not fresh:
            self.last_success = self.last_attempt
        outcomes = {
            scope: _Outcome(started, fresh, value)
            for scope, value in values.items()
        }
        for scope, outcome in outcomes.items():
            # Of the two queues, a later read may end earlier.
            before = self._results.get(scope)
            if before is None or before.started <= started:
                self._results[scope] = outcome
            self._failures.pop(scope, None)
        return outcomes

    def _drop_old(self, now: float) -> None:
        self._polled = {
            scope: moment
            for scope, moment in self._polled.items()
            if now - moment < self._again
        }
        self._results = {
            scope: result
            for scope, result in self._results.items()
            if now - result.started < self._again
        }


def _as_failure(error: BaseException) -> errors.CapiHelmError:
    """Return the error for the callers that waited for the read."""
    if isinstance(error, errors.CapiHelmError):
        return error
    why = type(error).__name__
    return errors.ManagementError(f"reading releases broke off: {why}")
