# SPDX-License-Identifier: Apache-2.0

"""Which option of 1.4.0 keeps what a cluster has."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from magnum_capi_helm.swap import changes
from magnum_capi_helm.swap import evidence
from magnum_capi_helm.swap import old_labels

#: Path of the values -> the label, and option, that 1.4.0 makes it from.
_SETTINGS: dict[str, str] = {
    "addons.monitoring.enabled": "monitoring_enabled",
    "addons.openstack.cloudConfig.LoadBalancer.create-monitor": (
        "octavia_lb_healthcheck"
    ),
    "addons.openstack.cloudConfig.LoadBalancer.lb-method": (
        "octavia_lb_algorithm"
    ),
    "addons.openstack.cloudConfig.LoadBalancer.lb-provider": (
        "octavia_provider"
    ),
    "addons.openstack.k8sKeystoneAuth.enabled": "keystone_auth_enabled",
    "apiServer.associateFloatingIP": "master_lb_floating_ip_enabled",
    "apiServer.loadBalancerProvider": "octavia_provider",
    "clusterNetworking.internalNetwork.nodeCidr": "fixed_subnet_cidr",
    "etcd.blockDevice.availabilityZone": "etcd_blockdevice_volume_az",
    "etcd.blockDevice.size": "etcd_blockdevice_size",
    "etcd.blockDevice.type": "etcd_blockdevice_type",
    "etcd.blockDevice.volumeType": "etcd_blockdevice_volume_type",
    "machineRootVolume.diskSize": "boot_volume_size",
    "machineRootVolume.volumeType": "boot_volume_type",
}


def that_keep(
    subject: evidence.Subject,
    options: evidence.Options,
    live: evidence.Live,
    lost: Iterable[tuple[str, str]],
) -> str:
    """The options that keep what would be lost; empty: not all of it can be.

    A label of template or cluster beats them, and nobody can change those of
    a living one.

    :param lost: name of a group, or nothing, and a path
    """
    given = old_labels.Labels(subject, options)
    found: dict[str, str] = {}
    for name, path in sorted(lost):
        label = _SETTINGS.get(path)
        value = _value(live, name, path)
        if label is None or given.given(label) or value is None:
            return ""
        text = _shown(label, value)
        if found.setdefault(label, text) != text:
            return ""
    options_of = [f"{key} = {text}" for key, text in sorted(found.items())]
    return f"[capi_helm_cluster_labels] {', '.join(options_of)}"


def of_scaling(subject: evidence.Subject, item: dict[str, Any]) -> str:
    """What lets 1.4.0 leave the bounds of a group alone."""
    if not item.get("autoscale"):
        return "openstack coe nodegroup update: a maximum that is the minimum"
    label = {**subject.template.labels, **subject.labels}.get(
        "auto_scaling_enabled"
    )
    switch = (
        ""
        if label
        else "[capi_helm_cluster_labels] auto_scaling_enabled = true, and "
    )
    return (
        f"{switch}openstack coe nodegroup update: "
        f"min_node_count={item.get('machineCountMin')}, "
        f"max_node_count={item.get('machineCountMax')}"
    )


def _value(live: evidence.Live, name: str, path: str) -> Any:
    if name:
        found = changes.group(live.values, name)
        if path in found:
            return found[path]
    values: Any = live.values
    for key in path.split("."):
        values = (values or {}).get(key)
    return values


def _shown(label: str, value: Any) -> str:
    """As an option: the chart spells volume and local otherwise."""
    if isinstance(value, bool) or label == "etcd_blockdevice_type":
        return str(value).lower()
    return str(value)
