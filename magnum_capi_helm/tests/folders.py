# SPDX-License-Identifier: Apache-2.0

"""Layers of the product: for the tests, and for the documentation."""

from __future__ import annotations

#: From the top down. A folder or module imports from lines below its own;
#: members of one line do not import each other.
LAYERS: tuple[frozenset[str], ...] = (
    frozenset({"driver"}),
    frozenset({"monitor"}),
    frozenset({"cmd"}),
    frozenset({"backup", "swap"}),
    frozenset({"lifecycle"}),
    frozenset({"credentials", "delivery"}),
    frozenset({"operations"}),
    frozenset({"planes"}),
    frozenset({"resolve"}),
    frozenset({"cloud"}),
    frozenset({"runtime"}),
    frozenset({"equipment"}),
    frozenset({"memory"}),
    frozenset({"database"}),
    frozenset({"helm"}),
    frozenset({"kubernetes", "management"}),
    frozenset({"metrics"}),
    frozenset({"config"}),
    frozenset({"chart", "status"}),
    frozenset({"features"}),
    frozenset({"model"}),
)

#: Imports that still run up, or sideways.
BACK = frozenset(
    {
        ("cmd", "driver"),
        ("config", "delivery"),
        ("config", "metrics"),
        ("config", "planes"),
        ("equipment", "cloud"),
        ("equipment", "delivery"),
        ("equipment", "planes"),
        ("management", "helm"),
        ("metrics", "database"),
        ("metrics", "helm"),
        ("metrics", "kubernetes"),
        ("metrics", "management"),
        ("metrics", "runtime"),
        ("planes", "operations"),
        ("runtime", "planes"),
        ("status", "chart"),
    }
)

#: Modules of ``model`` that know of the call they are in: its thread, its
#: start, the kind of its error.
ABOUT_THE_CALL = frozenset(
    {
        "model.audit",
        "model.error_text",
        "model.lease_guard",
        "model.timing",
    }
)
