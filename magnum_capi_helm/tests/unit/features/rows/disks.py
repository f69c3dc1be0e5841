# SPDX-License-Identifier: Apache-2.0

"""Container storage: a row for each label."""

from __future__ import annotations

#: label -> (a value that is not its default, what else it needs)
CHANGES: dict[str, tuple[str, dict[str, str]]] = {
    "docker_volume_type": ("fast", {}),
}

#: Labels that take any text.
ANY_TEXT = {"docker_volume_type": ""}
