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

"""Machines: a row for each label."""

from __future__ import annotations

#: label -> (a value that is not its default, what else it needs)
CHANGES: dict[str, tuple[str, dict[str, str]]] = {
    "boot_volume_size": ("30", {}),
    "boot_volume_type": ("fast", {"boot_volume_size": "30"}),
    "boot_volume_availability_zone": ("az1", {"boot_volume_size": "30"}),
    "kube_tag": ("v1.33.6", {}),
    "node_labels": ("disk=ssd,example.org/team=a", {}),
    "node_taints": ("gpu=yes:NoSchedule,slow:NoExecute", {}),
}

#: label -> a value that no user may give
REFUSED: dict[str, str] = {
    "boot_volume_size": "-1",
    "kube_tag": "latest",
    "node_labels": "node-role.kubernetes.io/gpu=yes",
    "node_taints": "gpu=yes:Never",
}

#: Labels that take any text.
ANY_TEXT = {"boot_volume_type": "", "boot_volume_availability_zone": ""}
