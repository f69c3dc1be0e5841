# SPDX-License-Identifier: Apache-2.0

"""API versions that a release names, and that a management cluster serves."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
import dataclasses
import re
from typing import NamedTuple, TypeAlias

#: Group and kind, and the versions in which it is served.
ServedKinds: TypeAlias = Mapping[tuple[str, str], Collection[str]]

_API_VERSION = re.compile(r"v(\d+)(?:(alpha|beta)(\d+))?")
_STAGES = {"alpha": 0, "beta": 1, None: 2}


class Api(NamedTuple):
    """API group, version and kind of an object.

    :param group: empty for the core group
    """

    group: str
    version: str
    kind: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"

    @property
    def name(self) -> str:
        """Return the ``apiVersion`` of the object."""
        return f"{self.group}/{self.version}".lstrip("/")


def api(version: str, kind: str) -> Api:
    """Return the API of an object.

    :param version: its ``apiVersion``
    """
    group, _, name = version.rpartition("/")
    return Api(group, name, kind)


@dataclasses.dataclass(frozen=True)
class Plan:
    """Changes that a manifest needs before helm can read it.

    :param moves: the served version of each API that is not served any more
    :param lost: of kinds that are served in no version at all
    """

    moves: Mapping[Api, str]
    lost: tuple[Api, ...] = ()

    def __str__(self) -> str:
        """Return the old and the new versions in words."""
        moves = {f"{old.name} to {new}" for old, new in self.moves.items()}
        return ", ".join(sorted(moves))


def plan_repair(named: Iterable[Api], served: ServedKinds) -> Plan:
    """Plan the changes of a manifest whose versions are not all served.

    :param named: the APIs of its objects
    """
    moves = {}
    lost = []
    for each in sorted(set(named)):
        others = served.get((each.group, each.kind), ())
        if not others:
            lost.append(each)
        elif each.version not in others:
            moves[each] = nearest(each.version, others)
    return Plan(moves, tuple(lost))


def nearest(version: str, served: Collection[str]) -> str:
    """Return the next newer version, else the newest of the older ones.

    The next chart names that version, and two manifests should name the
    same one: some releases of helm (3.17.1; not 3.20.2) take two versions
    for two objects, and delete the old one.

    :param served: not empty
    """
    ranked = sorted(served, key=_age)
    newer = [each for each in ranked if _age(each) > _age(version)]
    return newer[0] if newer else ranked[-1]


def _age(version: str) -> tuple[int, int, int, str]:
    """Return a key that sorts v1alpha7, v1beta1, v1, v2alpha1 like this."""
    match = _API_VERSION.fullmatch(version)
    if not match:
        return (0, 0, 0, version)
    return (int(match[1]), _STAGES[match[2]], int(match[3] or 0), version)


def refusal(lost: Iterable[Api]) -> str:
    """Return the advice for kinds that are served in no version."""
    groups = sorted({each.group for each in lost})
    look = ", ".join(
        f"kubectl api-resources --api-group={each}" for each in groups
    )
    kinds = ", ".join(str(each) for each in lost)
    return (
        f"the management cluster serves no version of {kinds}: install the "
        f'provider that has it ("{look}" shows the served kinds), and the '
        "driver continues"
    )
