# SPDX-License-Identifier: Apache-2.0

"""Change labels that a cluster has of its own, and no other value.

Magnum can't change them. The values are built twice, with the labels so far
and with the new ones; only the difference is laid over the cluster's values.
So a replaced image, or another default of the operator, stays out of it.
Images and flavors may be deleted: the cluster's values have their names.
"""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses

from magnum_capi_helm.chart import ca_rotation
from magnum_capi_helm.chart import upgrade_rules
from magnum_capi_helm.chart import values
from magnum_capi_helm.cloud import catalogue
from magnum_capi_helm.cloud import sessions
from magnum_capi_helm.features import topic
from magnum_capi_helm.lifecycle import release_change
from magnum_capi_helm.lifecycle import upgrade_plan
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import desired_state
from magnum_capi_helm.resolve import requested_labels

#: GB of a disk whose size is not known: the machines run.
_ENOUGH = 1 << 20


@dataclasses.dataclass(frozen=True)
class Change:
    """A cluster with other labels of its own.

    :param moves: node counts of groups that lose the autoscaler
    """

    labels: Mapping[str, str] | None
    values: topic.Values
    moves: desired_state.Moves


def change(
    current: release_change.Current, asked: Mapping[str, str | None]
) -> Change:
    """Return a cluster with some labels changed.

    :param asked: name -> value; None: that of the template again
    :raises InvalidInput: a label is not known, or has no such value
    :raises NotSupported: a label is fixed
    """
    before = current.desired
    no_moves = desired_state.Moves(current.row.cluster_template_id, {})
    old = before.labels
    if old is None:
        old = requested_labels.own_labels(current.row)
    new, labels = dict(old), []
    for name, text in asked.items():
        label = requested_labels.changeable(name, text)
        labels.append(label)
        for each in (label.name, *label.aliases):
            new.pop(each, None)
        if text is not None:
            new[label.name] = text
    if new == old:
        return Change(before.labels, before.values, no_moves)
    release = current.release
    cloud = catalogue.Cloud(
        sessions.project_session(release.runtime.management, release.scope)
    )
    _remember(current, cloud)
    names = {each.name for each in labels}
    patched = values.patched(
        before.values,
        upgrade_plan.build_values(current, old, cloud),
        upgrade_plan.build_values(current, new, cloud, names),
        [path for each in labels for path in each.becomes],
    )
    result = upgrade_rules.keep_fields(
        ca_rotation.consistent(patched),
        before.values,
        before.chart.version,
        current.openstack_cluster,
    )
    groups = {
        each.uuid: {"node_count": current.autoscaled[each.uuid]}
        for each in current.rows.workers
        if each.uuid in current.autoscaled
        and "machineCount"
        in values.items_by_name(result).get(each.chart_name, {})
    }
    return Change(new, result, dataclasses.replace(no_moves, groups=groups))


def _remember(current: release_change.Current, cloud: catalogue.Cloud) -> None:
    """Tell the images and flavors of the cluster, if they are deleted."""
    applied = current.desired.values
    chart_names = {each.uuid: each.chart_name for each in current.rows.groups}
    images, flavors = {}, {}
    for row in current.existing:
        item = current.items.get(chart_names.get(row.uuid, ""))
        item = item or applied.get("controlPlane") or {}
        item = upgrade_rules.pinned(item, applied)
        images[row.image_id] = cluster_spec.Image(
            id=str(item.get("machineImageId") or row.image_id),
            name=str(item.get("machineImage") or row.image_id),
            kube_version=str(item.get("kubernetesVersion") or ""),
            os_distro=str(applied.get("osDistro") or "ubuntu"),
        )
        flavors[row.flavor_id] = cluster_spec.Flavor(
            str(item.get("machineFlavor")), 0, 0, _ENOUGH, _ENOUGH
        )
    cloud.remember(images, flavors)
