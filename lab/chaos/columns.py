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

    :param text: as the table says it
    :param crowd: of those that it hits, too; empty when it hits none
    """

    name: str
    text: str
    make: _Make
    crowd: str = ""


def _plain(fault: faults.Fault) -> _Make:
    return lambda killers, between: fault


def _refused(status: int) -> Column:
    return Column(
        str(status),
        f"it is answered with HTTP {status}",
        _plain(faults.answered(status)),
    )


def stay_away(between: proxy.Proxy) -> None:
    """Nobody listens, for a while."""
    with between.away():
        time.sleep(AWAY)


def _away(between: proxy.Proxy) -> faults.Fault:
    """From this request on."""

    def fault(_: faults.Request, forward: faults.Forward) -> faults.Answer:
        threading.Thread(target=stay_away, args=(between,)).start()
        raise faults.Cut

    return fault


COLUMNS = (
    Column(
        "late",
        f"the request arrives {LATE:.0f} s late",
        _plain(faults.delayed(LATE)),
    ),
    Column("lost", "the request is lost", _plain(faults.lost)),
    Column(
        "unanswered",
        "it is served, and the connection is cut before the answer",
        _plain(faults.unanswered),
    ),
    Column(
        "truncated",
        "it is served, and half of the answer arrives",
        _plain(faults.truncated),
    ),
    *map(_refused, (401, 403, 409, 429, 500, 503)),
    Column(
        "killed",
        "who asks, the conductor or its helm, is killed before it is served",
        lambda killers, between: faults.before(killers.kill_asking),
        crowd="killed",
    ),
    Column(
        "killed after",
        "the conductor is killed once it is served",
        lambda killers, between: faults.after(killers.kill),
        crowd="killed",
    ),
    Column(
        "frozen",
        f"the conductor is frozen for {FROZEN:.0f} s once it is served",
        lambda killers, between: faults.after(killers.freeze(FROZEN)),
        crowd="frozen",
    ),
    Column(
        "away",
        f"the API is away for {AWAY:.0f} s from this request on",
        lambda killers, between: _away(between),
        crowd="away",
    ),
)
