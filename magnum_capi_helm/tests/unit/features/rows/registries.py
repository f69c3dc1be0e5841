# SPDX-License-Identifier: Apache-2.0

"""Registries: a row for each label."""

from __future__ import annotations

#: label -> (a value that is not its default, what else it needs)
CHANGES: dict[str, tuple[str, dict[str, str]]] = {
    "registry_mirrors": ("docker.io=https://mirror.example.org", {}),
    "container_infra_prefix": ("registry.example.org/k8s", {}),
}

#: label -> a value that no user may give
REFUSED: dict[str, str] = {
    "registry_mirrors": "mirror.example.org",
    "container_infra_prefix": "https://registry.example.org",
}
