# SPDX-License-Identifier: Apache-2.0

"""A cluster as one tree of its parts.

The driver judges each part once, where it grows the part's branch. The
verdict, the reasons of nodegroups, the health and ``describe`` are views of
the tree: none of them looks at an object again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
import dataclasses
import enum
from typing import Any, NamedTuple

#: Magnum's words, from the best to the worst.
HEALTHY, UNKNOWN, UNHEALTHY = HEALTHS = "HEALTHY", "UNKNOWN", "UNHEALTHY"


class State(enum.Enum):
    """The state of a part as a word; the worst comes last."""

    #: Neither ready nor not ready, such as a Lease.
    NONE = ""
    READY = "ready"
    UNKNOWN = "unknown"
    NOT_READY = "not ready"


class Rank(enum.IntEnum):
    """The class of a reason. Of several reasons, the lowest class is told.

    From CLOUD to NODE, the name is the code of a fault without a known
    message: programs of users read it.
    """

    #: helm has not done its part.
    RELEASE = 0
    #: Cluster API does not work on the Cluster.
    STOPPED = 1
    #: The Cluster has not got the latest change.
    CHANGE = 2
    #: The cloud refuses a network, a server or a deletion.
    CLOUD = 3
    #: A health check failed, or no remediation helps.
    HEALTH_CHECK = 4
    #: Nobody reaches the Kubernetes API.
    API_UNREACHABLE = 5
    #: Nodes wait for an addon.
    ADDON = 6
    #: A node is not well.
    NODE = 7
    #: Cluster API names a problem of a group.
    BLOCKED = 8
    #: Something is on its way.
    PROGRESS = 9
    #: The Cluster and the addons, which are ready last.
    LAST = 10
    #: A note, which no verdict tells.
    NOTE = 11


#: Classes of faults: each of several machines may have one.
_FAULTS = (Rank.CLOUD, Rank.HEALTH_CHECK, Rank.NODE)


class Reason(NamedTuple):
    """Why a part is not ready; false without a text.

    :ivar since: seconds since 1970; 0: unknown
    :ivar code: of a known message; programs of users read it
    """

    text: str = ""
    rank: Rank = Rank.NOTE
    since: float = 0.0
    code: str = ""

    def __bool__(self) -> bool:
        return bool(self.text)

    @property
    def ending(self) -> str:
        """Return the time and the code of a fault, behind its sentence."""
        code = self.code
        if not code and Rank.CLOUD <= self.rank <= Rank.NODE:
            code = self.rank.name.lower().replace("_", "-")
        if not code:
            return ""
        hours, minutes = divmod(int(self.since) // 60 % 1440, 60)
        since = f" (since {hours:02}:{minutes:02} UTC)" if self.since else ""
        return f"{since} [{code}]"


NONE = Reason()


class Entry(NamedTuple):
    """What the health map says about a part.

    :ivar health: one of :data:`HEALTHS`
    """

    key: str
    value: str
    health: str


@dataclasses.dataclass(frozen=True)
class Branch:
    """A part of a cluster, and its parts.

    :param kind: a kind of Kubernetes, or a word
    :param state: its own, without its parts
    :param note: more about it, such as an address
    :param title: its name in a sentence
    """

    kind: str
    name: str = ""
    state: State = State.NONE
    note: str = ""
    reason: Reason = NONE
    children: tuple[Branch, ...] = ()
    title: str = ""
    entries: tuple[Entry, ...] = ()

    @property
    def well(self) -> bool:
        """Return whether it and each of its parts is ready."""
        well = (State.NONE, State.READY)
        return all(each.state in well for each in walk(self))

    @property
    def shown_reason(self) -> str:
        """Return its reason, unless a part below shows the cause."""
        is_shown_below = any(
            part.reason and part.state is State.NOT_READY
            for part in walk(self)
            if part is not self
        )
        if is_shown_below and self.reason.rank > Rank.API_UNREACHABLE:
            return ""
        return self.reason.text + self.reason.ending

    def as_dict(self) -> dict[str, Any]:
        """Return the tree for programs, with empty fields."""
        return {
            "kind": self.kind,
            "name": self.name,
            "state": self.state.value,
            "note": self.note,
            "reason": self.shown_reason,
            "children": [each.as_dict() for each in self.children],
        }


def grow(
    kind: str,
    name: str,
    reason: Reason,
    note: str = "",
    parts: Iterable[Branch] = (),
    **fields: Any,
) -> Branch:
    """Return a branch that is ready unless there is a reason."""
    state = State.NOT_READY if reason else State.READY
    return Branch(kind, name, state, note, reason, tuple(parts), **fields)


def quiet(branch: Branch) -> Branch:
    """Return a tree whose reasons no verdict tells."""
    return dataclasses.replace(
        branch,
        reason=branch.reason._replace(rank=Rank.NOTE),
        children=tuple(map(quiet, branch.children)),
    )


def worst_state(branches: Iterable[Branch]) -> State:
    """Return the worst of the branches' own states."""
    states, order = [each.state for each in branches], list(State)
    return max(states, key=order.index, default=State.NONE)


def walk(branch: Branch) -> Iterator[Branch]:
    """Yield a branch and all parts below it."""
    yield branch
    for each in branch.children:
        yield from walk(each)


class _Leaf(NamedTuple):
    """A reason, and the titles of its part and of those above it."""

    titles: tuple[str, ...]
    reason: Reason

    def text(self, titles: int = 0) -> str:
        """Return a sentence with the last titles, or with all."""
        return ": ".join((*self.titles[-titles:], self.reason.text))


def _leaves(branch: Branch, titles: tuple[str, ...] = ()) -> Iterator[_Leaf]:
    """Yield the reasons that a verdict may tell, from the root on."""
    titles = (*titles, branch.title) if branch.title else titles
    if branch.reason and branch.reason.rank < Rank.NOTE:
        yield _Leaf(titles, branch.reason)
    for each in branch.children:
        yield from _leaves(each, titles)


def told(branch: Branch) -> str:
    """Return the worst reason of a tree in a sentence, or nothing.

    Of one class, the first in the tree is told. A sentence about a fault
    also counts the other parts with a fault, and tells another fault.
    """
    leaves = sorted(_leaves(branch), key=lambda leaf: leaf.reason.rank)
    if not leaves:
        return ""
    first, more = leaves[0], ""
    faults: dict[tuple[str, ...], _Leaf] = {}
    for leaf in leaves:
        if first.reason.rank in _FAULTS and leaf.reason.rank in _FAULTS:
            faults.setdefault(leaf.titles, leaf)
    for leaf in faults.values():
        if leaf.reason.text != first.reason.text:
            more = f": {leaf.text(titles=1)}"
            break
    if len(faults) > 1:
        more = f" (and {len(faults) - 1} more{more or ' machines'})"
    return f"{first.text()}{more}{first.reason.ending}"
