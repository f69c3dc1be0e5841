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

"""Something that goes on beside a test, in a thread of its own."""

from __future__ import annotations

import abc
import threading
from typing import TypeVar

_Self = TypeVar("_Self", bound="Beside")


class Beside(abc.ABC):
    """Watches until it is left.

    :param pause: seconds between two looks
    """

    def __init__(self, pause: float) -> None:
        self._pause = pause
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self: _Self) -> _Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._over.wait(self._pause) and self.look():
            pass

    @abc.abstractmethod
    def look(self) -> bool:
        """Look once; whether to go on."""
