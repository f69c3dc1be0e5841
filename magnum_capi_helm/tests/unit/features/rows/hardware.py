# SPDX-License-Identifier: Apache-2.0
"""Hardware: a row for each label."""

from __future__ import annotations

#: label -> (a value that is not its default, what else it needs)
CHANGES: dict[str, tuple[str, dict[str, str]]] = {
    "nvidia_gpu_operator_enabled": ("false", {}),
    "nvidia_mig_strategy": ("mixed", {}),
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
    "nvidia_mig_strategy": "both",
    "mellanox_network_operator_enabled": "-",
    "amd_gpu_operator_enabled": "some",
    "intel_device_plugin_enabled": "i915",
    "node_feature_discovery_enabled": "pci",
}
