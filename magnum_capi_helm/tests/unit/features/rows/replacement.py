# SPDX-License-Identifier: Apache-2.0

"""Replacement: a row for each label."""

from __future__ import annotations

#: label -> (a value that is not its default, what else it needs)
CHANGES: dict[str, tuple[str, dict[str, str]]] = {
    "node_drain_timeout": ("1h", {}),
    "node_volume_detach_timeout": ("10m", {}),
    "node_deletion_timeout": ("0s", {}),
    "rollout_max_surge": ("25%", {}),
}

#: label -> a value that no user may give
REFUSED: dict[str, str] = {
    "node_drain_timeout": "-1s",
    "node_volume_detach_timeout": "600",
    "node_deletion_timeout": "",
    "rollout_max_surge": "0",
}
