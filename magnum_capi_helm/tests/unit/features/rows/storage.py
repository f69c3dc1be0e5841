# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

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
