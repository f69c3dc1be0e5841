# SPDX-License-Identifier: Apache-2.0

"""Shared volumes: a row for each label."""

from __future__ import annotations

_ON = {"manila_csi_enabled": "true", "manila_csi_share_type": "nfs"}

#: label -> (a value that is not its default, what else it needs)
CHANGES: dict[str, tuple[str, dict[str, str]]] = {
    "manila_csi_enabled": ("true", {**_ON, "manila_csi_enabled": "false"}),
    "manila_csi_share_type": ("fast", _ON),
    "manila_csi_protocol": ("cephfs", _ON),
    "manila_csi_share_network_id": (
        "0b8ac6b8-3e5c-4f0e-9d5c-8a7f1c2d3e4f",
        _ON,
    ),
}

#: label -> a value that no user may give
REFUSED: dict[str, str] = {
    "manila_csi_share_type": "{{ type }}",
    "manila_csi_enabled": "nfs",
    "manila_csi_protocol": "cifs",
    "manila_csi_share_network_id": "shares",
}
