# SPDX-License-Identifier: Apache-2.0

"""Upgrades: a row for each label."""

from __future__ import annotations

#: label -> (a value that is not its default, what else it needs)
CHANGES: dict[str, tuple[str, dict[str, str]]] = {
    "upgrade_channel": ("stable", {}),
    "upgrade_images": ("1.34=ubuntu-v1.34.6,v1.35.2=my-image", {}),
}

#: label -> a value that no user may give
REFUSED: dict[str, str] = {
    "upgrade_channel": "Stable/1",
    "upgrade_images": "1.34",
}
