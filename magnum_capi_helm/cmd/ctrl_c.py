# SPDX-License-Identifier: Apache-2.0

"""Ctrl-C, for a command that goes on until then."""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import signal
from types import FrameType
from typing import Any


class CtrlC:
    """Ends what is inside, and remembers it.

    The exception alone is not enough: a library may be in the middle of
    something where exceptions go nowhere. Only for the main thread. What runs
    in the background of a shell ignores it, and goes on doing so.
    """

    def __init__(self) -> None:
        self.pressed = False
        self._held = False
        self._before: Any = None

    def __enter__(self) -> CtrlC:
        self._before = signal.getsignal(signal.SIGINT)
        if self._before is not signal.SIG_IGN:
            signal.signal(signal.SIGINT, self._noted)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        signal.signal(signal.SIGINT, self._before)
        return kind is not None and issubclass(kind, KeyboardInterrupt)

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """What is inside is done as a whole, and then Ctrl-C ends all.

        :raises KeyboardInterrupt: afterwards, when it was pressed meanwhile
        """
        self._held = True
        try:
            yield
        finally:
            self._held = False
        if self.pressed:
            raise KeyboardInterrupt

    def _noted(self, number: int, frame: FrameType | None) -> None:
        self.pressed = True
        if not self._held:
            raise KeyboardInterrupt
