# SPDX-License-Identifier: Apache-2.0

"""Profiles: a row for each label."""

from __future__ import annotations

#: label -> (a value that is not its default, what else it needs)
CHANGES: dict[str, tuple[str, dict[str, str]]] = {
    "capi_helm_nodegroup_profiles": ("gpu", {}),
    "capi_helm_values_profiles": ("gpu", {}),
}

#: label -> a value that no user may give
REFUSED: dict[str, str] = {
    "capi_helm_nodegroup_profiles": "../gpu",
    "capi_helm_values_profiles": "../gpu",
}
