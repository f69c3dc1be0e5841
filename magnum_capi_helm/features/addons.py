# SPDX-License-Identifier: Apache-2.0

"""Addons: the ingress controller, those for hardware, and monitoring.

An operator's own manifests are values of the chart (``addons.custom``), not
labels. Grafana's password is a secret and therefore no label: its chart makes
one in the cluster.
"""

from __future__ import annotations

from typing import Any

from magnum_capi_helm.features import topic
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import label_types
from magnum_capi_helm.model import labels
from magnum_capi_helm.model import names
from magnum_capi_helm.model import versions

TOPIC = topic.Topic("Addons")

#: Charts up to 0.22.0 know nginx alone.
_WITH_TRAEFIK = (versions.Range(since="0.23.0"),)

INGRESS = TOPIC.choice(
    "ingress_controller",
    ("nginx", "traefik"),
    allowed="nginx or traefik; empty installs no ingress controller",
    ignore_case=True,
    help="Ingress controller to install. traefik needs a chart from 0.23.0 "
    "on. ingress-nginx is retired, gets no security fixes, and its last line "
    "is for Kubernetes 1.35.",
    becomes=(
        "addons.ingress.enabled",
        "addons.ingress.nginx.enabled",
        "addons.ingress.traefik.enabled",
    ),
    retired={"nginx": "nginx gets no security fixes; give traefik"},
)
DASHBOARD = TOPIC.switch(
    "kube_dashboard_enabled",
    default=True,
    help="Install the Kubernetes dashboard. Charts from 0.20.0 on do not "
    "have it, so the label has no effect there.",
    becomes=("addons.kubernetesDashboard.enabled",),
    charts=(versions.Range(until="0.19.2"),),
    harmless=True,
    deprecated="charts from 0.20.0 on have no dashboard",
)
RELOADER = TOPIC.switch(
    "reloader_enabled",
    default=True,
    help="Restart the cluster's OpenStack controllers when their credential "
    "changes. Without it, they use a rotated credential only after a manual "
    "restart.",
    becomes=("addons.reloader.enabled",),
    charts=(versions.Range(since="0.17.0"),),
    harmless=True,
)
HEADLAMP = TOPIC.switch(
    "headlamp_enabled",
    help="Install Headlamp, a web interface for Kubernetes.",
    becomes=("addons.headlamp.enabled",),
    charts=(versions.Range(since="0.28.0"),),
)
METRICS_SERVER = TOPIC.switch(
    "metrics_server_enabled",
    default=True,
    help="Install metrics-server, which kubectl top and the horizontal pod "
    "autoscaler need.",
    becomes=("addons.metricsServer.enabled",),
)
PROBLEM_DETECTOR = TOPIC.switch(
    "npd_enabled",
    default=True,
    help="Install node-problem-detector, which reports problems of a node "
    "as conditions and events of the node.",
    becomes=("addons.nodeProblemDetector.enabled",),
)
CERT_MANAGER = TOPIC.switch(
    "cert_manager_enabled",
    help="Install cert-manager. The AMD and Intel operators install it too.",
    becomes=("addons.certManager.enabled",),
    charts=(versions.Range(since="0.15.0"),),
)
ETCD_DEFRAG = TOPIC.switch(
    "etcd_defrag_enabled",
    default=True,
    help="Defragment etcd every night.",
    becomes=("addons.etcdDefrag.enabled",),
)


def _leaves(cluster: cluster_spec.Cluster) -> topic.Leaves:
    chosen = cluster.labels[INGRESS].lower()
    enabled, nginx, traefik = INGRESS.becomes
    leaves = {
        enabled: bool(chosen),
        # Always sent to charts that have them: the dashboard because 1.4.0
        # did so, the reloader because the chart's default is off.
        **topic.switches(cluster, DASHBOARD, RELOADER, always=True),
        **topic.switches(
            cluster,
            HEADLAMP,
            METRICS_SERVER,
            PROBLEM_DETECTOR,
            CERT_MANAGER,
            ETCD_DEFRAG,
        ),
    }
    if chosen:
        # Both switches where there are two: the chart's default changed from
        # nginx to traefik, and with both on it refuses to render.
        leaves[nginx] = chosen == "nginx"
        if versions.applies(_WITH_TRAEFIK, cluster.chart.version):
            leaves[traefik] = chosen == "traefik"
    return leaves


def _check(cluster: cluster_spec.Cluster) -> None:
    version = cluster.chart.version
    traefik = cluster.labels[INGRESS].lower() == "traefik"
    if traefik and not versions.applies(_WITH_TRAEFIK, version):
        raise cluster.labels.refused(
            INGRESS,
            "nginx",
            f"traefik is in charts {versions.describe(_WITH_TRAEFIK)}, "
            f"not in {version}",
        )


TOPIC.leaves = _leaves
TOPIC.check = _check


HARDWARE = topic.Topic("Hardware")

NVIDIA = HARDWARE.switch(
    "nvidia_gpu_operator_enabled",
    default=True,
    help="Install NVIDIA's GPU operator: drivers and device plugin on nodes "
    "with such a GPU.",
    becomes=("addons.nvidiaGPUOperator.enabled",),
)
MIG_STRATEGY = HARDWARE.choice(
    "nvidia_mig_strategy",
    ("single", "mixed"),
    help="Names of the parts of NVIDIA's GPUs: nvidia.com/gpu, if all parts "
    "of a node are equal (single), or one for each size, such as "
    "nvidia.com/mig-1g.10gb (mixed). The node label nvidia.com/mig.config "
    "chooses the parts. Default: single, as in the operator.",
    becomes=("addons.nvidiaGPUOperator.release.values.mig.strategy",),
)
MELLANOX = HARDWARE.switch(
    "mellanox_network_operator_enabled",
    default=True,
    help="Install NVIDIA's network operator for Mellanox cards.",
    becomes=("addons.mellanoxNetworkOperator.enabled",),
)
AMD = HARDWARE.switch(
    "amd_gpu_operator_enabled",
    help="Install AMD's GPU operator, and cert-manager, which it needs.",
    becomes=("addons.amdGPUOperator.enabled",),
    charts=(versions.Range(since="0.27.0"),),
)
INTEL = HARDWARE.switch(
    "intel_device_plugin_enabled",
    help="Install Intel's device plugin for GPUs, and cert-manager, which "
    "it needs.",
    becomes=(
        "addons.intelDevicePlugin.enabled",
        "addons.intelDevicePlugin.xpuManagerMonitoring.enabled",
    ),
    charts=(versions.Range(since="0.15.0"),),
)
#: In a longer release, the names of its operator and of its plugin for GPUs
#: are cut before they differ.
_INTEL_RELEASE = names.LIMIT - len("-intel-device-plugin-o")
DISCOVERY = HARDWARE.switch(
    "node_feature_discovery_enabled",
    default=True,
    help="Install node-feature-discovery, which labels nodes by their "
    "hardware. It can be off only if all hardware operators are off, because "
    "they need it.",
    becomes=("addons.nodeFeatureDiscovery.enabled",),
)


def _hardware_leaves(cluster: cluster_spec.Cluster) -> topic.Leaves:
    leaves: dict[str, Any] = {
        **topic.switches(cluster, NVIDIA, MELLANOX, AMD, INTEL, DISCOVERY),
        **topic.changed(cluster.labels, MIG_STRATEGY),
    }
    device_plugin, through_flux = INTEL.becomes
    if leaves.get(device_plugin):
        # The chart installs it through Flux, which a management cluster for
        # this driver does not need otherwise.
        leaves[through_flux] = False
    return leaves


def _check_hardware(cluster: cluster_spec.Cluster) -> None:
    """Refuse an operator without the discovery, which the chart installs.

    And a setting of an operator that is off, and two addons of one name:
    a release of 1.4.0 has up to 43 characters.
    """
    topic.check_dependents(cluster.labels, (MIG_STRATEGY,), NVIDIA)
    if cluster.labels[INTEL] and len(cluster.release) > _INTEL_RELEASE:
        raise cluster.labels.refused(
            INTEL,
            f"false: release {cluster.release} has more than {_INTEL_RELEASE} "
            "characters, so the chart would make two addons of one name",
        )
    if cluster.labels[DISCOVERY]:
        return
    operators = (NVIDIA, MELLANOX, AMD, INTEL)
    needed_by = [each.name for each in operators if cluster.labels[each]]
    if needed_by:
        raise cluster.labels.refused(
            DISCOVERY, f"true, or false for {' and '.join(needed_by)} as well"
        )


HARDWARE.leaves = _hardware_leaves
HARDWARE.check = _check_hardware


MONITORING = topic.Topic("Monitoring")

_NODE = "addons.monitoring"
_STACK = f"{_NODE}.kubePrometheusStack.release.values"
_PROMETHEUS = f"{_STACK}.prometheus.prometheusSpec"
_ALERTMANAGER = f"{_STACK}.alertmanager.alertmanagerSpec"
_CLAIM = "volumeClaimTemplate.spec"
_VOLUME = f"{_PROMETHEUS}.storageSpec.{_CLAIM}.resources.requests.storage"

_GIBIBYTES = label_types.Integer(1, 65536, "a size in GiB")

PROMETHEUS = MONITORING.switch(
    "monitoring_enabled",
    help="Install Prometheus, Grafana and Loki. Without this label, the other "
    "monitoring labels have no effect.",
    aliases=("prometheus_monitoring",),
    becomes=(f"{_NODE}.enabled",),
)
RETENTION_DAYS: labels.Label[int | None] = MONITORING.label(
    "monitoring_retention_days",
    label_types.Integer(1, 36500, "a number of days"),
    help="Days for which Prometheus keeps its data. Default: 90 days, "
    "as in the chart.",
    becomes=(f"{_PROMETHEUS}.retention",),
)
RETENTION_SIZE: labels.Label[int | None] = MONITORING.label(
    "monitoring_retention_size",
    _GIBIBYTES,
    help="Maximum size of the data that Prometheus keeps. The driver makes "
    "its volume a quarter larger, unless monitoring_volume_size is set.",
    becomes=(f"{_PROMETHEUS}.retentionSize", _VOLUME),
)
VOLUME_SIZE: labels.Label[int | None] = MONITORING.label(
    "monitoring_volume_size",
    _GIBIBYTES,
    help="Size of Prometheus' volume. Default: 10 GiB, as in the chart.",
    becomes=(_VOLUME,),
)
STORAGE_CLASS = MONITORING.text(
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
INTERVAL: labels.Label[int | None] = MONITORING.label(
    "monitoring_interval_seconds",
    label_types.Integer(1, 86400, "a number of seconds"),
    help="Seconds between two scrapes of a target by Prometheus. Default: "
    "as in Prometheus.",
    becomes=(f"{_PROMETHEUS}.scrapeInterval",),
)
LOKI = MONITORING.switch(
    "monitoring_loki_enabled",
    default=True,
    help="Collect the logs of all pods in Loki.",
    becomes=(f"{_NODE}.lokiStack.enabled",),
)
BLACKBOX = MONITORING.switch(
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


def _monitoring_leaves(cluster: cluster_spec.Cluster) -> topic.Leaves:
    chosen = cluster.labels
    if not chosen[PROMETHEUS]:
        # Templates may have the other labels without this one.
        return {PROMETHEUS.becomes[0]: False}
    leaves = {
        PROMETHEUS.becomes[0]: True,
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


def _check_monitoring(cluster: cluster_spec.Cluster) -> None:
    chosen = cluster.labels
    size, kept = chosen[VOLUME_SIZE], chosen[RETENTION_SIZE]
    if chosen[PROMETHEUS] and size and kept and size <= kept:
        raise chosen.refused(
            VOLUME_SIZE, f"more than monitoring_retention_size, {kept} GiB"
        )


MONITORING.leaves = _monitoring_leaves
MONITORING.check = _check_monitoring
