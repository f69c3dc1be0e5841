# SPDX-License-Identifier: Apache-2.0

"""Plan an upgrade: the new desired state of a cluster. Nothing is written.

1. Choose the nodegroups that are remade: the default groups, and those that
   have the image of the old template; or the one group that was named, which
   may be the control plane.
2. Copy their rows with the new template, image and flavor.
3. Look up everything that these rows name, as a create does.
4. Keep what a living cluster can't change.
5. Plan the steps (``staged_upgrade.py``). Refuse versions that can't be
   upgraded to, and groups that would be left too far behind.
6. Build the values. Groups that are not remade keep theirs.
7. Remember how the release and the rows were, for a rollback.
8. Divide the change into the desired states of the steps.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
import copy
import dataclasses
import types
from typing import Any, TypeVar, cast

from magnum_capi_helm import features
from magnum_capi_helm.chart import upgrade_rules
from magnum_capi_helm.chart import upgrade_steps
from magnum_capi_helm.chart import values
from magnum_capi_helm.cloud import catalogue
from magnum_capi_helm.database import rows
from magnum_capi_helm.features import nodes
from magnum_capi_helm.features import template as template_labels
from magnum_capi_helm.lifecycle import release_change
from magnum_capi_helm.lifecycle import staged_upgrade
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import desired_state
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.model import paths
from magnum_capi_helm.operations import template_guard
from magnum_capi_helm.resolve import cluster as resolve_cluster
from magnum_capi_helm.resolve import groups
from magnum_capi_helm.resolve import operator_files
from magnum_capi_helm.resolve import requested_labels

Current = release_change.Current
DesiredState = desired_state.DesiredState
Moves = desired_state.Moves
RowT = TypeVar("RowT", bound=rows.Row)

_MASTER = "master"


@dataclasses.dataclass(frozen=True)
class RowChange:
    """A cluster's rows with another template.

    :param row: a copy with the nodegroups that are remade, and with the labels
        of the cluster's user
    :param moves: the changes that the upgrade writes into the rows
    :param back: the changes that take them back
    """

    row: rows.Cluster
    moves: Moves
    back: Moves


@dataclasses.dataclass(frozen=True)
class Upgrade:
    """An upgrade that was checked.

    :param cluster: with the groups that are remade alone
    :param built: the values of the whole cluster; None: the control plane is
        not remade
    :param alone: the control plane alone is remade
    :param hops: the steps; of one group alone, none
    """

    current: Current
    change: RowChange
    cluster: cluster_spec.Cluster
    built: paths.Values | None
    batch: int | None
    alone: bool = False
    hops: staged_upgrade.Hops = ()

    @property
    def passes_minors(self) -> bool:
        """Whether the steps have several versions of Kubernetes."""
        return len({each.image.kube_version for each in self.hops}) > 1

    def missing_server_groups(self) -> dict[str, str]:
        """Return the policies of server groups to make, by nodegroup."""
        remade = self.cluster.node_groups
        if self.built is not None:
            remade = (self.cluster.control_plane, *remade)
        return nodes.server_groups(
            tuple(each for each in remade if not each.server_group_id)
        )

    @property
    def workers(self) -> frozenset[str]:
        """The chart's names of the node groups that are remade."""
        return frozenset(each.name for each in self.cluster.node_groups)

    @property
    def remade(self) -> frozenset[str]:
        """The chart's names of all groups that are remade."""
        plane = {names.CONTROL_PLANE} if self.built else frozenset()
        return self.workers | plane

    def desired(self) -> DesiredState:
        """Return the new desired state.

        A newer chart may replace every machine.

        :raises InvalidInput: the new template does not fit the cluster
        """
        new = self._values()
        new[paths.GROUPS] = self._node_groups(new)
        old = self.current.desired.chart.version
        has_other_chart = self.cluster.chart.version != old
        replaces_all = has_other_chart and not self.alone
        return self.current.changed(
            self.cluster.chart,
            new,
            self._moves(new),
            self.change.back,
            None if replaces_all else self.remade,
            # Of one group alone, the others' machines keep their build.
            digest="" if self.built else self.current.desired.digest,
            labels=self.change.row.labels,
        )

    def _values(self) -> paths.Values:
        old = self.current.desired.values
        if self.built is None:
            groups = self.cluster.node_groups
            items = [values.node_group(self.cluster, e) for e in groups]
            return {**copy.deepcopy(old), paths.GROUPS: items}
        new = operator_files.complete(
            self.current.release.runtime, self.cluster, self.built
        )
        return self.current.keep_fields(new, self.cluster.chart)

    def _node_groups(self, new: paths.Values) -> list[paths.Values]:
        """Return the items in their old order, with the remade groups."""
        remade = {
            each["name"]: upgrade_rules.batched(each, self.batch)
            for each in new[paths.GROUPS]
        }
        old = self.current.desired.values
        items = [
            remade.pop(name)
            if name in remade
            else upgrade_rules.batched(upgrade_rules.pinned(item, old), None)
            for name, item in self.current.items.items()
        ]
        return [*items, *remade.values()]

    def _moves(self, new: paths.Values) -> Moves:
        """Add the node counts of groups that lose the autoscaler."""
        moves, counts = self.change.moves, self.current.without_autoscaler(new)
        groups = {
            uuid: {**fields, **counts.get(uuid, {})}
            for uuid, fields in moves.groups.items()
        }
        return dataclasses.replace(moves, groups=groups)

    def divide(
        self, draft: DesiredState, comparison: template_guard.Comparison
    ) -> tuple[DesiredState, upgrade_steps.Upgrade | None]:
        """Return the desired state of the first step, and the steps.

        :param draft: with all that the upgrade changes
        :param comparison: of the draft
        :returns: the draft and None, if there is but one step
        :raises HelmError: the chart does not accept the values
        :raises NotSupported: a step before the last one would replace too much
        """
        has_one_role = comparison.workers in ((), comparison.replaced)
        if has_one_role and not self.passes_minors:
            return draft, None
        stages, states = self._stages(draft)
        if len(stages) < 2:
            return draft, None
        # The first step has begun: the request stores its desired state.
        steps = upgrade_steps.Upgrade(stages=stages, machines=())
        first = dataclasses.replace(
            states[0], steps_follow=True, may_replace=None
        )
        revision = self.current.installed.version
        return first.permitting(revision, stages[0].replaced), steps

    def _stages(
        self, draft: DesiredState
    ) -> tuple[list[upgrade_steps.Stage], list[DesiredState]]:
        """Return the steps, and the desired state of each.

        Those of the control plane leave workers alone. If the last values of
        the control plane replace workers as well, it is one step with theirs.
        """
        current, hops, stages, states = self.current, self.hops, [], []
        now, before = current.desired, current.installed
        rt, old = current.release.runtime, now.values
        for index, hop in enumerate(hops):
            new = upgrade_steps.values_of_step(
                hops, index, now.values, draft.values, self.workers
            )
            if hop.chart != now.chart:
                new = operator_files.mirrored(rt, hop.chart, new)
                new = current.keep_fields(new, hop.chart)
            new = values.upgraded(new, old)
            then = dataclasses.replace(draft, chart=hop.chart, values=new)
            step = current.compare(then, before)
            if hop.control_plane and step.workers:
                rest = [each.control_plane for each in hops[index + 1 :]]
                if rest != [False]:
                    raise errors.NotSupported(
                        "upgrade one minor version of Kubernetes at a time: "
                        "the new chart replaces workers in a step of the "
                        "control plane as well. They are those of "
                        f"{', '.join(step.workers)}, in the step to "
                        f"v{hop.image.kube_version} with chart "
                        f"{hop.chart.version}"
                    )
                continue
            stage = upgrade_steps.Stage(
                hop.image.kube_version,
                dataclasses.asdict(hop.chart),
                values.changes(now.values, new),
                step.replaced,
            )
            stages.append(stage)
            states.append(then)
            now, before = then, dataclasses.replace(before, objects=step.after)
        return stages, states


def plan_cluster(
    current: Current,
    template: rows.Template,
    cloud: catalogue.Cloud,
    batch: int | None = None,
    *,
    alone: bool = False,
) -> Upgrade:
    """Plan the upgrade of a whole cluster to a template.

    :param alone: upgrade the control plane alone
    :raises CapiHelmError: it can't be upgraded like this
    """
    upgrade_rules.check_template(
        template.driver, template.coe, template.server_type, template.name
    )
    resolve_cluster.check_template(template)
    change = _change_template(current, template, alone)
    requested_labels.check_unknown_of_template(change.row)
    cluster, built = _resolve(current, change.row, cloud)
    hops = staged_upgrade.plan_hops(current, cluster, cloud)
    return Upgrade(current, change, cluster, built, batch, alone, hops)


def build_values(
    current: Current,
    labels: Mapping[str, str],
    cloud: catalogue.Cloud,
    asked: Collection[str] = (),
) -> paths.Values:
    """Build the values of a cluster with other labels of its own.

    Template, chart, images and flavors stay.

    :param asked: names of the labels that change, which are checked
    :raises CapiHelmError: the labels don't fit the cluster
    """
    row = _copied(
        current.row,
        labels=dict(labels),
        cluster_template=current.row.cluster_template,
        nodegroups=[
            _changed_group(current, each, {}) for each in current.existing
        ],
    )
    chart = current.desired.chart
    cluster, built = _resolve(current, row, cloud, chart, asked)
    return operator_files.complete(current.release.runtime, cluster, built)


def _resolve(
    current: Current,
    row: rows.Cluster,
    cloud: catalogue.Cloud,
    chart: cluster_spec.Chart | None = None,
    asked: Collection[str] = (),
) -> tuple[cluster_spec.Cluster, paths.Values]:
    """Return the cluster of a changed row, and its values.

    :param chart: None: the one that an upgrade chooses
    :param asked: names of own labels that the request can change
    """
    before = current.desired
    lasting = frozenset(
        each.name
        for each in features.LABELS
        if not row.labels.keys().isdisjoint((each.name, *each.aliases))
    ).difference(asked)
    labels = requested_labels.cluster_labels(row).with_fixed(lasting)
    cluster = resolve_cluster.look_up(
        row,
        labels,
        chart or _chart(labels, before.chart),
        cloud,
        current.row.stack_id,
    )
    cluster = _with_lasting_names(current, cluster)
    cluster = upgrade_rules.living(cluster, before.values)
    return cluster, values.checked(cluster, ignorable=lasting)


def plan_nodegroup(
    current: Current,
    nodegroup: rows.NodeGroup,
    cloud: catalogue.Cloud,
    batch: int | None = None,
) -> Upgrade:
    """Plan the upgrade of one group to the cluster's template.

    :raises CapiHelmError: it can't be upgraded like this
    """
    before, release = current.desired, current.row.stack_id
    template = current.row.cluster_template
    fields = {"image_id": template.image_id, "flavor_id": nodegroup.flavor_id}
    change = _row_change(current, template, {nodegroup.uuid: fields})
    outline = resolve_cluster.outline(change.row, before.chart, release)
    [row] = change.row.nodegroups
    group = groups.resolve(change.row, row, cloud, outline)
    outline = resolve_cluster.living(change.row, outline, before.values)
    cluster = _with_lasting_names(
        current, dataclasses.replace(outline, node_groups=(group,))
    )
    values.check_group(outline, cluster.node_groups[0])
    staged_upgrade.check_group_version(current, cluster.node_groups[0])
    return Upgrade(current, change, cluster, built=None, batch=batch)


def _chart(labels: Any, old: cluster_spec.Chart) -> cluster_spec.Chart:
    """Return the chart of the template, else the newer of two.

    :raises NotSupported: the template's is older than the cluster's
    """
    new = requested_labels.wanted_chart(labels)
    if labels[template_labels.VERSION]:
        upgrade_rules.check_chart(old.version, new.version)
        return new
    version = upgrade_rules.newer_chart(new.version, old.version)
    return dataclasses.replace(new, version=version)


def _with_lasting_names(
    current: Current, cluster: cluster_spec.Cluster
) -> cluster_spec.Cluster:
    """Return the cluster with its groups' present names and server groups."""
    chart_names = {each.name: each.chart_name for each in current.rows.groups}
    items = current.items
    control_plane = current.desired.values.get(paths.CONTROL_PLANE) or {}

    def named(group: cluster_spec.NodeGroup) -> cluster_spec.NodeGroup:
        name = chart_names.get(group.magnum_name) or group.name
        server_group = items.get(name, {}).get(paths.SERVER_GROUP)
        return dataclasses.replace(
            group, name=name, server_group_id=server_group
        )

    return dataclasses.replace(
        cluster,
        control_plane=dataclasses.replace(
            cluster.control_plane,
            server_group_id=control_plane.get(paths.SERVER_GROUP),
        ),
        node_groups=tuple(map(named, cluster.node_groups)),
    )


# Rows


def _change_template(
    current: Current, template: rows.Template, alone: bool
) -> RowChange:
    """Change the default groups, and those with the old template's image.

    After an upgrade of the control plane alone, default-worker has the image
    of the template before.

    :param alone: change the control plane alone
    """
    old, members = current.row.cluster_template, current.existing
    workers = [each for each in members if each.role != _MASTER]
    defaults = {each.image_id for each in workers if each.is_default}
    inherited = {None, old.image_id, *defaults}
    if alone:
        remade = [each for each in members if each.role == _MASTER]
        flavors = {each.flavor_id or old.flavor_id for each in workers}
        if old.flavor_id in flavors and template.flavor_id != old.flavor_id:
            # The upgrade of the workers could not tell that they inherit it.
            raise errors.NotSupported(
                "flavor_id: choose a template with the flavor of the "
                "cluster's template, or upgrade the whole cluster, without "
                f"--nodegroup. It is {errors.shown(template.flavor_id)}, and "
                f"the cluster's template has {errors.shown(old.flavor_id)}"
            )
    else:
        remade = [
            each
            for each in members
            if each.is_default or each.image_id in inherited
        ]
    changes = {
        each.uuid: {
            "image_id": template.image_id,
            "flavor_id": _flavor(each, old, template),
        }
        for each in remade
    }
    return _row_change(current, template, changes)


def _flavor(
    nodegroup: rows.NodeGroup, old: rows.Template, new: rows.Template
) -> str | None:
    """Return the new template's flavor, unless the group has its own."""
    before, after = (
        each.master_flavor_id if nodegroup.role == _MASTER else each.flavor_id
        for each in (old, new)
    )
    inherited = nodegroup.flavor_id in (None, before)
    return after if inherited else nodegroup.flavor_id


def _row_change(
    current: Current,
    template: rows.Template,
    changes: Mapping[str, Mapping[str, Any]],
) -> RowChange:
    cluster, labels = current.row, current.desired.labels
    if labels is None:
        labels = requested_labels.own_labels(cluster)
    remade = [each for each in current.existing if each.uuid in changes]
    row = _copied(
        cluster,
        labels=dict(labels),
        cluster_template=template,
        nodegroups=[
            _changed_group(current, each, changes[each.uuid])
            for each in remade
        ],
    )
    back = {
        each.uuid: {name: getattr(each, name) for name in changes[each.uuid]}
        for each in remade
    }
    moves = Moves(template.uuid, changes)
    return RowChange(row, moves, Moves(cluster.cluster_template_id, back))


def _changed_group(
    current: Current, nodegroup: rows.NodeGroup, change: Mapping[str, Any]
) -> rows.NodeGroup:
    cluster, count = current.row, nodegroup.node_count
    row = _copied(
        nodegroup,
        **change,
        labels=requested_labels.own_labels_of_group(cluster, nodegroup),
        node_count=current.autoscaled.get(nodegroup.uuid, count),
    )
    if nodegroup.is_default:
        # A minimum that Magnum copied from a label changes with the label.
        row.min_node_count = requested_labels.own_minimum(cluster, nodegroup)
    return row


def _copied(row: RowT, **fields: Any) -> RowT:
    """Return a copy of a row with other fields, which can't be saved."""
    copy = types.SimpleNamespace(**{**row.as_dict(), **fields})
    return cast("RowT", copy)
