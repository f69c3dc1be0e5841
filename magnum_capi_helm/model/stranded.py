# SPDX-License-Identifier: Apache-2.0

"""Releases that name API versions which are not served any more.

helm looks up each object of a release's last manifest, in the version that it
names there, before it upgrades or uninstalls anything. Where a management
cluster has stopped to serve one of them, helm does nothing ever after: CAPO
0.12 and the v1alpha7 of chart 0.10.1, Cluster API and v1beta1. The objects are
still there, in another version. So the manifest has to name that one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
import dataclasses
import re
from typing import NamedTuple, TypeAlias

from magnum_capi_helm.model import api_versions

#: Group and kind, and the versions in which it is served.
Served: TypeAlias = Mapping[tuple[str, str], Collection[str]]

OK = "ok"
REPAIRED = "repaired"
UPGRADE = "upgrade"
REFUSED = "refused"

#: The first step where a change has failed before.
_BACK = (
    "resize it back to the count that it had, since Magnum upgrades nothing "
    "that is UPDATE_FAILED; then "
)

_VERSION = re.compile(r"v(\d+)(?:(alpha|beta)(\d+))?")
_STAGES = {"alpha": 0, "beta": 1, None: 2}


class Api(NamedTuple):
    """Which API an object is of.

    :param group: empty for the core group
    """

    group: str
    version: str
    kind: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"

    @property
    def name(self) -> str:
        """What an object says as its ``apiVersion``."""
        return f"{self.group}/{self.version}".lstrip("/")


def api(version: str, kind: str) -> Api:
    """Of an object.

    :param version: its ``apiVersion``
    """
    group, _, name = version.rpartition("/")
    return Api(group, name, kind)


@dataclasses.dataclass(frozen=True)
class Plan:
    """What a manifest needs.

    :param moves: in which version to name what is not served as it is named
    :param lost: of kinds that are served in no version at all
    """

    moves: Mapping[Api, str]
    lost: tuple[Api, ...] = ()

    def __str__(self) -> str:
        """Which versions become which."""
        found = {f"{old.name} to {new}" for old, new in self.moves.items()}
        return ", ".join(sorted(found))


def plan(named: Iterable[Api], served: Served) -> Plan:
    """What a manifest needs that names these.

    :param named: what the objects of the manifest are of
    """
    moves = {}
    lost = []
    for each in sorted(set(named)):
        versions = served.get((each.group, each.kind), ())
        if each.version in versions:
            continue
        if versions:
            moves[each] = nearest(each.version, versions)
        else:
            lost.append(each)
    return Plan(moves, tuple(lost))


def nearest(version: str, served: Collection[str]) -> str:
    """The next newer version, else the newest of the older ones.

    That is what the next chart names, and two manifests should name the
    same: some releases of helm (3.17.1; not 3.20.2) take two versions for
    two objects, and delete the old one.

    :param served: not empty
    """
    ranked = sorted(served, key=_age)
    newer = [each for each in ranked if _age(each) > _age(version)]
    return newer[0] if newer else ranked[-1]


def _age(version: str) -> tuple[int, int, int, str]:
    """Sorts versions from old to new: v1alpha7, v1beta1, v1, v2alpha1."""
    found = _VERSION.fullmatch(version)
    if not found:
        return (0, 0, 0, version)
    return (int(found[1]), _STAGES[found[2]], int(found[3] or 0), version)


def refusal(lost: Iterable[Api]) -> str:
    """What to do about kinds that are served in no version."""
    groups = sorted({each.group for each in lost})
    look = ", ".join(
        f"kubectl api-resources --api-group={each}" for each in groups
    )
    kinds = ", ".join(str(each) for each in lost)
    return (
        f"no version is served of {kinds}: install the provider that has it "
        f'("{look}" shows what is there), and it goes on by itself'
    )


@dataclasses.dataclass(frozen=True)
class Outlook:
    """What a change of the served versions means for a release.

    :param state: :data:`OK`, :data:`REPAIRED`, :data:`UPGRADE` or
        :data:`REFUSED`
    :param detail: what to do first
    """

    state: str
    detail: str = ""


def outlook(
    named: Collection[Api],
    served: Served,
    makes: Mapping[str, str] | None,
    status: str = "",
) -> Outlook:
    """What becomes of a release when these versions are served.

    :param named: by the manifest that helm would read
    :param makes: version by group, of the chart that the next change would
        be made with; None: nothing but a deletion is to come
    :param status: of its cluster, as Magnum has it
    """
    found = plan(named, served)
    if found.lost:
        return Outlook(REFUSED, refusal(found.lost))
    if not found.moves:
        return Outlook(OK)
    old = ", ".join(sorted({each.name for each in found.moves}))
    if makes is None or _fits(found, served, makes):
        return Outlook(
            REPAIRED, f"nothing: {old} is replaced by the next operation"
        )
    first = _BACK if status == "UPDATE_FAILED" else ""
    for version, made in api_versions.charts():
        if _fits(found, served, made):
            return Outlook(
                UPGRADE,
                f"{first}upgrade it to chart {version} or later: with its own "
                f"chart, which makes {old}, it can be deleted but not changed",
            )
    return Outlook(
        REFUSED,
        f"keep it served, or serve it again: no chart that the driver knows "
        f"makes anything but {old}; without it, clusters can be deleted but "
        "not changed",
    )


def _fits(found: Plan, served: Served, makes: Mapping[str, str]) -> bool:
    """Whether a chart makes what is served, of all that is stranded."""
    return all(
        makes.get(each.group, "") in served[each.group, each.kind]
        for each in found.moves
    )
