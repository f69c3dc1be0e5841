# SPDX-License-Identifier: Apache-2.0

"""Admission: a row for each label."""

from __future__ import annotations

_ENFORCED = {"pod_security_enforce": "baseline"}

#: label -> (a value that is not its default, what else it needs)
CHANGES: dict[str, tuple[str, dict[str, str]]] = {
    "admission_control_list": ("AlwaysPullImages", {}),
    "admission_control_disabled_list": ("DefaultStorageClass", {}),
    "pod_security_enforce": ("baseline", {}),
    "pod_security_audit": ("restricted", {}),
    "pod_security_warn": ("restricted", {}),
    "pod_security_exempt_namespaces": ("legacy", _ENFORCED),
}

#: label -> a value that no user may give
REFUSED: dict[str, str] = {
    "admission_control_list": "alwaysPullImages",
    "admission_control_disabled_list": "--all",
    "pod_security_enforce": "strict",
    "pod_security_audit": "Baseline",
    "pod_security_warn": "true",
    "pod_security_exempt_namespaces": "kube_system",
}
