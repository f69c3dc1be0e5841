# SPDX-License-Identifier: Apache-2.0

"""The directives of the label reference, all from the code.

``magnum-labels``: each label, by topic; ``magnum-label-names``: labels that
other drivers have under another name; ``magnum-ignored-labels``: labels of
other drivers that are accepted and have no effect here, of one class:
``functional`` or ``harmless``.

The declarations that validate a label are the only source of its page, so
the page can't be wrong about a name, a default or what is allowed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import markup
from sphinx import application

from magnum_capi_helm import features
from magnum_capi_helm.features import ignored
from magnum_capi_helm.features import topic
from magnum_capi_helm.model import labels
from magnum_capi_helm.model import versions

#: Where a label of that scope is read, the strongest first.
_PLACES = {
    labels.Scope.TEMPLATE: "the template alone",
    labels.Scope.CLUSTER: "cluster, template",
    labels.Scope.NODEGROUP: "nodegroup, cluster, template",
}


def reference(topics: Iterable[topic.Topic]) -> Iterator[str]:
    """The reference as reStructuredText, a section for each topic."""
    for each in topics:
        if not each.labels:
            continue
        yield from (each.name, "-" * len(each.name), "")
        for label in each.labels:
            yield from _entry(label)


def names(declared: Iterable[labels.Label[Any]]) -> Iterator[str]:
    """A table: the name elsewhere, and the name here."""
    rows = sorted(
        (markup.literal(alias), _link(label))
        for label in declared
        for alias in label.aliases
    )
    return markup.table(("Name elsewhere", "Name here"), (50, 50), rows)


def without_effect(
    ignored_labels: Mapping[str, labels.Ignored],
) -> Iterator[str]:
    """A table: the reason, and the labels that it is true of."""
    by_reason: dict[str, list[str]] = {}
    for name, label in ignored_labels.items():
        shown = markup.literal(name)
        if label.same:
            same = " or ".join(_same(each) for each in label.same)
            shown = f"{shown} (but {same})"
        by_reason.setdefault(label.why, []).append(shown)
    rows = (
        (", ".join(sorted(found)), markup.text(why))
        for why, found in by_reason.items()
    )
    return markup.table(("Labels", "Why they do nothing here"), (55, 45), rows)


def _same(value: str | bool) -> str:
    """A value that asks for what this driver does anyway."""
    return markup.literal(
        str(value).lower() if isinstance(value, bool) else value
    )


def _entry(label: labels.Label[Any]) -> Iterator[str]:
    """One label: a target to link to, its name, help and facts."""
    yield from (f".. _{_target(label)}:", "")
    yield markup.literal(label.name)
    yield f"    {markup.text(label.help)}"
    yield ""
    for name, body in _facts(label):
        yield f"    :{name}: {body}"
    yield ""


def _facts(label: labels.Label[Any]) -> Iterator[tuple[str, str]]:
    """What a declaration says, beside name and help."""
    if label.deprecated:
        yield "Deprecated", markup.text(label.deprecated)
    yield "Type", _type(label)
    yield "Allowed", markup.text(label.rule)
    yield "Default", _default(label)
    yield "Read from", _PLACES[label.scope]
    if label.charts != versions.ALL:
        others = "no effect" if label.harmless else "refused"
        yield (
            "Chart versions",
            f"{versions.describe(label.charts)}; {others} with others",
        )
    if label.becomes:
        yield "Values", ", ".join(map(markup.literal, label.becomes))
    if label.aliases:
        also = ", ".join(map(markup.literal, label.aliases))
        yield "Also called", f"{also}; weaker, the first one the strongest"


def _type(label: labels.Label[Any]) -> str:
    """The type as oslo.config names it, which says "value" behind some."""
    name = str(getattr(label.type, "type_name", "text"))
    return markup.text(name.removesuffix(" value"))


def _default(label: labels.Label[Any]) -> str:
    """A default as a user would write the label."""
    value = label.default
    if value is None or value in ("", (), []):
        return "unset"
    if isinstance(value, bool):
        return markup.literal(str(value).lower())
    if isinstance(value, (list, tuple)):
        return markup.literal(",".join(map(str, value)))
    return markup.literal(str(value))


def _target(label: labels.Label[Any]) -> str:
    return f"label-{label.name}"


def _link(label: labels.Label[Any]) -> str:
    return f":ref:`{label.name} <{_target(label)}>`"


class LabelReference(markup.Generated):
    """``.. magnum-labels::``"""

    def lines(self) -> Iterator[str]:
        """The sections of all topics."""
        return reference(features.TOPICS)


class LabelNames(markup.Generated):
    """``.. magnum-label-names::``"""

    def lines(self) -> Iterator[str]:
        """The table of other names."""
        return names(features.LABELS)


class IgnoredLabels(markup.Generated):
    """``.. magnum-ignored-labels:: functional`` or ``harmless``"""

    required_arguments = 1

    def lines(self) -> Iterator[str]:
        """The table of one class of labels."""
        functional = {"functional": True, "harmless": False}[self.arguments[0]]
        return without_effect(
            {
                name: label
                for name, label in ignored.LABELS.items()
                if label.functional is functional
            }
        )


def setup(app: application.Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_directive("magnum-labels", LabelReference)
    app.add_directive("magnum-label-names", LabelNames)
    app.add_directive("magnum-ignored-labels", IgnoredLabels)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
