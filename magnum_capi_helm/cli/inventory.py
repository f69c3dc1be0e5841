# SPDX-License-Identifier: Apache-2.0

"""Read all clusters: Magnum's rows, and their releases on all management
clusters.

:mod:`magnum_capi_helm.database.inventory` compares the two. Nothing is
written.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from concurrent import futures
import contextlib
import functools
from typing import Any, NamedTuple

from magnum_capi_helm import runtime
from magnum_capi_helm.cli import base
from magnum_capi_helm.config import conf
from magnum_capi_helm.credentials import validity
from magnum_capi_helm.database import inventory as comparison
from magnum_capi_helm.database import rows
from magnum_capi_helm.kubernetes import client
from magnum_capi_helm.kubernetes import helm_records
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import location
from magnum_capi_helm.kubernetes import responses
from magnum_capi_helm.management_clusters import identity
from magnum_capi_helm.management_clusters import placement
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.status import view

_CLUSTERS = view.CHART_CLUSTER_LABEL
_HELM_RECORDS = (
    f"{helm_records.OWNED},status!=superseded,{helm_records.NAME_LABEL}"
)


class Inventory(NamedTuple):
    """Rows, management clusters, and the result of comparing them."""

    rows: list[comparison.Row]
    lines: list[comparison.Line]
    management_clusters: list[comparison.ManagementCluster]


def read(project: str | None) -> Inventory:
    """Read all rows and all management clusters, and compare them.

    :param project: only clusters of that project; None: of all projects
    """
    prefix = conf.CONF.capi_helm.namespace_prefix
    clusters = _rows(project)
    read_one = functools.partial(_read, clusters, project)
    configured = runtime.names()
    with futures.ThreadPoolExecutor(len(configured)) as pool:
        management_clusters = list(pool.map(read_one, configured))
    lines = comparison.compare(clusters, management_clusters, prefix)
    if any(each.orphan for each in lines):
        # A cluster that Magnum made in the meantime is no orphan.
        again = {each.uuid: each for each in (*clusters, *_rows(project))}
        clusters = list(again.values())
        lines = comparison.compare(clusters, management_clusters, prefix)
    return Inventory(clusters, lines, management_clusters)


def _rows(project: str | None) -> list[comparison.Row]:
    return [
        _row(*each) for each in rows.read_all(project, base.of_this_driver)
    ]


def _row(cluster: Any, nodegroups: Sequence[Any]) -> comparison.Row:
    scope = (location.namespace(cluster.project_id), cluster.stack_id or "")
    wanted = rows.wants(cluster, nodegroups) if scope[1] else None
    record = identity.recorded(nodegroups)
    is_deleted = rows.action(cluster.status) == "DELETE"
    return comparison.Row(
        name=cluster.name or "",
        uuid=cluster.uuid,
        project=cluster.project_id,
        status=cluster.status or "",
        version=cluster.coe_version or "",
        scope=scope,
        fingerprint=wanted.fingerprint() if wanted else "",
        identity=record.identity,
        recorded_name=record.name,
        leaving=is_deleted or bool(wanted and rows.doomed(nodegroups)),
        changed=(cluster.updated_at or cluster.created_at).timestamp(),
        refused=validity.last_result(cluster),
    )


def _read(
    clusters: Iterable[comparison.Row], project: str | None, name: str
) -> comparison.ManagementCluster:
    """Read one management cluster; an error is part of the result."""
    rt = runtime.get(name)
    ours = {each.scope for each in clusters}
    uid = ""
    try:
        uid = identity.read(rt)
        try:
            where = [location.namespace(project) if project else None]
            releases = _releases(rt, ours, where)
        except responses.ForbiddenError:
            releases = _releases(rt, ours, _readable(rt, ours, project))
    except errors.CapiHelmError as error:
        return comparison.ManagementCluster(
            name, uid, error=errors.explained(error)
        )
    return comparison.ManagementCluster(name, uid, releases)


def _readable(
    rt: runtime.Runtime,
    ours: Collection[comparison.Scope],
    project: str | None,
) -> list[str]:
    """Return namespaces for a user of the projects' namespaces alone.

    Those with a Cluster object may have releases without rows. A role is
    bound only in namespaces that exist here.
    """
    namespaces = {namespace for namespace, _ in ours}
    used: set[str] = set()
    if project:
        namespaces = {location.namespace(project)}
    else:
        with contextlib.suppress(responses.ForbiddenError):
            listed = _list(rt, kinds.CLUSTER, None, _CLUSTERS)
            used = {each["metadata"]["namespace"] for each in listed}
    prefix = conf.CONF.capi_helm.namespace_prefix
    return [
        each
        for each in sorted(namespaces | used)
        if names.project_of(each, prefix)
        and (each in used or rt.management.get(kinds.NAMESPACE, "", each))
    ]


def _releases(
    rt: runtime.Runtime,
    ours: Collection[comparison.Scope],
    where: Sequence[str | None],
) -> dict[comparison.Scope, comparison.ReleaseObjects]:
    """Return the releases in this cloud's namespaces.

    :param where: namespaces; None: all of them
    """
    clusters: dict[comparison.Scope, client.Object] = {}
    records: dict[comparison.Scope, list[client.Object]] = {}
    for namespace in where:
        for each in _list(rt, kinds.CLUSTER, namespace, _CLUSTERS):
            clusters[scope_of(each, _CLUSTERS)] = each
        for each in _list(rt, kinds.SECRET, namespace, _HELM_RECORDS):
            scope = scope_of(each, helm_records.NAME_LABEL)
            records.setdefault(scope, []).append(each)
    prefix = conf.CONF.capi_helm.namespace_prefix
    scopes = {
        scope
        for scope in clusters.keys() | records.keys()
        if names.project_of(scope[0], prefix)
    }
    unknown = {namespace for namespace, _ in scopes.difference(ours)}
    elsewhere = {each for each in unknown if _is_another_regions(rt, each)}
    return {
        scope: comparison.ReleaseObjects(
            clusters.get(scope), _newest(records.get(scope, ()))
        )
        for scope in scopes
        if scope in ours or scope[0] not in elsewhere
    }


def _list(
    rt: runtime.Runtime, kind: kinds.Kind, namespace: str | None, labels: str
) -> list[client.Object]:
    return rt.management.list(kind, namespace, labels, metadata_only=True)


def scope_of(obj: client.Object, label: str) -> comparison.Scope:
    """Return namespace and release of an object that a label assigns."""
    return obj["metadata"]["namespace"], view.labels_of(obj)[label]


def _is_another_regions(rt: runtime.Runtime, namespace: str) -> bool:
    """Return whether a release without a row is another Magnum's cluster."""
    obj = rt.management.get(kinds.NAMESPACE, "", namespace)
    region = placement.namespace_region(obj)
    return region not in ("", conf.CONF.capi_helm.region_name)


def _newest(records: Iterable[client.Object]) -> view.Revision | None:
    revisions = helm_records.parsed(records)
    return revisions[-1] if revisions else None
