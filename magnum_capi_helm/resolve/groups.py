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

"""Nodegroups: flavor, image, bounds and disks of each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from magnum_capi_helm import conf
from magnum_capi_helm import exceptions
from magnum_capi_helm import labels
from magnum_capi_helm import names
from magnum_capi_helm import spec
from magnum_capi_helm.features import autoscaling
from magnum_capi_helm.features import nodes
from magnum_capi_helm.resolve import requested

if TYPE_CHECKING:
    from magnum_capi_helm.cloud import catalogue

_DISTROS = ("ubuntu", "flatcar")
_MASTER = "master"


def resolve(
    cluster: Any, row: Any, cloud: catalogue.Cloud, release: str
) -> spec.NodeGroup:
    """One nodegroup, with every reference looked up.

    :param row: Magnum's row of the group
    :raises InvalidInput: the user can correct it
    """
    if not row.flavor_id:
        raise exceptions.InvalidInput(
            f"nodegroup {row.name} has no flavor: give one to the cluster "
            "or its template"
        )
    image = cloud.image(row.image_id)
    if image.os_distro not in _DISTROS:
        raise exceptions.InvalidInput(
            f"image {image.name} has os_distro={image.os_distro}: this "
            f"driver runs {' and '.join(_DISTROS)}"
        )
    found = requested.nodegroup_labels(cluster, row)
    minimum, maximum = _bounds(row, found)
    return spec.NodeGroup(
        name=names.node_group(row.name, release),
        flavor=cloud.flavor(row.flavor_id),
        count=row.node_count,
        image=image,
        minimum=minimum,
        maximum=maximum,
        magnum_name=row.name,
        role=row.role,
        labels=found,
        boot_disk=_boot_disk(found),
    )


def by_role(
    groups: Sequence[spec.NodeGroup],
) -> tuple[spec.NodeGroup, tuple[spec.NodeGroup, ...]]:
    """The control plane, and the workers.

    :raises InvalidInput: the control plane can't have such a size
    """
    master = [group for group in groups if group.role == _MASTER]
    if not master:
        raise exceptions.InvalidInput("the cluster has no master nodegroup")
    if master[0].count % 2 == 0:
        raise exceptions.InvalidInput(
            f"master_count={master[0].count}: etcd needs an odd number"
        )
    workers = (group for group in groups if group.role != _MASTER)
    return master[0], tuple(workers)


def _bounds(row: Any, values: labels.Values) -> tuple[int, int | None]:
    """The autoscaler's bounds; the labels are those of the default worker.

    :raises InvalidInput: they contradict each other or the count
    """
    minimum, maximum = row.min_node_count, row.max_node_count
    if not values[autoscaling.ENABLED] or row.role == _MASTER:
        return minimum or 0, None
    if row.is_default:
        label_minimum = values[autoscaling.MINIMUM]
        label_maximum = values[autoscaling.MAXIMUM]
        minimum = minimum if label_minimum is None else label_minimum
        maximum = maximum if label_maximum is None else label_maximum
    minimum = row.node_count if minimum is None else minimum
    maximum = row.node_count if maximum is None else maximum
    if not minimum <= row.node_count <= maximum:
        raise exceptions.InvalidInput(
            f"nodegroup {row.name}: node_count {row.node_count} is not "
            f"between the autoscaler's bounds {minimum} and {maximum}"
        )
    return minimum, maximum


def _boot_disk(values: labels.Values) -> spec.Disk:
    cinder = conf.CONF.cinder
    size = values[nodes.BOOT_VOLUME_SIZE]
    return spec.Disk(
        size=cinder.default_boot_volume_size if size is None else size,
        type=values[nodes.BOOT_VOLUME_TYPE]
        or cinder.default_boot_volume_type
        or None,
    )
