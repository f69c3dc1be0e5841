# SPDX-License-Identifier: Apache-2.0

"""Types of labels and options beyond those of oslo.config.

Each is a parser for the strings that Magnum keeps and for options alike: it
takes a string or a value that is already parsed, and raises ValueError.
"""

from __future__ import annotations

from collections.abc import Iterable
import json
import re
from typing import Any

from oslo_config import types


class Words(types.ConfigType):
    """Names separated by spaces."""

    def __init__(self) -> None:
        super().__init__(type_name="list of names")

    def __call__(self, value: str | Iterable[str]) -> tuple[str, ...]:
        return tuple(value.split() if isinstance(value, str) else value)

    def __repr__(self) -> str:
        return "Words"

    def _formatter(self, value: Iterable[str]) -> str:
        return " ".join(value)


class ApiResources(types.ConfigType):
    """A JSON object: kind -> {"api_version": ..., "plural_name": ...}."""

    def __init__(self) -> None:
        super().__init__(type_name="JSON object")

    def __call__(self, value: Any) -> dict[str, dict[str, str]]:
        parsed = json.loads(value or "{}") if isinstance(value, str) else value
        if not isinstance(parsed, dict) or not all(
            isinstance(each, dict) for each in parsed.values()
        ):
            raise ValueError(
                'must be a JSON object such as {"Cluster": '
                '{"api_version": "cluster.x-k8s.io/v1beta2"}}'
            )
        return parsed

    def __repr__(self) -> str:
        return "ApiResources"

    def _formatter(self, value: Any) -> str:
        return json.dumps(value)


class Integer(types.Integer):
    """A whole number in the ten digits, as every reader of it takes them.

    Python's own also takes ``1_0`` and the digits of other scripts, and
    oslo.config nothing at all.
    """

    _FORM = re.compile(r"[+-]?[0-9]+")

    def __call__(self, value: Any) -> Any:
        if isinstance(value, str) and not self._FORM.fullmatch(value.strip()):
            raise ValueError(f"{value!r} is not a whole number")
        return super().__call__(value)


class Share(types.Float):
    """A part of a whole: a number from 0 to 1."""

    _FORM = re.compile(r"[0-9]+(?:\.[0-9]+)?|\.[0-9]+")

    def __init__(self) -> None:
        super().__init__(min=0, max=1, type_name="share")

    def __call__(self, value: Any) -> Any:
        # Not a number is neither below 0 nor above 1.
        if not self._FORM.fullmatch(str(value).strip()):
            raise ValueError(f"{value!r} is not a share")
        return super().__call__(value)


class Version(types.ConfigType):
    """A semantic version, or nothing."""

    _FORM = re.compile(
        r"v?\d+\.\d+\.\d+(?:[-+][0-9A-Za-z.+-]{1,99})?", re.ASCII
    )

    def __init__(self) -> None:
        super().__init__(type_name="version")

    def __call__(self, value: str) -> str:
        if value and not self._FORM.fullmatch(value):
            raise ValueError(f"{value!r} is not a version")
        return value

    def __repr__(self) -> str:
        return "Version"

    def _formatter(self, value: str) -> str:
        return value


class Duration(types.ConfigType):
    """Whole hours, minutes and seconds in Go's form, such as ``1h30m``.

    :param minimum: the shortest that is allowed, in the same form
    """

    _FORM = re.compile(
        r"(?:(\d{1,4})h)?(?:(\d{1,5})m)?(?:(\d{1,7})s)?", re.ASCII
    )

    def __init__(self, minimum: str = "1s") -> None:
        super().__init__(type_name="duration")
        self._minimum = minimum

    def __call__(self, value: str) -> str:
        if self._seconds(value) < self._seconds(self._minimum):
            raise ValueError(f"{value!r} is shorter than {self._minimum}")
        return value

    def _seconds(self, value: str) -> int:
        found = self._FORM.fullmatch(value)
        if not value or not found:
            raise ValueError(f"{value!r} is not a duration")
        hours, minutes, seconds = (int(each or 0) for each in found.groups())
        return (hours * 60 + minutes) * 60 + seconds

    def __repr__(self) -> str:
        return "Duration"

    def _formatter(self, value: str) -> str:
        return value


class CountOrPercentage(types.ConfigType):
    """A count from 1, or a percentage from 1% to 100%."""

    _COUNT = re.compile(r"[1-9][0-9]{0,5}")
    _PERCENTAGE = re.compile(r"(?:[1-9][0-9]?|100)%")

    def __init__(self) -> None:
        super().__init__(type_name="count or percentage")

    def __call__(self, value: str | int) -> str | int:
        text = str(value).strip()
        if self._COUNT.fullmatch(text):
            return int(text)
        if self._PERCENTAGE.fullmatch(text):
            return text
        raise ValueError(f"{value!r} is neither a count nor a percentage")

    def __repr__(self) -> str:
        return "CountOrPercentage"

    def _formatter(self, value: str | int) -> str:
        return str(value)
