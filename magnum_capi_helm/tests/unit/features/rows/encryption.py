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
