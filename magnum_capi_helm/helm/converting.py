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

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

from oslo_log import log

from magnum_capi_helm.chart import conversion
from magnum_capi_helm.helm import manifests
from magnum_capi_helm.kubernetes import client
from magnum_capi_helm.kubernetes import helm_records
from magnum_capi_helm.model import api_versions
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names

LOG = log.getLogger(__name__)

T = TypeVar("T")
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
            api = api_versions.api(each["apiVersion"], each["kind"])
            if api.group in self.groups and conversion.converts(
                api, conversion.NEW
            ):
                yield conversion.convert(each)
            else:
                yield each

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
        plan = api_versions.plan_repair(apis, served)
        if plan.lost:
            raise errors.ReleaseStranded(
                f"release {release} can't be changed: "
                f"{api_versions.refusal(plan.lost)}"
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

    def _served(self, groups: Iterable[str]) -> api_versions.ServedKinds:
        return {
            (group, kind): versions
            for group in set(groups)
            for kind, versions in self._management.served(group).items()
        }


def _in_versions(text: str, moves: Mapping[api_versions.Api, str]) -> str:
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
