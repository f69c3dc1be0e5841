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

"""All that the values of a release are made from.

:mod:`magnum_capi_helm.resolve` fills these in from Magnum's rows and the
cloud; everything behind them is pure.
"""

from __future__ import annotations

import dataclasses

from magnum_capi_helm import labels


@dataclasses.dataclass(frozen=True)
class Chart:
    """A helm chart.

    :param name: chart name, path, or oci:// reference
    :param version: exact version
    :param repository: URL of the repository; empty for a path or oci://
    """

    name: str
    version: str
    repository: str


@dataclasses.dataclass(frozen=True)
class Image:
    """A Glance image with kubelet and kubeadm of one version.

    :param kube_version: Kubernetes version without the leading ``v``
    :param os_distro: ``ubuntu`` or ``flatcar``
    """

    id: str
    name: str
    kube_version: str
    os_distro: str


@dataclasses.dataclass(frozen=True)
class Network:
    """Networks by UUID; None lets Cluster API's provider make or find one."""

    external_id: str | None = None
    fixed_id: str | None = None
    fixed_subnet_id: str | None = None
    dns_nameservers: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Disk:
    """A boot volume.

    :param size: GB; None boots from the flavor's own disk
    :param type: Cinder volume type; None takes Cinder's default
    """

    size: int | None = None
    type: str | None = None


@dataclasses.dataclass(frozen=True)
class StorageClass:
    """A Kubernetes StorageClass for one Cinder volume type.

    :param name: name of the class, valid in Kubernetes
    :param volume_type: Cinder volume type
    """

    name: str
    volume_type: str


@dataclasses.dataclass(frozen=True)
class NodeGroup:
    """Machines of one kind.

    :param name: the chart's name of the group
    :param flavor: flavor **name**: the provider does not look up UUIDs
    :param count: wanted machines
    :param minimum: lower bound for the autoscaler
    :param maximum: upper bound for the autoscaler; None: no autoscaling
    """

    name: str
    flavor: str
    count: int
    image: Image
    minimum: int = 0
    maximum: int | None = None


@dataclasses.dataclass(frozen=True)
class Cluster:
    """A cluster as it is wanted.

    :param release: release name
    :param namespace: namespace on the management cluster
    :param project_id: the tenant's project
    :param identity_url: Keystone as the cluster's machines reach it
    :param cni: ``calico`` or ``cilium``
    :param keypair: Nova keypair, or None
    :param storage_classes: the default one first
    :param allowed_zones: zones of the storage classes; empty for all
    """

    release: str
    namespace: str
    project_id: str
    identity_url: str
    cni: str
    keypair: str | None
    control_plane: NodeGroup
    node_groups: tuple[NodeGroup, ...]
    network: Network
    boot_disk: Disk
    storage_classes: tuple[StorageClass, ...]
    labels: labels.Values
    allowed_zones: tuple[str, ...] = ()
