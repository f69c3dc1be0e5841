# SPDX-License-Identifier: Apache-2.0

"""Ranges and addresses that no cluster works with."""

from __future__ import annotations

from magnum_capi_helm.tests.unit.lifecycle import bad_inputs

RANGES: bad_inputs.Table = {
    "pods: no network": bad_inputs.Input(
        "label pods_cidr: give an IPv4 network without host bits (/8 to "
        "/24), for dual-stack followed by an IPv6 network (/48 to /64). It "
        "is 'banana'; an example is 10.100.0.0/16",
        labels={"pods_cidr": "banana"},
    ),
    "pods: host bits": bad_inputs.Input(
        "label pods_cidr: give an IPv4 network without host bits (/8 to "
        "/24), for dual-stack followed by an IPv6 network (/48 to /64). It "
        "is '10.100.0.1/16'; an example is 10.100.0.0/16",
        labels={"pods_cidr": "10.100.0.1/16"},
    ),
    "pods: too small, by an alias": bad_inputs.Input(
        "label calico_ipv4pool: give an IPv4 network without host bits (/8 "
        "to /24), for dual-stack followed by an IPv6 network (/48 to /64). "
        "It is '10.100.0.0/25'; an example is 10.100.0.0/16",
        labels={"calico_ipv4pool": "10.100.0.0/25"},
    ),
    "pods: no room for a node": bad_inputs.Input(
        "pods_cidr has room for 2 nodes of a /24 each, and the cluster can "
        "have 4 with the one that an upgrade adds: give a larger network. It "
        "is 10.100.0.0/23",
        labels={"pods_cidr": "10.100.0.0/23"},
        template={"network_driver": "cilium"},
    ),
    "services: too large": bad_inputs.Input(
        "label service_cluster_ip_range: give an IPv4 network without host "
        "bits (/12 to /28), for dual-stack followed by an IPv6 network (/108 "
        "to /124). It is '10.0.0.0/8'; an example is 10.254.0.0/16",
        labels={"service_cluster_ip_range": "10.0.0.0/8"},
    ),
    "nodes: multicast": bad_inputs.Input(
        "label fixed_subnet_cidr: give an IPv4 network without host bits (/8 "
        "to /28). It is '224.0.0.0/24'; machines and pods can't use "
        "224.0.0.0/4; an example is 10.0.0.0/24",
        labels={"fixed_subnet_cidr": "224.0.0.0/24"},
    ),
    "nodes: IPv6": bad_inputs.Input(
        "label fixed_subnet_cidr: give an IPv4 network without host bits (/8 "
        "to /28). It is 'fd00::/64'; Cluster API's OpenStack provider makes "
        "IPv4 subnets alone; an example is 10.0.0.0/24",
        labels={"fixed_subnet_cidr": "fd00::/64"},
    ),
    "who may reach the API: host bits": bad_inputs.Input(
        "label api_master_lb_allowed_cidrs: give IPv4 networks without host "
        "bits, separated by commas. It is '192.0.2.1/24'; an example is "
        "192.0.2.0/24, or 192.0.2.1/32 for one address",
        labels={"api_master_lb_allowed_cidrs": "192.0.2.1/24"},
    ),
    "pods: IPv6 alone": bad_inputs.Input(
        "label pods_cidr: give an IPv4 network without host bits (/8 to "
        "/24), for dual-stack followed by an IPv6 network (/48 to /64). It "
        "is 'fd00:1::/56'; Cluster API's OpenStack provider makes IPv4 "
        "subnets alone, and floating IPs are IPv4; an example is "
        "10.100.0.0/16",
        labels={"pods_cidr": "fd00:1::/56"},
    ),
    "pods: the zone of an IPv6 address": bad_inputs.Input(
        "label pods_cidr: give an IPv4 network without host bits (/8 to "
        "/24), for dual-stack followed by an IPv6 network (/48 to /64). It "
        "is '10.100.0.0/16,fd00:1::%{{x}}/56'; an example is 10.100.0.0/16",
        labels={"pods_cidr": "10.100.0.0/16,fd00:1::%{{x}}/56"},
    ),
}

OVERLAPS: bad_inputs.Table = {
    "pods and services": bad_inputs.Input(
        "pods_cidr and service_cluster_ip_range overlap: give ranges that "
        "have no address in common. They are 10.100.0.0/16 and "
        "10.100.128.0/20",
        labels={
            "pods_cidr": "10.100.0.0/16",
            "service_cluster_ip_range": "10.100.128.0/20",
        },
    ),
    "pods and nodes": bad_inputs.Input(
        "cilium_ipv4pool and fixed_subnet_cidr overlap: give ranges that "
        "have no address in common. They are 10.0.0.0/16 and 10.0.0.0/24",
        labels={"cilium_ipv4pool": "10.0.0.0/16"},
    ),
    "services and nodes": bad_inputs.Input(
        "service_cluster_ip_range and fixed_subnet_cidr overlap: give ranges "
        "that have no address in common. They are 10.0.0.0/20 and "
        "10.0.0.0/24",
        labels={"service_cluster_ip_range": "10.0.0.0/20"},
    ),
    "pods and a subnet that is there": bad_inputs.Input(
        "pods_cidr and fixed_subnet overlap: give ranges that have no "
        "address in common. They are 192.168.0.0/16 and 192.168.0.0/24",
        labels={"pods_cidr": "192.168.0.0/16"},
        fields={"fixed_subnet": "private-subnet"},
    ),
    "services and a network that is there": bad_inputs.Input(
        "service_cluster_ip_range and fixed_network overlap: give ranges "
        "that have no address in common. They are 192.168.0.0/20 and "
        "192.168.0.0/24",
        labels={"service_cluster_ip_range": "192.168.0.0/20"},
        fields={"fixed_network": "private"},
    ),
}

FAMILIES: bad_inputs.Table = {
    "dual-stack pods and IPv4 services": bad_inputs.Input(
        "pods_cidr and service_cluster_ip_range differ in their IP versions: "
        "give both IPv4 alone, or both IPv4 and IPv6. They are "
        "10.100.0.0/16, fd00:1::/56, and 172.24.0.0/13",
        labels={"pods_cidr": "10.100.0.0/16 fd00:1::/56"},
    ),
    "dual-stack on nodes with IPv4 alone": bad_inputs.Input(
        "pods_cidr: nodes need IPv6 addresses, too; give a fixed_network "
        "with an IPv4 and an IPv6 subnet. It is 10.100.0.0/16, fd00:1::/56; "
        "Cluster API's OpenStack provider makes IPv4 subnets alone",
        labels={
            "pods_cidr": "10.100.0.0/16 fd00:1::/56",
            "service_cluster_ip_range": "10.254.0.0/16 fd00:2::/112",
        },
        template={"network_driver": "cilium"},
    ),
}

API: bad_inputs.Table = {
    "a template for clients that use no certificates": bad_inputs.Input(
        "tls_disabled: choose a template without it, since the Kubernetes API "
        "always has TLS and `openstack coe cluster config` would leave the "
        "certificates out. It is true in cluster template 'bare'",
        template={"tls_disabled": True, "name": "bare"},
    ),
    "a port that the provider of the chart does not open": bad_inputs.Input(
        "apiserver_port: give 6443, or a chart version that opens another "
        "port. It is 8443; charts 0.24.0 and later do, and this is 0.23.0",
        template={"apiserver_port": 8443},
        chart="0.23.0",
    ),
    "three masters and no load balancer": bad_inputs.Input(
        "master_count=3: without a load balancer the floating IP leads to "
        "one machine; give master_count=1, or master_lb_enabled",
        fields={"master_lb_enabled": False},
        masters=3,
        options={"api_load_balancer": "requested"},
    ),
    "allowed networks and no load balancer": bad_inputs.Input(
        "label api_master_lb_allowed_cidrs: give it with master_lb_enabled: "
        "only a load balancer can filter. It is '192.0.2.0/24'",
        labels={"api_master_lb_allowed_cidrs": "192.0.2.0/24"},
        fields={"master_lb_enabled": False},
        options={"api_load_balancer": "requested"},
    ),
    "a security group that is not there": bad_inputs.Input(
        "label extra_security_groups (spaces separate names): there is no "
        "such security group; choose one of `openstack security group list`. "
        "It is 'db'",
        labels={"extra_security_groups": "web db"},
    ),
    "a flavor of no load balancer": bad_inputs.Input(
        "label api_server_lb_flavor: give it with master_lb_enabled. It is "
        "'ha'",
        labels={"api_server_lb_flavor": "ha"},
        fields={"master_lb_enabled": False},
        options={"api_load_balancer": "requested"},
    ),
    "a flavor that Octavia does not have": bad_inputs.Input(
        "label api_server_lb_flavor: give the name of an Octavia flavor. It "
        "is 'big'; Octavia has ha, small",
        labels={"api_server_lb_flavor": "big"},
    ),
    "a zone that Octavia does not have": bad_inputs.Input(
        "label api_server_lb_availability_zone: give the name of an Octavia "
        "availability zone. It is 'az9'; Octavia has az1",
        labels={"api_server_lb_availability_zone": "az9"},
    ),
    "a network of the API that is not there": bad_inputs.Input(
        "label api_server_network: there is no such network; choose one of "
        "`openstack network list`. It is 'management'",
        labels={
            "api_server_network": "management",
            "master_lb_floating_ip_enabled": "false",
        },
    ),
    "a network of the API without addresses of the nodes' IP version": (
        bad_inputs.Input(
            "label api_server_network: the network has no IPv4 subnet, and "
            "nodes have IPv4 addresses; choose another. It is 'ipv6'",
            labels={
                "api_server_network": "ipv6",
                "master_lb_floating_ip_enabled": "false",
            },
        )
    ),
    "a network of the API and a floating IP": bad_inputs.Input(
        "label api_server_network: give it with "
        "master_lb_floating_ip_enabled=false. It is 'public'",
        labels={"api_server_network": "public"},
    ),
    "a network of no load balancer": bad_inputs.Input(
        "label api_server_network: give it with master_lb_enabled. It is "
        "'public'",
        labels={"api_server_network": "public"},
        fields={"master_lb_enabled": False},
        options={"api_load_balancer": "requested"},
    ),
    "neither a load balancer nor a floating IP": bad_inputs.Input(
        "the Kubernetes API has neither a load balancer nor a floating IP: "
        "give master_lb_enabled, master_lb_floating_ip_enabled=true, or "
        "api_server_fixed_ip with the address of an existing port",
        labels={"master_lb_floating_ip_enabled": "false"},
        fields={"master_lb_enabled": False},
        options={"api_load_balancer": "requested"},
    ),
    "a floating IP for an API that has none": bad_inputs.Input(
        "label api_server_floating_ip: give it with "
        "master_lb_floating_ip_enabled=true: this cluster's API has no "
        "floating IP. It is '203.0.113.9'",
        labels={"api_server_floating_ip": "203.0.113.9"},
        fields={"floating_ip_enabled": False},
    ),
}
