# SPDX-License-Identifier: Apache-2.0
"""Auto-healing: a row for each label."""

from __future__ import annotations

#: label -> (a value that is not its default, what else it needs)
CHANGES: dict[str, tuple[str, dict[str, str]]] = {
    "auto_healing_enabled": ("false", {}),
    "auto_healing_max_unhealthy": ("40%", {}),
    "auto_healing_node_startup_timeout": ("1h30m", {}),
    "auto_healing_unhealthy_timeout": ("10m", {}),
}

#: label -> a value that no user may give
REFUSED: dict[str, str] = {
    "auto_healing_enabled": "maybe",
    "auto_healing_max_unhealthy": "0%",
    "auto_healing_node_startup_timeout": "4m59s",
    "auto_healing_unhealthy_timeout": "300",
}
