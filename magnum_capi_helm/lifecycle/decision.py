# SPDX-License-Identifier: Apache-2.0

"""The states of a cluster, and what a poll does in each of them.

:func:`decide` sends no request and reads no clock. A poll calls it on facts
that need no Lease. If the state needs the Lease, the poll calls it on the row
that was read under the Lease, and then on all that was read again. A fact that
was not read is false; ``shown`` is true then.
"""

from __future__ import annotations

from collections.abc import Callable
import dataclasses
import enum
from typing import NamedTuple


@dataclasses.dataclass(frozen=True)
class Facts:
    """What is known of a cluster.

    :param status: of Magnum's row; empty: there is no row
    :param locked: all was read under the Lease
    :param deleting: the user has asked for the deletion; read under the Lease
        alone, since a poll of a deletion does not come here
    :param complete: the objects are as the rows want them
    :param step_over: a step of a plan has ended, although other parts of the
        cluster are not complete
    :param behind: the release is not what the rows want
    :param drifted: live objects differ from the manifest of the release
    :param undecided: a request has still to decide about a nodegroup
    :param row_only: of a deleted nodegroup, only Magnum's row is left
    :param overdue: the operation has taken longer than it may
    :param backing_off: the last try failed a moment ago
    :param shown: a failed status was visible long enough
    """

    status: str = ""
    locked: bool = False
    deleting: bool = False
    complete: bool = False
    step_over: bool = False
    behind: bool = False
    drifted: bool = False
    undecided: bool = False
    row_only: bool = False
    overdue: bool = False
    backing_off: bool = False
    shown: bool = True

    @property
    def done(self) -> bool:
        """Return whether nothing is left to do for an operation.

        Without the Lease the manifest is not known: a poll takes the Lease
        and decides again.
        """
        unfinished = self.drifted or self.undecided
        return self.complete and not (self.locked and unfinished)

    @property
    def resting(self) -> bool:
        """Return whether no operation goes on.

        Under the Lease a complete cluster is done, since the stored state may
        have a plan.
        """
        return self.status.endswith("_COMPLETE") and not (
            self.locked and (self.done or self.row_only)
        )


class Rule(NamedTuple):
    """A row of the table of states.

    :ivar fits: whether the facts are of this state
    :ivar why: the same in words
    :ivar action: what a poll does
    :ivar lease: whether the action needs the Lease
    """

    fits: Callable[[Facts], bool]
    why: str
    action: str
    lease: bool = False


class State(enum.Enum):
    """The states of a cluster, a closed list; the first that fits counts."""

    GONE = Rule(
        lambda facts: not facts.status,
        "Magnum has no row of the cluster",
        "nothing",
    )
    DELETING = Rule(
        lambda facts: facts.deleting,
        "the user deletes the cluster",
        "write DELETE_IN_PROGRESS; the next poll deletes",
        lease=True,
    )
    RESTING = Rule(
        lambda facts: facts.resting,
        "no operation goes on",
        "nothing",
    )
    ROW_ONLY = Rule(
        lambda facts: facts.row_only,
        "of a deleted nodegroup, only Magnum's row is left",
        "delete server group, row and request of the nodegroup, decide again",
        lease=True,
    )
    UNSETTLED = Rule(
        lambda facts: facts.complete and facts.undecided and not facts.locked,
        "a request has still to decide about a nodegroup",
        "write what stored requests decided into the rows, decide again",
        lease=True,
    )
    FAILURE_SHOWN = Rule(
        lambda facts: facts.done and not facts.shown,
        "all is as the rows want it, and a failure is still to be read",
        "nothing, until the failure was visible for 30 seconds",
    )
    DONE = Rule(
        lambda facts: facts.done,
        "all is as the rows want it",
        "take the next step of a plan, or write COMPLETE",
        lease=True,
    )
    STEP_OVER = Rule(
        lambda facts: facts.step_over and not facts.backing_off,
        "the control plane is as a step of an upgrade wants it",
        "take the next step of the plan",
        lease=True,
    )
    LATE = Rule(
        lambda facts: facts.overdue,
        "the operation has taken longer than it may",
        "write FAILED with the reason",
        lease=True,
    )
    BACKING_OFF = Rule(
        lambda facts: facts.backing_off and (facts.behind or facts.drifted),
        "the last try failed a moment ago",
        "save the reasons; try again after a pause of 10 to 300 seconds",
    )
    BEHIND = Rule(
        lambda facts: facts.behind,
        "the release is not what the rows want",
        "run helm with what the rows want",
        lease=True,
    )
    DRIFTED = Rule(
        lambda facts: facts.drifted,
        "live objects differ from the manifest of the release",
        "make the objects as in the manifest",
        lease=True,
    )
    WAITING = Rule(
        lambda _: True,
        "Cluster API, the addon provider or the cloud is at work",
        "save reasons, addresses, versions and progress",
    )

    @property
    def title(self) -> str:
        """Return the name of the state, for people."""
        return self.name.capitalize().replace("_", " ")


def decide(facts: Facts) -> State:
    """Return the state that fits."""
    return next(each for each in State if each.value.fits(facts))
