# SPDX-License-Identifier: Apache-2.0

"""A tree of what is ready, and of what is not, and why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
import dataclasses
import enum
from typing import Any


class State(enum.Enum):
    """How a part of a cluster is, as a word; the worst comes last."""

    #: It is neither well nor ill, such as a Lease.
    NONE = ""
    READY = "ready"
    UNKNOWN = "unknown"
    NOT_READY = "not ready"


_ORDER = list(State)


@dataclasses.dataclass(frozen=True)
class Branch:
    """A part of a cluster, and its parts.

    :param kind: what it is: a kind of Kubernetes, or a word
    :param state: its own, whatever becomes of its parts
    :param note: what else to know of it
    :param reason: why it is not ready
    """

    kind: str
    name: str = ""
    state: State = State.NONE
    note: str = ""
    reason: str = ""
    children: tuple[Branch, ...] = ()

    @property
    def well(self) -> bool:
        """Whether it is ready, and each of its parts."""
        return worst(self.walk()) in (State.NONE, State.READY)

    def walk(self) -> Iterator[Branch]:
        """It, and all below it."""
        yield self
        for each in self.children:
            yield from each.walk()

    def plain(self) -> dict[str, Any]:
        """For programs: what is empty is there, too."""
        found = dataclasses.asdict(self)
        found["state"] = self.state.value
        found["children"] = [each.plain() for each in self.children]
        return found


def grown(
    kind: str, name: str, *, why: str, note: str = "", parts: Iterable[Branch]
) -> Branch:
    """What is ready unless there is a reason.

    The lowest that is not ready says why: above it there is no reason.

    :param why: it is not ready; empty: it is
    """
    children = tuple(parts)
    told = worst(children) is State.NOT_READY
    state = State.NOT_READY if why else State.READY
    return Branch(kind, name, state, note, "" if told else why, children)


def folded(found: Branch) -> Branch:
    """Without the parts of what is well with all of them."""
    children = tuple(
        dataclasses.replace(each, children=()) if each.well else folded(each)
        for each in found.children
    )
    return dataclasses.replace(found, children=children)


def worst(branches: Iterable[Branch]) -> State:
    """The worst of their own states."""
    states = [each.state for each in branches]
    return max(states, key=_ORDER.index, default=State.NONE)
