# SPDX-License-Identifier: Apache-2.0
"""Monitoring: a row for each label."""

from __future__ import annotations

#: label -> (a value that is not its default, what else it needs)
CHANGES: dict[str, tuple[str, dict[str, str]]] = {
    "monitoring_enabled": ("true", {}),
    "monitoring_retention_days": ("14", {"monitoring_enabled": "true"}),
    "monitoring_retention_size": ("14", {"monitoring_enabled": "true"}),
    "monitoring_volume_size": ("20", {"monitoring_enabled": "true"}),
    "monitoring_storage_class_name": ("fast", {"monitoring_enabled": "true"}),
    "monitoring_interval_seconds": ("60", {"monitoring_enabled": "true"}),
    "monitoring_loki_enabled": ("false", {"monitoring_enabled": "true"}),
    "monitoring_blackbox_enabled": ("false", {"monitoring_enabled": "true"}),
}

#: label -> a value that no user may give
REFUSED: dict[str, str] = {
    "monitoring_enabled": "always",
    "monitoring_retention_days": "0",
    "monitoring_retention_size": "14Gi",
    "monitoring_volume_size": "0",
    "monitoring_storage_class_name": "Fast_SSD",
    "monitoring_interval_seconds": "30s",
    "monitoring_loki_enabled": "logs",
    "monitoring_blackbox_enabled": "2",
}
