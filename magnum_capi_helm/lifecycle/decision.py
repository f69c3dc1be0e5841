# SPDX-License-Identifier: Apache-2.0

"""The states of a cluster, and what a poll does in each of them.

:func:`decide` sends no request and reads no clock. A poll calls it on facts
that need no Lease; if the state needs the Lease, the poll reads all again
under the Lease and calls it once more. A fact that was not read is false;
``shown`` is true then.
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
    :param pausing: the last try failed a moment ago
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
    pausing: bool = False
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


class State(enum.Enum):
    """A state of a cluster."""

    GONE = "Gone"
    DELETING = "Deleting"
    RESTING = "Resting"
    ROW_ONLY = "Row only"
    UNSETTLED = "Unsettled"
    FAILED = "Failed"
    DONE = "Done"
    STEP_OVER = "Step over"
    LATE = "Late"
    PAUSED = "Paused"
    BEHIND = "Behind"
    DRIFTED = "Drifted"
    WAITING = "Waiting"


class Rule(NamedTuple):
    """A row of the table of states.

    :ivar fits: whether the facts are of this state
    :ivar why: the same in words
    :ivar action: what a poll does
    :ivar lease: whether the action needs the Lease
    """

    state: State
    fits: Callable[[Facts], bool]
    why: str
    action: str
    lease: bool = False


#: The closed list; the first row that fits decides.
TABLE = (
    Rule(
        State.GONE,
        lambda facts: not facts.status,
        "Magnum has no row of the cluster",
        "nothing",
    ),
    Rule(
        State.DELETING,
        lambda facts: facts.deleting,
        "the user deletes the cluster",
        "write DELETE_IN_PROGRESS; the next poll deletes",
        lease=True,
    ),
    Rule(
        State.RESTING,
        lambda facts: facts.resting,
        "no operation goes on",
        "nothing",
    ),
    Rule(
        State.ROW_ONLY,
        lambda facts: facts.row_only,
        "of a deleted nodegroup, only Magnum's row is left",
        "delete the row and the server group of the nodegroup, decide again",
        lease=True,
    ),
    Rule(
        State.UNSETTLED,
        lambda facts: facts.complete and facts.undecided and not facts.locked,
        "a request has still to decide about a nodegroup",
        "write what stored requests decided into the rows, decide again",
        lease=True,
    ),
    Rule(
        State.FAILED,
        lambda facts: facts.done and not facts.shown,
        "all is as the rows want it, and a failure is still to be read",
        "nothing, until the failure was visible for 30 seconds",
    ),
    Rule(
        State.DONE,
        lambda facts: facts.done,
        "all is as the rows want it",
        "take the next step of a plan, or write COMPLETE",
        lease=True,
    ),
    Rule(
        State.STEP_OVER,
        lambda facts: facts.step_over and not facts.pausing,
        "the control plane is as a step of an upgrade wants it",
        "take the next step of the plan",
        lease=True,
    ),
    Rule(
        State.LATE,
        lambda facts: facts.overdue,
        "the operation has taken longer than it may",
        "write FAILED with the reason",
        lease=True,
    ),
    Rule(
        State.PAUSED,
        lambda facts: facts.pausing and (facts.behind or facts.drifted),
        "the last try failed a moment ago",
        "save the reasons; try again after a pause of 10 to 300 seconds",
    ),
    Rule(
        State.BEHIND,
        lambda facts: facts.behind,
        "the release is not what the rows want",
        "run helm with what the rows want",
        lease=True,
    ),
    Rule(
        State.DRIFTED,
        lambda facts: facts.drifted,
        "live objects differ from the manifest of the release",
        "make the objects as in the manifest",
        lease=True,
    ),
    Rule(
        State.WAITING,
        lambda _: True,
        "Cluster API, the addon provider or the cloud is at work",
        "save reasons, addresses, versions and progress",
    ),
)


def decide(facts: Facts) -> Rule:
    """Return the row of the table that fits."""
    return next(each for each in TABLE if each.fits(facts))
