# SPDX-License-Identifier: Apache-2.0

"""Labels and fields that 1.4.0 takes no notice of, and this driver does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from magnum_capi_helm import features
from magnum_capi_helm.chart import immutable_fields
from magnum_capi_helm.features import api_server
from magnum_capi_helm.features import nodes
from magnum_capi_helm.model import chart_versions
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import labels
from magnum_capi_helm.swap import evidence
from magnum_capi_helm.swap import finding
from magnum_capi_helm.swap import old_labels

#: 1.4.0 reads it, and sends a key that other charts don't know.
_ALLOW_LIST = api_server.ALLOWED_CIDRS
_APPLIED = chart_versions.Range(until="0.10.1")

_FROZEN = tuple(".".join(path) for path in immutable_fields.PATHS)
_BY_NAME = {
    name: label
    for label in features.LABELS
    for name in (label.name, *label.aliases)
}


def effective(
    subject: evidence.Subject, _: evidence.Surroundings
) -> Iterator[finding.Finding]:
    """Labels without an effect so far, which get one."""
    for name, text in sorted(_given(subject).items()):
        label = _BY_NAME.get(name)
        if label is None or label is nodes.KUBE_TAG:
            continue
        if not _ignored(subject, name) or not _says(label, text):
            continue
        whose = _whose(subject, name)
        if label is _ALLOW_LIST:
            yield finding.Finding(
                finding.ACT,
                "label",
                f"{name}={text} of the {whose} is not applied: the "
                "Kubernetes API is open to all, until the first upgrade to "
                f"a chart that applies it "
                f"({chart_versions.describe(label.charts)})",
                "say so to its owner; an upgrade closes the API to others",
            )
        else:
            yield finding.Finding(
                finding.NOTE,
                "label",
                f"{name}={text} of the {whose} has no effect so far, and "
                f"gets one {_when(label)}",
            )


def refused(
    subject: evidence.Subject, around: evidence.Surroundings
) -> Iterator[finding.Finding]:
    """What users may say no more, of a template above all."""
    for name, text in sorted(_given(subject).items()):
        label = _BY_NAME.get(name)
        problem = label and _problem(subject, around, label, name, text)
        if problem and subject.template.labels.get(name) == text:
            yield finding.Finding(
                finding.ACT,
                "label",
                f"template {subject.template.name}: {problem}; its new "
                "clusters, and upgrades to it, are refused",
                "make a template without it for new clusters",
            )
        elif problem and label is not nodes.KUBE_TAG:
            yield finding.Finding(
                finding.NOTE, "label", f"{problem}; it counts as none"
            )


def fields(
    subject: evidence.Subject, _: evidence.Surroundings
) -> Iterator[finding.Finding]:
    """Fields of the template that say something for the first time."""
    for name, text in sorted(subject.template.unread.items()):
        yield finding.Finding(
            finding.NOTE,
            "template",
            f"{name}={text} of template {subject.template.name} has no "
            "effect so far, and gets one for its new clusters, and where it "
            "can with an upgrade",
        )


def _given(subject: evidence.Subject) -> dict[str, str]:
    return {**subject.template.labels, **subject.labels}


def _whose(subject: evidence.Subject, name: str) -> str:
    """Magnum copies the template's labels into its clusters."""
    own = subject.labels.get(name)
    copied = own is None or own == subject.template.labels.get(name)
    return "template" if copied else "cluster"


def _ignored(subject: evidence.Subject, name: str) -> bool:
    """Whether 1.4.0 does nothing about it."""
    if name not in old_labels.READ:
        return True
    chart = subject.live.chart if subject.live else ""
    return name == _ALLOW_LIST.name and bool(chart) and chart not in _APPLIED


def _says(label: labels.Label[Any], text: str) -> bool:
    """Whether it wants anything but what is so anyway."""
    try:
        return bool(label.parse(text) != label.default)
    except errors.LabelError:
        return False


def _when(label: labels.Label[Any]) -> str:
    paths = label.becomes
    if paths and all(map(_fixed, paths)):
        return "in new clusters of the template"
    return "with the cluster's first upgrade"


def _fixed(path: str) -> bool:
    return any(path == each or path.startswith(f"{each}.") for each in _FROZEN)


def _problem(
    subject: evidence.Subject,
    around: evidence.Surroundings,
    label: labels.Label[Any],
    name: str,
    text: str,
) -> str:
    """Why a label has no such value; empty: it has."""
    try:
        label.parse(text, name)
    except errors.LabelError as error:
        return str(error)
    image = around.images.get(subject.template.image)
    if label is not nodes.KUBE_TAG or image is None or not text:
        return ""
    if not image.kube_version or _bare(text) == _bare(image.kube_version):
        return ""
    return f"label {name}={text}, and its image has v{image.kube_version}"


def _bare(version: str) -> str:
    """Without ``v`` and without a builder's suffix."""
    return version.removeprefix("v").partition("-")[0].partition("+")[0]
