# SPDX-License-Identifier: Apache-2.0

"""What an operator orders of living clusters, and what it makes of one.

The values that a cluster has stay its own: they are not made anew from
template and labels, so nothing reaches it that was not ordered. Where a chart
wants a value in another way, an upgrade makes it.
"""

from __future__ import annotations

import dataclasses
import time

from magnum_capi_helm import features
from magnum_capi_helm import runtime
from magnum_capi_helm.chart import immutable_fields
from magnum_capi_helm.chart import upgrade_rules
from magnum_capi_helm.chart import values
from magnum_capi_helm.features import encryption
from magnum_capi_helm.features import profiles
from magnum_capi_helm.features import topic
from magnum_capi_helm.helm import releases
from magnum_capi_helm.lifecycle import current_state
from magnum_capi_helm.model import chart_versions
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import desired_state
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import labels
from magnum_capi_helm.operations import assembly
from magnum_capi_helm.operations import operation
from magnum_capi_helm.operations import template_guard
from magnum_capi_helm.resolve import overlays
from magnum_capi_helm.resolve import requested


@dataclasses.dataclass(frozen=True)
class Order:
    """What clusters are to get.

    :param chart: version of the chart; empty: each keeps its own
    :param files: lay the operator's values on them, as they are now
    :param replacing: machines may be replaced for it
    """

    chart: str = ""
    files: bool = False
    replacing: bool = False


def wanted(
    rt: runtime.Runtime, subject: current_state.Subject, order: Order
) -> desired_state.Intent | None:
    """What is wanted of the release then; None: it is so already.

    :raises NotSupported: chart or values don't fit the cluster
    :raises InvalidInput: the chart ignores a label of the cluster, or there
        is no such profile
    :raises NotConfigured: a file can't be read, or says what it must not
    """
    base = subject.base
    chart = _chart(base.chart, order.chart)
    made = _overlaid(subject) if order.files else base.values
    if chart != base.chart:
        _check_chart(subject, chart)
        made = assembly.mirrored(rt, chart, made)
    if (chart, made) != (base.chart, base.values):
        live = current_state.infrastructure(rt, subject.row)
        made = immutable_fields.keep(made, base.values, chart.version, live)
    same = (chart, made) == (base.chart, base.values)
    if same and not (order.chart and _rebuilt(rt, subject)):
        return None
    _check_encryption(base.values, made)
    return desired_state.Intent(
        chart=chart,
        values=values.upgraded(made, base.values),
        fingerprint=subject.rows.fingerprint(),
        since=time.time(),
        labels=base.labels,
        before=desired_state.Before(
            base.chart,
            base.values,
            base.labels,
            # No row changes, so none has to be put back.
            desired_state.Moves(subject.row.cluster_template_id, {}),
        ),
    )


def _chart(old: cluster_spec.Chart, version: str) -> cluster_spec.Chart:
    same = version.removeprefix("v") == old.version.removeprefix("v")
    if same or not version:
        return old
    return dataclasses.replace(old, version=version)


def _rebuilt(rt: runtime.Runtime, subject: current_state.Subject) -> bool:
    """Return whether the chart, of that version, makes other machines now."""
    scope = operation.scope_of(subject.row)
    revisions = releases.revisions(rt.management, *scope)
    return bool(template_guard.find(rt, scope, subject.base, revisions))


def _overlaid(subject: current_state.Subject) -> topic.Values:
    """The values with the operator's on top, profiles of the template too."""
    base = subject.base
    found = requested.living_labels(subject.row, base.labels)
    made = overlays.apply(base.values, found, again=True)
    values.overlay(made, profiles.values(found))
    return made


def _check_chart(
    subject: current_state.Subject, chart: cluster_spec.Chart
) -> None:
    """Refuse a chart that can't do what the cluster has.

    Of a label that was without effect so far, nothing is lost.
    """
    base = subject.base
    old = base.chart.version
    upgrade_rules.check_chart(old, chart.version, "--chart-version")
    upgrade_rules.check_pair(
        chart.version,
        upgrade_rules.control_plane_version(base.values),
        "choose another version of the chart, or upgrade the cluster first",
    )
    applied = [
        each
        for each in features.LABELS
        if chart_versions.applies(each.charts, old)
    ]
    found = requested.living_labels(subject.row, base.labels)
    labels.check_chart(applied, found, chart.version)


def _check_encryption(old: topic.Values, new: topic.Values) -> None:
    upgrade_rules.check_encryption(old, new)
    if encryption.needs_key(new) and not encryption.needs_key(old):
        raise errors.NotSupported(
            "etcd.encryption.enabled=true is not rolled out: an upgrade to a "
            "template with the label etcd_encryption_enabled makes the key "
            "for it"
        )
