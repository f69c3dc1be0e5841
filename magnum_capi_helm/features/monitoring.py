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

_NODE = "addons.monitoring"
_STACK = f"{_NODE}.kubePrometheusStack.release.values"
_PROMETHEUS = f"{_STACK}.prometheus.prometheusSpec"
_ALERTMANAGER = f"{_STACK}.alertmanager.alertmanagerSpec"
_CLAIM = "volumeClaimTemplate.spec"
_VOLUME = f"{_PROMETHEUS}.storageSpec.{_CLAIM}.resources.requests.storage"

ENABLED = labels.Switch(
    name="monitoring_enabled",
    default=False,
    help="Install Prometheus, Grafana and Loki. The other labels for "
    "monitoring have no effect without it.",
    aliases=("prometheus_monitoring",),
    becomes=(f"{_NODE}.enabled",),
)
RETENTION_DAYS: labels.Label[int | None] = labels.Label(
    name="monitoring_retention_days",
    type=label_types.Integer(min=1, max=36500),
    default=None,
    allowed="a number of days from 1 to 36500",
    help="How long Prometheus keeps its data. Default: the chart's, 90 days.",
    becomes=(f"{_PROMETHEUS}.retention",),
)
RETENTION_SIZE: labels.Label[int | None] = labels.Label(
    name="monitoring_retention_size",
    type=label_types.Integer(min=1, max=65536),
    default=None,
    allowed="a size in GiB from 1 to 65536",
    help="How much data Prometheus keeps at most. Its volume is made a "
    "quarter larger, unless monitoring_volume_size is given.",
    becomes=(f"{_PROMETHEUS}.retentionSize", _VOLUME),
)
VOLUME_SIZE: labels.Label[int | None] = labels.Label(
    name="monitoring_volume_size",
    type=label_types.Integer(min=1, max=65536),
    default=None,
    allowed="a size in GiB from 1 to 65536",
    help="Size of the volume of Prometheus. Default: the chart's, 10 GiB.",
    becomes=(_VOLUME,),
)
STORAGE_CLASS = label_types.text(
    "monitoring_storage_class_name",
    "the name of a StorageClass; empty for the cluster's default",
    regex=r"\A([a-z0-9]([-a-z0-9.]*[a-z0-9])?)?\Z",
    help="StorageClass of the volumes of Prometheus, Alertmanager and Loki.",
    becomes=(
        f"{_PROMETHEUS}.storageSpec.{_CLAIM}.storageClassName",
        f"{_ALERTMANAGER}.storage.{_CLAIM}.storageClassName",
        f"{_NODE}.lokiStack.release.values.loki.persistence.storageClassName",
    ),
)
INTERVAL: labels.Label[int | None] = labels.Label(
    name="monitoring_interval_seconds",
    type=label_types.Integer(min=1, max=86400),
    default=None,
    allowed="a number of seconds from 1 to 86400",
    help="How often Prometheus asks its targets. Default: Prometheus' own.",
    becomes=(f"{_PROMETHEUS}.scrapeInterval",),
)
LOKI = labels.Switch(
    name="monitoring_loki_enabled",
    default=True,
    help="Collect the logs of all pods in Loki.",
    becomes=(f"{_NODE}.lokiStack.enabled",),
)
BLACKBOX = labels.Switch(
    name="monitoring_blackbox_enabled",
    default=True,
    help="Watch whether the cluster reaches Keystone (blackbox exporter).",
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
        # Templates may carry the rest: it waits for the switch.
        return {f"{_NODE}.enabled": False}
    leaves = {
        f"{_NODE}.enabled": True,
        **topic.switches(cluster, LOKI, BLACKBOX),
        **topic.changed(chosen, STORAGE_CLASS),
    }
    for path, number, unit in (
        (f"{_PROMETHEUS}.retention", chosen[RETENTION_DAYS], "d"),
        (f"{_PROMETHEUS}.retentionSize", chosen[RETENTION_SIZE], "GiB"),
        (f"{_PROMETHEUS}.scrapeInterval", chosen[INTERVAL], "s"),
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


TOPIC = topic.Topic(
    name="Monitoring",
    labels=(
        ENABLED,
        RETENTION_DAYS,
        RETENTION_SIZE,
        VOLUME_SIZE,
        STORAGE_CLASS,
        INTERVAL,
        LOKI,
        BLACKBOX,
    ),
    leaves=_leaves,
    check=_check,
)
