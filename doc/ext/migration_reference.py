# SPDX-License-Identifier: Apache-2.0

"""``magnum-labels-of``: what becomes of the labels of another driver."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import markup
from sphinx import application

from magnum_capi_helm import features
from magnum_capi_helm.features import ignored
from magnum_capi_helm.model import labels
from magnum_capi_helm.tests import other_drivers

_TABLES = {
    "heat": other_drivers.HEAT,
    "magnum-cluster-api": other_drivers.MAGNUM_CLUSTER_API,
}
_ALIAS = "alias of "


def rows(becomes: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """A row for each label that works here, by its name there."""
    declared = {label.name: label for label in features.LABELS}
    for name in sorted(becomes):
        if name in ignored.LABELS:
            continue
        here = becomes[name].removeprefix(_ALIAS)
        label = declared[name if here == other_drivers.DECLARED else here]
        same = "as it is" if label.name == name else markup.literal(label.name)
        yield markup.literal(name), same, _default(label)


def reasons(becomes: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """A row for each reason why labels do nothing here."""
    found: dict[str, list[str]] = {}
    for name in sorted(becomes):
        if name in ignored.LABELS:
            label = ignored.LABELS[name]
            found.setdefault(label.why, []).append(name)
    for why, names in found.items():
        yield ", ".join(map(markup.literal, names)), markup.text(why)


def _default(label: labels.Label[Any]) -> str:
    value = label.default
    if value is None or value in ("", (), []):
        return "unset"
    if isinstance(value, (list, tuple)):
        return markup.literal(",".join(map(str, value)))
    text = str(value)
    return markup.literal(text.lower() if isinstance(value, bool) else text)


class LabelsOf(markup.Generated):
    """``.. magnum-labels-of:: DRIVER``"""

    required_arguments = 1

    def lines(self) -> Iterator[str]:
        """Two tables: of the labels that work, and of those that don't."""
        becomes = _TABLES[self.arguments[0]]
        header = ("Label there", "Here", "Default here")
        yield from markup.table(header, (40, 40, 20), rows(becomes))
        header = ("Does nothing here", "Because")
        yield from markup.table(header, (50, 50), reasons(becomes))


def setup(app: application.Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_directive("magnum-labels-of", LabelsOf)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
