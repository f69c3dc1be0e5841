# SPDX-License-Identifier: Apache-2.0

"""Networks: a row for each label."""

from __future__ import annotations

#: label -> (a value that is not its default, what else it needs)
CHANGES: dict[str, tuple[str, dict[str, str]]] = {
    "fixed_subnet_cidr": ("192.168.7.0/24", {}),
    "pods_cidr": ("10.100.0.0/16", {}),
    "service_cluster_ip_range": ("10.254.0.0/16", {}),
    "cilium_hubble_ui_enabled": ("true", {"network_driver": "cilium"}),
    "calico_chart_version": ("v3.31.6", {}),
    "cilium_chart_version": ("1.19.4", {"network_driver": "cilium"}),
    "dns_cluster_domain": ("k8s.example.org", {}),
    "extra_network_names": ("storage", {}),
    "extra_network_port_security": (
        "false",
        {"extra_network_names": "storage"},
    ),
    "extra_security_groups": ("web", {}),
}

#: label -> a value that no user may give
REFUSED: dict[str, str] = {
    "fixed_subnet_cidr": "fd00::/64",
    "pods_cidr": "10.100.0.0/25",
    "service_cluster_ip_range": "fd00::/108",
    "cilium_hubble_ui_enabled": "some",
    "calico_chart_version": "v3.27.9",
    "cilium_chart_version": "v1.19.4",
    "dns_cluster_domain": "cluster.local.",
    "extra_network_port_security": "some",
}

#: Labels that take any text.
ANY_TEXT = {"extra_network_names": "", "extra_security_groups": ""}
