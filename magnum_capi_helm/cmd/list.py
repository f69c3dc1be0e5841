# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""``magnum-capi-helm list``: rows, and what there is of them."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from concurrent import futures
import dataclasses
import functools
from typing import Any

from cliff import lister

from magnum_capi_helm import conf
from magnum_capi_helm import exceptions
from magnum_capi_helm import inventory
from magnum_capi_helm import kept
from magnum_capi_helm import namespaces as owners
from magnum_capi_helm import origin
from magnum_capi_helm import roster
from magnum_capi_helm import rows
from magnum_capi_helm import runtime
from magnum_capi_helm.cmd import choice
from magnum_capi_helm.helm import releases
from magnum_capi_helm.management import answers
from magnum_capi_helm.management import client
from magnum_capi_helm.management import kinds
from magnum_capi_helm.resolve import location
from magnum_capi_helm.status import view

HEADER = (
    "Name",
    "UUID",
    "Project",
    "Status",
    "Management cluster",
    "Release",
    "Chart",
    "Kubernetes",
    "Revision",
    "State",
)


class List(lister.Lister):
    """List all clusters, and releases that are none.

    State is "ok", or says where Magnum and the management cluster differ.
    Nothing is written. Example: list --orphans -f json
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Which of them."""
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        parser.add_argument(
            "--management-cluster",
            metavar="NAME",
            help="those on that management cluster alone",
        )
        parser.add_argument(
            "--project", metavar="ID", help="those of that project alone"
        )
        parser.add_argument(
            "--orphans",
            action="store_true",
            help="only what Magnum has no cluster for",
        )
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Compare everything, and show what was asked for."""
        chosen = parsed_args.management_cluster
        if chosen is not None:
            runtime.home_of(chosen)
        lines, planes = compared(parsed_args.project)
        if chosen is not None:
            lines = [each for each in lines if each.plane == chosen]
            planes = [each for each in planes if each.name == chosen]
        if parsed_args.orphans:
            lines = [each for each in lines if each.state == inventory.ORPHAN]
        self._lines = lines + inventory.silent(planes, lines)
        return HEADER, [dataclasses.astuple(each) for each in self._lines]

    def run(self, parsed_args: argparse.Namespace) -> int:
        """Exit code 1 when anything is not ok."""
        super().run(parsed_args)
        return int(any(each.state != inventory.OK for each in self._lines))


def compared(
    project: str | None,
) -> tuple[list[inventory.Line], list[inventory.Plane]]:
    """All lines, and the management clusters that were asked.

    :param project: whose; None: everybody's
    """
    prefix = conf.CONF.capi_helm.namespace_prefix
    known = _rows(project)
    if project:
        only = [location.namespace(project)]
    else:
        only = sorted({each.scope[0] for each in known})
    look = functools.partial(
        _look,
        namespaces=only,
        everywhere=not project,
        ours=frozenset(each.scope for each in known),
    )
    every = runtime.names()
    with futures.ThreadPoolExecutor(len(every)) as pool:
        planes = list(pool.map(look, every))
    lines = inventory.compare(known, planes, prefix)
    if any(each.state == inventory.ORPHAN for each in lines):
        # A cluster that was made meanwhile is none.
        again = {each.uuid: each for each in (*known, *_rows(project))}
        lines = inventory.compare(list(again.values()), planes, prefix)
    return lines, planes


def _rows(project: str | None) -> list[inventory.Row]:
    found = roster.read(project, choice.of_this_driver)
    return [_row(cluster, nodegroups) for cluster, nodegroups in found]


def _row(cluster: Any, nodegroups: Sequence[Any]) -> inventory.Row:
    """A cluster's rows, as they are compared."""
    scope = (location.namespace(cluster.project_id), cluster.stack_id or "")
    wanted = rows.wants(cluster, nodegroups) if scope[1] else None
    record = origin.recorded(nodegroups)
    leaving = rows.action(cluster.status) == "DELETE"
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
    )


def _look(
    name: str,
    namespaces: Sequence[str],
    everywhere: bool,
    ours: frozenset[inventory.Scope],
) -> inventory.Plane:
    """What there is on a management cluster, in a handful of requests.

    :param namespaces: of those that are known
    :param everywhere: in all others, too
    :param ours: releases that are known
    """
    rt = runtime.get(name)
    identity = ""
    try:
        identity = origin.identity(rt)
        found = _releases(rt, [None] if everywhere else namespaces, ours)
    except answers.ForbiddenError as error:
        if not everywhere:
            return inventory.Plane(name, identity, silence=str(error))
        # The kubeconfig is for the projects' namespaces alone.
        return _look(name, namespaces, everywhere=False, ours=ours)
    except exceptions.CapiHelmError as error:
        return inventory.Plane(name, identity, silence=str(error))
    return inventory.Plane(name, identity, found)


def _releases(
    rt: runtime.Runtime,
    namespaces: Iterable[str | None],
    ours: frozenset[inventory.Scope],
) -> dict[inventory.Scope, inventory.Found]:
    """Every release in this cloud's namespaces.

    :param ours: releases that are known
    """
    clusters: dict[inventory.Scope, client.Object] = {}
    records: dict[inventory.Scope, list[client.Object]] = {}
    for namespace in namespaces:
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
    prefix = conf.CONF.capi_helm.namespace_prefix
    there = {
        scope
        for scope in clusters.keys() | records.keys()
        if inventory.project_of(scope[0], prefix)
    }
    # Of a release without a row: may it be that of another region's Magnum?
    theirs = _theirs(rt, {scope[0] for scope in there - ours})
    return {
        scope: _found(rt, scope, clusters.get(scope), records.get(scope, ()))
        for scope in there
        if scope in ours or scope[0] not in theirs
    }


def _theirs(rt: runtime.Runtime, names: Iterable[str]) -> set[str]:
    """Namespaces that belong to the Magnum of another region."""
    return {
        each
        for each in names
        if owners.foreign(rt.management.get(kinds.NAMESPACE, "", each))
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
        chart=inventory.chart_version(cluster) or _intended(rt, scope),
    )


def _intended(rt: runtime.Runtime, scope: inventory.Scope) -> str:
    """The version of the chart that was last wanted; empty: not known."""
    try:
        found = kept.read(rt, scope).wanted
    except exceptions.CapiHelmError as error:
        if error.retriable:
            raise
        return ""
    return found.chart.version if found else ""
