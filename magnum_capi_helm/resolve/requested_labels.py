# SPDX-License-Identifier: Apache-2.0

"""Labels and chart that a template, cluster or nodegroup requests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
import dataclasses
from typing import Any

from oslo_log import log

from magnum_capi_helm import features
from magnum_capi_helm.chart import upgrade_rules
from magnum_capi_helm.config import conf
from magnum_capi_helm.features import autoscaling
from magnum_capi_helm.features import ignored
from magnum_capi_helm.features import nodes
from magnum_capi_helm.features import storage
from magnum_capi_helm.features import template
from magnum_capi_helm.helm import charts
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import labels

LOG = log.getLogger(__name__)

#: Each name and alias of a label -> its declaration.
BY_NAME = {
    name: label
    for label in features.LABELS
    for name in (label.name, *label.aliases)
}
#: Scope -> the places where its labels are read.
_READ = {
    labels.Scope.TEMPLATE: "the template",
    labels.Scope.CLUSTER: "the template and the cluster",
}


def changeable(name: str, text: str | None) -> labels.Label[Any]:
    """Return the label of a name that a living cluster may change.

    :param text: its new value; None: that of the template again
    :raises InvalidInput: it is not known, or has no such value
    :raises NotSupported: it is fixed
    """
    label = BY_NAME.get(name)
    if label is None:
        problems = without_effect({name: text or ""})
        raise errors.InvalidInput(
            problems.get(name, f"label {name} has no effect")
        )
    if label in upgrade_rules.WITH_MACHINES:
        raise errors.NotSupported(
            f"label {name} can't be changed alone: upgrade the cluster to a "
            "template that has it"
        )
    if upgrade_rules.is_fixed(label):
        raise errors.NotSupported(
            f"label {name} can't be changed on a living cluster: give a "
            "label that the reference of labels does not call fixed"
        )
    if text is not None:
        label.parse(text, name)
    return label


def cluster_labels(cluster: Any) -> labels.Values:
    """Return the labels of a new or an upgraded cluster, validated.

    :raises LabelError: a value is not allowed
    """
    return _resolved(
        cluster.cluster_template.labels or {}, cluster.labels or {}
    )


def living_labels(
    cluster: Any, own: Mapping[str, str] | None = None
) -> labels.Values:
    """Return the labels of a cluster that exists.

    A value that is not allowed counts as missing: the user can't change it,
    and 1.4.0 accepted and ignored it.

    :param own: labels of its user, if the cluster was upgraded: its row also
        has copies of a former template's
    """
    values = _resolved(
        _allowed(cluster.cluster_template.labels or {}),
        _allowed((cluster.labels or {}) if own is None else own),
    )
    return values.with_fixed(each.name for each in features.LABELS)


def _resolved(
    template_labels: Mapping[str, str], user_labels: Mapping[str, str]
) -> labels.Values:
    sources = labels.Sources(template_labels, user_labels)
    return labels.resolve(features.LABELS, sources, conf.label_defaults())


def own_labels(cluster: Any) -> dict[str, str]:
    """Return the labels of a cluster that differ from its template.

    As in :func:`living_labels`, a value that is not allowed counts as none.
    The version of Kubernetes is never the cluster's own: it comes with the
    image.
    """
    own = _own(cluster.labels, cluster.cluster_template.labels or {})
    own.pop(nodes.KUBE_TAG.name, None)
    return _allowed(own)


def own_labels_of_group(cluster: Any, nodegroup: Any) -> dict[str, str]:
    """Return the labels of a nodegroup that are no copies of its cluster's."""
    return _own(getattr(nodegroup, "labels", None), cluster.labels or {})


def own_minimum(cluster: Any, nodegroup: Any) -> int | None:
    """Return the lower bound of a default worker that is no copy of a label.

    Magnum copies ``min_node_count`` of a new cluster into its row, and does
    so with no other bound.
    """
    minimum: int | None = nodegroup.min_node_count
    text = (cluster.labels or {}).get(autoscaling.MINIMUM.name, "")
    try:
        return None if int(text) == minimum else minimum
    except ValueError:
        return minimum


def _allowed(user_labels: Mapping[str, str]) -> dict[str, str]:
    allowed = {}
    for name, text in user_labels.items():
        if why := problem(name, text):
            # Not inside "except": oslo.log would append the exception again.
            LOG.warning("ignored: %s", why)
        else:
            allowed[name] = text
    return allowed


def problem(name: str, text: str) -> str:
    """Return why a label refuses a value, or ""."""
    if label := BY_NAME.get(name):
        try:
            label.parse(text, name)
        except errors.LabelError as error:
            return str(error)
    return ""


def nodegroup_labels(
    cluster: Any, cluster_values: labels.Values, nodegroup: Any
) -> labels.Values:
    """Return the labels of a nodegroup, with those of its cluster below them.

    :param cluster: whose labels Magnum copied into those of the nodegroup
    :param cluster_values: the labels of the cluster
    :raises LabelError: a value is not allowed
    """
    sources = labels.Sources(nodegroup=own_labels_of_group(cluster, nodegroup))
    own = labels.resolve(features.LABELS_OF_GROUPS, sources, {})
    return cluster_values.overridden_by(own)


def without_effect(user_labels: Mapping[str, str]) -> dict[str, str]:
    """Describe labels that have no effect.

    :param user_labels: those of a template, or also of its cluster
    :returns: by name of the label
    """
    texts = {}
    for name in sorted(user_labels.keys() - BY_NAME.keys()):
        other = ignored.LABELS.get(name)
        if other is None:
            hint = errors.did_you_mean(name, BY_NAME)
            texts[name] = f"label {errors.shown(name)} is not known{hint}"
        elif other.misses(value := user_labels[name]):
            text = "***" if other.secret else errors.shown(value)
            texts[name] = (
                f"label {name} has no effect: {other.why}. It is {text}"
            )
    return texts


def _misplaced(
    user_labels: Mapping[str, str], place: labels.Scope
) -> Iterator[str]:
    """Describe labels that have no effect in the place where they are."""
    places = list(labels.Scope)
    for name in sorted(user_labels.keys() & BY_NAME.keys()):
        scope = BY_NAME[name].scope
        if places.index(scope) < places.index(place):
            yield f"label {name} is read from {_READ[scope]} alone"


def check_unknown(cluster: Any) -> None:
    """Warn of labels of a new cluster that have no effect, or refuse them.

    :raises InvalidInput: with ``[capi_helm] unknown_labels = reject``
    """
    template = cluster.cluster_template.labels or {}
    own = _own(cluster.labels, template)
    requested = {**template, **own}
    for name in sorted(requested.keys() & BY_NAME.keys()):
        if advice := BY_NAME[name].advice(requested[name]):
            _warn(cluster, f"label {name} is deprecated: {advice}")
    _refuse_or_warn(
        cluster,
        *without_effect(requested).values(),
        *_misplaced(own, labels.Scope.CLUSTER),
    )


def warn_unknown(cluster: Any) -> None:
    """Log labels of a living cluster that have no effect."""
    template = cluster.cluster_template.labels or {}
    texts = without_effect({**template, **(cluster.labels or {})})
    _warn(cluster, "; ".join(texts.values()))


def check_unknown_of_template(cluster: Any) -> None:
    """Check the labels of the template that a cluster moves to."""
    user_labels = cluster.cluster_template.labels or {}
    _refuse_or_warn(cluster, *without_effect(user_labels).values())


def check_unknown_of_group(cluster: Any, nodegroup: Any) -> None:
    """Warn of labels of a new nodegroup that have no effect, or refuse them.

    Labels of its cluster are not checked again: they can't be changed.

    :raises InvalidInput: with ``[capi_helm] unknown_labels = reject``
    """
    template = cluster.cluster_template.labels or {}
    own = _own(nodegroup.labels, template, cluster.labels or {})
    _refuse_or_warn(
        cluster,
        *without_effect(own).values(),
        *_misplaced(own, labels.Scope.NODEGROUP),
    )


def _own(
    user_labels: Mapping[str, str] | None, *wider: Mapping[str, str]
) -> dict[str, str]:
    """Return the labels that the user gave in this place.

    Magnum copies the template's into clusters and those into nodegroups.
    """
    return {
        name: text
        for name, text in (user_labels or {}).items()
        if all(each.get(name) != text for each in wider)
    }


def _refuse_or_warn(cluster: Any, *problems: str) -> None:
    text = "; ".join(problems)
    if text and conf.CONF.capi_helm.unknown_labels == "reject":
        raise errors.InvalidInput(text)
    _warn(cluster, text)


def _warn(cluster: Any, text: str) -> None:
    if text:
        LOG.warning("cluster %s: %s", cluster.uuid, text)


def autoscales(cluster: Any) -> bool:
    """Return whether the autoscaler may be on in an existing cluster.

    A value that is not allowed counts as missing. After an upgrade the
    cluster's may be the copy of a former template's: its machines say for
    sure.
    """
    label = autoscaling.ENABLED
    sources = (cluster.labels, cluster.cluster_template.labels)
    values = []
    for each in sources:
        text = (each or {}).get(label.name)
        if text is not None and not problem(label.name, text):
            values.append(label.parse(text))
    return any(values or [conf.label_defaults()[label.name]])


def volumes_policy(cluster: Any) -> str | None:
    """Return the policy for volumes; None: no user or operator set it."""
    label = storage.VOLUMES_POLICY
    value = (cluster.labels or {}).get(label.name)
    if value is not None:
        try:
            return label.parse(value)
        except errors.LabelError:
            # An older driver took any text. Keeping loses nothing.
            return storage.KEEP
    default = conf.label_defaults()[label.name]
    return None if default is None else str(default)


def configured_chart() -> cluster_spec.Chart:
    """Return the chart that the operator configured."""
    options = conf.CONF.capi_helm
    return cluster_spec.Chart(
        name=options.helm_chart_name,
        version=options.default_helm_chart_version,
        repository=options.helm_chart_repo,
    )


def default_chart() -> cluster_spec.Chart:
    """Return the chart of a new cluster whose template chooses no version.

    A chart that is configured by its path has its own version: helm ignores
    the option there, as with 1.4.0.
    """
    configured = configured_chart()
    version = charts.version_at(configured) or configured.version
    return dataclasses.replace(configured, version=version)


def wanted_chart(values: labels.Values) -> cluster_spec.Chart:
    """Return the chart of a new cluster: the template's label may choose."""
    if version := values[template.VERSION]:
        return dataclasses.replace(configured_chart(), version=version)
    return default_chart()
