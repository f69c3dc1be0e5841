# SPDX-License-Identifier: Apache-2.0

"""A cluster and its nodegroups, with every reference resolved.

:mod:`magnum_capi_helm.resolve` makes them from Magnum's rows and OpenStack's
answers. The chart values are made from them without any I/O.
"""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
from typing import Any

from magnum_capi_helm.model import errors
from magnum_capi_helm.model import labels


@dataclasses.dataclass(frozen=True)
class Keypair:
    """A Nova keypair.

    :param type: ssh or x509
    """

    name: str
    public_key: str
    type: str = "ssh"


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
    :param os_distro: ``ubuntu``, ``debian``, ``rocky`` or ``flatcar``
    :param min_disk: GB that a disk made from it has at least
    :param architecture: such as ``x86_64``; empty: not set
    """

    id: str
    name: str
    kube_version: str
    os_distro: str
    min_disk: int = 0
    architecture: str = ""


@dataclasses.dataclass(frozen=True)
class Flavor:
    """A Nova flavor.

    :param vcpus: 0: the flavor is deleted, and its sizes are not known
    :param ram: MiB
    :param disk: GB of its own disk; 0: it boots from a volume alone
    :param ephemeral: GB of further disks of the hypervisor
    """

    name: str
    vcpus: int
    ram: int
    disk: int
    ephemeral: int = 0


@dataclasses.dataclass(frozen=True)
class Network:
    """Networks by UUID; None lets Cluster API's provider make or find one.

    :param subnet_cidrs: ranges of the given subnet, or of all subnets of the
        given network; empty when the provider makes the subnet, and in an
        outline
    """

    external_id: str | None = None
    fixed_id: str | None = None
    fixed_subnet_id: str | None = None
    dns_nameservers: tuple[str, ...] = ()
    subnet_cidrs: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Proxy:
    """HTTP proxies of the machines; None: no proxy.

    The URLs may contain a password, so ``repr`` does not show them.

    :param exceptions: destinations that the user excludes from the proxy
    """

    http: str | None = dataclasses.field(default=None, repr=False)
    https: str | None = dataclasses.field(default=None, repr=False)
    exceptions: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class ApiServer:
    """The way to the Kubernetes API, as Magnum's own fields ask for it.

    :param load_balancer: an Octavia load balancer in front of it
    :param floating_ip: it is reached by a floating IP
    :param port: TCP port; None: the chart's, 6443
    """

    load_balancer: bool = True
    floating_ip: bool = True
    port: int | None = None


@dataclasses.dataclass(frozen=True)
class Disk:
    """A volume of a machine.

    :param size: GB; None: no volume (as a boot disk: the flavor's own disk)
    :param type: Cinder volume type; None takes Cinder's default
    """

    size: int | None = None
    type: str | None = None


@dataclasses.dataclass(frozen=True)
class StorageClass:
    """A Kubernetes StorageClass for one Cinder volume type.

    :param name: name of the class, valid in Kubernetes
    :param volume_type: Cinder volume type; None: Cinder's
        default type
    :param default: claims that name no class get this one
    """

    name: str
    volume_type: str | None
    default: bool = False


@dataclasses.dataclass(frozen=True)
class Taint:
    """A taint of a node (``core/v1`` Taint)."""

    key: str
    effect: str
    value: str = ""


_NO_LABELS = labels.Values({})


@dataclasses.dataclass(frozen=True)
class NodeGroup:
    """A nodegroup: machines of one kind.

    :param name: the chart's name of the group
    :param flavor: flavor **name**: the provider does not look up UUIDs
    :param count: wanted machines
    :param minimum: lower bound for the autoscaler
    :param maximum: upper bound for the autoscaler; None: no autoscaling
    :param magnum_name: Magnum's name of the group
    :param role: Magnum's role of the group, such as ``worker``
    :param labels: of the group, with those of cluster and template below
    :param boot_disk: volume that its machines boot from
    :param container_disk: volume for images and containers
    :param node_labels: labels of its Kubernetes nodes
    :param server_group_id: Nova server group
    :param machine: the flavor with its sizes; None: not looked up
    :param profile: the operator's keys of its item of ``nodeGroups``
    """

    name: str
    flavor: str
    count: int
    image: Image
    minimum: int = 0
    maximum: int | None = None
    magnum_name: str = ""
    role: str = "worker"
    labels: labels.Values = _NO_LABELS
    boot_disk: Disk = Disk()
    container_disk: Disk = Disk()
    node_labels: tuple[tuple[str, str], ...] = ()
    taints: tuple[Taint, ...] = ()
    server_group_id: str | None = None
    machine: Flavor | None = None
    profile: Mapping[str, Any] = dataclasses.field(
        default_factory=dict, hash=False
    )


@dataclasses.dataclass(frozen=True)
class Site:
    """Settings of the operator for every cluster of this cloud.

    :param metadata: Nova metadata of every server
    :param keystone_policy: JSON policy of the Keystone webhook; None: the
        webhook's own
    :param registry_auth: registry host -> {username, password}
    :param trusted_cas: name -> PEM, for the machines
    :param registry_mirror: registry (host, may have a path) that mirrors all
        registries, each below its own name; None: none
    :param audit_policy: policy of the API's audit log, as YAML; None: the
        driver's own
    :param addon_repository: URL of a helm repository that has the charts of
        all addons; None: each addon's own
    """

    metadata: tuple[tuple[str, str], ...] = ()
    keystone_policy: str | None = None
    registry_auth: tuple[tuple[str, str, str], ...] = ()
    trusted_cas: tuple[tuple[str, str], ...] = ()
    registry_mirror: str | None = None
    audit_policy: str | None = None
    addon_repository: str | None = None


@dataclasses.dataclass(frozen=True)
class Cluster:
    """A cluster as the user wants it.

    :param release: release name
    :param project_id: the tenant's project
    :param identity_url: Keystone as the cluster's machines reach it
    :param cni: ``calico`` or ``cilium``
    :param keypair: Nova keypair, or None
    :param storage_classes: at most one of them is the default one
    :param allowed_zones: zones of the storage classes; empty for all
    :param chart: the chart that gets the values
    :param uuid: Magnum's UUID of the cluster
    :param name: Magnum's name of the cluster
    :param template: name of the cluster template
    :param insecure_registry: registry without TLS, or None
    :param namespace: of the project on the management cluster
    """

    release: str
    project_id: str
    identity_url: str
    cni: str
    keypair: str | None
    control_plane: NodeGroup
    node_groups: tuple[NodeGroup, ...]
    labels: labels.Values
    chart: Chart
    network: Network = Network()
    storage_classes: tuple[StorageClass, ...] = ()
    allowed_zones: tuple[str, ...] = ()
    uuid: str = ""
    name: str = ""
    template: str = ""
    api: ApiServer = ApiServer()
    proxy: Proxy = Proxy()
    insecure_registry: str | None = None
    site: Site = Site()
    namespace: str = ""


#: etcd needs a majority: an even number bears no more losses than the odd
#: one below it, and beyond seven each write waits for too many (etcd's FAQ).
CONTROL_PLANE_SIZES = (1, 3, 5, 7)


def check_control_plane_size(count: int, name: str) -> None:
    """Refuse a size that no control plane can have.

    :param name: of the field that has the count
    :raises InvalidInput: with the sizes that are allowed
    """
    if count not in CONTROL_PLANE_SIZES:
        raise errors.InvalidInput(
            f"{name}={count}: a control plane, whose machines run etcd, has "
            "an odd number of machines; give "
            f"{errors.one_of(map(str, CONTROL_PLANE_SIZES))}"
        )
