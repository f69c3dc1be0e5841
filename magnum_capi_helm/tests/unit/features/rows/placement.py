# SPDX-License-Identifier: Apache-2.0

"""Placement: a row for each label."""

from __future__ import annotations

#: label -> (a value that is not its default, what else it needs)
CHANGES: dict[str, tuple[str, dict[str, str]]] = {
    "availability_zone": ("az1", {}),
    "control_plane_availability_zones": ("az1,az2", {}),
    "server_group_policies": ("anti-affinity", {}),
}

#: label -> a value that no user may give
REFUSED: dict[str, str] = {"server_group_policies": "friends"}

#: Labels that take any text.
ANY_TEXT = {"availability_zone": "", "control_plane_availability_zones": ""}
