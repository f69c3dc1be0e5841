# SPDX-License-Identifier: Apache-2.0

"""What 1.4.0 would break with its first operation on a cluster.

It keeps nothing of what a cluster has: it makes all values anew, and takes
the chart of the template or of its option (:mod:`swap.predecessor`). So what
it would send is compared with what the release has.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from magnum_capi_helm.features import networking
from magnum_capi_helm.model import chart_versions
from magnum_capi_helm.swap import back_groups
from magnum_capi_helm.swap import case as case_of
from magnum_capi_helm.swap import evidence
from magnum_capi_helm.swap import finding
from magnum_capi_helm.swap import old_labels
from magnum_capi_helm.swap import predecessor
from magnum_capi_helm.swap import settings

#: Charts between which machines are replaced, and whose: the templates of
#: the versions, compared.
_ROLLS: tuple[tuple[str, str], ...] = (
    ("0.11.0", "all machines are replaced"),
    ("0.15.0", "the machines of the control plane are replaced"),
    ("0.16.0", "the machines of the control plane are replaced"),
)
_OLD_PROVIDER = chart_versions.Range(until="0.10.1")


def default_chart(
    subjects: Iterable[evidence.Subject], options: evidence.Options
) -> str:
    """The best ``default_helm_chart_version`` for the way back."""
    if options.chart_at_path:
        return ""
    found = [
        each.live.chart
        for each in subjects
        if each.live
        and each.live.chart
        and old_labels.CHART not in each.template.labels
    ]
    return max(found, key=lambda each: (found.count(each), each), default="")


def findings(case: case_of.Case) -> list[finding.Finding]:
    """All that 1.4.0 would break."""
    return [each for find in _FINDERS for each in find(case)]


def place(case: case_of.Case) -> Iterator[finding.Finding]:
    """1.4.0 knows of one management cluster."""
    if not case.live.reachable:
        yield case_of.act(
            "management cluster",
            "[capi_helm] kubeconfig_file leads to another management "
            "cluster: 1.4.0 takes the cluster for gone, and calls its "
            "deletion complete while its machines live on",
            "keep this driver until that cluster is deleted",
        )


def chart(case: case_of.Case) -> Iterator[finding.Finding]:
    """It does not keep the chart that a cluster has."""
    subject, live = case.subject, case.live
    if not live.chart:
        return
    wanted = predecessor.chart(subject.template, case.options)
    if wanted.removeprefix("v") == live.chart.removeprefix("v"):
        return
    yield case_of.act(
        "chart",
        f"chart {wanted or 'of any version'} in place of {live.chart}: "
        f"{_consequence(live.chart, wanted)}",
        _chart_remedy(case, live.chart),
    )


def _chart_remedy(case: case_of.Case, has: str) -> str:
    label = f"{old_labels.CHART}={has}"
    move = (
        "before you go back, upgrade it with this driver to a template that "
        f"has the label {label}"
    )
    if case.options.chart_at_path:
        return f"[capi_helm] helm_chart_name: a chart of version {has}"
    if old_labels.CHART in case.subject.template.labels or has != case.chart:
        return move
    return f"[capi_helm] default_helm_chart_version = {has}"


def _consequence(before: str, after: str) -> str:
    rolls = [
        what
        for since, what in _ROLLS
        if (before in chart_versions.Range(since=since))
        != (after in chart_versions.Range(since=since))
    ]
    if after in _OLD_PROVIDER and after:
        return (
            "all machines are replaced; or helm fails, since CAPO from 0.12 "
            "on does not serve v1alpha7"
        )
    return rolls[0] if rolls else "its addons become those of that version"


def refusal(case: case_of.Case) -> Iterator[finding.Finding]:
    """What lets every operation fail, before helm runs."""
    if case.image is None:
        if case.known:
            yield case_of.act(
                "image",
                f"the template's image {case.subject.template.image} is "
                "gone, or does not say what it is: every operation of 1.4.0 "
                "fails",
                "bring the image back, or upgrade the cluster with this "
                "driver to a template whose image exists",
            )
        return
    try:
        predecessor.values(case.subject, case.image, case.options)
    except predecessor.Refusal as error:
        yield case_of.act(
            "autoscaling",
            f"{error}: every operation of 1.4.0 is refused",
            "openstack coe nodegroup update: bounds that fit, at least 1",
        )


def network(case: case_of.Case) -> Iterator[finding.Finding]:
    """It passes the template's network driver on, whatever it is."""
    driver = case.subject.template.network_driver
    live = _at(case.live.values, "addons", "cni", "type") or "calico"
    if driver and driver != live:
        what = (
            f"{driver} takes the place of {live} in a living cluster"
            if driver in networking.CNIS
            else f"network driver {driver}: {live} is removed, and pods have "
            "no network any more"
        )
        yield case_of.act(
            "network driver",
            what,
            "before you go back, upgrade it with this driver to a template "
            f"with network_driver {live}",
        )


def allow_list(case: case_of.Case) -> Iterator[finding.Finding]:
    """Only chart 0.10.1 reads its key."""
    live = _at(case.live.values, "apiServer", "allowedCIDRs")
    wanted = predecessor.chart(case.subject.template, case.options)
    if live and wanted not in _OLD_PROVIDER:
        yield case_of.act(
            "allow list",
            "the allow list of the Kubernetes API "
            f"({finding.listed(map(str, live), 3)}) is taken away: the API "
            "is open to all",
            "no option of 1.4.0 prevents it: don't change the cluster, or "
            "close the load balancer's port by other means",
        )


def fixed(case: case_of.Case) -> Iterator[finding.Finding]:
    """What a living cluster can't change."""
    paths = case.changes().fixed
    if paths:
        lost = {("", each) for each in paths}
        yield case_of.act(
            "network",
            "Cluster API's provider refuses the change of "
            f"{finding.listed(paths)}: UPDATE_FAILED",
            settings.that_keep(case.subject, case.options, case.live, lost)
            or case_of.LEAVE_ALONE,
        )


def addons(case: case_of.Case) -> Iterator[finding.Finding]:
    """What is installed into the cluster."""
    found = case.changes()
    paths = (*found.addons, *found.other)
    if paths:
        lost = {("", each) for each in paths}
        yield case_of.act(
            "addons",
            f"changed or lost: {finding.listed(paths)}",
            settings.that_keep(case.subject, case.options, case.live, lost)
            or case_of.LEAVE_ALONE,
        )


_FINDERS = (
    place,
    chart,
    refusal,
    back_groups.images,
    back_groups.machines,
    back_groups.groups,
    back_groups.autoscaled,
    network,
    allow_list,
    fixed,
    addons,
)


def option(
    subjects: Sequence[evidence.Subject], options: evidence.Options
) -> finding.Finding | None:
    """The one option that keeps the chart of most clusters."""
    best = default_chart(subjects, options)
    if not best or best == (options.chart or predecessor.DEFAULT_CHART):
        return None
    return case_of.act(
        "chart",
        f"1.4.0 would take {options.chart or predecessor.DEFAULT_CHART} "
        "where the template names no chart",
        f"[capi_helm] default_helm_chart_version = {best}",
    )


def _at(values: Any, *path: str) -> Any:
    for key in path:
        values = (values or {}).get(key)
    return values
