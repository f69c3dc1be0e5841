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

"""From Magnum's rows to the spec of a cluster.

The only place where a template, a cluster's fields and its labels meet the
cloud. Everything that a user can get wrong is found here, before the first
write.
"""

from __future__ import annotations

from concurrent import futures
import dataclasses
from typing import TYPE_CHECKING, Any

from magnum_capi_helm import conf
from magnum_capi_helm import exceptions
from magnum_capi_helm import features
from magnum_capi_helm import labels
from magnum_capi_helm import names
from magnum_capi_helm import spec
from magnum_capi_helm.features import autoscaling
from magnum_capi_helm.features import chart
from magnum_capi_helm.features import nodes

if TYPE_CHECKING:
    from magnum_capi_helm import cloud as openstack_cloud

_CNIS = ("calico", "cilium")
_DISTROS = ("ubuntu", "flatcar")


def namespace(project_id: str) -> str:
    """The namespace of a project under the configured prefix."""
    return names.namespace(conf.CONF.capi_helm.namespace_prefix, project_id)


def object_labels(cluster: Any, release: str) -> dict[str, str]:
    """Labels of what the driver itself writes for a cluster (as 1.4.0)."""
    found = {
        "magnum.openstack.org/project-id": cluster.project_id,
        "magnum.openstack.org/user-id": cluster.user_id,
        "magnum.openstack.org/cluster-uuid": cluster.uuid,
        "cluster.x-k8s.io/cluster-name": release,
    }
    return {
        key: names.label_value(value) for key, value in found.items() if value
    }


def cluster_labels(cluster: Any) -> labels.Values:
    """The labels of a cluster, validated.

    :raises LabelError: a value is not allowed
    """
    template = cluster.cluster_template.labels or {}
    own = cluster.labels or {}
    return labels.resolve(
        features.LABELS,
        {
            labels.Scope.CLUSTER: (own, template),
            labels.Scope.TEMPLATE: (template,),
        },
        conf.label_defaults(),
    )


def autoscales(cluster: Any) -> bool:
    """Whether the autoscaler is on in an existing cluster.

    A living cluster may carry labels that would be refused today: only this
    one is read, and a value that is none counts as the operator's default.
    """
    label = autoscaling.ENABLED
    default = bool(conf.label_defaults()[label.name])
    for source in (cluster.labels, cluster.cluster_template.labels):
        if label.name in (source or {}):
            try:
                return label.parse(source[label.name])
            except exceptions.LabelError:
                return default
    return default


def configured_chart() -> spec.Chart:
    """The chart that the operator configured."""
    options = conf.CONF.capi_helm
    return spec.Chart(
        name=options.helm_chart_name,
        version=options.default_helm_chart_version,
        repository=options.helm_chart_repo,
    )


def wanted_chart(values: labels.Values) -> spec.Chart:
    """The chart of a new cluster: the template's label may choose."""
    configured = configured_chart()
    version = values[chart.VERSION] or configured.version
    return dataclasses.replace(configured, version=version)


def resolve(
    cluster: Any, cloud: openstack_cloud.Cloud, release: str
) -> spec.Cluster:
    """The whole cluster, with every reference looked up.

    :param cluster: Magnum's row
    :param cloud: as the user sees it
    :raises InvalidInput: the user can correct it
    :raises CloudError: OpenStack did not answer
    """
    values = cluster_labels(cluster)
    cni = _cni(cluster.cluster_template)
    # Glance and Nova, Neutron, Cinder: three services at the same time.
    with futures.ThreadPoolExecutor(2) as pool:
        network = pool.submit(_network, cluster, cloud)
        storage_classes = pool.submit(_storage_classes, cloud)
        groups = [
            _node_group(each, values, cloud, release)
            for each in cluster.nodegroups
        ]
    control_plane, workers = _by_role(groups)
    return spec.Cluster(
        release=release,
        namespace=namespace(cluster.project_id),
        project_id=cluster.project_id,
        identity_url=cloud.cluster_identity_url(),
        cni=cni,
        keypair=cluster.keypair,
        control_plane=control_plane,
        node_groups=workers,
        network=network.result(),
        boot_disk=_boot_disk(values),
        storage_classes=storage_classes.result(),
        labels=values,
        allowed_zones=tuple(conf.CONF.capi_helm.csi_cinder_allowed_topologies),
    )


def _by_role(
    groups: list[tuple[spec.NodeGroup, str]],
) -> tuple[spec.NodeGroup, tuple[spec.NodeGroup, ...]]:
    """The control plane, and the workers.

    :raises InvalidInput: the control plane can't have such a size
    """
    master = [group for group, role in groups if role == "master"]
    if not master:
        raise exceptions.InvalidInput("the cluster has no master nodegroup")
    if master[0].count % 2 == 0:
        raise exceptions.InvalidInput(
            f"master_count={master[0].count}: etcd needs an odd number"
        )
    workers = (group for group, role in groups if role != "master")
    return master[0], tuple(workers)


def _node_group(
    row: Any,
    values: labels.Values,
    cloud: openstack_cloud.Cloud,
    release: str,
) -> tuple[spec.NodeGroup, str]:
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
    minimum, maximum = _bounds(row, values)
    return (
        spec.NodeGroup(
            name=names.node_group(row.name, release),
            flavor=cloud.flavor(row.flavor_id),
            count=row.node_count,
            image=image,
            minimum=minimum,
            maximum=maximum,
        ),
        row.role,
    )


def _bounds(row: Any, values: labels.Values) -> tuple[int, int | None]:
    """The autoscaler's bounds; the labels are those of the default worker.

    :raises InvalidInput: they contradict each other or the count
    """
    minimum, maximum = row.min_node_count, row.max_node_count
    if not values[autoscaling.ENABLED] or row.role == "master":
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


def _cni(template: Any) -> str:
    """Only a name the chart knows: with any other it installs no CNI."""
    driver = template.network_driver
    if driver in _CNIS:
        return str(driver)
    # Magnum fills an unset driver with its own default, flannel.
    if driver in (None, "", "flannel"):
        return _CNIS[0]
    raise exceptions.InvalidInput(
        f"network_driver={driver}: choose one of {', '.join(_CNIS)}"
    )


def _network(cluster: Any, cloud: openstack_cloud.Cloud) -> spec.Network:
    template = cluster.cluster_template
    external = template.external_network_id
    network = cluster.fixed_network or template.fixed_network
    subnet = cluster.fixed_subnet or template.fixed_subnet
    servers = (template.dns_nameserver or "").split(",")
    return spec.Network(
        external_id=cloud.network(external) if external else None,
        fixed_id=cloud.network(network) if network else None,
        fixed_subnet_id=cloud.subnet(subnet) if subnet else None,
        dns_nameservers=tuple(
            each.strip() for each in servers if each.strip()
        ),
    )


def _boot_disk(values: labels.Values) -> spec.Disk:
    cinder = conf.CONF.cinder
    size = values[nodes.BOOT_VOLUME_SIZE]
    return spec.Disk(
        size=cinder.default_boot_volume_size if size is None else size,
        type=values[nodes.BOOT_VOLUME_TYPE]
        or cinder.default_boot_volume_type
        or None,
    )


def _storage_classes(
    cloud: openstack_cloud.Cloud,
) -> tuple[spec.StorageClass, ...]:
    types = cloud.volume_types()
    default = conf.CONF.capi_helm.csi_cinder_default_volume_type
    if default:
        if default not in types:
            raise exceptions.NotConfigured(
                f"[capi_helm] csi_cinder_default_volume_type={default}: "
                f"Cinder has {', '.join(types) or 'no volume types'}"
            )
        types = tuple(sorted(types, key=lambda name: name != default))
    return tuple(
        spec.StorageClass(name=names.storage_class(name), volume_type=name)
        for name in types
    )
