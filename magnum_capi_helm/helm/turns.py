# SPDX-License-Identifier: Apache-2.0

"""Limit the helm processes that run at once, and queue what has to wait.

A process of helm needs a processor for a second or two. Of a hundred at
once each takes minutes, and so does everything else on the host. So a process
has a number of turns. Work that gets none is queued, and no thread of Magnum
waits for it. The queue is a hint and no record: rows and Secrets have all
that is needed, so the polls find the work of a conductor that died.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
import contextlib
import functools
import threading

from oslo_log import log

from magnum_capi_helm.model import errors

LOG = log.getLogger(__name__)

Work = Callable[[], None]


def _start_thread(work: Work) -> None:
    threading.Thread(target=work, name="helm", daemon=True).start()


class Turns:
    """The turns of this process, and the queue for them.

    A thread that has a turn may ask for it again: it has it already.

    :ivar number: helm processes at once
    :ivar running: turns that are taken
    :param start: runs queued work; the thread that ends a turn may be Magnum's
    """

    def __init__(
        self, number: int, start: Callable[[Work], None] = _start_thread
    ) -> None:
        self.number = number
        self.running = 0
        self._begin = start
        self._changed = threading.Condition()
        self._urgent = 0
        self._queue: dict[str, Work] = {}
        self._mine = threading.local()

    @contextlib.contextmanager
    def turn(self, patience: float = 0.0) -> Iterator[None]:
        """Have a turn until the block ends.

        :param patience: seconds to wait for it, ahead of the queue
        :raises NoTurn: all turns are taken
        """
        if getattr(self._mine, "had", False):
            yield
            return
        self._take(patience)
        with self._taken():
            yield

    def later(self, key: str, work: Work) -> None:
        """Do ``work`` in a turn of its own, once there is one.

        :param key: has one place in the queue, and keeps it with new work
        :param work: called in a thread of its own
        """
        with self._changed:
            self._queue[key] = work
            self._start()

    def before(self, key: str) -> int | None:
        """Return how many are ahead of ``key``; None: it is not queued."""
        with self._changed:
            if key not in self._queue:
                return None
            return list(self._queue).index(key)

    @property
    def waiting(self) -> int:
        """Return the length of the queue."""
        return len(self._queue)

    def _take(self, patience: float) -> None:
        with self._changed:
            # A thread that does not wait takes no turn from those that do:
            # one of them was notified of a free turn, and has not woken yet.
            others = 0 if patience else self._urgent
            self._urgent += 1
            try:
                free = self._changed.wait_for(
                    lambda: self.running + others < self.number, patience
                )
            finally:
                self._urgent -= 1
            if not free:
                raise errors.NoTurn(len(self._queue))
            self.running += 1

    @contextlib.contextmanager
    def _taken(self) -> Iterator[None]:
        """Mark the turn as this thread's; hand it on at the end."""
        self._mine.had = True
        try:
            yield
        finally:
            self._mine.had = False
            with self._changed:
                self.running -= 1
                self._changed.notify()
                self._start()

    def _start(self) -> None:
        """Give the first of the queue a turn, beyond those waited for."""
        while self._queue and self.running + self._urgent < self.number:
            work = self._queue.pop(next(iter(self._queue)))
            # If the process can't start more threads, the polls do the work.
            with contextlib.suppress(RuntimeError):
                self._begin(functools.partial(self._do, work))
                self.running += 1

    def _do(self, work: Work) -> None:
        with self._taken():
            try:
                work()
            except Exception:
                LOG.exception("An operation that had waited for helm failed")
