# SPDX-License-Identifier: Apache-2.0

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
