# SPDX-License-Identifier: Apache-2.0
"""Autoscaling: a row for each label."""

from __future__ import annotations

#: label -> (a value that is not its default, what else it needs)
CHANGES: dict[str, tuple[str, dict[str, str]]] = {
    "auto_scaling_enabled": ("true", {"max_node_count": "5"}),
    "min_node_count": (
        "1",
        {"auto_scaling_enabled": "true", "max_node_count": "5"},
    ),
    "max_node_count": ("6", {"auto_scaling_enabled": "true"}),
    "autoscaler_tag": ("v1.34.1", {"auto_scaling_enabled": "true"}),
    "auto_scaling_gpus": (
        "nvidia.com/gpu=1",
        {"auto_scaling_enabled": "true"},
    ),
    "auto_scaling_unneeded_time": ("30m", {"auto_scaling_enabled": "true"}),
    "auto_scaling_utilization_threshold": (
        "0.7",
        {"auto_scaling_enabled": "true"},
    ),
}

#: label -> a value that no user may give
REFUSED: dict[str, str] = {
    "auto_scaling_enabled": "2",
    "min_node_count": "1.5",
    "max_node_count": "many",
    "autoscaler_tag": "v1.34.1@sha256:0",
    "auto_scaling_gpus": "nvidia.com/gpu",
    "auto_scaling_unneeded_time": "10",
    "auto_scaling_utilization_threshold": "50%",
}
