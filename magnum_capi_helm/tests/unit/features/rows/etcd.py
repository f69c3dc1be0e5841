# SPDX-License-Identifier: Apache-2.0

"""etcd: a row for each label."""

from __future__ import annotations

#: label -> (a value that is not its default, what else it needs)
CHANGES: dict[str, tuple[str, dict[str, str]]] = {
    "etcd_blockdevice_size": ("10", {}),
    "etcd_blockdevice_type": ("local", {"etcd_blockdevice_size": "10"}),
    "etcd_blockdevice_volume_type": ("fast", {"etcd_blockdevice_size": "10"}),
    "etcd_blockdevice_volume_az": ("az1", {"etcd_blockdevice_size": "10"}),
}

#: label -> a value that no user may give
REFUSED: dict[str, str] = {
    "etcd_blockdevice_size": "10G",
    "etcd_blockdevice_type": "nvme",
}

#: Labels that take any text.
ANY_TEXT = {
    "etcd_blockdevice_volume_type": "",
    "etcd_blockdevice_volume_az": "",
}
