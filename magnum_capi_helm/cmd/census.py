# SPDX-License-Identifier: Apache-2.0

"""All rows, and what there is of them on all management clusters.

What to make of it says :mod:`magnum_capi_helm.database.inventory`. Nothing is
written.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent import futures
import dataclasses
import functools
from typing import Any, NamedTuple

from magnum_capi_helm import runtime
from magnum_capi_helm.cmd import choice
from magnum_capi_helm.cmd import staleness
from magnum_capi_helm.config import conf
from magnum_capi_helm.credentials import upkeep
from magnum_capi_helm.database import inventory
from magnum_capi_helm.database import queries
from magnum_capi_helm.database import rows
from magnum_capi_helm.helm import releases
from magnum_capi_helm.kubernetes import location
from magnum_capi_helm.management import answers
from magnum_capi_helm.management import client
from magnum_capi_helm.management import kinds
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.operations import state_secret
from magnum_capi_helm.planes import namespaces
from magnum_capi_helm.planes import origin
from magnum_capi_helm.status import view


class Census(NamedTuple):
    """What was read, and compared."""

    rows: list[inventory.Row]
    lines: list[inventory.Line]
    planes: list[inventory.Plane]


def take(project: str | None, now: staleness.Cloud | None = None) -> Census:
    """All rows, a line for each, and the management clusters that were asked.

    :param project: whose; None: everybody's
    :param now: what new clusters get, with which credentials and machines
        are compared; None: with nothing
    """
    prefix = conf.CONF.capi_helm.namespace_prefix
    known = _rows(project)
    if project:
        only = [location.namespace(project)]
    else:
        only = sorted({each.scope[0] for each in known})
    look = functools.partial(
        _look,
        now=now,
        within=only,
        everywhere=not project,
        ours=frozenset(each.scope for each in known),
    )
    every = runtime.names()
    with futures.ThreadPoolExecutor(len(every)) as pool:
        planes = list(pool.map(look, every))
    lines = inventory.compare(known, planes, prefix)
    if any(each.orphan for each in lines):
        # A cluster that was made meanwhile is none.
        again = {each.uuid: each for each in (*known, *_rows(project))}
        known = list(again.values())
        lines = inventory.compare(known, planes, prefix)
    return Census(known, lines, planes)


def _rows(project: str | None) -> list[inventory.Row]:
    found = queries.read(project, choice.of_this_driver)
    return [_row(cluster, nodegroups) for cluster, nodegroups in found]


def _row(cluster: Any, nodegroups: Sequence[Any]) -> inventory.Row:
    """A cluster's rows, as they are compared."""
    scope = (location.namespace(cluster.project_id), cluster.stack_id or "")
    wanted = rows.wants(cluster, nodegroups) if scope[1] else None
    record = origin.recorded(nodegroups)
    leaving = rows.action(cluster.status) == "DELETE"
    near = (cluster.health_status_reason or {}).get("certificates")
    return inventory.Row(
        name=cluster.name or "",
        uuid=cluster.uuid,
        project=cluster.project_id,
        status=cluster.status or "",
        version=cluster.coe_version or "",
        scope=scope,
        fingerprint=wanted.fingerprint() if wanted else "",
        identity=record.identity,
        home=record.name,
        leaving=leaving or bool(wanted and wanted.doomed),
        user=cluster.user_id or "",
        changed=(cluster.updated_at or cluster.created_at).timestamp(),
        refused=upkeep.refused(cluster),
        warning=f"certificates: {near}" if near else "",
    )


def _look(
    name: str,
    now: staleness.Cloud | None,
    within: Sequence[str],
    everywhere: bool,
    ours: frozenset[inventory.Scope],
) -> inventory.Plane:
    """What there is on a management cluster, in a handful of requests.

    :param within: namespaces of those that are known
    :param everywhere: in all others, too
    :param ours: releases that are known
    """
    rt = runtime.get(name)
    identity = ""
    try:
        identity = origin.identity(rt)
        where = [None] if everywhere else within
        found = _releases(rt, where, now, ours)
    except answers.ForbiddenError as error:
        if not everywhere:
            return inventory.Plane(name, identity, silence=str(error))
        # The kubeconfig is for the projects' namespaces alone.
        return _look(name, now, within, everywhere=False, ours=ours)
    except errors.CapiHelmError as error:
        return inventory.Plane(name, identity, silence=str(error))
    return inventory.Plane(name, identity, found)


def _releases(
    rt: runtime.Runtime,
    within: Sequence[str | None],
    now: staleness.Cloud | None,
    ours: frozenset[inventory.Scope],
) -> dict[inventory.Scope, inventory.Found]:
    """Every release in this cloud's namespaces.

    :param now: what new clusters get; None: not known
    :param ours: those that are known
    """
    stale = staleness.stale(rt, within, now)
    clusters, records = _listed(rt, within)
    prefix = conf.CONF.capi_helm.namespace_prefix
    mine = conf.CONF.capi_helm.region_name
    there = {
        scope
        for scope in clusters.keys() | records.keys()
        if names.project_of(scope[0], prefix)
    }
    # Of a release without a row: may it be that of another region's Magnum?
    strangers = _marks(rt, {scope[0] for scope in there - ours})
    behind = staleness.behind(rt, (there & ours) - stale, now)
    return {
        scope: dataclasses.replace(
            _found(rt, scope, clusters.get(scope), records.get(scope, ())),
            stale=scope in stale,
            behind=behind.get(scope, ""),
            unmarked=not strangers.get(scope[0]),
        )
        for scope in there
        if scope in ours or strangers[scope[0]] in ("", mine)
    }


def _listed(
    rt: runtime.Runtime, within: Iterable[str | None]
) -> tuple[
    dict[inventory.Scope, client.Object],
    dict[inventory.Scope, list[client.Object]],
]:
    """Clusters, and records of helm, by release."""
    clusters: dict[inventory.Scope, client.Object] = {}
    records: dict[inventory.Scope, list[client.Object]] = {}
    for namespace in within:
        for each in rt.management.list(
            kinds.CLUSTER,
            namespace,
            view.CHART_CLUSTER_LABEL,
            metadata_only=True,
        ):
            clusters[_scope(each, view.CHART_CLUSTER_LABEL)] = each
        for each in rt.management.list(
            kinds.SECRET,
            namespace,
            f"{releases.OWNED},status!=superseded,{releases.NAME_LABEL}",
            metadata_only=True,
        ):
            scope = _scope(each, releases.NAME_LABEL)
            records.setdefault(scope, []).append(each)
    return clusters, records


def _marks(rt: runtime.Runtime, wanted: Iterable[str]) -> dict[str, str]:
    """The regions that namespaces belong to; empty: nothing says it."""
    return {
        each: namespaces.owner(rt.management.get(kinds.NAMESPACE, "", each))
        for each in wanted
    }


def _scope(obj: client.Object, label: str) -> inventory.Scope:
    return obj["metadata"]["namespace"], view.labels_of(obj)[label]


def _found(
    rt: runtime.Runtime,
    scope: inventory.Scope,
    cluster: client.Object | None,
    records: Iterable[client.Object],
) -> inventory.Found:
    revisions = releases.parsed(records)
    return inventory.Found(
        cluster=cluster,
        newest=revisions[-1] if revisions else None,
        chart=view.chart_version(cluster) or _intended(rt, scope),
    )


def _intended(rt: runtime.Runtime, scope: inventory.Scope) -> str:
    """The version of the chart that was last wanted; empty: not known."""
    try:
        found = state_secret.read(rt, scope).wanted
    except errors.CapiHelmError as error:
        if error.retriable:
            raise
        return ""
    return found.chart.version if found else ""
