# SPDX-License-Identifier: Apache-2.0

"""Renewal of certificates: a row for each label."""

from __future__ import annotations

#: label -> (a value that is not its default, what else it needs)
CHANGES: dict[str, tuple[str, dict[str, str]]] = {
    "certificates_expiry_days": ("30", {}),
}

#: label -> a value that no user may give
REFUSED: dict[str, str] = {
    "certificates_expiry_days": "6",
}
