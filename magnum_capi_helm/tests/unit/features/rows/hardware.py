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
"""Hardware: a row for each label."""

from __future__ import annotations

#: label -> (a value that is not its default, what else it needs)
CHANGES: dict[str, tuple[str, dict[str, str]]] = {
    "nvidia_gpu_operator_enabled": ("false", {}),
    "mellanox_network_operator_enabled": ("false", {}),
    "amd_gpu_operator_enabled": (
        "true",
        {"capi_helm_chart_version": "0.27.0"},
    ),
    "intel_device_plugin_enabled": ("true", {}),
    "node_feature_discovery_enabled": (
        "false",
        {
            "nvidia_gpu_operator_enabled": "false",
            "mellanox_network_operator_enabled": "false",
        },
    ),
}

#: label -> a value that no user may give
REFUSED: dict[str, str] = {
    "nvidia_gpu_operator_enabled": "A100",
    "mellanox_network_operator_enabled": "-",
    "amd_gpu_operator_enabled": "some",
    "intel_device_plugin_enabled": "i915",
    "node_feature_discovery_enabled": "pci",
}
