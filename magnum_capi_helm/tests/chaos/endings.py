# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.


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


@dataclasses.dataclass
class Ending:
    """For the user, and for who cleans up.

    :param status: of the cluster, or "gone"
    :param left: what nobody will remove, with the row gone
    :param met: whether the driver took that step, and the fault hit it
    """

    driver: str
    operation: str
    step: str
    fault: str
    status: str = ""
    reason: str = ""
    seconds: float = 0.0
    left: list[str] = dataclasses.field(default_factory=list)
    met: bool = False
