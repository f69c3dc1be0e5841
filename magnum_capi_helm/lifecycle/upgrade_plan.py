# SPDX-License-Identifier: Apache-2.0

"""What an upgrade would make of a cluster. Nothing is written."""

from __future__ import annotations

from collections.abc import Mapping
import copy
import dataclasses
import time
from typing import TYPE_CHECKING, Any

from magnum_capi_helm import features
from magnum_capi_helm import runtime
from magnum_capi_helm.chart import immutable_fields
from magnum_capi_helm.chart import upgrade_rules
from magnum_capi_helm.chart import values
from magnum_capi_helm.features import chart
from magnum_capi_helm.features import placement
from magnum_capi_helm.features import topic
from magnum_capi_helm.lifecycle import current_state
from magnum_capi_helm.lifecycle import moved_rows
from magnum_capi_helm.lifecycle import upgrade_checks
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import desired_state
from magnum_capi_helm.operations import assembly
from magnum_capi_helm.resolve import cluster as resolve_cluster
from magnum_capi_helm.resolve import groups
from magnum_capi_helm.resolve import requested

if TYPE_CHECKING:
    from magnum_capi_helm.cloud import catalogue


@dataclasses.dataclass(frozen=True)
class Plan:
    """An upgrade.

    :param cluster: with the groups that are remade, and no others
    :param whole: whether the control plane is among them
    """

    subject: current_state.Subject
    moved: moved_rows.Moved
    cluster: cluster_spec.Cluster
    whole: bool
    batch: int | None

    def policies(self) -> dict[str, str]:
        """Groups that need a server group and have none -> its policy."""
        remade = self._remade()
        without = tuple(each for each in remade if not each.server_group_id)
        return placement.server_groups(without)

    def with_server_groups(self, ids: Mapping[str, str]) -> Plan:
        """The plan, with the server groups that were made for it."""
        placed = placement.with_server_groups(self.cluster, ids)
        return dataclasses.replace(self, cluster=placed)

    def _remade(self) -> tuple[cluster_spec.NodeGroup, ...]:
        workers = self.cluster.node_groups
        return (
            (self.cluster.control_plane, *workers) if self.whole else workers
        )

    def wanted(
        self, rt: runtime.Runtime, live: Mapping[str, Any] | None
    ) -> desired_state.Intent:
        """What is wanted of the release then.

        :param live: the OpenStackCluster
        :raises InvalidInput: the new template does not fit the cluster
        """
        base = self.subject.base
        made = self._values(rt, live)
        made["nodeGroups"] = self._node_groups(made)
        moves = self._moves(made)
        return desired_state.Intent(
            chart=self.cluster.chart,
            values=values.upgraded(made, base.values),
            fingerprint=moved_rows.fingerprint(self.subject.rows, moves),
            since=time.time(),
            labels=self.moved.labels,
            moves=moves,
            before=desired_state.Before(
                base.chart, base.values, base.labels, self.moved.back
            ),
        )

    def _moves(self, made: topic.Values) -> desired_state.Moves:
        """With the counts of groups that autoscale no more.

        The autoscaler chose them; the rows have those of long ago.
        """
        fixed = {
            each["name"]
            for each in made["nodeGroups"]
            if "machineCount" in each
        }
        counts = {
            each.uuid: {"node_count": self.subject.scaled[each.uuid]}
            for each in self.subject.rows.workers
            if each.uuid in self.subject.scaled and each.chart_name in fixed
        }
        moves = self.moved.moves
        groups = {
            uuid: {**fields, **counts.get(uuid, {})}
            for uuid, fields in moves.groups.items()
        }
        return dataclasses.replace(moves, groups=groups)

    def _values(
        self, rt: runtime.Runtime, live: Mapping[str, Any] | None
    ) -> topic.Values:
        old = self.subject.base.values
        if not self.whole:
            made = copy.deepcopy(old)
            made["nodeGroups"] = [
                values.node_group(self.cluster, each)
                for each in self.cluster.node_groups
            ]
            return made
        made = assembly.values_of(rt, self.cluster)
        return immutable_fields.keep(
            made, old, self.cluster.chart.version, live
        )

    def _node_groups(self, made: topic.Values) -> list[topic.Values]:
        """The remade groups in the places of the old ones; others stay."""
        new = {
            each["name"]: upgrade_rules.batched(each, self.batch)
            for each in made["nodeGroups"]
        }
        old = self.subject.base.values
        found = [
            new.pop(name)
            if name in new
            else upgrade_rules.batched(upgrade_rules.pinned(item, old), None)
            for name, item in self.subject.items.items()
        ]
        return [*found, *new.values()]


def of_cluster(
    subject: current_state.Subject,
    template: Any,
    cloud: catalogue.Cloud,
    batch: int | None = None,
) -> Plan:
    """The upgrade of a whole cluster.

    :raises CapiHelmError: it can't be upgraded like this
    """
    row, base = subject.row, subject.base
    upgrade_rules.check_template(
        template.driver, template.coe, template.server_type, template.name
    )
    change = moved_rows.whole(
        row, subject.existing, template, base.labels, subject.scaled
    )
    own = _own(change.labels)
    asked = requested.cluster_labels(change.row).lasting(own)
    requested.check_unknown_of_template(change.row)
    wanted_chart = _chart(asked, base.chart)
    found = resolve_cluster.look_up(
        change.row, asked, wanted_chart, cloud, row.stack_id
    )
    found = immutable_fields.living(_named(subject, found), base.values)
    values.check(found, spared=own)
    upgrade_checks.check_versions(subject, found)
    upgrade_checks.check_kept(subject, found)
    return Plan(subject, change, found, whole=True, batch=batch)


def of_group(
    subject: current_state.Subject,
    nodegroup: Any,
    cloud: catalogue.Cloud,
    batch: int | None = None,
) -> Plan:
    """The upgrade of one group to the cluster's template.

    :raises CapiHelmError: it can't be upgraded like this
    """
    row, base = subject.row, subject.base
    change = moved_rows.single(row, nodegroup, base.labels, subject.scaled)
    asked = requested.living_labels(change.row)
    outline = resolve_cluster.outline(
        change.row, asked, base.chart, row.stack_id
    )
    outline = resolve_cluster.living(change.row, outline, base.values)
    group = groups.resolve(
        change.row, change.row.nodegroups[0], cloud, row.stack_id, asked
    )
    found = _named(subject, dataclasses.replace(outline, node_groups=(group,)))
    values.check_group(outline, found.node_groups[0])
    upgrade_checks.check_step(subject, found.node_groups[0])
    return Plan(subject, change, found, whole=False, batch=batch)


def _chart(asked: Any, old: cluster_spec.Chart) -> cluster_spec.Chart:
    """The chart that the template names, else the newer of two.

    :raises NotSupported: the template's is older than the cluster's
    """
    found = requested.wanted_chart(asked)
    if asked[chart.VERSION]:
        upgrade_rules.check_chart(old.version, found.version)
        return found
    version = upgrade_rules.newer_chart(found.version, old.version)
    return dataclasses.replace(found, version=version)


def _named(
    subject: current_state.Subject, found: cluster_spec.Cluster
) -> cluster_spec.Cluster:
    """With the names, and the server groups, that groups have for life."""
    known = {each.name: each.chart_name for each in subject.rows.groups}
    placed = {
        name: item.get("serverGroupId") for name, item in subject.items.items()
    }
    own = subject.base.values.get("controlPlane") or {}

    def named(group: cluster_spec.NodeGroup) -> cluster_spec.NodeGroup:
        name = known.get(group.magnum_name) or group.name
        return dataclasses.replace(
            group, name=name, server_group_id=placed.get(name)
        )

    return dataclasses.replace(
        found,
        control_plane=dataclasses.replace(
            found.control_plane, server_group_id=own.get("serverGroupId")
        ),
        node_groups=tuple(map(named, found.node_groups)),
    )


def _own(given: Mapping[str, str]) -> frozenset[str]:
    """Labels that the cluster's user gave, by their names."""
    return frozenset(
        each.name
        for each in features.LABELS
        if not given.keys().isdisjoint((each.name, *each.aliases))
    )
