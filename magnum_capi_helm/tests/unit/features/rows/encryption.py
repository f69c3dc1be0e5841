# SPDX-License-Identifier: Apache-2.0

"""Encryption at rest: a row for each label."""

from __future__ import annotations

#: label -> (a value that is not its default, what else it needs)
CHANGES: dict[str, tuple[str, dict[str, str]]] = {
    "etcd_encryption_enabled": ("true", {}),
    "etcd_encryption_provider": (
        "aescbc",
        {"etcd_encryption_enabled": "true"},
    ),
    "etcd_encryption_resources": (
        "secrets, configmaps",
        {"etcd_encryption_enabled": "true"},
    ),
}

#: label -> a value that no user may give
REFUSED: dict[str, str] = {
    "etcd_encryption_enabled": "secretbox",
    "etcd_encryption_provider": "kms",
    "etcd_encryption_resources": "Secrets",
}
