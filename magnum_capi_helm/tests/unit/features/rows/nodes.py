# SPDX-License-Identifier: Apache-2.0

"""Machines: a row for each label."""

from __future__ import annotations

#: label -> (a value that is not its default, what else it needs)
CHANGES: dict[str, tuple[str, dict[str, str]]] = {
    "boot_volume_size": ("30", {}),
    "boot_volume_type": ("fast", {"boot_volume_size": "30"}),
    "boot_volume_availability_zone": ("az1", {"boot_volume_size": "30"}),
    "extra_volumes": ("data:100,logs:20:fast", {}),
    "kube_tag": ("v1.33.6", {}),
    "node_labels": ("disk=ssd,example.org/team=a", {}),
    "node_taints": ("gpu=yes:NoSchedule,slow:NoExecute", {}),
}

#: label -> a value that no user may give
REFUSED: dict[str, str] = {
    "boot_volume_size": "-1",
    "extra_volumes": "etcd:10",
    "kube_tag": "latest",
    "node_labels": "node-role.kubernetes.io/gpu=yes",
    "node_taints": "gpu=yes:Never",
}

#: Labels that take any text.
ANY_TEXT = {"boot_volume_type": "", "boot_volume_availability_zone": ""}
