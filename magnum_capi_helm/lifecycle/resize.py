# SPDX-License-Identifier: Apache-2.0

"""Resize of a group: the control plane, or workers."""

from __future__ import annotations

from collections.abc import Callable
import dataclasses
import time
from typing import Any

from oslo_log import log

from magnum_capi_helm import runtime
from magnum_capi_helm.database import rows
from magnum_capi_helm.database import status_writer
from magnum_capi_helm.kubernetes import location
from magnum_capi_helm.lifecycle import machine_selection
from magnum_capi_helm.lifecycle import nodegroup_rows
from magnum_capi_helm.lifecycle import quota_growth
from magnum_capi_helm.management import kinds
from magnum_capi_helm.model import control_plane_size
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.model import requested_groups
from magnum_capi_helm.model import timing
from magnum_capi_helm.operations import deferred
from magnum_capi_helm.operations import faults
from magnum_capi_helm.operations import operation
from magnum_capi_helm.operations import state_secret
from magnum_capi_helm.planes import maintenance
from magnum_capi_helm.resolve import quota
from magnum_capi_helm.resolve import requested
from magnum_capi_helm.status import view

LOG = log.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class _Plan:
    """What has to be done beside saving the count and applying it.

    :param machines: those that the user wants to go
    :param scaled: name of a MachineDeployment whose count is the
        autoscaler's: it is told the new one, and goes on from there
    """

    machines: tuple[str, ...] = ()
    scaled: str = ""


def update(
    get_runtime: Callable[[], runtime.Runtime],
    context: Any,
    cluster: Any,
    rollback: bool,
) -> None:
    """Apply ``node_count`` of a cluster: a resize of default-worker.

    :raises NotSupported: refused; nothing was written
    """
    if rollback:
        raise errors.NotSupported(
            "rollback of a failed update is not supported by the driver "
            f"{names.DRIVER}, which goes on trying: update without it, and "
            "go back with another node_count"
        )
    resize(get_runtime, context, cluster, cluster.default_ng_worker, None)


def resize(
    get_runtime: Callable[[], runtime.Runtime],
    context: Any,
    cluster: Any,
    nodegroup: Any,
    nodes_to_remove: list[str] | None,
) -> None:
    """Apply the count that Magnum has already saved in ``nodegroup``.

    The same count once more applies all that is wanted once more.

    :raises CapiHelmError: refused; nothing was written, and Magnum puts the
        old count back
    """
    # Accepted, it is not taken back: the polls apply it, or say why not.
    going_on = "Resize of cluster %s goes on with the polls: %s"
    with timing.measured() as measured:
        maintenance.refuse(cluster)
        plan = _plan(
            get_runtime, context, cluster, nodegroup, nodes_to_remove or []
        )
        rows_now, _ = rows.read(cluster)
        operation.check_request(get_runtime, cluster, rows_now, always=True)
        _tell(get_runtime, cluster, nodegroup.node_count, plan)
        nodegroup.status = rows.Status.UPDATE_IN_PROGRESS
        nodegroup.status_reason = None
        nodegroup.save()
        # Magnum would write it when this is over, or never: a conductor that
        # dies now leaves a cluster that no poll looks at.
        status_writer.await_polls(context, cluster)
        with faults.logged(LOG, going_on, cluster.uuid):
            _apply(get_runtime(), context, cluster)
            LOG.info("resized release %s: %s", cluster.stack_id, measured)


def _plan(
    get_runtime: Callable[[], runtime.Runtime],
    context: Any,
    cluster: Any,
    nodegroup: Any,
    nodes: list[str],
) -> _Plan:
    """Refuse what can't be; nothing is written."""
    if not cluster.stack_id:
        raise errors.NotSupported(operation.NO_RELEASE)
    if nodegroup.role == "master":
        _check_control_plane(get_runtime, cluster, nodegroup.node_count, nodes)
    else:
        _check_bounds(nodegroup)
    needed = bool(nodes) or requested.autoscales(cluster)
    seen = _seen(get_runtime, cluster, needed)
    if seen is None:
        return _Plan()
    group = _named(cluster, nodegroup, seen)
    now = view.spec_of(_live(seen, group)).get("replicas") or 0
    quota_growth.check(context, cluster, nodegroup, int(now))
    return _Plan(
        machines=tuple(
            machine_selection.choose(nodes, seen, group) if nodes else ()
        ),
        scaled=_scaled(seen, group),
    )


def _seen(
    get_runtime: Callable[[], runtime.Runtime], cluster: Any, needed: bool
) -> view.View | None:
    """The live objects, where it matters what they are.

    :raises CapiHelmError: they are needed and can't be read
    """
    if not needed and quota.off():
        return None
    scope = operation.scope_of(cluster)
    try:
        snapshots = get_runtime().health_snapshots
        return snapshots.get(scope, not_before=time.monotonic()).decode()
    except errors.CapiHelmError:
        if needed:
            raise
        return None


def _live(
    seen: view.View, group: requested_groups.Group
) -> view.Object | None:
    if group.control_plane:
        return seen.control_plane
    return seen.deployment(group.chart_name)


def _check_control_plane(
    get_runtime: Callable[[], runtime.Runtime],
    cluster: Any,
    count: int,
    nodes: list[str],
) -> None:
    if nodes:
        raise errors.NotSupported(
            "nodes_to_remove for the control plane is not supported by the "
            f"driver {names.DRIVER}: Cluster API chooses the machine whose "
            "loss etcd bears best"
        )
    control_plane_size.check(count, "node_count")
    if count == 1:
        return
    found = state_secret.base(
        get_runtime(), operation.scope_of(cluster)
    ).wanted
    api = (found.values.get("apiServer") or {}) if found else {}
    if api.get("enableLoadBalancer") is False:
        raise errors.InvalidInput(
            f"node_count={count}: the cluster has no load balancer for its "
            "API (master_lb_enabled), so its control plane is one machine; "
            "make a cluster with one"
        )


def _check_bounds(nodegroup: Any) -> None:
    """The group's own bounds, which Magnum looks at in a resize alone."""
    count = nodegroup.node_count
    minimum, maximum = nodegroup.min_node_count, nodegroup.max_node_count
    if count < (minimum or 0) or (maximum and count > maximum):
        allowed = f"{minimum or 0} {f'to {maximum}' if maximum else 'or more'}"
        raise errors.InvalidInput(
            f"node_count={count}: nodegroup "
            f"{errors.shown(nodegroup.name)} takes {allowed} nodes; "
            "change its bounds first"
        )


def _named(
    cluster: Any, nodegroup: Any, seen: view.View
) -> requested_groups.Group:
    """The group as it is wanted, by the name of its live objects."""
    rows_now, _ = rows.read(cluster)
    named = rows_now.known_as(seen.group_names())
    for group in named.groups:
        if group.uuid == nodegroup.uuid:
            return dataclasses.replace(group, count=nodegroup.node_count)
    return rows.group(nodegroup, cluster.stack_id)


def _scaled(seen: view.View, group: requested_groups.Group) -> str:
    """The MachineDeployment, if the autoscaler owns its count.

    :raises InvalidInput: the new count is one that it would not keep
    """
    live = seen.deployment(group.chart_name)
    if live is None or group.chart_name not in seen.autoscaled():
        return ""
    minimum, maximum = view.autoscaler_bounds(live)
    if not minimum <= group.count <= maximum:
        raise errors.InvalidInput(
            f"node_count={group.count}: the autoscaler keeps nodegroup "
            f"{errors.shown(group.name)} between {minimum} and {maximum} "
            "nodes; change its bounds first"
        )
    return view.name_of(live)


def _tell(
    get_runtime: Callable[[], runtime.Runtime],
    cluster: Any,
    count: int,
    plan: _Plan,
) -> None:
    """Tell the machines, and the autoscaler's group, before the row says so.

    Neither needs the Lease: a mark changes nothing by itself, and the count
    of an autoscaled group is in no manifest.

    :raises CapiHelmError: nothing was told
    """
    if plan == _Plan():
        return
    rt = get_runtime()
    namespace, _ = operation.scope_of(cluster)
    with machine_selection.marked(rt, namespace, plan.machines):
        if plan.scaled:
            rt.management.patch(
                kinds.MACHINE_DEPLOYMENT,
                namespace,
                plan.scaled,
                {"spec": {"replicas": count}},
            )


def _apply(rt: runtime.Runtime, context: Any, cluster: Any) -> None:
    # Not as polls go on: to them the same count is nothing to apply.
    with deferred.queued(rt, cluster, _apply_now):
        _apply_now(rt, context, cluster)


def _apply_now(rt: runtime.Runtime, context: Any, cluster: Any) -> None:
    scope = operation.scope_of(cluster)
    labels = location.object_labels(cluster, scope[1])
    # A poll that has the Lease is soon done; the next one has nothing to do.
    with operation.patient(rt, scope, labels) as hold:
        row = rows.fresh(context, cluster)
        hold.orphaned = row is None
        if row is None:
            return
        nodegroup_rows.settle(rt, row)
        rows_now, _ = rows.read(row)
        machine_selection.withdraw(rt, scope, rows_now)
        operation.apply(rt, row, rows_now, hold)
