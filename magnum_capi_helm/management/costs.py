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

"""What looking at releases costs here, by what it cost before."""

from __future__ import annotations

from collections.abc import Callable
import math
import time

from magnum_capi_helm.management import listing

#: Releases from which on it is worth trying what reading all of them takes.
_WORTH_TRYING = 200
#: Up to so many releases, a look takes as long as its requests.
_FEW = 10
#: Weight of the newest measurement.
_NEWEST = 0.3
#: Seconds after which the time for all of them is measured again.
_KEPT = 600.0


class Costs:
    """Seconds that a look took, and how long the next one will take.

    :param clock: monotonic seconds
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._round = 0.03
        self._each = 0.001
        self._all: tuple[float, float] | None = None

    def all_is_cheaper(self, number: int) -> bool:
        """Whether to look at all releases rather than at ``number``.

        Where both cost about the same: all. It takes fewer requests.
        """
        if self._all is None or self._clock() - self._all[1] > _KEPT:
            return number >= _WORTH_TRYING
        some = self._rounds(number) * self._round + number * self._each
        return some * 1.25 >= self._all[0]

    def took(self, seconds: float, number: int, everything: bool) -> None:
        """Learn from a look."""
        if everything:
            self._all = (seconds, self._clock())
        elif number < _FEW:
            self._round = _moved(self._round, seconds)
        else:
            rest = max(0.0, seconds - self._rounds(number) * self._round)
            self._each = _moved(self._each, rest / number)

    def _rounds(self, number: int) -> int:
        return math.ceil(number / listing.CHUNK)


def _moved(old: float, new: float) -> float:
    return old + _NEWEST * (new - old)
