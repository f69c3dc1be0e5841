# SPDX-License-Identifier: Apache-2.0

"""What a template with some labels becomes, in a cloud that has it all."""

from __future__ import annotations

from collections.abc import Iterable
import dataclasses
import inspect
import types
from typing import Any

from magnum_capi_helm import features
from magnum_capi_helm.chart import values
from magnum_capi_helm.cloud import catalogue
from magnum_capi_helm.features import nodes
from magnum_capi_helm.features import topic
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.resolve import cluster as resolve_cluster
from magnum_capi_helm.tests.unit.features import specs

#: The file of each label's topic, below the package.
FILES = {
    label.name: f"features/{name}.py"
    for name, module in inspect.getmembers(features, inspect.ismodule)
    for each in vars(module).values()
    if isinstance(each, topic.Topic)
    for label in each.labels
}


class _Cloud:
    """A cloud in which every name is found."""

    def prefetch(self, images: Iterable[str]) -> None:
        """Nothing to wait for."""

    def image(self, name: str) -> cluster_spec.Image:
        if name == "bare":
            return dataclasses.replace(specs.IMAGE, kube_version="")
        return specs.IMAGE

    def flavor(self, name: str) -> cluster_spec.Flavor:
        return cluster_spec.Flavor(name, 2, 4096, 20, ephemeral=100)

    def load_balancer_providers(self) -> tuple[str, ...]:
        return ("amphora", "ovn")

    def load_balancer_flavors(self) -> tuple[str, ...]:
        return ("ha",)

    def load_balancer_zones(self) -> tuple[str, ...]:
        return ("az1",)

    def compute_zones(self) -> tuple[str, ...]:
        return ("az1", "az2")

    def network(self, name: str) -> str:
        return name

    def subnets_of(self, network: str) -> tuple[catalogue.Subnet, ...]:
        return ()

    def security_group(self, name: str) -> str:
        return name

    def volume_types(self) -> tuple[str, ...]:
        return ("fast",)

    def default_volume_type(self) -> str | None:
        return "fast"

    def volume_zones(self) -> tuple[str, ...]:
        return ("az1", "az2")

    def cluster_identity_url(self) -> str:
        return "https://keystone.example.org/v3"


def _row(name: str, role: str, count: int, image: str) -> Any:
    return types.SimpleNamespace(
        name=name,
        role=role,
        node_count=count,
        flavor_id="m1",
        image_id=image,
        is_default=True,
        min_node_count=None,
        max_node_count=None,
        docker_volume_size=None,
        labels={},
    )


def resolved(given: dict[str, str]) -> cluster_spec.Cluster:
    """A cluster of a template with these labels.

    :param given: "network_driver" is the field of that name
    """
    given = dict(given)
    network_driver = given.pop("network_driver", "calico")
    # An image that says its version needs no label to say it.
    image = "bare" if nodes.KUBE_TAG.name in given else "ubuntu"
    template = types.SimpleNamespace(
        name="small",
        labels=given,
        network_driver=network_driver,
        external_network_id=None,
        fixed_network=None,
        fixed_subnet=None,
        dns_nameserver=None,
        insecure_registry=None,
        apiserver_port=None,
        tls_disabled=False,
        http_proxy=None,
        https_proxy=None,
        no_proxy=None,
    )
    cluster: Any = types.SimpleNamespace(
        uuid="45f11a8d-0000-4000-8000-000000000001",
        name="demo",
        labels={},
        cluster_template=template,
        project_id="p1",
        keypair=None,
        fixed_network=None,
        fixed_subnet=None,
        floating_ip_enabled=True,
        master_lb_enabled=True,
        docker_volume_size=50,
        nodegroups=[
            _row("default-master", "master", 1, image),
            _row("default-worker", "worker", 2, image),
        ],
    )
    cloud: Any = _Cloud()
    wanted = resolve_cluster.resolve(cluster, cloud, "demo-1")
    values.checked(wanted)
    return dataclasses.replace(
        wanted,
        control_plane=_placed(wanted.control_plane),
        node_groups=tuple(map(_placed, wanted.node_groups)),
    )


def _placed(group: cluster_spec.NodeGroup) -> cluster_spec.NodeGroup:
    """A group whose server group has the policy for its id."""
    policy = group.labels[nodes.SERVER_GROUP_POLICY]
    return dataclasses.replace(group, server_group_id=policy or None)
