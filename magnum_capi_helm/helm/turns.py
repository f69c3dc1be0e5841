# SPDX-License-Identifier: Apache-2.0

"""How many helm processes run at once, and whose turn is next.

A process of helm needs a processor for a second or two. Of a hundred at
once each takes minutes, and so does everything else on the host. So there is
a number of turns. Who finds none leaves behind what is to be done then, and
goes: no thread of Magnum waits. The line is a hint and no record. All that
is needed is in rows and Secrets, so what a conductor loses of it when it
dies, the polls find.
"""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterator
import contextlib
import functools
import threading

from oslo_log import log

from magnum_capi_helm.model import errors

LOG = log.getLogger(__name__)

Work = Callable[[], None]


def _beside(work: Work) -> None:
    """In a thread of its own: the one that ends a turn may be Magnum's."""
    threading.Thread(target=work, name="helm", daemon=True).start()


class Turns:
    """The turns of this process, and the line for them.

    A thread that has a turn may ask for it again: it has it already.

    :param number: helm processes at once
    :param start: runs what was in line
    """

    def __init__(
        self, number: int, start: Callable[[Work], None] = _beside
    ) -> None:
        self._number = number
        self._begin = start
        self._changed = threading.Condition()
        self._running = 0
        self._urgent = 0
        self._line: collections.OrderedDict[str, Work] = (
            collections.OrderedDict()
        )
        self._mine = threading.local()

    @contextlib.contextmanager
    def turn(self, patience: float = 0.0) -> Iterator[None]:
        """Have a turn until the block ends.

        :param patience: seconds to wait for it, before those in the line
        :raises NoTurn: all turns are taken
        """
        if getattr(self._mine, "had", False):
            yield
            return
        self._take(patience)
        self._mine.had = True
        try:
            yield
        finally:
            self._mine.had = False
            self._hand_on()

    def later(self, key: str, work: Work) -> None:
        """Do ``work`` in a turn of its own, once there is one.

        :param key: who has one place in the line, and keeps it with new work
        :param work: called in a thread of its own
        """
        with self._changed:
            self._line[key] = work
            self._start()

    def before(self, key: str) -> int | None:
        """How many are in the line before ``key``; None: it is not in it."""
        with self._changed:
            if key not in self._line:
                return None
            return list(self._line).index(key)

    @property
    def number(self) -> int:
        """How many turns there are."""
        return self._number

    @property
    def running(self) -> int:
        """How many of them are taken."""
        return self._running

    @property
    def waiting(self) -> int:
        """How many are in the line."""
        return len(self._line)

    def _take(self, patience: float) -> None:
        with self._changed:
            # Who does not wait takes nothing from those who do: one of them
            # was told of a free turn, and is not awake yet.
            others = 0 if patience else self._urgent
            self._urgent += 1
            try:
                free = self._changed.wait_for(
                    lambda: self._running + others < self._number, patience
                )
            finally:
                self._urgent -= 1
            if not free:
                raise errors.NoTurn(len(self._line))
            self._running += 1

    def _hand_on(self) -> None:
        with self._changed:
            self._running -= 1
            self._changed.notify()
            self._start()

    def _start(self) -> None:
        """Give the first in the line a turn, beyond those waited for."""
        while self._line and self._running + self._urgent < self._number:
            _, work = self._line.popitem(last=False)
            self._running += 1
            self._begin(functools.partial(self._do, work))

    def _do(self, work: Work) -> None:
        self._mine.had = True
        try:
            work()
        except Exception:
            LOG.exception("What waited for helm could not go on")
        finally:
            self._mine.had = False
            self._hand_on()
