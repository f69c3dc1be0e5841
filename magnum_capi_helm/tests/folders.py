# SPDX-License-Identifier: Apache-2.0

"""Layers of the product: for the tests, and for the documentation."""

from __future__ import annotations

#: From the top down. A folder or module imports from lines below its own;
#: members of one line do not import each other.
LAYERS: tuple[frozenset[str], ...] = (
    frozenset({"driver"}),
    frozenset({"cli"}),
    frozenset({"lifecycle"}),
    frozenset({"credentials", "delivery"}),
    frozenset({"operations"}),
    frozenset({"management_clusters"}),
    frozenset({"resolve"}),
    frozenset({"cloud"}),
    frozenset({"runtime"}),
    frozenset({"schedules"}),
    frozenset({"database"}),
    frozenset({"helm"}),
    frozenset({"kubernetes"}),
    frozenset({"metrics"}),
    frozenset({"config"}),
    frozenset({"chart", "status"}),
    frozenset({"features"}),
    frozenset({"model"}),
)

#: Modules of ``model`` that know of the call they are in: its thread, its
#: start, the kind of its error.
ABOUT_THE_CALL = frozenset(
    {
        "model.call",
        "model.errors",
    }
)
