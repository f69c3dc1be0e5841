# SPDX-License-Identifier: Apache-2.0

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
