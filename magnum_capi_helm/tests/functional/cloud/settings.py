# SPDX-License-Identifier: Apache-2.0

"""Settings, and the OpenStack objects that they end in: the tables.

Two clusters have every label and field that ends in an OpenStack object: one
in CAPO's network, one in the user's. The tables name object and value.
"""

from __future__ import annotations

from typing import Any

from magnum_capi_helm.tests.functional.cloud import cluster_rows

Row = cluster_rows.Row

#: On loopback the lab answers for the cluster's API without a floating IP.
OWN_CIDR = "127.92.0.0/24"
_OWN_VIP = "127.92.0.10"

_MASTER = "control-plane"
_WORKER = "default-worker"
EXTRA = "extra"

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
#: Setting, value, kind and name of the object, its field, the value there.
MANAGED = (
    Row(
        "template image_id",
        "ubuntu-v1.34.2",
        "boot volume",
        _MASTER,
        "volume_image_metadata.image_id",
        "ubuntu-v1.34.2",
    ),
    Row(
        "template flavor_id",
        "m1.worker",
        "server",
        _WORKER,
        "flavor.original_name",
        "m1.worker",
    ),
    Row(
        "template master_flavor_id",
        "m1.control",
        "server",
        _MASTER,
        "flavor.original_name",
        "m1.control",
    ),
    Row(
        "template external_network_id",
        "public",
        "router",
        "",
        "external_gateway_info.network_id",
        "public",
    ),
    Row(
        "template external_network_id",
        "public",
        "floating IP",
        "",
        "floating_network_id",
        "public",
    ),
    Row(
        "template dns_nameserver",
        "192.0.2.53,192.0.2.54",
        "subnet",
        "",
        "dns_nameservers",
        ["192.0.2.53", "192.0.2.54"],
    ),
    Row(
        "template docker_volume_size",
        "3",
        "container volume",
        _MASTER,
        "size",
        3,
    ),
    Row(
        "template docker_volume_size",
        "3",
        "container volume",
        _WORKER,
        "size",
        3,
    ),
    Row("cluster keypair", "demo", "server", _MASTER, "key_name", "demo"),
    Row("cluster keypair", "demo", "server", _WORKER, "key_name", "demo"),
    Row("cluster master_count", "3", "server", _MASTER, "number", 3),
    Row("cluster master_count", "3", "member", "", "number", 3),
    Row("cluster node_count", "2", "server", _WORKER, "number", 2),
    Row(
        "cluster name",
        "NAME",
        "server",
        _WORKER,
        "metadata",
        {
            "magnum_cluster_name": "NAME",
            "magnum_cluster_uuid": "UUID",
            "magnum_template_name": "TEMPLATE",
        },
    ),
    Row("label boot_volume_size", "21", "boot volume", _WORKER, "size", 21),
    Row(
        "label boot_volume_type",
        "ssd",
        "boot volume",
        _WORKER,
        "volume_type",
        "ssd",
    ),
    Row(
        "label boot_volume_availability_zone",
        "nova",
        "boot volume",
        _WORKER,
        "availability_zone",
        "nova",
    ),
    Row(
        "label docker_volume_type",
        "ssd",
        "container volume",
        _WORKER,
        "volume_type",
        "ssd",
    ),
    Row(
        "label extra_volumes", "data:2:ssd", "extra volume", _WORKER, "size", 2
    ),
    Row(
        "label availability_zone",
        "az2",
        "server",
        _WORKER,
        "OS-EXT-AZ:availability_zone",
        "az2",
    ),
    Row(
        "label control_plane_availability_zones",
        "az1,az2",
        "server",
        _MASTER,
        "OS-EXT-AZ:availability_zone",
        ["az1", "az2"],
    ),
    Row(
        "label server_group_policies",
        "soft-anti-affinity",
        "server group",
        "default-master",
        "policy",
        "soft-anti-affinity",
    ),
    Row(
        "label server_group_policies",
        "soft-anti-affinity",
        "server group",
        "default-master",
        "servers",
        3,
    ),
    Row(
        "label server_group_policies",
        "soft-anti-affinity",
        "server group",
        _WORKER,
        "servers",
        2,
    ),
    Row(
        "label fixed_subnet_cidr",
        "10.77.8.0/24",
        "subnet",
        "",
        "cidr",
        "10.77.8.0/24",
    ),
    Row(
        "label master_lb_floating_ip_enabled",
        "true",
        "floating IP",
        "",
        "number",
        1,
    ),
    Row(
        "label api_server_floating_ip",
        "ADDRESS",
        "floating IP",
        "",
        "floating_ip_address",
        "ADDRESS",
    ),
    Row(
        "label api_server_floating_ip",
        "ADDRESS",
        "floating IP",
        "",
        "port_id",
        "the load balancer's port",
    ),
    Row(
        "label api_master_lb_allowed_cidrs",
        "192.0.2.0/24",
        "listener",
        "",
        "allowed_cidrs",
        ["10.77.8.0/24", "192.0.2.0/24", "ROUTER/32"],
    ),
    Row(
        "label api_server_lb_flavor",
        "small",
        "load balancer",
        "",
        "flavor_id",
        "small",
    ),
    Row(
        "label api_server_lb_availability_zone",
        "az1",
        "load balancer",
        "",
        "availability_zone",
        "az1",
    ),
    Row(
        "label octavia_provider",
        "amphora",
        "load balancer",
        "",
        "provider",
        "amphora",
    ),
    Row(
        "label octavia_lb_algorithm",
        "LEAST_CONNECTIONS",
        "pool",
        "",
        "lb_algorithm",
        "ROUND_ROBIN",
    ),
    Row(
        "label etcd_blockdevice_size",
        "4",
        "etcd volume",
        _MASTER,
        "size",
        4,
    ),
    Row(
        "label etcd_blockdevice_type",
        "volume",
        "attached volume",
        _MASTER,
        "tag",
        [None, "containers", "etcd"],
    ),
    Row(
        "label etcd_blockdevice_volume_type",
        "ssd",
        "etcd volume",
        _MASTER,
        "volume_type",
        "ssd",
    ),
    Row(
        "label etcd_blockdevice_volume_az",
        "nova",
        "etcd volume",
        _MASTER,
        "availability_zone",
        "nova",
    ),
    # Objects that every cluster has.
    Row("", "", "load balancer", "", "number", 1),
    Row("", "", "health monitor", "", "type", "TCP"),
    Row("", "", "listener", "", "protocol_port", 6443),
    Row("", "", "member", "", "protocol_port", 6443),
    Row(
        "",
        "",
        "port",
        f"{_MASTER} 0",
        "security_groups",
        ["CAPO's group controlplane"],
    ),
    Row(
        "",
        "",
        "port",
        f"{_WORKER} 0",
        "security_groups",
        ["CAPO's group worker"],
    ),
    Row(
        "",
        "",
        "rule",
        "controlplane Kubernetes API",
        "port_range_max",
        6443,
    ),
    Row(
        "",
        "",
        "rule",
        "worker Node Port Services",
        "remote_ip_prefix",
        ["10.77.8.0/24", None],
    ),
    Row("", "", "application credential", "", "unrestricted", False),
    Row(
        "",
        "",
        "application credential",
        "",
        "roles",
        ["member", "reader"],
    ),
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
OWN = (
    Row(
        "template image_id",
        "ubuntu-v1.35.1",
        "server",
        _WORKER,
        "image.id",
        "ubuntu-v1.35.1",
    ),
    Row(
        "template apiserver_port",
        "8443",
        "listener",
        "",
        "protocol_port",
        8443,
    ),
    Row(
        "template apiserver_port", "8443", "member", "", "protocol_port", 8443
    ),
    Row(
        "template apiserver_port",
        "8443",
        "rule",
        "controlplane Kubernetes API, apiserver_port",
        "port_range_max",
        8443,
    ),
    Row(
        "template fixed_network",
        "NETWORK",
        "port",
        f"{_WORKER} 0",
        "network_id",
        "NETWORK",
    ),
    Row("template fixed_network", "NETWORK", "network", "", "number", 0),
    Row("template fixed_network", "NETWORK", "router", "", "number", 0),
    Row(
        "template fixed_subnet",
        "SUBNET",
        "port",
        f"{_WORKER} 0",
        "subnets",
        ["SUBNET"],
    ),
    Row(
        "template fixed_subnet",
        "SUBNET",
        "load balancer",
        "",
        "vip_subnet_id",
        "SUBNET",
    ),
    Row(
        "cluster floating_ip_enabled", "false", "floating IP", "", "number", 0
    ),
    Row(
        "cluster docker_volume_size",
        "4",
        "container volume",
        _WORKER,
        "size",
        4,
    ),
    Row(
        "label api_server_fixed_ip",
        _OWN_VIP,
        "load balancer",
        "",
        "vip_address",
        _OWN_VIP,
    ),
    Row(
        "label octavia_provider", "ovn", "load balancer", "", "provider", "ovn"
    ),
    Row(
        "label octavia_provider",
        "ovn",
        "pool",
        "",
        "lb_algorithm",
        "SOURCE_IP_PORT",
    ),
    Row(
        "label octavia_provider",
        "ovn",
        "rule",
        "worker",
        "remote_ip_prefix",
        "0.0.0.0/0",
    ),
    Row(
        "label etcd_blockdevice_type",
        "local",
        "etcd volume",
        _MASTER,
        "number",
        0,
    ),
    Row(
        "label extra_network_names",
        "EXTRA",
        "port",
        f"{_WORKER} 1",
        "network_id",
        "EXTRA",
    ),
    Row(
        "label extra_network_names",
        "EXTRA",
        "port",
        f"{_WORKER} 1",
        "security_groups",
        ["CAPO's group worker"],
    ),
    Row(
        "label extra_network_names",
        "EXTRA",
        "port",
        f"{_MASTER} 1",
        "number",
        0,
    ),
    Row(
        "nodegroup image_id",
        "ubuntu-v1.35.1",
        "boot volume",
        EXTRA,
        "volume_image_metadata.image_id",
        "ubuntu-v1.35.1",
    ),
    Row(
        "nodegroup flavor_id",
        "m1.control",
        "server",
        EXTRA,
        "flavor.original_name",
        "m1.control",
    ),
    Row(
        "nodegroup docker_volume_size",
        "5",
        "container volume",
        EXTRA,
        "size",
        5,
    ),
    Row("nodegroup node_count", "1", "server", EXTRA, "number", 1),
    Row(
        "nodegroup label availability_zone",
        "az1",
        "server",
        EXTRA,
        "OS-EXT-AZ:availability_zone",
        "az1",
    ),
    Row(
        "nodegroup label boot_volume_size",
        "22",
        "boot volume",
        EXTRA,
        "size",
        22,
    ),
    Row(
        "nodegroup label server_group_policies",
        "soft-affinity",
        "server group",
        EXTRA,
        "policy",
        "soft-affinity",
    ),
    Row(
        "nodegroup label extra_security_groups",
        "default",
        "port",
        f"{EXTRA} 0",
        "security_groups",
        ["CAPO's group worker", "default"],
    ),
    Row(
        "nodegroup label extra_network_port_security",
        "false",
        "port",
        f"{EXTRA} 1",
        "port_security_enabled",
        False,
    ),
)
#: After the deletion.
MANAGED_DELETED = (
    Row("label volumes_policy", "", "volume of a claim", "", "number", 1),
)
OWN_DELETED = (
    Row(
        "label volumes_policy", "delete", "volume of a claim", "", "number", 0
    ),
)
