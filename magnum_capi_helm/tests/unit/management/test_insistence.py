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


"""Requests that are made once more."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from oslotest import base
import requests

from magnum_capi_helm.management import insistence


class _Answer:
    def __init__(self, status: int, again: str = "") -> None:
        self.status_code = status
        self.headers = {"Retry-After": again} if again else {}


_CUT = requests.ConnectionError("cut")
_LATE = requests.ReadTimeout("late")

#: What happens, pauses, how it ends: a status, or what is raised.
_ROWS: tuple[tuple[list[Any], list[float], Any], ...] = (
    ([200], [], 200),
    ([_CUT, 200], [0.2], 200),
    ([_CUT, _CUT, 200], [0.2, 1.0], 200),
    ([503, 429, 200], [0.2, 1.0], 200),
    ([500, 502, 504], [0.2, 1.0], 504),
    ([_CUT, 503, _CUT], [0.2, 1.0], _CUT),
    # What the server asks for, within reason.
    ([(429, "3"), 200], [3.0], 200),
    ([(429, "0"), 200], [0.2], 200),
    ([(429, "3600"), 200], [5.0], 200),
    ([(429, "tomorrow"), 200], [0.2], 200),
    # A refusal stays one.
    ([403], [], 403),
    ([409], [], 409),
    ([404], [], 404),
    # Who waited long has waited enough.
    ([_LATE], [], _LATE),
    ([requests.ConnectTimeout("late")], [], requests.ConnectTimeout),
)


class InsistenceTest(base.BaseTestCase):
    def test_each_kind_of_failure(self) -> None:
        for script, pauses, end in _ROWS:
            slept: list[float] = []
            left = list(script)
            what = str(script)
            try:
                found = insistence.insisted(
                    _asks(left), slept.append
                ).status_code
            except requests.RequestException as error:
                found = type(error)
            if isinstance(end, requests.RequestException):
                end = type(end)
            self.assertEqual(end, found, what)
            self.assertEqual(pauses, slept, what)
            self.assertEqual([], left, what)


def _asks(script: list[Any]) -> Callable[[], _Answer]:
    def ask() -> _Answer:
        found = script.pop(0)
        if isinstance(found, Exception):
            raise found
        return _Answer(*found) if isinstance(found, tuple) else _Answer(found)

    return ask
