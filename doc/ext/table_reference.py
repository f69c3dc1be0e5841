# SPDX-License-Identifier: Apache-2.0

"""The directives of tables that are made from the code.

``magnum-chart-versions``: the versions that each chart was tested with;
``magnum-chart-traps``: peculiarities of some charts; ``magnum-compatibility``:
the newest run of each environment; ``magnum-conditions``: what the driver says
of each type of condition; ``magnum-conversion``: fields of Cluster API's
v1beta1 in v1beta2; ``magnum-metrics``: metrics of the command (``cloud``) or
of conductors (``process``); ``magnum-reasons``: messages of OpenStack that the
driver explains; ``magnum-states``: states of a cluster in a poll.
"""

from __future__ import annotations

from collections.abc import Iterator
import itertools
import pathlib
import re
import sys
from typing import Any

import markup
from sphinx import application
from sphinx import environment

from magnum_capi_helm import metrics
from magnum_capi_helm.chart import conversion
from magnum_capi_helm.lifecycle import decision
from magnum_capi_helm.model import versions
from magnum_capi_helm.status import messages
from magnum_capi_helm.tests.unit.status import condition_types

# The checkout: these modules are no part of the driver.
sys.path.insert(0, str(pathlib.Path(__file__).parents[2]))

from tools import compatibility

_METRICS = {"cloud": metrics.OF_CLOUD, "process": metrics.OF_PROCESS}
#: Fields side by side stand for each other.
_FIELDS = re.compile(r"\{(\w+)\}(?:\{\w+\})*")


def _chart_versions(_: environment.BuildEnvironment) -> Iterator[str]:
    """Yield a row for chart versions that were tested with the same."""
    header = (
        "Chart",
        "Cluster API",
        "CAPO",
        "ORC",
        "Addons",
        "Janitor",
        "cert-manager",
        "helm",
        "Kubernetes",
    )
    rows = (
        (
            ", ".join(each.charts),
            each.cluster_api,
            each.provider,
            each.resources or "not needed",
            each.addons,
            each.janitor,
            each.cert_manager,
            each.helm,
            " to ".join(each.kubernetes),
        )
        for each in versions.tested_releases()
    )
    return markup.table(header, (18, 10, 10, 10, 10, 10, 12, 8, 12), rows)


def _chart_traps(_: environment.BuildEnvironment) -> Iterator[str]:
    rows = (
        (
            # A range of one version is that version.
            each.since if each.since == each.until else str(each),
            f"{markup.text(text)}.",
        )
        for each, text in versions.TRAPS.items()
    )
    return markup.table(("Chart", "It"), (25, 75), rows)


def _compatibility(env: environment.BuildEnvironment) -> Iterator[str]:
    """Yield a row for the newest run of each environment."""
    env.note_dependency(str(compatibility.RECORD))
    newest = compatibility.newest(compatibility.RECORD.read_text())
    if not newest:
        return iter(["Nothing was recorded yet."])
    header = ("Magnum", "Python", "Also", "Passed", "Failed", "Skipped", "Run")
    rows = map(_run, newest)
    return markup.table(header, (9, 9, 36, 8, 8, 8, 22), rows)


def _run(line: dict[str, Any]) -> tuple[str, ...]:
    packages = dict(line["packages"])
    magnum = packages.pop("magnum", "-")
    others = [f"{name} {number}" for name, number in packages.items()]
    if "cluster_api" in line:
        others.insert(0, f"Cluster API {line['cluster_api']}")
    if "helm" in line:
        others.insert(0, f"helm {line['helm']}")
    return (
        magnum,
        line["python"],
        ", ".join(others),
        *(str(line.get(each, 0)) for each in ("passed", "failed", "skipped")),
        f"{markup.literal(line['environment'])}, {line['date']}",
    )


def _conditions(_: environment.BuildEnvironment) -> Iterator[str]:
    """Yield a row for each type of condition, and for each phase of an addon.

    The condition is set to its bad status on the objects of a cluster; the row
    has the most prominent text with its message.
    """
    types = sorted(condition_types.types())
    releases = _releases()
    rows = [
        (kind, name, ", ".join(releases[kind, name]), _said(list(each)))
        for (kind, name), each in itertools.groupby(types, lambda e: e[:2])
    ]
    left_out = {each.name for each in types if each.left_out}
    yield f"Types of condition: {len(rows)}. The driver reads"
    yield f"{len(rows) - len(left_out)} of them. MESSAGE is the condition's."
    yield ""
    for phase in condition_types.file()["addons"]["phases"]:
        said = markup.literal(f"addon NAME: {phase}")
        if phase == "Deployed":
            said = "nothing"
        cells = (f"phase {phase}", "all", said)
        rows.append(("HelmRelease, Manifests", *cells))
    header = ("Kind", "Type", "Releases", "The driver says")
    yield from markup.table(header, (18, 20, 14, 48), rows)


def _releases() -> dict[tuple[str, str], list[str]]:
    """Return the releases that have a type, by its kind and name."""
    found: dict[tuple[str, str], list[str]] = {}
    file: Any = condition_types.file()
    for part in (file, file["by_hand"]):
        for kinds in part["components"].values():
            for kind, named in kinds.items():
                for name, known in named.items():
                    found.setdefault((kind, name), []).append(
                        known["releases"]
                    )
    return found


def _said(sets: list[condition_types.Type]) -> str:
    """Return what the driver says of a type; the sets differ only in time."""
    if reason := sets[0].left_out:
        return f"nothing: {reason}"
    for each in reversed(sets):
        if said := condition_types.first_text(each):
            return markup.literal(
                said.replace(condition_types.MESSAGE, "MESSAGE")
            )
    return condition_types.WITHOUT_MESSAGE[sets[0].name]


#: The configuration of kubeadm, which two kinds have.
_KUBEADM = "kubeadmConfigSpec"


def _conversion(_: environment.BuildEnvironment) -> Iterator[str]:
    """Yield a section with a row for each field, for each kind."""
    for (_group, kind), rows in conversion.TABLES.items():
        yield from (kind, "=" * len(kind), "")
        own = {
            path: field
            for path, field in rows.items()
            if not path.startswith(f"{_KUBEADM}.")
        }
        cells = list(_fields(own))
        if own != rows:
            same = markup.literal(_KUBEADM)
            other = markup.literal("template.spec")
            cells.append((same, same, f"as {other} of KubeadmConfigTemplate"))
        header = (conversion.OLD, conversion.NEW, "How")
        yield from markup.table(header, (38, 38, 24), cells)


def _fields(
    rows: conversion.Rows, old: str = "", new: str = ""
) -> Iterator[tuple[str, str, str]]:
    for path, field in rows.items():
        name = f"{old}{path}"
        to = ", ".join(markup.literal(f"{new}{each}") for each in field.to)
        if field.rows is None:
            _function, effect = conversion.CONVERSIONS[field.how]
            yield markup.literal(name), to or "\\-", markup.text(effect)
        else:
            (inner,) = field.to
            yield from _fields(field.rows, f"{name}.", f"{new}{inner}.")


def _metrics(_: environment.BuildEnvironment, kind: str) -> Iterator[str]:
    """Yield a row for each metric, with its labels."""
    rows = ((_name(each), _meaning(each)) for each in _METRICS[kind])
    return markup.table(("Metric", "It is"), (50, 50), rows)


def _name(family: metrics.Metric) -> str:
    # The line may break anywhere between the labels.
    labels = ", ".join(map(markup.literal, family.labels))
    return f"{markup.literal(family.name)} {labels}"


def _meaning(family: metrics.Metric) -> str:
    parts = " ``_sum`` has the seconds, ``_count`` how many there were."
    return markup.text(family.help) + (parts if family.summary else "")


def _reasons(_: environment.BuildEnvironment) -> Iterator[str]:
    """Yield a row for each message that the driver explains."""
    rows = (
        (
            markup.text(_FIELDS.sub(lambda m: m[1].upper(), each.fact)),
            markup.text(each.advice.replace("`", "")),
            markup.text(each.code),
        )
        for each in messages.known()
    )
    heads = ("Reason", "What to do", "Code")
    return markup.table(heads, (40, 42, 18), rows)


def _states(_: environment.BuildEnvironment) -> Iterator[str]:
    """Yield a row for each state of a cluster."""
    rows = (
        (
            each.title,
            each.value.why,
            each.value.action,
            "yes" * each.value.lease,
        )
        for each in decision.State
    )
    heads = ("State", "When", "A poll", "Lease")
    return markup.table(heads, (12, 38, 42, 8), rows)


def setup(app: application.Sphinx) -> dict[str, bool]:
    """Add the directives; Sphinx calls it."""
    return markup.add_directives(
        app,
        {
            "magnum-chart-versions": _chart_versions,
            "magnum-chart-traps": _chart_traps,
            "magnum-compatibility": _compatibility,
            "magnum-conditions": _conditions,
            "magnum-conversion": _conversion,
            "magnum-metrics": _metrics,
            "magnum-reasons": _reasons,
            "magnum-states": _states,
        },
    )
