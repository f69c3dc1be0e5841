# SPDX-License-Identifier: Apache-2.0

"""A cluster before its upgrade: rows, and what is wanted of it so far."""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
import time
from typing import Any

from magnum_capi_helm import runtime
from magnum_capi_helm.database import rows
from magnum_capi_helm.features import topic
from magnum_capi_helm.helm import releases
from magnum_capi_helm.kubernetes import location
from magnum_capi_helm.lifecycle import nodegroup_rows
from magnum_capi_helm.management import kinds
from magnum_capi_helm.management import snapshot
from magnum_capi_helm.model import desired_state
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import requested_groups
from magnum_capi_helm.operations import operation
from magnum_capi_helm.status import view


@dataclasses.dataclass(frozen=True)
class Subject:
    """A cluster and what is wanted of it so far.

    :param rows: known by the names of the groups in ``base``
    :param nodegroups: the rows of those groups, and others
    :param scaled: UUIDs of the groups that the autoscaler owns -> machines
    """

    row: Any
    nodegroups: list[Any]
    rows: requested_groups.Rows
    base: desired_state.Intent
    scaled: Mapping[str, int] = dataclasses.field(default_factory=dict)

    @property
    def existing(self) -> list[Any]:
        """Rows of the groups that ought to exist."""
        there = {each.uuid for each in self.rows.groups}
        return [each for each in self.nodegroups if each.uuid in there]

    @property
    def items(self) -> dict[str, topic.Values]:
        """The items of ``nodeGroups``, by their names."""
        return {
            str(each["name"]): each
            for each in self.base.values.get("nodeGroups") or []
        }


def read(rt: runtime.Runtime, row: Any, *, settle: bool = True) -> Subject:
    """The cluster, and what is wanted of it so far.

    :param settle: bring the rows in line first; only under the Lease
    :raises NotSupported: helm has not made it yet
    """
    scope = operation.scope_of(row)
    if settle:
        nodegroup_rows.settle(rt, row)
    rows_now, nodegroups = rows.read(row)
    revisions = releases.revisions(rt.management, *scope)
    if not revisions:
        raise errors.NotSupported(
            "the cluster has no release on the management cluster yet: wait "
            "until it is complete"
        )
    base = operation.planned(rt, row, rows_now, scope, revisions)
    there = {str(each["name"]) for each in base.values.get("nodeGroups") or []}
    named = rows_now.known_as(there)
    scaled = _autoscaled(rt, scope, named)
    return Subject(row, nodegroups, named, base, scaled)


def _autoscaled(
    rt: runtime.Runtime, scope: snapshot.Scope, rows: requested_groups.Rows
) -> dict[str, int]:
    """UUIDs of the groups that the autoscaler owns -> their machines.

    :param rows: known by the names of the groups of the release
    """
    seen = rt.snapshots.get(scope, not_before=time.monotonic()).decode()
    found = {}
    for each in rows.workers:
        if each.chart_name in seen.autoscaled():
            live = view.spec_of(seen.deployment(each.chart_name))
            found[each.uuid] = int(live.get("replicas") or 0)
    return found


def infrastructure(rt: runtime.Runtime, row: Any) -> Any:
    """The OpenStackCluster of a cluster, or None."""
    return rt.management.get(
        kinds.OPENSTACK_CLUSTER,
        location.namespace(row.project_id),
        row.stack_id,
    )
