# SPDX-License-Identifier: Apache-2.0

"""What the management clusters have of releases, for the findings of a swap.

Lists alone: the objects of all releases, and two of Secrets for each
project's namespace. Nothing is written, not even where a cluster is.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
import dataclasses
import time
from typing import Any

from magnum_capi_helm import runtime
from magnum_capi_helm.chart import values
from magnum_capi_helm.config import conf
from magnum_capi_helm.database import rows
from magnum_capi_helm.helm import releases
from magnum_capi_helm.kubernetes import location
from magnum_capi_helm.management import client
from magnum_capi_helm.management import kinds
from magnum_capi_helm.management import observation
from magnum_capi_helm.management import snapshot
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import stranded
from magnum_capi_helm.status import cluster as cluster_status
from magnum_capi_helm.status import view
from magnum_capi_helm.swap import evidence
from magnum_capi_helm.swap import papers

_DEPLOYED = f"{releases.OWNED},status=deployed,{releases.NAME_LABEL}"
_OTHERS = "owner!=helm"


@dataclasses.dataclass(frozen=True)
class Seen:
    """What was found, and which management clusters did not answer."""

    live: Mapping[snapshot.Scope, evidence.Live]
    silence: str = ""

    def of(self, scope: snapshot.Scope) -> tuple[evidence.Live | None, str]:
        """What there is of a release; why that is not known."""
        found = self.live.get(scope)
        return found, "" if found else self.silence


def group_names(live: evidence.Live | None) -> frozenset[str]:
    """The chart's names of the groups of a release."""
    return values.group_names(live.values if live else {})


def read(found: Sequence[tuple[Any, Sequence[Any]]]) -> Seen:
    """All releases of some clusters, each with its nodegroups' rows."""
    scopes = {
        (location.namespace(cluster.project_id), cluster.stack_id): (
            cluster,
            nodegroups,
        )
        for cluster, nodegroups in found
        if cluster.stack_id
    }
    live: dict[snapshot.Scope, evidence.Live] = {}
    silences = []
    for name in runtime.names() if scopes else ():
        try:
            live |= _Plane(runtime.get(name)).read(scopes)
        except errors.CapiHelmError as error:
            silences.append(str(error))
    return Seen(live, "; ".join(silences))


class _Plane:
    """One management cluster."""

    def __init__(self, rt: runtime.Runtime) -> None:
        self._rt = rt
        self._observer = observation.Observer(rt.management, whole=True)
        self._groups: set[str] = set()
        self._served: dict[tuple[str, str], frozenset[str]] = {}

    def read(
        self, scopes: Mapping[snapshot.Scope, tuple[Any, Sequence[Any]]]
    ) -> dict[snapshot.Scope, evidence.Live]:
        """What is here."""
        sightings = self._observer.read(scopes, True, {})
        found = {}
        for namespace in sorted({each[0] for each in scopes}):
            mine = {each for each in scopes if each[0] == namespace}
            deployed, secrets = self._secrets(namespace, mine)
            for scope in mine:
                seen = sightings[scope].decode()
                if seen.cluster is None and not seen.revisions:
                    continue
                found[scope] = self._live(
                    *scopes[scope], seen, deployed.get(scope[1]), secrets
                )
        return found

    def _secrets(
        self, namespace: str, scopes: Collection[snapshot.Scope]
    ) -> tuple[dict[str, client.Object], dict[str, client.Object]]:
        """The records of deployed revisions by release; the rest by name."""
        wanted = {release for _, release in scopes}
        ask = self._rt.management.list
        records: dict[str, client.Object] = {}
        for each in ask(kinds.SECRET, namespace, _DEPLOYED):
            release = view.labels_of(each)[releases.NAME_LABEL]
            if release in wanted:
                records[release] = max(
                    each, records.get(release, each), key=_version
                )
        others = ask(kinds.SECRET, namespace, _OTHERS)
        return records, {view.name_of(each): each for each in others}

    def _live(
        self,
        cluster: Any,
        nodegroups: Sequence[Any],
        seen: view.View,
        record: client.Object | None,
        secrets: Mapping[str, client.Object],
    ) -> evidence.Live:
        damaged: list[str] = []
        revision = None
        if record is not None:
            try:
                revision = releases.opened(record)
            except errors.HelmError as error:
                damaged.append(str(error))
        credential = papers.credential(secrets, seen.release, damaged)
        authorities = papers.authorities(secrets, seen.release, damaged)
        return evidence.Live(
            reason=_reason(cluster, nodegroups, seen, revision),
            chart=revision.chart_version if revision else "",
            values=revision.values if revision else {},
            versions=_versions(revision),
            outlook=self._outlook(revision, cluster.status or ""),
            credential=credential,
            certificates=authorities + papers.machines(seen),
            damaged=tuple(damaged),
            reachable=self._rt.home.kubeconfig in ("", conf.kubeconfig_path()),
        )

    def _outlook(
        self, revision: releases.Release | None, status: str
    ) -> stranded.Outlook:
        """What the next operation with its own chart comes to."""
        named = {
            stranded.api(str(each.get("apiVersion", "")), str(each["kind"]))
            for each in (revision.objects if revision else ())
        }
        for group in {each.group for each in named} - self._groups:
            self._groups.add(group)
            for kind, versions in self._rt.management.served(group).items():
                self._served[group, kind] = versions
        makes = {each.group: each.version for each in named}
        return stranded.outlook(named, self._served, makes, status)


def _version(record: client.Object) -> int:
    return int(view.labels_of(record).get("version", 0))


def _versions(revision: releases.Release | None) -> frozenset[str]:
    """Group versions of a manifest, but for Kubernetes' first group."""
    objects = revision.objects if revision else ()
    found = {str(each.get("apiVersion", "")) for each in objects}
    return frozenset(each for each in found if "/" in each)


def _reason(
    cluster: Any,
    nodegroups: Sequence[Any],
    seen: view.View,
    revision: releases.Release | None,
) -> str:
    """This driver's verdict, as its polls come to it."""
    wanted = rows.wants(cluster, nodegroups).known_as(seen.group_names())
    addons = (kinds.HELM_RELEASE, kinds.MANIFESTS)
    return cluster_status.verdict(
        seen,
        wanted,
        now=time.time(),
        autoscaled=seen.autoscaled(),
        required=conf.CONF.capi_helm.k8s_control_plane_resource_conditions,
        expected=revision.names(*addons) if revision else frozenset(),
    ).reason
