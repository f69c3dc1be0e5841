# SPDX-License-Identifier: Apache-2.0

"""A window of time that comes back each day. Pure."""

from __future__ import annotations

import dataclasses
import re

_TIME = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])", re.ASCII)


def minute(text: str) -> int:
    """Return a time of the day, such as 22:00, as minutes since midnight.

    :raises ValueError: the text is none
    """
    match = _TIME.fullmatch(text)
    if match is None:
        raise ValueError(
            f"{text!r} is not a time of the day: give one such as 22:00"
        )
    return int(match[1]) * 60 + int(match[2])


@dataclasses.dataclass(frozen=True)
class Window:
    """A window; one that ends before it begins goes past midnight.

    :param begin: minute of the day in UTC, which is inside
    :param end: minute of the day in UTC, which is outside
    """

    begin: int
    end: int

    def __contains__(self, now: int) -> bool:
        if self.begin < self.end:
            return self.begin <= now < self.end
        return now >= self.begin or now < self.end

    def __str__(self) -> str:
        return f"{_text(self.begin)} to {_text(self.end)} UTC"


def _text(now: int) -> str:
    return f"{now // 60:02}:{now % 60:02}"
