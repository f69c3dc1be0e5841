# SPDX-License-Identifier: Apache-2.0

"""Prometheus, Grafana and Loki.

Grafana's password is a secret and therefore no label: its chart makes one in
the cluster.
"""

from __future__ import annotations

from magnum_capi_helm.features import topic
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import label_types
from magnum_capi_helm.model import labels

TOPIC = topic.Topic("Monitoring")

_NODE = "addons.monitoring"
_STACK = f"{_NODE}.kubePrometheusStack.release.values"
_PROMETHEUS = f"{_STACK}.prometheus.prometheusSpec"
_ALERTMANAGER = f"{_STACK}.alertmanager.alertmanagerSpec"
_CLAIM = "volumeClaimTemplate.spec"
_VOLUME = f"{_PROMETHEUS}.storageSpec.{_CLAIM}.resources.requests.storage"

_GIBIBYTES = label_types.Integer(1, 65536, "a size in GiB")

ENABLED = TOPIC.switch(
    "monitoring_enabled",
    help="Install Prometheus, Grafana and Loki. Without this label, the other "
    "monitoring labels have no effect.",
    aliases=("prometheus_monitoring",),
    becomes=(f"{_NODE}.enabled",),
)
RETENTION_DAYS: labels.Label[int | None] = TOPIC.label(
    "monitoring_retention_days",
    label_types.Integer(1, 36500, "a number of days"),
    help="Days for which Prometheus keeps its data. Default: 90 days, "
    "as in the chart.",
    becomes=(f"{_PROMETHEUS}.retention",),
)
RETENTION_SIZE: labels.Label[int | None] = TOPIC.label(
    "monitoring_retention_size",
    _GIBIBYTES,
    help="Maximum size of the data that Prometheus keeps. The driver makes "
    "its volume a quarter larger, unless monitoring_volume_size is set.",
    becomes=(f"{_PROMETHEUS}.retentionSize", _VOLUME),
)
VOLUME_SIZE: labels.Label[int | None] = TOPIC.label(
    "monitoring_volume_size",
    _GIBIBYTES,
    help="Size of Prometheus' volume. Default: 10 GiB, as in the chart.",
    becomes=(_VOLUME,),
)
STORAGE_CLASS = TOPIC.text(
    "monitoring_storage_class_name",
    "the name of a StorageClass",
    regex=r"\A([a-z0-9]([-a-z0-9.]*[a-z0-9])?)?\Z",
    help="StorageClass of the volumes of Prometheus, Alertmanager and Loki. "
    "Default: the default StorageClass of the cluster.",
    becomes=(
        f"{_PROMETHEUS}.storageSpec.{_CLAIM}.storageClassName",
        f"{_ALERTMANAGER}.storage.{_CLAIM}.storageClassName",
        f"{_NODE}.lokiStack.release.values.loki.persistence.storageClassName",
    ),
)
INTERVAL: labels.Label[int | None] = TOPIC.label(
    "monitoring_interval_seconds",
    label_types.Integer(1, 86400, "a number of seconds"),
    help="Seconds between two scrapes of a target by Prometheus. Default: "
    "as in Prometheus.",
    becomes=(f"{_PROMETHEUS}.scrapeInterval",),
)
LOKI = TOPIC.switch(
    "monitoring_loki_enabled",
    default=True,
    help="Collect the logs of all pods in Loki.",
    becomes=(f"{_NODE}.lokiStack.enabled",),
)
BLACKBOX = TOPIC.switch(
    "monitoring_blackbox_enabled",
    default=True,
    help="Install the blackbox exporter, which watches whether the cluster "
    "reaches Keystone.",
    becomes=(f"{_NODE}.blackboxExporter.enabled",),
)


def _volume_size(chosen: labels.Values) -> int | None:
    """Return the size in GiB, or None for the chart's.

    Prometheus' documentation wants the limit to be at most 80 to 85 % of
    the disk: data goes in blocks, and only when a block is over the limit.
    """
    kept = chosen[RETENTION_SIZE]
    if chosen[VOLUME_SIZE] or not kept:
        return chosen[VOLUME_SIZE]
    return kept + -(-kept // 4)


def _leaves(cluster: cluster_spec.Cluster) -> topic.Leaves:
    chosen = cluster.labels
    if not chosen[ENABLED]:
        # Templates may have the other labels without this one.
        return {ENABLED.becomes[0]: False}
    leaves = {
        ENABLED.becomes[0]: True,
        **topic.switches(cluster, LOKI, BLACKBOX),
        **topic.changed(chosen, STORAGE_CLASS),
    }
    for path, number, unit in (
        (RETENTION_DAYS.becomes[0], chosen[RETENTION_DAYS], "d"),
        (RETENTION_SIZE.becomes[0], chosen[RETENTION_SIZE], "GiB"),
        (INTERVAL.becomes[0], chosen[INTERVAL], "s"),
        (_VOLUME, _volume_size(chosen), "Gi"),
    ):
        if number:
            leaves[path] = f"{number}{unit}"
    return leaves


def _check(cluster: cluster_spec.Cluster) -> None:
    chosen = cluster.labels
    size, kept = chosen[VOLUME_SIZE], chosen[RETENTION_SIZE]
    if chosen[ENABLED] and size and kept and size <= kept:
        raise chosen.refused(
            VOLUME_SIZE, f"more than monitoring_retention_size, {kept} GiB"
        )


TOPIC.leaves = _leaves
TOPIC.check = _check
