# SPDX-License-Identifier: Apache-2.0

"""How one fault ended with one driver."""

from __future__ import annotations

import dataclasses

#: How an operation ended.
DONE, FAILED, LOST, STUCK = "done", "failed", "lost", "stuck"
#: The fault had no occasion: the step is not what it was taken for.
UNMET = "unmet"


@dataclasses.dataclass(frozen=True)
class Cell:
    """How one operation ended, with one fault at one step.

    :param seconds: until it ended, the fault included
    :param reason: what the user reads, where it failed
    """

    operation: str
    step: str
    fault: str
    ended: str
    seconds: float
    reason: str = ""
