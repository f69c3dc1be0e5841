# SPDX-License-Identifier: Apache-2.0

"""The directives of labels, all from the code.

``magnum-labels``: each label, by topic; ``magnum-label-summary``: a row for
each label; ``magnum-ignored-labels``: labels of other drivers that are
accepted and have no effect here, of one class: ``functional`` or
``harmless``; ``magnum-labels-of``: all labels of another driver.

The declarations that validate a label are the only source of its page, so
the page can't be wrong about a name, a default or what is allowed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
import json
import pathlib
import re
from typing import Any

import markup
from sphinx import application
from sphinx import environment

from magnum_capi_helm import features
from magnum_capi_helm.features import ignored
from magnum_capi_helm.features import topic
from magnum_capi_helm.model import labels
from magnum_capi_helm.model import versions
from magnum_capi_helm.tests import other_drivers

_OTHER_DRIVERS = {
    "heat": other_drivers.HEAT,
    "magnum-cluster-api": other_drivers.MAGNUM_CLUSTER_API,
}
_ALIAS = "alias of "
_UNSET = "unset"
#: Where a sentence of a help ends.
_SENTENCE = re.compile(r"(?<=\.) ")
_DEFAULT = "Default: "

#: Name of a label -> its change on an upgrade, measured with the chart.
_CHANGES: dict[str, str] = json.loads(
    pathlib.Path(__file__)
    .parents[1]
    .joinpath("source/reference/label-changes.json")
    .read_text("utf-8")
)

#: The labels without values of the chart.
_WITHOUT_VALUES = {
    "capi_helm_chart_version": "as the chart",
    "capi_helm_nodegroup_profiles": "as the values",
    "capi_helm_values_profiles": "as the values",
    "capi_management_cluster": "fixed",
    "upgrade_channel": "in place",
    "upgrade_images": "in place",
    "volumes_policy": "in place",
}

#: Where a label of that scope is read, the strongest first.
_PLACES = {
    labels.Scope.TEMPLATE: "the template alone",
    labels.Scope.CLUSTER: "cluster, template",
    labels.Scope.NODEGROUP: "nodegroup, cluster, template",
}


def reference(topics: Iterable[topic.Topic]) -> Iterator[str]:
    """Yield a section for each topic."""
    for each in topics:
        if not each.labels:
            continue
        yield from (each.name, "-" * len(each.name), "")
        for label in each.labels:
            yield from _entry(label)


def summary(topics: Iterable[topic.Topic]) -> Iterator[str]:
    """Yield a table: labels by topic, defaults, purpose and change."""
    header = ("Label", "Default", "Purpose", "On a change")
    rows: list[tuple[str, ...]] = []
    for each in topics:
        if each.labels:
            rows.append((f"**{each.name}**", "", "", ""))
            rows.extend(map(_row, each.labels))
    return markup.table(header, (30, 18, 36, 16), rows)


def _row(label: labels.Label[Any]) -> tuple[str, str, str, str]:
    """Return the cells of a label: its first sentence is the purpose."""
    first, *others = _SENTENCE.split(label.help)
    default = _default(label)
    if default == _UNSET:
        said = (each for each in others if each.startswith(_DEFAULT))
        text = next(said, _UNSET).removeprefix(_DEFAULT).removesuffix(".")
        default = markup.text(text)
    change = {**_CHANGES, **_WITHOUT_VALUES}[label.name]
    return _link(label), default, markup.text(first), change


def without_effect(
    ignored_labels: Mapping[str, ignored.Ignored],
) -> Iterator[str]:
    """Yield a table: labels without effect, and the reason."""
    rows = (
        (
            ", ".join(sorted(_shown(each, ignored_labels) for each in group)),
            markup.text(why),
        )
        for why, group in _by_reason(ignored_labels).items()
    )
    return markup.table(("Labels", "Why they do nothing here"), (55, 45), rows)


def _by_reason(
    ignored_labels: Mapping[str, ignored.Ignored],
) -> dict[str, list[str]]:
    """Return the names of the labels for each reason."""
    groups: dict[str, list[str]] = {}
    for name, label in ignored_labels.items():
        groups.setdefault(label.why, []).append(name)
    return groups


def _shown(name: str, ignored_labels: Mapping[str, ignored.Ignored]) -> str:
    """Return a name, with the values that this driver has anyway."""
    same = " or ".join(map(_value, ignored_labels[name].same))
    return markup.literal(name) + (f" (but {same})" if same else "")


def _entry(label: labels.Label[Any]) -> Iterator[str]:
    """Yield a target to link to, and a label's name, help and facts."""
    yield from (f".. _{_target(label)}:", "")
    yield markup.literal(label.name)
    yield f"    {markup.text(label.help)}"
    yield ""
    for name, body in _facts(label):
        yield f"    :{name}: {body}"
    yield ""


def _facts(label: labels.Label[Any]) -> Iterator[tuple[str, str]]:
    """Yield the fields of a declaration beside name and help."""
    if label.deprecated:
        yield "Deprecated", markup.text(label.deprecated)
    for advice in label.retired.values():
        yield "Deprecated", markup.text(advice)
    yield "Allowed", markup.text(label.rule)
    if (default := _default(label)) != _UNSET:
        yield "Default", default
    yield "Read from", _PLACES[label.scope]
    if label.charts != versions.ALL:
        others = "no effect" if label.harmless else "refused"
        yield (
            "Chart versions",
            f"{versions.describe(label.charts)}; {others} with others",
        )
    if change := _CHANGES.get(label.name):
        yield "Changes", f":ref:`{change} <label-changes>`"
    if label.becomes:
        yield "Values", ", ".join(map(markup.literal, label.becomes))
    if label.aliases:
        also = ", ".join(map(markup.literal, label.aliases))
        yield "Other names", f"{also}; of several, the first one counts"


def _default(label: labels.Label[Any]) -> str:
    """Return a default as a user would write the label."""
    value = label.default
    if value is None or value in ("", (), []):
        return _UNSET
    return _value(value)


def _value(value: object) -> str:
    """Return a value as a user would write it."""
    if isinstance(value, (list, tuple)):
        return markup.literal(",".join(map(str, value)))
    text = str(value)
    return markup.literal(text.lower() if isinstance(value, bool) else text)


def _target(label: labels.Label[Any]) -> str:
    return f"label-{label.name}"


def _link(label: labels.Label[Any]) -> str:
    return f":ref:`{label.name} <{_target(label)}>`"


def _ignored_labels(
    _: environment.BuildEnvironment, kind: str
) -> Iterator[str]:
    functional = {"functional": True, "harmless": False}[kind]
    return without_effect(
        {
            name: label
            for name, label in ignored.LABELS.items()
            if label.functional is functional
        }
    )


def _labels_of(_: environment.BuildEnvironment, driver: str) -> Iterator[str]:
    """Yield two tables: the labels that work, and those that don't."""
    becomes = _OTHER_DRIVERS[driver]
    header = ("Label there", "Here", "Default here")
    yield from markup.table(header, (40, 40, 20), _working(becomes))
    ignored_there = {
        name: ignored.LABELS[name]
        for name in sorted(becomes)
        if name in ignored.LABELS
    }
    rows = (
        (", ".join(map(markup.literal, names)), markup.text(why))
        for why, names in _by_reason(ignored_there).items()
    )
    header = ("Does nothing here", "Because")
    yield from markup.table(header, (50, 50), rows)


def _working(becomes: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """Yield a row for each label that works here, by its name there."""
    declared = {label.name: label for label in features.LABELS}
    for name in sorted(set(becomes) - set(ignored.LABELS)):
        here = becomes[name].removeprefix(_ALIAS)
        label = declared[name if here == other_drivers.DECLARED else here]
        same = "as it is" if label.name == name else markup.literal(label.name)
        yield markup.literal(name), same, _default(label)


def setup(app: application.Sphinx) -> dict[str, bool]:
    """Add the directives; Sphinx calls it."""
    return markup.add_directives(
        app,
        {
            "magnum-labels": lambda _: reference(features.TOPICS),
            "magnum-label-summary": lambda _: summary(features.TOPICS),
            "magnum-ignored-labels": _ignored_labels,
            "magnum-labels-of": _labels_of,
        },
    )
