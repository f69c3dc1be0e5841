# SPDX-License-Identifier: Apache-2.0

"""Share the reads of :mod:`reads` between all polls of a process."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
import threading
import time
from typing import NamedTuple

from magnum_capi_helm.kubernetes import location
from magnum_capi_helm.kubernetes import reads
from magnum_capi_helm.model import errors

#: A slow read is shared for so many times its duration, up to a limit: Magnum
#: needs ten seconds and more to start the polls of 500 clusters.
_AGE_FOR_DURATION = 4.0
_LONGEST_AGE = 10.0
#: Seconds for which a read for polls waits for the other polls of a burst.
#: Without it the first poll reads for itself alone.
GATHERING = 0.01


class _Outcome(NamedTuple):
    """The result of a read for one release, or the error of the read."""

    started: float
    result: reads.ReleaseObjects | errors.CapiHelmError

    def objects(self) -> reads.ReleaseObjects:
        result = self.result
        if isinstance(result, errors.CapiHelmError):
            raise result.with_traceback(None)
        if result.refused is not None:
            raise result.refused.with_traceback(None)
        return result


class SharedReads:
    """Reads of one management cluster, shared by all polls of a process.

    A read that fails, fails for all polls that wait for it.

    :param read: :meth:`reads.Reader.read`
    :param max_age: seconds from the start of a fast read for which it is
        shared; if 0, later polls do not share it
    :param again: seconds within which a polled cluster is polled again
    :param clock: monotonic seconds
    :param gathering: seconds that a read waits for more polls
    """

    def __init__(
        self,
        read: Callable[
            [Collection[location.Scope], bool],
            Mapping[location.Scope, reads.ReleaseObjects],
        ],
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
        self._outcomes: dict[location.Scope, _Outcome] = {}
        #: When each release was polled last.
        self._polled: dict[location.Scope, float] = {}
        #: Start of the last read for polls, in seconds since 1970, and of the
        #: last one that succeeded; until one does, of the first one.
        self.last_attempt: float | None = None
        self.last_success: float | None = None

    def get(self, scope: location.Scope) -> reads.ReleaseObjects:
        """Return a read that polls share and that is young enough.

        :raises CapiHelmError: the read failed
        """
        now = self._clock()
        with self._lock:
            self._polled[scope] = now
        outcome = self._young(scope, now)
        if outcome is None:
            with self._reading:
                outcome = self._young(scope, now) or self._read_all(scope)
        return outcome.objects()

    def read(
        self, scope: location.Scope, other: SharedReads | None = None
    ) -> reads.ReleaseObjects:
        """Read one release now, and not from the API server's cache.

        :param other: shares it, too: an older look of a health poll would
            write older addresses over those of an operation that has just
            ended
        :raises CapiHelmError: the read failed
        """
        started = self._clock()
        releases = self._read({scope}, True)
        for each in filter(None, (self, other)):
            each._keep(started, releases)
        return releases[scope]

    def _young(self, scope: location.Scope, now: float) -> _Outcome | None:
        outcome = self._outcomes.get(scope)
        is_young = outcome is not None and outcome.started >= now - self._age
        return outcome if is_young else None

    def _read_all(self, scope: location.Scope) -> _Outcome:
        """Read for all polls of a burst."""
        time.sleep(self._gathering)
        started = self._clock()
        self.last_attempt = time.time()
        self.last_success = self.last_success or self.last_attempt
        scopes = self._drop_old(started) | {scope}
        try:
            releases = self._read(scopes, False)
        except errors.CapiHelmError as error:
            self._keep(started, dict.fromkeys(scopes, error))
            raise
        self.last_success = self.last_attempt
        if self._max_age:
            age = (self._clock() - started) * _AGE_FOR_DURATION
            self._age = max(self._max_age, min(age, _LONGEST_AGE))
        self._keep(started, releases)
        return _Outcome(started, releases[scope])

    def _keep(
        self,
        started: float,
        results: Mapping[
            location.Scope, reads.ReleaseObjects | errors.CapiHelmError
        ],
    ) -> None:
        with self._lock:
            for scope, result in results.items():
                # A read of one release may overtake a read of all.
                before = self._outcomes.get(scope)
                if before is None or before.started <= started:
                    self._outcomes[scope] = _Outcome(started, result)

    def _drop_old(self, now: float) -> set[location.Scope]:
        """Drop releases that are not polled; return those that are."""
        oldest = now - self._again
        with self._lock:
            for scope, polled in list(self._polled.items()):
                if polled <= oldest:
                    del self._polled[scope]
            for scope, outcome in list(self._outcomes.items()):
                if outcome.started <= oldest:
                    del self._outcomes[scope]
            return set(self._polled)
