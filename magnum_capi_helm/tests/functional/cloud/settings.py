# SPDX-License-Identifier: Apache-2.0

"""Settings, and the OpenStack objects that they end in: the tables.

Two clusters have every label and field that ends in an OpenStack object: one
in CAPO's network, one in the user's. The tables name object and value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from magnum_capi_helm.tests.functional.cloud import cluster_rows

#: Setting -> kind and name of each object, its field, and the value there if
#: it is another than that of the setting.
Table = Mapping[str, tuple[tuple[Any, ...], ...]]

#: On loopback the lab answers for the cluster's API without a floating IP.
OWN_CIDR = "127.92.0.0/24"
_OWN_VIP = "127.92.0.10"

MASTER = "control-plane"
WORKER = "default-worker"
EXTRA = "extra"
_NUMBER = cluster_rows.COUNT
_IMAGE = "volume_image_metadata.image_id"
_FLAVOR = "flavor.original_name"
_ZONE = "OS-EXT-AZ:availability_zone"


def rows(
    given: Mapping[str, Mapping[str, Any]], table: Table
) -> Iterator[cluster_rows.Row]:
    """Yield the rows of a table.

    :param given: values by place and name, such as "label" and a label
    """
    for setting, seen in table.items():
        place, _, name = setting.rpartition(" ")
        value = given[place][name] if name else ""
        text = str(value).lower() if isinstance(value, bool) else str(value)
        for kind, which, field, *other in seen:
            expected = other[0] if other else _as_seen(text)
            yield cluster_rows.Row(setting, text, kind, which, field, expected)


def _as_seen(text: str) -> Any:
    """Return a value as OpenStack has it."""
    if "," in text:
        return text.split(",")
    return int(text) if text.isdigit() else text


#: Settings of the cluster in CAPO's network.
MANAGED_TEMPLATE = {
    "image_id": "ubuntu-v1.34.2",
    "flavor_id": "m1.worker",
    "master_flavor_id": "m1.control",
    "external_network_id": "public",
    "dns_nameserver": "192.0.2.53,192.0.2.54",
    "docker_volume_size": 3,
    "floating_ip_enabled": False,
}
MANAGED_CLUSTER: dict[str, Any] = {
    "master_count": 3,
    "node_count": 2,
    "keypair": "demo",
}
MANAGED_LABELS = {
    "boot_volume_size": "21",
    "boot_volume_type": "ssd",
    "boot_volume_availability_zone": "nova",
    "docker_volume_type": "ssd",
    "extra_volumes": "data:2:ssd",
    "availability_zone": "az2",
    "control_plane_availability_zones": "az1,az2",
    "server_group_policies": "soft-anti-affinity",
    "fixed_subnet_cidr": "10.77.8.0/24",
    "master_lb_floating_ip_enabled": "true",
    "api_server_floating_ip": "ADDRESS",
    "api_master_lb_allowed_cidrs": "192.0.2.0/24",
    "api_server_lb_flavor": "small",
    "api_server_lb_availability_zone": "az1",
    "octavia_provider": "amphora",
    "octavia_lb_algorithm": "LEAST_CONNECTIONS",
    "etcd_blockdevice_size": "4",
    "etcd_blockdevice_type": "volume",
    "etcd_blockdevice_volume_type": "ssd",
    "etcd_blockdevice_volume_az": "nova",
}
MANAGED = tuple(
    rows(
        {
            "template": MANAGED_TEMPLATE,
            "cluster": {**MANAGED_CLUSTER, "name": "NAME"},
            "label": MANAGED_LABELS,
        },
        {
            "template image_id": (("boot volume", MASTER, _IMAGE),),
            "template flavor_id": (("server", WORKER, _FLAVOR),),
            "template master_flavor_id": (("server", MASTER, _FLAVOR),),
            "template external_network_id": (
                ("router", "", "external_gateway_info.network_id"),
                ("floating IP", "", "floating_network_id"),
            ),
            "template dns_nameserver": (("subnet", "", "dns_nameservers"),),
            "template docker_volume_size": (
                ("container volume", MASTER, "size"),
                ("container volume", WORKER, "size"),
            ),
            "cluster keypair": (
                ("server", MASTER, "key_name"),
                ("server", WORKER, "key_name"),
            ),
            "cluster master_count": (
                ("server", MASTER, _NUMBER),
                ("member", "", _NUMBER),
            ),
            "cluster node_count": (("server", WORKER, _NUMBER),),
            "cluster name": (
                (
                    *("server", WORKER, "metadata"),
                    {
                        "magnum_cluster_name": "NAME",
                        "magnum_cluster_uuid": "UUID",
                        "magnum_template_name": "TEMPLATE",
                    },
                ),
            ),
            "label boot_volume_size": (("boot volume", WORKER, "size"),),
            "label boot_volume_type": (
                ("boot volume", WORKER, "volume_type"),
            ),
            "label boot_volume_availability_zone": (
                ("boot volume", WORKER, "availability_zone"),
            ),
            "label docker_volume_type": (
                ("container volume", WORKER, "volume_type"),
            ),
            "label extra_volumes": (("extra volume", WORKER, "size", 2),),
            "label availability_zone": (("server", WORKER, _ZONE),),
            "label control_plane_availability_zones": (
                ("server", MASTER, _ZONE),
            ),
            "label server_group_policies": (
                ("server group", "default-master", "policy"),
                ("server group", "default-master", "servers", 3),
                ("server group", WORKER, "servers", 2),
            ),
            "label fixed_subnet_cidr": (("subnet", "", "cidr"),),
            "label master_lb_floating_ip_enabled": (
                ("floating IP", "", _NUMBER, 1),
            ),
            "label api_server_floating_ip": (
                ("floating IP", "", "floating_ip_address"),
                ("floating IP", "", "port_id", "the load balancer's port"),
            ),
            "label api_master_lb_allowed_cidrs": (
                (
                    *("listener", "", "allowed_cidrs"),
                    ["10.77.8.0/24", "192.0.2.0/24", "ROUTER/32"],
                ),
            ),
            "label api_server_lb_flavor": (
                ("load balancer", "", "flavor_id"),
            ),
            "label api_server_lb_availability_zone": (
                ("load balancer", "", "availability_zone"),
            ),
            "label octavia_provider": (("load balancer", "", "provider"),),
            "label octavia_lb_algorithm": (
                ("pool", "", "lb_algorithm", "ROUND_ROBIN"),
            ),
            "label etcd_blockdevice_size": (("etcd volume", MASTER, "size"),),
            "label etcd_blockdevice_type": (
                (
                    *("attached volume", MASTER, "tag"),
                    [None, "containers", "etcd"],
                ),
            ),
            "label etcd_blockdevice_volume_type": (
                ("etcd volume", MASTER, "volume_type"),
            ),
            "label etcd_blockdevice_volume_az": (
                ("etcd volume", MASTER, "availability_zone"),
            ),
            # Objects that every cluster has.
            "": (
                ("load balancer", "", _NUMBER, 1),
                ("health monitor", "", "type", "TCP"),
                ("listener", "", "protocol_port", 6443),
                ("member", "", "protocol_port", 6443),
                (
                    *("port", f"{MASTER} 0", "security_groups"),
                    ["CAPO's group controlplane"],
                ),
                (
                    *("port", f"{WORKER} 0", "security_groups"),
                    ["CAPO's group worker"],
                ),
                (
                    *("rule", "controlplane Kubernetes API"),
                    *("port_range_max", 6443),
                ),
                (
                    *("rule", "worker Node Port Services"),
                    *("remote_ip_prefix", ["10.77.8.0/24", None]),
                ),
                ("application credential", "", "unrestricted", False),
                ("application credential", "", "roles", ["member", "reader"]),
            ),
        },
    )
)

#: Settings of the cluster in a network of the user, and of its second group.
OWN_TEMPLATE = {
    "image_id": "ubuntu-v1.35.1",
    "apiserver_port": 8443,
    "fixed_network": "NETWORK",
    "fixed_subnet": "SUBNET",
}
OWN_CLUSTER: dict[str, Any] = {
    "floating_ip_enabled": False,
    "docker_volume_size": 4,
}
OWN_LABELS = {
    "api_server_fixed_ip": _OWN_VIP,
    "octavia_provider": "ovn",
    "etcd_blockdevice_size": "2",
    "etcd_blockdevice_type": "local",
    "extra_network_names": "EXTRA",
    "volumes_policy": "delete",
}
OWN_GROUP = {
    "image_id": "ubuntu-v1.35.1",
    "flavor_id": "m1.control",
    "docker_volume_size": 5,
    "node_count": 1,
}
OWN_GROUP_LABELS = {
    "availability_zone": "az1",
    "boot_volume_size": "22",
    "boot_volume_availability_zone": "nova",
    "server_group_policies": "soft-affinity",
    "extra_network_names": "EXTRA",
    "extra_network_port_security": "false",
    "extra_security_groups": "default",
}
OWN = tuple(
    rows(
        {
            "template": OWN_TEMPLATE,
            "cluster": OWN_CLUSTER,
            "label": OWN_LABELS,
            "nodegroup": OWN_GROUP,
            "nodegroup label": OWN_GROUP_LABELS,
        },
        {
            "template image_id": (("server", WORKER, "image.id"),),
            "template apiserver_port": (
                ("listener", "", "protocol_port"),
                ("member", "", "protocol_port"),
                (
                    *("rule", "controlplane Kubernetes API, apiserver_port"),
                    "port_range_max",
                ),
            ),
            "template fixed_network": (
                ("port", f"{WORKER} 0", "network_id"),
                ("network", "", _NUMBER, 0),
                ("router", "", _NUMBER, 0),
            ),
            "template fixed_subnet": (
                ("port", f"{WORKER} 0", "subnets", ["SUBNET"]),
                ("load balancer", "", "vip_subnet_id"),
            ),
            "cluster floating_ip_enabled": (("floating IP", "", _NUMBER, 0),),
            "cluster docker_volume_size": (
                ("container volume", WORKER, "size"),
            ),
            "label api_server_fixed_ip": (
                ("load balancer", "", "vip_address"),
            ),
            "label octavia_provider": (
                ("load balancer", "", "provider"),
                ("pool", "", "lb_algorithm", "SOURCE_IP_PORT"),
                ("rule", "worker", "remote_ip_prefix", "0.0.0.0/0"),
            ),
            "label etcd_blockdevice_type": (
                ("etcd volume", MASTER, _NUMBER, 0),
            ),
            "label extra_network_names": (
                ("port", f"{WORKER} 1", "network_id"),
                (
                    *("port", f"{WORKER} 1", "security_groups"),
                    ["CAPO's group worker"],
                ),
                ("port", f"{MASTER} 1", _NUMBER, 0),
            ),
            "nodegroup image_id": (("boot volume", EXTRA, _IMAGE),),
            "nodegroup flavor_id": (("server", EXTRA, _FLAVOR),),
            "nodegroup docker_volume_size": (
                ("container volume", EXTRA, "size"),
            ),
            "nodegroup node_count": (("server", EXTRA, _NUMBER),),
            "nodegroup label availability_zone": (("server", EXTRA, _ZONE),),
            "nodegroup label boot_volume_size": (
                ("boot volume", EXTRA, "size"),
            ),
            "nodegroup label server_group_policies": (
                ("server group", EXTRA, "policy"),
            ),
            "nodegroup label extra_security_groups": (
                (
                    *("port", f"{EXTRA} 0", "security_groups"),
                    ["CAPO's group worker", "default"],
                ),
            ),
            "nodegroup label extra_network_port_security": (
                ("port", f"{EXTRA} 1", "port_security_enabled", False),
            ),
        },
    )
)
#: After the deletion.
_POLICY = "label volumes_policy"
_CLAIM = ("volume of a claim", "", _NUMBER)
MANAGED_DELETED = tuple(
    rows({"label": {"volumes_policy": ""}}, {_POLICY: ((*_CLAIM, 1),)})
)
OWN_DELETED = tuple(rows({"label": OWN_LABELS}, {_POLICY: ((*_CLAIM, 0),)}))
