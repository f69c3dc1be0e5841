# SPDX-License-Identifier: Apache-2.0
"""Addons: a row for each label."""

from __future__ import annotations

#: label -> (a value that is not its default, what else it needs)
CHANGES: dict[str, tuple[str, dict[str, str]]] = {
    "kube_dashboard_enabled": (
        "false",
        {"capi_helm_chart_version": "0.19.2"},
    ),
    "headlamp_enabled": ("true", {"capi_helm_chart_version": "0.28.0"}),
    "ingress_controller": ("nginx", {}),
    "metrics_server_enabled": ("false", {}),
    "npd_enabled": ("false", {}),
    "cert_manager_enabled": ("true", {}),
    "etcd_defrag_enabled": ("false", {}),
    "reloader_enabled": ("false", {}),
}

#: label -> a value that no user may give
REFUSED: dict[str, str] = {
    "kube_dashboard_enabled": "-",
    "headlamp_enabled": "v0.43",
    "ingress_controller": "octavia",
    "metrics_server_enabled": "none",
    "npd_enabled": "maybe",
    "cert_manager_enabled": "v1.17",
    "etcd_defrag_enabled": "nightly",
    "reloader_enabled": "",
}
