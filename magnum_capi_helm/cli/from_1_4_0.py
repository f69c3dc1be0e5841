# SPDX-License-Identifier: Apache-2.0

"""``magnum-capi-helm check --from-1-4-0``: what to do before the swap.

Magnum may still run 1.4.0 meanwhile. The command only reads: options,
clusters and templates from Magnum's database, and helm's records from the
management clusters.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from magnum_capi_helm import runtime
from magnum_capi_helm.cli import base
from magnum_capi_helm.cli import check_host
from magnum_capi_helm.config import conf
from magnum_capi_helm.database import rows
from magnum_capi_helm.features import api_server
from magnum_capi_helm.features import networking
from magnum_capi_helm.features import nodes
from magnum_capi_helm.kubernetes import helm_records
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import location
from magnum_capi_helm.model import components
from magnum_capi_helm.model import encoding
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import labels
from magnum_capi_helm.model import versions
from magnum_capi_helm.resolve import requested_labels
from magnum_capi_helm.status import view

#: Labels that 1.4.0 applies. It ignores all others.
LABELS_OF_1_4_0 = frozenset(encoding.package_data("cli/labels-of-1.4.0.yaml"))
#: The only chart whose key of the allow list 1.4.0 knows.
_ALLOW_LIST_APPLIED = versions.Range(until="0.10.1")
#: The default of ``default_helm_chart_version`` in 1.4.0.
_CHART_OF_1_4_0 = "0.10.1"


def run(project: str | None = None) -> Iterator[components.Result]:
    """Yield one line for each finding, at least one for each topic.

    :param project: report only clusters of this project; None: of all
    """
    yield _configuration()
    yield _chart_option()
    clusters = [
        cluster
        for cluster, _ in base.read_database(
            lambda: rows.read_all(project, check_host.may_be_of_this_driver)
        )
    ]
    releases, problems = _read_charts(clusters)
    for each in problems:
        yield components.Result("management cluster", components.UNKNOWN, each)
    for cluster in clusters:
        key = _key(cluster)
        if key in releases or not problems:
            yield from _check_cluster(cluster, releases.get(key))
    templates = {each.cluster_template for each in clusters}
    for template in {each.uuid: each for each in templates}.values():
        yield from _check_template(template)


def _result(check: str, state: str, row: Any, text: str) -> components.Result:
    name = errors.shown(row.name or row.uuid)
    return components.Result(check, state, f"{name} ({row.uuid}): {text}")


# Options


def _configuration() -> components.Result:
    state = components.OK
    try:
        text = check_host.check_configuration(runtime.any_one())
    except (errors.CapiHelmError, ValueError) as error:
        state, text = components.FAILED, str(error)
    return components.Result("configuration", state, text)


def _chart_option() -> components.Result:
    """Check that the default chart version is set by the operator."""
    chart = requested_labels.default_chart()
    place = conf.CONF.get_location("default_helm_chart_version", "capi_helm")
    chosen = place is not None and place.location.is_user_controlled
    state = components.OK
    text = f"new clusters get {chart.name} {chart.version}"
    if not chosen and chart == requested_labels.configured_chart():
        state = components.FAILED
        text = (
            f"new clusters get chart {chart.version} instead of "
            f"{_CHART_OF_1_4_0}: set [capi_helm] default_helm_chart_version = "
            f"{_CHART_OF_1_4_0} to keep the default of 1.4.0"
        )
    return components.Result("chart option", state, text)


# Clusters


def _key(cluster: Any) -> tuple[str, str]:
    return location.namespace(cluster.project_id), cluster.stack_id or ""


def _read_charts(
    clusters: list[Any],
) -> tuple[dict[tuple[str, str], str], list[str]]:
    """Return the chart version of each deployed release, and problems."""
    charts: dict[tuple[str, str], str] = {}
    problems: list[str] = []
    wanted = {_key(each) for each in clusters if each.stack_id}
    selector = f"{helm_records.OWNED},status=deployed"
    for name in runtime.names() if wanted else ():
        try:
            management = runtime.get(name).management
            for namespace in sorted({each for each, _ in wanted}):
                for record in management.list(
                    kinds.SECRET, namespace, selector
                ):
                    release = view.labels_of(record)[helm_records.NAME_LABEL]
                    if (namespace, release) in wanted:
                        opened = helm_records.opened(record)
                        charts[namespace, release] = opened.chart_version
        except errors.CapiHelmError as error:
            problems.append(errors.explained(error))
    return charts, problems


def _check_cluster(
    cluster: Any, chart: str | None
) -> Iterator[components.Result]:
    """Yield the state of a cluster, and labels that are taken differently.

    :param chart: of its deployed release; None: there is none
    """
    state = components.FAILED
    if not cluster.stack_id:
        state = components.OK
        text = "; it has no release: Magnum only deletes its row"
    elif chart is None:
        text = (
            f"; helm has deployed no release {cluster.stack_id}: see that "
            "[capi_helm] kubeconfig_file is the right one; if it is, delete "
            "the cluster"
        )
    elif rows.in_progress(cluster.status):
        text = ": wait until the operation ends"
    else:
        state = components.OK
        text = f", chart {chart}"
    yield _result("cluster", state, cluster, f"{cluster.status or ''}{text}")
    yield from _check_labels(cluster, chart or "")


def _check_labels(cluster: Any, chart: str) -> Iterator[components.Result]:
    """Yield the cluster's labels that this driver takes differently."""
    own = cluster.labels or {}
    inherited = cluster.cluster_template.labels or {}
    for name, text in sorted({**inherited, **own}.items()):
        label = requested_labels.BY_NAME.get(name)
        if label is None or label is nodes.KUBE_TAG:
            continue
        state = components.OK
        if problem := requested_labels.problem(name, text):
            detail = f"{problem}; the default applies"
        elif not _has_new_effect(label, name, text, chart):
            continue
        elif label is api_server.ALLOWED_CIDRS:
            state = components.FAILED
            detail = (
                f"{name}={text} is not applied yet: the Kubernetes API is "
                "open to all until the next upgrade. Inform the owner"
            )
        else:
            detail = (
                f"{name}={text} takes effect with the next upgrade, unless a "
                "living cluster cannot change it"
            )
        yield _result("label", state, cluster, detail)


def _has_new_effect(
    label: labels.Label[Any], name: str, text: str, chart: str
) -> bool:
    if label.parse(text) == label.default:
        return False
    if label is api_server.ALLOWED_CIDRS:
        return bool(chart) and chart not in _ALLOW_LIST_APPLIED
    return name not in LABELS_OF_1_4_0


# Templates


def _check_template(template: Any) -> Iterator[components.Result]:
    wanted: Mapping[str, str] = template.labels or {}
    for name, text in sorted(wanted.items()):
        if problem := requested_labels.problem(name, text):
            detail = (
                f"{problem}; new clusters and upgrades to this template are "
                "refused. Make a template without it"
            )
            yield _result("template", components.FAILED, template, detail)
    network = template.network_driver
    if network and network not in networking.CNIS:
        detail = (
            f"network_driver {network}: an operation of 1.4.0 removes the "
            "pod network of its clusters. Change none of them with 1.4.0; "
            f"new clusters get {networking.CNIS[0]}"
        )
        yield _result("template", components.FAILED, template, detail)
