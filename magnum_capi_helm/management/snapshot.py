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

"""Views of releases, shared by all polls of a process.

A caller says how fresh a view it needs (``not_before``, on the monotonic
clock); the age of a view counts from the *start* of its reading. A request
that arrives while a reading is under way that began too early waits for the
next one, which all that wait share. A reading that fails, fails once for all
of them; nobody takes a stale view for it.
"""

from __future__ import annotations

from collections.abc import Callable
import dataclasses
import threading
import time
from typing import TypeAlias

from magnum_capi_helm import exceptions
from magnum_capi_helm.status import view

#: Namespace and release.
Scope: TypeAlias = tuple[str, str]

#: Seconds for which polls may share a view when they ask for no fresh one.
MAX_AGE = 2.0


@dataclasses.dataclass
class _Reading:
    """One reading of one release, under way or done."""

    started: float
    done: threading.Event = dataclasses.field(default_factory=threading.Event)
    view: view.View | None = None
    error: exceptions.CapiHelmError | None = None


class Snapshots:
    """Readings of releases on one management cluster.

    :param read: reads a release; :mod:`magnum_capi_helm.observation`
    :param clock: monotonic seconds
    """

    def __init__(
        self,
        read: Callable[[Scope], view.View],
        clock: Callable[[], float] = time.monotonic,
        max_age: float = MAX_AGE,
    ) -> None:
        self._read = read
        self._clock = clock
        self._max_age = max_age
        self._lock = threading.Lock()
        self._readings: dict[Scope, _Reading] = {}

    def get(
        self, scope: Scope, *, not_before: float = float("-inf")
    ) -> view.View:
        """A view whose reading started at ``not_before`` or later.

        :raises CapiHelmError: the reading failed; there is no view
        """
        wanted = max(self._clock() - self._max_age, not_before)
        while True:
            reading, mine = self._join(scope, wanted)
            if mine:
                self._fill(scope, reading)
            reading.done.wait()
            if reading.started >= wanted:
                return _result(reading)

    def _join(self, scope: Scope, wanted: float) -> tuple[_Reading, bool]:
        """The reading to wait for, and whether the caller has to do it."""
        with self._lock:
            reading = self._readings.get(scope)
            if reading is not None and (
                reading.started >= wanted or not reading.done.is_set()
            ):
                return reading, False
            reading = self._readings[scope] = _Reading(self._clock())
            return reading, True

    def forget(self, scope: Scope) -> None:
        """Drop what is known of a release that is gone."""
        with self._lock:
            self._readings.pop(scope, None)

    def _fill(self, scope: Scope, reading: _Reading) -> None:
        try:
            reading.view = self._read(scope)
        except exceptions.CapiHelmError as error:
            reading.error = error
        except BaseException as error:
            reading.error = exceptions.ManagementError(
                f"reading {scope[1]} broke off: {type(error).__name__}"
            )
            raise
        finally:
            reading.done.set()


def _result(reading: _Reading) -> view.View:
    if reading.view is None:
        raise reading.error or exceptions.ManagementError("nothing was read")
    return reading.view
