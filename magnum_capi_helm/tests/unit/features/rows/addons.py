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
