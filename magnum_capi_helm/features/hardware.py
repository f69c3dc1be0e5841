# SPDX-License-Identifier: Apache-2.0

"""Operators for GPUs and network cards."""

from __future__ import annotations

from magnum_capi_helm.features import switches
from magnum_capi_helm.features import topic
from magnum_capi_helm.model import chart_versions
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import labels

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
    charts=(chart_versions.Range(since="0.27.0"),),
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
    charts=(chart_versions.Range(since="0.15.0"),),
)
DISCOVERY = labels.Switch(
    name="node_feature_discovery_enabled",
    default=True,
    help="Install node-feature-discovery, which labels nodes by their "
    "hardware. The operators need it: only without them it can be off.",
    becomes=("addons.nodeFeatureDiscovery.enabled",),
)

_OPERATORS = (NVIDIA, MELLANOX, AMD, INTEL)
_LABELS = (*_OPERATORS, DISCOVERY)


def _values(cluster: cluster_spec.Cluster) -> topic.Values:
    addons = switches.values(cluster, _LABELS)
    intel = addons.get("intelDevicePlugin")
    if intel and intel["enabled"]:
        # The chart installs it through Flux, which a management cluster for
        # this driver does not need otherwise.
        intel["xpuManagerMonitoring"] = {"enabled": False}
    return {"addons": addons} if addons else {}


def _check(cluster: cluster_spec.Cluster) -> None:
    """The chart installs the discovery wherever an operator is on."""
    if cluster.labels[DISCOVERY]:
        return
    needed_by = [each.name for each in _OPERATORS if cluster.labels[each]]
    if needed_by:
        raise cluster.labels.refused(
            DISCOVERY, f"true, or false for {' and '.join(needed_by)} as well"
        )


TOPIC = topic.Topic(
    name="Hardware", labels=_LABELS, cluster=_values, check=_check
)
