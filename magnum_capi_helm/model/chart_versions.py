# SPDX-License-Identifier: Apache-2.0

"""The versions of the openstack-cluster chart that the driver knows.

What is peculiar to a version is said here once, as data; the topics ask by
the names below. Facts: ``dependencies.json`` and the templates of each tag of
azimuth-cloud/capi-helm-charts.
"""

from __future__ import annotations

import dataclasses
import re

_NUMBERS = re.compile(r"v?(\d+)\.(\d+)\.(\d+)(-.*)?")


@dataclasses.dataclass(frozen=True)
class Range:
    """Versions from ``since`` to ``until``, both inclusive; empty is open."""

    since: str = ""
    until: str = ""

    def __contains__(self, version: object) -> bool:
        number = _number(str(version))
        return (not self.since or number >= _number(self.since)) and (
            not self.until or number <= _number(self.until)
        )

    def __str__(self) -> str:
        if self.since and self.until:
            return f"{self.since} to {self.until}"
        if self.since:
            return f"{self.since} and later"
        return f"up to {self.until}" if self.until else "all"


#: Any version.
ALL = (Range(),)


def applies(ranges: tuple[Range, ...], version: str) -> bool:
    """Whether a version is in one of the ranges."""
    return any(version in each for each in ranges)


def describe(ranges: tuple[Range, ...]) -> str:
    """The ranges in words, for messages and the documentation."""
    return ", ".join(str(each) for each in ranges)


def _number(version: str) -> tuple[int, int, int]:
    """A version to compare; one that is no version counts as the newest.

    A pre-release counts as its release: it has that release's values.
    """
    found = _NUMBERS.match(version)
    if not found:
        return (2**31, 0, 0)
    return (int(found[1]), int(found[2]), int(found[3]))
