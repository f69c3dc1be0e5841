# SPDX-License-Identifier: Apache-2.0

"""What may happen to a request: the columns of the table of faults."""

from __future__ import annotations

from collections.abc import Callable
import dataclasses
import threading
import time

from lab.chaos import conductors
from lab.chaos import faults
from lab.chaos import proxy

#: Seconds that a conductor is frozen: its Leases are over long before.
FROZEN = 60.0
#: Seconds that nobody listens.
AWAY = 40.0
LATE = 20.0

_Make = Callable[[conductors.Conductors, proxy.Proxy], faults.Fault]


@dataclasses.dataclass(frozen=True)
class Column:
    """A fault.

    :param crowd: of those that it hits, too; empty when it hits none
    """

    name: str
    make: _Make
    crowd: str = ""


def _plain(name: str, fault: faults.Fault) -> Column:
    return Column(name, lambda killers, between: fault)


def _stay_away(between: proxy.Proxy) -> None:
    """Nobody listens, for a while."""
    with between.away():
        time.sleep(AWAY)


def _away(between: proxy.Proxy) -> faults.Fault:
    """From this request on."""

    def fault(_: faults.Request, forward: faults.Forward) -> faults.Answer:
        threading.Thread(target=_stay_away, args=(between,)).start()
        raise faults.Cut

    return fault


#: The page with the table says what each is.
COLUMNS = (
    _plain("late", faults.delayed(LATE)),
    _plain("lost", faults.lost),
    _plain("unanswered", faults.unanswered),
    _plain("truncated", faults.truncated),
    *(
        _plain(str(status), faults.answered(status))
        for status in (401, 403, 409, 429, 500, 503)
    ),
    Column(
        "killed",
        lambda killers, between: faults.before(killers.kill_asking),
        crowd="killed",
    ),
    Column(
        "killed after",
        lambda killers, between: faults.after(killers.kill),
        crowd="killed",
    ),
    Column(
        "frozen",
        lambda killers, between: faults.after(killers.freeze(FROZEN)),
        crowd="frozen",
    ),
    Column("away", lambda killers, between: _away(between), crowd="away"),
)
