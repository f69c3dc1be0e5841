# SPDX-License-Identifier: Apache-2.0

"""Addons that are either on or off, and the ingress controller.

Manifests of the operator's own are values of the chart (``addons.custom``)
and no matter of labels.
"""

from __future__ import annotations

from oslo_config import types

from magnum_capi_helm.features import topic
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import labels
from magnum_capi_helm.model import versions

#: Charts up to 0.22.0 know nginx alone.
_WITH_TRAEFIK = (versions.Range(since="0.23.0"),)

DASHBOARD = labels.Switch(
    name="kube_dashboard_enabled",
    default=True,
    help="Install the Kubernetes dashboard. Charts from 0.20.0 on no longer "
    "have it: no effect there.",
    becomes=("addons.kubernetesDashboard.enabled",),
    charts=(versions.Range(until="0.19.2"),),
    harmless=True,
    deprecated="charts from 0.20.0 on have no dashboard",
)
HEADLAMP = labels.Switch(
    name="headlamp_enabled",
    default=False,
    help="Install Headlamp, a web interface of Kubernetes.",
    becomes=("addons.headlamp.enabled",),
    charts=(versions.Range(since="0.28.0"),),
)
INGRESS = labels.Label(
    name="ingress_controller",
    type=types.String(choices=["", "nginx", "traefik"], ignore_case=True),
    default="",
    allowed="nginx or traefik; empty installs no ingress controller",
    help="Ingress controller to install. traefik: with charts from 0.23.0 on.",
    becomes=(
        "addons.ingress.enabled",
        "addons.ingress.nginx.enabled",
        "addons.ingress.traefik.enabled",
    ),
)
METRICS_SERVER = labels.Switch(
    name="metrics_server_enabled",
    default=True,
    help="Install metrics-server, which kubectl top and the horizontal pod "
    "autoscaler ask.",
    becomes=("addons.metricsServer.enabled",),
)
PROBLEM_DETECTOR = labels.Switch(
    name="npd_enabled",
    default=True,
    help="Install node-problem-detector, which reports problems of a node "
    "as its conditions and events.",
    becomes=("addons.nodeProblemDetector.enabled",),
)
CERT_MANAGER = labels.Switch(
    name="cert_manager_enabled",
    default=False,
    help="Install cert-manager. The AMD and Intel operators bring it along.",
    becomes=("addons.certManager.enabled",),
    charts=(versions.Range(since="0.15.0"),),
)
ETCD_DEFRAG = labels.Switch(
    name="etcd_defrag_enabled",
    default=True,
    help="Defragment etcd every night.",
    becomes=("addons.etcdDefrag.enabled",),
)
RELOADER = labels.Switch(
    name="reloader_enabled",
    default=True,
    help="Restart the OpenStack controllers of the cluster when their "
    "credentials change. Without it they keep a credential that was "
    "rotated until somebody restarts them.",
    becomes=("addons.reloader.enabled",),
    charts=(versions.Range(since="0.17.0"),),
    harmless=True,
)

#: Always sent to charts that have them: the dashboard because 1.4.0 did so,
#: the reloader because the chart's default is off.
_ALWAYS = (DASHBOARD, RELOADER)
_WHEN_TURNED = (
    HEADLAMP,
    METRICS_SERVER,
    PROBLEM_DETECTOR,
    CERT_MANAGER,
    ETCD_DEFRAG,
)


def _leaves(cluster: cluster_spec.Cluster) -> topic.Leaves:
    chosen = cluster.labels[INGRESS].lower()
    leaves: dict[str, bool] = {
        "addons.ingress.enabled": bool(chosen),
        **topic.switches(cluster, *_ALWAYS, always=True),
        **topic.switches(cluster, *_WHEN_TURNED),
    }
    if chosen:
        # Both switches where there are two: the chart's default changed from
        # nginx to traefik, and with both on it refuses to render.
        leaves["addons.ingress.nginx.enabled"] = chosen == "nginx"
        if versions.applies(_WITH_TRAEFIK, cluster.chart.version):
            leaves["addons.ingress.traefik.enabled"] = chosen == "traefik"
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


TOPIC = topic.Topic(
    name="Addons",
    labels=(INGRESS, *_ALWAYS, *_WHEN_TURNED),
    leaves=_leaves,
    check=_check,
)


NVIDIA = labels.Switch(
    name="nvidia_gpu_operator_enabled",
    default=True,
    help="Install NVIDIA's GPU operator: drivers and device plugin on nodes "
    "that have such a GPU.",
    becomes=("addons.nvidiaGPUOperator.enabled",),
)
MELLANOX = labels.Switch(
    name="mellanox_network_operator_enabled",
    default=True,
    help="Install NVIDIA's network operator for Mellanox cards.",
    becomes=("addons.mellanoxNetworkOperator.enabled",),
)
AMD = labels.Switch(
    name="amd_gpu_operator_enabled",
    default=False,
    help="Install AMD's GPU operator, and cert-manager, which it needs.",
    becomes=("addons.amdGPUOperator.enabled",),
    charts=(versions.Range(since="0.27.0"),),
)
INTEL = labels.Switch(
    name="intel_device_plugin_enabled",
    default=False,
    help="Install Intel's device plugin for GPUs, and cert-manager, which "
    "it needs.",
    becomes=(
        "addons.intelDevicePlugin.enabled",
        "addons.intelDevicePlugin.xpuManagerMonitoring.enabled",
    ),
    charts=(versions.Range(since="0.15.0"),),
)
DISCOVERY = labels.Switch(
    name="node_feature_discovery_enabled",
    default=True,
    help="Install node-feature-discovery, which labels nodes by their "
    "hardware. The operators need it: only without them it can be off.",
    becomes=("addons.nodeFeatureDiscovery.enabled",),
)

_OPERATORS = (NVIDIA, MELLANOX, AMD, INTEL)
_HARDWARE = (*_OPERATORS, DISCOVERY)


def _hardware_leaves(cluster: cluster_spec.Cluster) -> topic.Leaves:
    leaves = topic.switches(cluster, *_HARDWARE)
    device_plugin, through_flux = INTEL.becomes
    if leaves.get(device_plugin):
        # The chart installs it through Flux, which a management cluster for
        # this driver does not need otherwise.
        leaves[through_flux] = False
    return leaves


def _check_hardware(cluster: cluster_spec.Cluster) -> None:
    """Refuse an operator without the discovery, which the chart installs."""
    if cluster.labels[DISCOVERY]:
        return
    needed_by = [each.name for each in _OPERATORS if cluster.labels[each]]
    if needed_by:
        raise cluster.labels.refused(
            DISCOVERY, f"true, or false for {' and '.join(needed_by)} as well"
        )


HARDWARE = topic.Topic(
    name="Hardware",
    labels=_HARDWARE,
    leaves=_hardware_leaves,
    check=_check_hardware,
)
