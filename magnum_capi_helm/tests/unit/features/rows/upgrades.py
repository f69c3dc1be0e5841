# SPDX-License-Identifier: Apache-2.0

"""Channels of upgrades: a row for each label."""

from __future__ import annotations

CHANGES: dict[str, tuple[str, dict[str, str]]] = {
    "upgrade_channel": ("stable", {}),
}

REFUSED: dict[str, str] = {"upgrade_channel": "Stable/1"}
