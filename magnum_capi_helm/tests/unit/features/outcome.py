# SPDX-License-Identifier: Apache-2.0

"""What a template with some labels becomes, in a cloud that has it all."""

from __future__ import annotations

import dataclasses
import inspect
import types
from typing import Any

from magnum_capi_helm import features
from magnum_capi_helm.chart import values
from magnum_capi_helm.features import nodes
from magnum_capi_helm.features import topic
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.resolve import cluster as resolve_cluster
from magnum_capi_helm.resolve import offline
from magnum_capi_helm.tests.fakes import cloud as fake_cloud
from magnum_capi_helm.tests.unit.features import specs

#: The file of each label's topic, below the package.
FILES = {
    label.name: f"features/{name}.py"
    for name, module in inspect.getmembers(features, inspect.ismodule)
    for each in vars(module).values()
    if isinstance(each, topic.Topic)
    for label in each.labels
}
_EMPTY = (
    *("external_network_id", "fixed_network", "fixed_subnet", "keypair_id"),
    *("dns_nameserver", "insecure_registry", "apiserver_port"),
    *("http_proxy", "https_proxy", "no_proxy"),
)


def resolved(given: dict[str, str]) -> cluster_spec.Cluster:
    """A cluster of a template with these labels.

    :param given: "network_driver" is the field of that name
    """
    given = dict(given)
    network_driver = given.pop("network_driver", "calico")
    bare = dataclasses.replace(specs.IMAGE, kube_version="")
    template = types.SimpleNamespace(
        **dict.fromkeys(_EMPTY),
        name="small",
        labels=given,
        network_driver=network_driver,
        # An image that says its version needs no label to say it.
        image_id="bare" if nodes.KUBE_TAG.name in given else "ubuntu",
        flavor_id="m1",
        master_flavor_id="m1",
        docker_volume_size=50,
        floating_ip_enabled=True,
        master_lb_enabled=True,
        tls_disabled=False,
    )
    fields = {"name": "demo", "node_count": 2, "labels": {}}
    cluster = offline.cluster(template, fields)
    cluster.project_id = "p1"
    cloud: Any = fake_cloud.FakeCloud(
        images={"ubuntu": specs.IMAGE, "bare": bare},
        flavors={"m1": "m1"},
        networks={name: name for name in ("management", "storage")},
        types=("fast",),
        zones_of_volumes=("az1", "az2"),
        identity="https://keystone.example.org/v3",
    )
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
