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
