# SPDX-License-Identifier: Apache-2.0

"""Convert objects whose API versions a management cluster does not serve.

Nothing is converted, and no version is looked up, until helm or the management
cluster says that a version is not served. The converter then keeps the API
groups whose objects it converts.

helm reads every object of its last manifest before it writes anything, in the
version that the manifest names. When a provider stops to serve that version,
helm refuses. The driver then writes served versions into the record and runs
helm again; as long as all versions are served, that costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
import dataclasses
import re
from typing import Any, TypeAlias, TypeVar

from oslo_log import log

from magnum_capi_helm.chart import conversion
from magnum_capi_helm.helm import manifests
from magnum_capi_helm.kubernetes import client
from magnum_capi_helm.kubernetes import helm_records
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names

LOG = log.getLogger(__name__)

T = TypeVar("T")
#: Group and kind, and the versions in which it is served.
ServedKinds: TypeAlias = Mapping[tuple[str, str], Collection[str]]
Object = dict[str, Any]


class Converter:
    """Converts the objects of one management cluster.

    :ivar groups: API groups whose objects helm applies in another version
        than the chart renders, because that is not served
    """

    def __init__(self, management: client.Client) -> None:
        self._management = management
        self.groups: frozenset[str] = frozenset()

    def run(self, work: Callable[[], T]) -> T:
        """Run ``work``, and once more if a version was not served.

        Before the second time the converter learns what it has to convert.

        :raises ManagementUnserved: it does not convert these versions
        :raises ChartStranded: the same, and helm said so
        """
        try:
            return work()
        except (errors.ManagementUnserved, errors.ChartStranded):
            if not self._learn():
                raise
        return work()

    def as_applied(self, objects: Iterable[Object]) -> Iterator[Object]:
        """Yield rendered objects as helm applies them.

        :raises Unconvertible: a field can't be kept
        """
        for each in objects:
            is_old = manifests.is_old(each, self.groups)
            yield conversion.convert(each) if is_old else each

    def migrate(
        self,
        old: helm_records.RevisionContent,
        release: str,
        labels: dict[str, str],
    ) -> bool:
        """Write served API versions into the record of a revision.

        :param old: the revision, as it was read
        :param labels: of the Secret that keeps the record of before
        :returns: whether any version changed
        :raises ReleaseStranded: a kind is served in no version
        :raises Conflict: the record was written by another client meanwhile
        """
        apis = manifests.apis(old.manifest)
        served = self._served(each.group for each in apis)
        plan = plan_repair(apis, served)
        if plan.lost:
            raise errors.ReleaseStranded(
                f"release {release} can't be changed: {refusal(plan.lost)}"
            )
        if not plan.moves:
            return False
        helm_records.save_original(self._management, old, labels)
        text = _in_versions(old.manifest, plan.moves)
        helm_records.rewrite(self._management, old, text, plan)
        LOG.warning(
            "Revision %d of %s in %s names API versions that are not served: "
            "changed %s in its record; what it was is in Secret %s",
            old.version,
            release,
            old.record["metadata"]["namespace"],
            plan,
            names.original(release, old.version),
        )
        return True

    def _learn(self) -> bool:
        """Find the groups whose objects have to be converted from now on.

        :returns: whether they are others than were known
        :raises ManagementUnreachable: no answer
        """
        versions = self._served(group for group, _ in conversion.TABLES)
        groups = frozenset(
            group
            for group, kind in conversion.TABLES
            if conversion.NEW in versions.get((group, kind), ())
            and conversion.OLD not in versions[group, kind]
        )
        if groups == self.groups:
            return False
        LOG.warning(
            "API groups that serve %s and not %s, so that the driver converts "
            "what charts make: %s",
            conversion.NEW,
            conversion.OLD,
            ", ".join(sorted(groups)) or "none",
        )
        self.groups = groups
        return True

    def _served(self, groups: Iterable[str]) -> ServedKinds:
        return {
            (group, kind): versions
            for group in set(groups)
            for kind, versions in self._management.served(group).items()
        }


def _in_versions(text: str, moves: Mapping[conversion.Api, str]) -> str:
    """Return a manifest with objects in other versions.

    An object that the driver can't convert gets the version alone. helm then
    does not remove a field of it that the next manifest does not have.
    """
    groups = {
        api.group
        for api, version in moves.items()
        if conversion.converts(api, version)
    }

    def convert(obj: conversion.Object) -> conversion.Object | None:
        try:
            return conversion.convert(obj)
        except errors.Unconvertible as error:
            LOG.warning("%s; the record gets the new version alone", error)
            return None

    return manifests.moved(manifests.converted(text, groups, convert), moves)


# API versions that a release names, and that a management cluster serves

_API_VERSION = re.compile(r"v(\d+)(?:(alpha|beta)(\d+))?")
_STAGES = {"alpha": 0, "beta": 1, None: 2}


@dataclasses.dataclass(frozen=True)
class Plan:
    """Changes that a manifest needs before helm can read it.

    :param moves: the served version of each API that is not served any more
    :param lost: of kinds that are served in no version at all
    """

    moves: Mapping[conversion.Api, str]
    lost: tuple[conversion.Api, ...] = ()

    def __str__(self) -> str:
        """Return the old and the new versions in words."""
        moves = {f"{old.name} to {new}" for old, new in self.moves.items()}
        return ", ".join(sorted(moves))


def plan_repair(named: Iterable[conversion.Api], served: ServedKinds) -> Plan:
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


def refusal(lost: Iterable[conversion.Api]) -> str:
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
