# SPDX-License-Identifier: Apache-2.0

"""Which state facts make, and which state comes first of two."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

from oslotest import base

from magnum_capi_helm.lifecycle import decision
from magnum_capi_helm.lifecycle.decision import State

_WITHOUT = decision.Facts(status="UPDATE_IN_PROGRESS")
_LOCKED = dataclasses.replace(_WITHOUT, locked=True)

#: Facts without the Lease -> state.
_SHALLOW: tuple[tuple[dict[str, Any], State], ...] = (
    ({}, State.WAITING),
    ({"status": ""}, State.GONE),
    ({"deleting": True}, State.DELETING),
    ({"status": "CREATE_COMPLETE"}, State.RESTING),
    ({"status": "UPDATE_COMPLETE", "behind": True}, State.RESTING),
    ({"row_only": True}, State.ROW_ONLY),
    ({"complete": True, "undecided": True}, State.UNSETTLED),
    ({"undecided": True}, State.WAITING),
    ({"complete": True}, State.DONE),
    ({"status": "UPDATE_FAILED", "complete": True}, State.DONE),
    # Under the Lease the poll sees whether it has drifted.
    ({"complete": True, "drifted": True}, State.DONE),
    ({"step_over": True}, State.STEP_OVER),
    ({"step_over": True, "complete": True}, State.DONE),
    ({"step_over": True, "overdue": True}, State.STEP_OVER),
    # helm has just failed.
    ({"step_over": True, "backing_off": True}, State.WAITING),
    ({"overdue": True}, State.LATE),
    ({"behind": True}, State.BEHIND),
    ({"drifted": True}, State.DRIFTED),
    ({"behind": True, "backing_off": True}, State.BACKING_OFF),
    ({"drifted": True, "backing_off": True}, State.BACKING_OFF),
    ({"backing_off": True}, State.WAITING),
)
#: The same under the Lease.
_DEEP: tuple[tuple[dict[str, Any], State], ...] = (
    ({}, State.WAITING),
    ({"status": "UPDATE_COMPLETE"}, State.RESTING),
    # The stored state may have a plan.
    ({"status": "UPDATE_COMPLETE", "complete": True}, State.DONE),
    ({"row_only": True}, State.ROW_ONLY),
    ({"complete": True, "undecided": True}, State.WAITING),
    ({"complete": True}, State.DONE),
    ({"complete": True, "backing_off": True}, State.DONE),
    ({"complete": True, "drifted": True}, State.DRIFTED),
    (
        {"complete": True, "drifted": True, "backing_off": True},
        State.BACKING_OFF,
    ),
    (
        {"status": "UPDATE_FAILED", "complete": True, "shown": False},
        State.FAILURE_SHOWN,
    ),
    ({"overdue": True}, State.LATE),
    ({"behind": True}, State.BEHIND),
)
#: The first of two facts decides.
_PRECEDENCE = (
    ("row_only", State.ROW_ONLY),
    ("complete", State.DONE),
    ("overdue", State.LATE),
    ("behind", State.BEHIND),
    ("drifted", State.DRIFTED),
)


class DecisionTest(base.BaseTestCase):
    def test_facts_without_the_lease_make_a_state(self) -> None:
        for fields, state in _SHALLOW:
            facts = dataclasses.replace(_WITHOUT, **fields)
            self.assertEqual(state, decision.decide(facts), str(fields))

    def test_facts_under_the_lease_make_a_state(self) -> None:
        for fields, state in _DEEP:
            facts = dataclasses.replace(_LOCKED, **fields)
            self.assertEqual(state, decision.decide(facts), str(fields))

    def test_the_first_of_two_facts_decides(self) -> None:
        for (first, state), (second, _) in itertools.combinations(
            _PRECEDENCE, 2
        ):
            fields: dict[str, Any] = {first: True, second: True}
            facts = dataclasses.replace(_WITHOUT, **fields)
            self.assertEqual(state, decision.decide(facts), str(fields))

    def test_a_state_that_changes_something_needs_the_lease(self) -> None:
        self.assertEqual(
            {State.GONE, State.RESTING, State.FAILURE_SHOWN, State.BACKING_OFF}
            | {State.WAITING},
            {each for each in State if not each.value.lease},
        )
