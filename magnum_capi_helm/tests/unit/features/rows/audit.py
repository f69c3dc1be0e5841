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

"""Audit log: a row for each label."""

from __future__ import annotations

_ENABLED = {"audit_log_enabled": "true"}

#: label -> (a value that is not its default, what else it needs)
CHANGES: dict[str, tuple[str, dict[str, str]]] = {
    "audit_log_enabled": ("true", {}),
    "audit_log_policy_level": ("Request", _ENABLED),
    "audit_log_max_age": ("7", _ENABLED),
    "audit_log_max_backup": ("3", _ENABLED),
    "audit_log_max_size": ("50", _ENABLED),
}

#: label -> a value that no user may give
REFUSED: dict[str, str] = {
    "audit_log_enabled": "Metadata",
    "audit_log_policy_level": "Everything",
    "audit_log_max_age": "0",
    "audit_log_max_backup": "few",
    "audit_log_max_size": "100MB",
}
