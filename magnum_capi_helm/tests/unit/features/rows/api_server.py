# SPDX-License-Identifier: Apache-2.0

"""Kubernetes API: a row for each label."""

from __future__ import annotations

#: label -> (a value that is not its default, what else it needs)
CHANGES: dict[str, tuple[str, dict[str, str]]] = {
    "master_lb_floating_ip_enabled": ("false", {}),
    "api_server_floating_ip": ("192.0.2.7", {}),
    "api_server_fixed_ip": ("10.0.0.5", {}),
    "api_master_lb_allowed_cidrs": ("192.0.2.0/24", {}),
    "api_server_cert_sans": ("api.example.org", {}),
    "api_server_log_level": ("4", {}),
    "api_server_lb_flavor": ("ha", {}),
    "api_server_lb_availability_zone": ("az1", {}),
    "api_server_network": (
        "management",
        {"master_lb_floating_ip_enabled": "false"},
    ),
}

#: label -> a value that no user may give
REFUSED: dict[str, str] = {
    "master_lb_floating_ip_enabled": "none",
    "api_server_floating_ip": "2001:db8::7",
    "api_server_fixed_ip": "10.0.0.0/24",
    "api_master_lb_allowed_cidrs": "192.0.2.1/24",
    "api_server_cert_sans": "https://api.example.org",
    "api_server_log_level": "debug",
}

ANY_TEXT = {
    "api_server_lb_flavor": "",
    "api_server_lb_availability_zone": "",
    "api_server_network": "",
}
