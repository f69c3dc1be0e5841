# SPDX-License-Identifier: Apache-2.0

"""Deliveries beside the polls: in one thread, one after the other.

A poll says what it sees of a cluster. When something is due, a thread of its
own does it; the poll neither waits nor asks anybody. What was done, and when
it is due again, is remembered by this process alone: what must survive it is
in the Secret of :mod:`magnum_capi_helm.delivery.record`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
import dataclasses
import math
import random
import threading
import time
from typing import TypeAlias

from oslo_log import log

from magnum_capi_helm.management import snapshot
from magnum_capi_helm.memory import waits

LOG = log.getLogger(__name__)

#: Seconds within which a process that starts looks at each cluster: others
#: may have left something to be sent.
_FIRST = 300.0
#: Seconds until what broke off is tried again.
_BROKEN = 300.0
#: Seconds after which a cluster that no poll asks for is gone.
_GONE = 3600.0


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What became of a job.

    :param again: seconds until it is due again
    :param pending: whether something is to be delivered that was not yet;
        None: as before
    """

    again: float
    pending: bool | None = None


Job: TypeAlias = Callable[[], Outcome]


@dataclasses.dataclass
class _Known:
    looks: Hashable
    due: float
    asked: float
    pending: bool = False
    told: str = ""


def _beside(work: Callable[[], None]) -> None:
    threading.Thread(target=work, name="delivery", daemon=True).start()


class Courier:
    """Jobs of one management cluster's clusters.

    :param clock: monotonic seconds
    :param spread: a number from 0 to 1
    :param begin: runs what it is given, in a thread
    :param wall: seconds since 1970
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        spread: Callable[[], float] = random.random,
        begin: Callable[[Callable[[], None]], None] = _beside,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._clock = clock
        self.spread = spread
        self.wall = wall
        self._begin = begin
        self._lock = threading.Lock()
        self._known: dict[snapshot.Scope, _Known] = {}
        self._jobs: dict[snapshot.Scope, Job] = {}
        self._busy = False
        self._sweep = 0.0
        self._told = ""
        self._first = True
        #: Of the receiver, which is the same for all.
        self.receiver = waits.Backoff(clock)

    def notice(
        self,
        scope: snapshot.Scope,
        looks: Hashable,
        job: Job,
        *,
        now: bool = False,
    ) -> None:
        """Have a job done, if it is due. Asks nobody, and waits for nobody.

        :param looks: what a poll knows anyway; when it is another one than
            the last time, the job is due
        :param now: it is due, whatever it looks like
        """
        with self._lock:
            moment = self._clock()
            known = self._known.get(scope)
            if known is None:
                due = moment + self.spread() * _FIRST
                known = _Known(looks, due, moment)
                self._known[scope] = known
            known.asked = moment
            if now or known.looks != looks:
                known.looks, known.due = looks, moment
            self._drop_old(moment)
            if moment >= known.due:
                # The newest of a cluster: an older one has older facts.
                self._jobs[scope] = job
            if self._busy or not self._jobs:
                return
            self._busy = True
        self._start()

    def first(self) -> bool:
        """Whether nobody has asked that before."""
        with self._lock:
            first, self._first = self._first, False
            return first

    def forget(self, scope: snapshot.Scope) -> None:
        """Drop a release that is gone."""
        with self._lock:
            self._known.pop(scope, None)
            self._jobs.pop(scope, None)

    def pending(self) -> int | None:
        """How many clusters wait for a delivery; None: nobody looked."""
        with self._lock:
            if not self._known:
                return None
            return sum(each.pending for each in self._known.values())

    def new(self, scope: snapshot.Scope, problem: str) -> bool:
        """Whether that was not the last thing told of a cluster."""
        with self._lock:
            known = self._known.get(scope)
            if known is None or known.told == problem:
                return False
            known.told = problem
            return True

    def new_to_all(self, problem: str) -> bool:
        """As :meth:`new`, of what is wrong with all clusters alike."""
        with self._lock:
            before, self._told = self._told, problem
            return before != problem

    def _start(self) -> None:
        try:
            self._begin(self._work)
        except RuntimeError:
            # There is no thread to be had: the next poll tries again.
            with self._lock:
                self._busy = False

    def _work(self) -> None:
        """Do what is due until there is no more."""
        try:
            while (taken := self._take()) is not None:
                scope, job = taken
                self._settle(scope, _done(scope, job))
        except BaseException:
            # The process ends, or a test says so.
            self._busy = False
            raise

    def _take(self) -> tuple[snapshot.Scope, Job] | None:
        with self._lock:
            if not self._jobs:
                self._busy = False
                return None
            scope = next(iter(self._jobs))
            if known := self._known.get(scope):
                known.due = math.inf
            return scope, self._jobs.pop(scope)

    def _settle(self, scope: snapshot.Scope, outcome: Outcome) -> None:
        with self._lock:
            known = self._known.get(scope)
            if known is None:
                return
            if outcome.pending is not None:
                known.pending = outcome.pending
            # Unless what a poll saw meanwhile made it due again.
            if known.due == math.inf:
                known.due = self._clock() + outcome.again

    def _drop_old(self, now: float) -> None:
        """Forget clusters that no poll has asked for."""
        if now < self._sweep:
            return
        self._sweep = now + _GONE
        for scope, known in list(self._known.items()):
            if now - known.asked >= _GONE:
                del self._known[scope]


def _done(scope: snapshot.Scope, job: Job) -> Outcome:
    try:
        return job()
    except Exception as error:
        # Its text may have anything in it.
        why = type(error).__name__
    LOG.error("The delivery of %s broke off: %s", scope[1], why)
    return Outcome(_BROKEN, pending=True)
