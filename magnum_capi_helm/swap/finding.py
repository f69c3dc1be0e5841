# SPDX-License-Identifier: Apache-2.0

"""What is found of a cluster, and what an operator makes of many."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
import dataclasses
from typing import NamedTuple

#: How much a finding matters: nothing to do; good to know; somebody has to
#: do, or to decide, something.
OK, NOTE, ACT = "ok", "note", "act"


@dataclasses.dataclass(frozen=True)
class Finding:
    """One thing about one cluster.

    :param about: a word for programs, such as ``image``
    :param what: how it is, and what follows from it
    :param remedy: what to do; empty where nothing has to be done
    """

    level: str
    about: str
    what: str
    remedy: str = ""


class Line(NamedTuple):
    """A finding, and whose it is; those of no cluster have no UUID."""

    project: str
    name: str
    uuid: str
    level: str
    about: str
    what: str
    remedy: str


def summary(lines: Sequence[Line]) -> str:
    """How many clusters need somebody, and for what."""
    everyone = {each.uuid for each in lines if each.uuid}
    needy = [each for each in lines if each.level == ACT]
    waiting = {each.uuid for each in needy if each.uuid}
    found = f"{counted(len(everyone), 'cluster')}: "
    if not needy:
        return f"{found}nothing needs the operator"
    needs = "needs" if len(waiting) == 1 else "need"
    return f"{found}{len(waiting)} {needs} the operator ({_abouts(needy)})"


def _abouts(lines: Iterable[Line]) -> str:
    """How many clusters each topic is about, the most first."""
    found: dict[str, set[str]] = {}
    for each in lines:
        found.setdefault(each.about, set()).add(each.uuid)
    ordered = sorted(found.items(), key=lambda each: (-len(each[1]), each[0]))
    return ", ".join(f"{about} {len(whose)}" for about, whose in ordered)


def counted(number: int, noun: str) -> str:
    """A number of things, in words."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def listed(found: Iterable[str], most: int = 6) -> str:
    """Some words, and how many more there are."""
    words = list(found)
    more = len(words) - most
    shown = ", ".join(words[:most])
    return f"{shown} and {more} more" if more > 0 else shown
