# SPDX-License-Identifier: Apache-2.0

"""Conditions, as controllers write them into a status."""

from __future__ import annotations


def condition(name: str, well: bool, message: str = "") -> dict[str, str]:
    """One condition, that is well or not."""
    return {
        "type": name,
        "status": "True" if well else "False",
        "reason": "Fake",
        "message": message,
    }
