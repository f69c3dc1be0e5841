# SPDX-License-Identifier: Apache-2.0

"""Persistent volumes: a row for each label."""

from __future__ import annotations

#: label -> (a value that is not its default, what else it needs)
CHANGES: dict[str, tuple[str, dict[str, str]]] = {
    "cinder_csi_enabled": ("false", {}),
    "csi_cinder_availability_zone": ("az1", {}),
    "csi_cinder_reclaim_policy": ("Delete", {}),
    "csi_cinder_volume_binding_mode": ("Immediate", {}),
    "csi_cinder_fstype": ("xfs", {}),
    "csi_cinder_allow_volume_expansion": ("false", {}),
    "volumes_policy": ("delete", {}),
}

#: label -> a value that no user may give
REFUSED: dict[str, str] = {
    "csi_cinder_availability_zone": "{{ zone }}",
    "cinder_csi_enabled": "cinder",
    "csi_cinder_reclaim_policy": "Recycle",
    "csi_cinder_volume_binding_mode": "Later",
    "csi_cinder_fstype": "",
    "csi_cinder_allow_volume_expansion": "ja",
    "volumes_policy": "burn",
}
