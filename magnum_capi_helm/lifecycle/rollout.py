# SPDX-License-Identifier: Apache-2.0

"""Roll out a chart, values or labels of clusters to living clusters.

1. The cluster's own values stay: they are not built anew from template and
   labels, so it gets only what the operator ordered.
2. Refuse a cluster that is not complete, a chart that does not fit it, and
   machines that would be replaced, unless the operator allows that.
3. Compute the new desired state. For other labels, build the values twice,
   with the labels so far and with the new ones, and lay only the difference
   over the cluster's values: a replaced image, or another default of the
   operator, stays out of it. Images and flavors may be deleted: the values
   have their names. A cluster whose desired state is already that has the
   order, so a run that was stopped can be repeated.
4. Let the webhooks of the management cluster see the changes.
5. Save UPDATE_IN_PROGRESS, store the desired state and run helm, as an
   upgrade does. The polls finish it. Of other fields only the counts of
   groups change that lose the autoscaler.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
import dataclasses

from magnum_capi_helm import features
from magnum_capi_helm.chart import ca_rotation
from magnum_capi_helm.chart import diff
from magnum_capi_helm.chart import upgrade_rules
from magnum_capi_helm.chart import values
from magnum_capi_helm.cloud import catalogue
from magnum_capi_helm.database import rows
from magnum_capi_helm.features import etcd
from magnum_capi_helm.features import template
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.lifecycle import release_change
from magnum_capi_helm.lifecycle import upgrade_plan
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import desired_state
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import labels
from magnum_capi_helm.model import paths
from magnum_capi_helm.model import versions
from magnum_capi_helm.operations import cluster_operation
from magnum_capi_helm.operations import cluster_release
from magnum_capi_helm.operations import template_guard
from magnum_capi_helm.resolve import operator_files
from magnum_capi_helm.resolve import requested_labels
from magnum_capi_helm.status import replacement

#: GB of a disk whose size is not known: the machines run.
_ENOUGH = 1 << 20
#: Seconds to wait for a helm process: an operator can wait.
_PATIENCE = 600.0


@dataclasses.dataclass(frozen=True)
class Order:
    """The order of an operator for some clusters.

    :param chart: version of the chart; empty: each keeps its own
    :param files: lay the operator's values over the cluster's
    :param replacing: machines may be replaced
    :param labels: of the clusters, without chart and files: name -> value;
        None: the template's again
    :param hibernated: whether workers go away, or come back; None: neither
    """

    chart: str = ""
    files: bool = False
    replacing: bool = False
    labels: Mapping[str, str | None] = dataclasses.field(default_factory=dict)
    hibernated: bool | None = None


@dataclasses.dataclass(frozen=True)
class Plan:
    """The effect of an order on one cluster.

    :param now: the chart version of the cluster
    :param desired: the new desired state; None: the cluster has the order
    :param comparison: of what is installed with the new state
    :param going_on: the cluster has the order, and is not complete yet
    """

    now: str
    desired: desired_state.DesiredState | None = None
    comparison: template_guard.Comparison | None = None
    going_on: bool = False

    @property
    def changes(self) -> tuple[diff.Change, ...]:
        """The changes, those that replace machines first."""
        return self.comparison.changes if self.comparison else ()


def plan(release: cluster_release.Release, order: Order) -> Plan:
    """Plan an order for one cluster; write nothing.

    :param release: with a row that was read just now
    :raises CapiHelmError: it can't be done, or not now
    """
    row = release.cluster
    _check_status(row)
    current = release_change.read(release)
    version = current.desired.chart.version
    with release.runtime.turns.turn(_PATIENCE):
        desired = _desired(current, order)
        if rows.in_progress(row.status):
            if desired is not None:
                raise _not_complete(row)
            return Plan(version, going_on=True)
        if desired is None:
            return Plan(version)
        comparison = current.compare(desired)
    _check_machines(release.release, comparison.changes, order)
    _check_certificates(release, comparison.objects, order)
    permitted = desired.permitting(
        current.installed.version, comparison.replaced
    )
    return Plan(version, permitted, comparison)


def apply(operation: cluster_operation.Operation, order: Order) -> str:
    """Apply an order to one cluster.

    :returns: why the polls have to go on; empty: helm is done
    :raises CapiHelmError: it was refused, or could not be stored; then at
        most the status was written, which the polls correct
    """
    rt = operation.runtime
    with (
        # Before the Lease: no operation waits for helm with a Lease.
        rt.turns.turn(_PATIENCE),
        operation.lock(wait=rt.command_lease_wait) as held,
    ):
        held.check_living()
        held.settle()
        planned = plan(held, order)
        if planned.going_on:
            raise _not_complete(held.cluster)
        if planned.desired is None or planned.comparison is None:
            return ""
        objects = planned.comparison.objects
        release_change.dry_run(held, objects, "what is rolled out")
        release_change.accept(held, planned.desired)
        return release_change.run_helm(held)


def _check_status(row: rows.Cluster) -> None:
    """Refuse a cluster that is neither complete nor being updated."""
    groups = rows.all_groups(row)
    if rows.action(row.status) == "DELETE" or rows.doomed(groups):
        raise errors.NotSupported("the cluster is being deleted")
    updating = row.status == rows.Status.UPDATE_IN_PROGRESS
    if not updating and not row.status.endswith("_COMPLETE"):
        raise _not_complete(row)
    if not row.stack_id:
        raise errors.NotSupported(cluster_operation.NO_RELEASE)


def _not_complete(row: rows.Cluster) -> errors.CapiHelmError:
    why = f" ({row.status_reason})" if row.status_reason else ""
    return errors.NotSupported(
        f"the cluster is {row.status}{why}: what is rolled out goes to "
        "complete clusters alone"
    )


def _check_machines(
    release: str, changes: Iterable[diff.Change], order: Order
) -> None:
    """Refuse to replace machines, unless the order allows it."""
    groups = [
        f"{each.name.removeprefix(f'{release}-')} ({each.replaced})"
        for each in changes
        if each.replaced
    ]
    if groups and not order.replacing:
        raise errors.NotSupported(
            f"machines would be replaced, in {', '.join(groups)}: "
            "--allow-replacement lets them be"
        )


def _check_certificates(
    release: cluster_release.Release,
    changed: Iterable[cluster_release.Object],
    order: Order,
) -> None:
    """Refuse days of renewal within which certificates expire."""
    planes = [e for e in changed if e["kind"] == kinds.CONTROL_PLANE.name]
    if order.replacing or not planes:
        return
    objects = release.runtime.snapshots.read(release.scope).decode()
    if due := replacement.due_machines(objects, planes[0]):
        raise errors.NotSupported(
            "Cluster API would replace machines at once, whose certificates "
            f"expire within that time: {', '.join(due)}. "
            "--allow-replacement lets them be"
        )


def _desired(
    current: release_change.Current, order: Order
) -> desired_state.DesiredState | None:
    """Return the desired state of an order; None: the cluster has it.

    :raises NotSupported: chart or values don't fit the cluster
    :raises InvalidInput: the chart ignores a label of the cluster, or a
        profile does not exist
    :raises NotConfigured: a file is unreadable, or says what it must not
    """
    before = current.desired
    chart = _chart(before.chart, order.chart)
    changed = relabelled(current, order.labels)
    new = _with_overlays(current) if order.files else changed.values
    new = values.with_hibernation(new, order.hibernated)
    if chart != before.chart:
        _check_chart(current, chart)
        new = operator_files.mirrored(current.release.runtime, chart, new)
    if (chart, new) != (before.chart, before.values):
        new = current.keep_fields(new, chart)
    same = (chart, new, changed.labels) == (
        before.chart,
        before.values,
        before.labels,
    )
    if same and not (order.chart and _is_rebuilt(current)):
        return None
    _check_encryption(before.values, new)
    upgrade_rules.check_cni_version(before.values, new)
    return current.changed(
        chart,
        new,
        changed.moves,
        # A rollback puts no count back.
        desired_state.Moves(current.row.cluster_template_id, {}),
        # The comparison names them.
        (),
        labels=changed.labels,
    )


def relabelled(
    current: release_change.Current, asked: Mapping[str, str | None]
) -> desired_state.DesiredState:
    """Return the labels and values of a cluster with some labels changed.

    :param asked: name -> value; None: that of the template again
    :returns: with the node counts of groups that lose the autoscaler as moves
    :raises InvalidInput: a label is not known, or has no such value
    :raises NotSupported: a label is fixed
    """
    before = dataclasses.replace(current.desired, moves=None)
    old = before.labels
    if old is None:
        old = requested_labels.own_labels(current.row)
    new, changing = dict(old), []
    for name, text in asked.items():
        label = requested_labels.changeable(name, text)
        changing.append(label)
        for each in (label.name, *label.aliases):
            new.pop(each, None)
        if text is not None:
            new[label.name] = text
    if new == old:
        return before
    cloud = _cloud(current)
    names = {each.name for each in changing}
    patched = values.patched(
        before.values,
        upgrade_plan.build_values(current, old, cloud),
        upgrade_plan.build_values(current, new, cloud, names),
        [path for each in changing for path in each.becomes],
    )
    patched = ca_rotation.consistent(patched)
    result = current.keep_fields(patched, before.chart)
    groups = current.without_autoscaler(result)
    moves = desired_state.Moves(current.row.cluster_template_id, groups)
    return dataclasses.replace(
        before, labels=new, values=result, moves=moves if groups else None
    )


def _cloud(current: release_change.Current) -> catalogue.Cloud:
    """Return the cloud with the cluster's images and flavors, also deleted."""
    cloud = catalogue.Cloud(current.release.own_session())
    applied = current.desired.values
    chart_names = {each.uuid: each.chart_name for each in current.rows.groups}
    images, flavors = {}, {}
    for row in current.existing:
        item = current.items.get(chart_names.get(row.uuid, ""))
        item = item or applied.get(paths.CONTROL_PLANE) or {}
        item = upgrade_rules.pinned(item, applied)
        images[row.image_id] = cluster_spec.Image(
            id=str(item.get(paths.IMAGE_ID) or row.image_id),
            name=str(item.get(paths.IMAGE) or row.image_id),
            kube_version=str(item.get(paths.KUBERNETES) or ""),
            os_distro=upgrade_rules.distribution(applied),
        )
        flavors[row.flavor_id] = cluster_spec.Flavor(
            str(item.get(paths.FLAVOR)), 0, 0, _ENOUGH, _ENOUGH
        )
    cloud.remember(images, flavors)
    return cloud


def _chart(old: cluster_spec.Chart, version: str) -> cluster_spec.Chart:
    same = version.removeprefix("v") == old.version.removeprefix("v")
    if same or not version:
        return old
    return dataclasses.replace(old, version=version)


def _is_rebuilt(current: release_change.Current) -> bool:
    """Return whether the chart of that version makes other machines now."""
    comparison = current.compare(current.desired)
    return bool(comparison.unasked(current.desired, current.rows))


def _with_overlays(current: release_change.Current) -> paths.Values:
    """Return the values with the operator's, and all profiles."""
    before = current.desired
    cluster_labels = requested_labels.living_labels(current.row, before.labels)
    new = operator_files.apply_overlays(
        before.values, cluster_labels, again=True
    )
    values.overlay(new, template.profile_annotations(cluster_labels))
    chart_names = {each.uuid: each.chart_name for each in current.rows.workers}
    items = values.items_by_name(new)
    for row in current.existing:
        if item := items.get(chart_names.get(row.uuid, "")):
            group_labels = requested_labels.nodegroup_labels(
                current.row, cluster_labels, row
            )
            name = item["name"]
            items[name] = operator_files.add_profiles(group_labels, item)
    return {**new, paths.GROUPS: list(items.values())} if items else new


def _check_chart(
    current: release_change.Current, chart: cluster_spec.Chart
) -> None:
    """Refuse a chart that does not support a feature of the cluster.

    A label that had no effect so far may stay without effect.
    """
    before = current.desired
    old = before.chart.version
    upgrade_rules.check_chart(old, chart.version, "--chart-version")
    upgrade_rules.check_pair(
        chart.version,
        upgrade_rules.control_plane_version(before.values),
        "choose another version of the chart, or upgrade the cluster first",
    )
    effective = [
        each for each in features.LABELS if versions.applies(each.charts, old)
    ]
    cluster_labels = requested_labels.living_labels(current.row, before.labels)
    labels.check_chart(effective, cluster_labels, chart.version)


def _check_encryption(old: paths.Values, new: paths.Values) -> None:
    upgrade_rules.check_encryption(old, new)
    if etcd.needs_key(new) and not etcd.needs_key(old):
        raise errors.NotSupported(
            "etcd.encryption.enabled=true is not rolled out: an upgrade to a "
            "template with the label etcd_encryption_enabled makes the key "
            "for it"
        )
