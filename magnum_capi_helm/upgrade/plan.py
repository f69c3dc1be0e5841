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

"""What an upgrade would make of a cluster. Nothing is written."""

from __future__ import annotations

from collections.abc import Mapping
import copy
import dataclasses
import time
from typing import TYPE_CHECKING, Any

from magnum_capi_helm import assembly
from magnum_capi_helm import exceptions
from magnum_capi_helm import features
from magnum_capi_helm import frozen
from magnum_capi_helm import intent
from magnum_capi_helm import runtime
from magnum_capi_helm import spec
from magnum_capi_helm import upgrade_rules
from magnum_capi_helm import values
from magnum_capi_helm import wanted
from magnum_capi_helm.features import chart
from magnum_capi_helm.features import placement
from magnum_capi_helm.features import topic
from magnum_capi_helm.management import kinds
from magnum_capi_helm.resolve import cluster as resolve_cluster
from magnum_capi_helm.resolve import groups
from magnum_capi_helm.resolve import location
from magnum_capi_helm.resolve import requested
from magnum_capi_helm.upgrade import moved

if TYPE_CHECKING:
    from magnum_capi_helm.cloud import catalogue


@dataclasses.dataclass(frozen=True)
class Subject:
    """A cluster and what is wanted of it so far.

    :param rows: known by the names of the groups in ``base``
    :param nodegroups: the rows of those groups, and others
    """

    row: Any
    nodegroups: list[Any]
    rows: wanted.Rows
    base: intent.Intent

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


@dataclasses.dataclass(frozen=True)
class Plan:
    """An upgrade.

    :param cluster: with the groups that are remade, and no others
    :param whole: whether the control plane is among them
    """

    subject: Subject
    moved: moved.Moved
    cluster: spec.Cluster
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

    def _remade(self) -> tuple[spec.NodeGroup, ...]:
        workers = self.cluster.node_groups
        return (
            (self.cluster.control_plane, *workers) if self.whole else workers
        )

    def intent(
        self, rt: runtime.Runtime, live: Mapping[str, Any] | None
    ) -> intent.Intent:
        """What is wanted of the release then.

        :param live: the OpenStackCluster
        :raises InvalidInput: the new template does not fit the cluster
        """
        base = self.subject.base
        made = self._values(rt, live)
        made["nodeGroups"] = self._node_groups(made)
        return intent.Intent(
            chart=self.cluster.chart,
            values=values.upgraded(made, base.values),
            fingerprint=moved.fingerprint(self.subject.rows, self.moved.moves),
            since=time.time(),
            labels=self.moved.labels,
            moves=self.moved.moves,
            before=intent.Before(
                base.chart, base.values, base.labels, self.moved.back
            ),
        )

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
        return frozen.keep(made, old, self.cluster.chart.version, live)

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
    subject: Subject,
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
    change = moved.whole(row, subject.existing, template, base.labels)
    asked = requested.cluster_labels(change.row)
    requested.check_unknown_of_template(change.row)
    wanted_chart = _chart(asked, base.chart)
    found = resolve_cluster.look_up(
        change.row, asked, wanted_chart, cloud, row.stack_id
    )
    found = frozen.living(_named(subject, found), base.values)
    values.check(found, spared=_spared(change.labels))
    _check_versions(subject, found)
    _check_kept(subject, found)
    return Plan(subject, change, found, whole=True, batch=batch)


def of_group(
    subject: Subject,
    nodegroup: Any,
    cloud: catalogue.Cloud,
    batch: int | None = None,
) -> Plan:
    """The upgrade of one group to the cluster's template.

    :raises CapiHelmError: it can't be upgraded like this
    """
    row, base = subject.row, subject.base
    change = moved.single(row, nodegroup, base.labels)
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
    _check_step(subject, found.node_groups[0])
    return Plan(subject, change, found, whole=False, batch=batch)


def live_infrastructure(rt: runtime.Runtime, row: Any) -> Any:
    """The OpenStackCluster of a cluster, or None."""
    return rt.management.get(
        kinds.OPENSTACK_CLUSTER,
        location.namespace(row.project_id),
        row.stack_id,
    )


def _chart(asked: Any, old: spec.Chart) -> spec.Chart:
    """The chart that the template names, else the newer of two.

    :raises NotSupported: the template's is older than the cluster's
    """
    found = requested.wanted_chart(asked)
    if asked[chart.VERSION]:
        upgrade_rules.check_chart(old.version, found.version)
        return found
    version = upgrade_rules.newer_chart(found.version, old.version)
    return dataclasses.replace(found, version=version)


def _named(subject: Subject, found: spec.Cluster) -> spec.Cluster:
    """With the names, and the server groups, that groups have for life."""
    known = {each.name: each.chart_name for each in subject.rows.groups}
    placed = {
        name: item.get("serverGroupId") for name, item in subject.items.items()
    }
    own = subject.base.values.get("controlPlane") or {}

    def named(group: spec.NodeGroup) -> spec.NodeGroup:
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


def _spared(own: Mapping[str, str]) -> frozenset[str]:
    """Labels that the cluster's user gave, by their names."""
    return frozenset(
        each.name
        for each in features.LABELS
        if not own.keys().isdisjoint((each.name, *each.aliases))
    )


def _check_versions(subject: Subject, found: spec.Cluster) -> None:
    old = upgrade_rules.control_plane_version(subject.base.values)
    new = found.control_plane.image.kube_version
    upgrade_rules.check_kubernetes("the cluster", old, new)
    for group in found.node_groups:
        _check_step(subject, group)
    before = (subject.base.chart.version, old)
    if before != (found.chart.version, new):
        upgrade_rules.check_pair(found.chart.version, new)


def _check_step(subject: Subject, group: spec.NodeGroup) -> None:
    """A group may skip minor versions, and never goes back."""
    item = subject.items.get(group.name)
    if item is None:
        return
    known = upgrade_rules.pinned(item, subject.base.values)
    old = str(known.get("kubernetesVersion") or "")
    before = upgrade_rules.number(old)
    after = upgrade_rules.number(group.image.kube_version)
    if before and after and after < before:
        name = exceptions.shown(group.magnum_name)
        upgrade_rules.check_kubernetes(
            f"nodegroup {name}", old, group.image.kube_version
        )


def _check_kept(subject: Subject, found: spec.Cluster) -> None:
    """Groups that keep their image have to work with what comes."""
    remade = {each.name for each in found.node_groups}
    version = found.control_plane.image.kube_version
    base = subject.base.values
    new = {"osDistro": found.control_plane.image.os_distro}
    for group in subject.rows.workers:
        item = subject.items.get(group.chart_name)
        if item is None or group.chart_name in remade:
            continue
        known = upgrade_rules.pinned(item, base)
        kubelet = str(known.get("kubernetesVersion") or "")
        upgrade_rules.check_kept(group.name, kubelet, version)
        upgrade_rules.check_distribution(group.name, base, new)
