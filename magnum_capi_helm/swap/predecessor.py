# SPDX-License-Identifier: Apache-2.0

"""magnum-capi-helm 1.4.0: what it reads, and the values that it makes of it.

From its ``conf.py`` and ``driver.py`` (``_update_helm_release``), which every
operation goes through: values are made from nothing, of template, labels and
options as they are at that moment.
"""

from __future__ import annotations

import re
from typing import Any

from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import names
from magnum_capi_helm.swap import evidence
from magnum_capi_helm.swap import old_labels

VERSION = "1.4.0"
#: Its default of ``[capi_helm] default_helm_chart_version``.
DEFAULT_CHART = "0.10.1"


class Refusal(Exception):
    """1.4.0 would refuse every operation on the cluster."""


def chart(template: evidence.Template, options: evidence.Options) -> str:
    """The version of the chart that its next operation takes."""
    if options.chart_at_path:
        return options.chart_at_path
    found = template.labels.get(
        old_labels.CHART, options.chart or DEFAULT_CHART
    )
    return re.sub(r"[^a-z0-9.\-+]+", "", found)


def values(
    subject: evidence.Subject,
    image: cluster_spec.Image,
    options: evidence.Options,
) -> dict[str, Any]:
    """The values that its next operation sends.

    Left away is what it looks up in OpenStack: networks and StorageClasses.

    :raises Refusal: it sends none
    """
    found = old_labels.Labels(subject, options)
    healing = {"enabled": found.flag("auto_healing_enabled")}
    disk = _root_volume(found, options)
    has_webhook = found.flag("keystone_auth_enabled")
    defaults = {"healthCheck": healing, "machineRootVolume": disk}
    if ports := _ports(found):
        defaults["machineNetworking"] = {"ports": ports}
    return {
        "kubernetesVersion": image.kube_version,
        "machineImageId": image.id,
        "machineSSHKeyName": subject.keypair or None,
        "osDistro": image.os_distro,
        "etcd": _etcd(found),
        "apiServer": _api_server(found),
        "clusterNetworking": {
            "internalNetwork": {"nodeCidr": found.text("fixed_subnet_cidr")}
        },
        "controlPlane": {
            **_control_plane(subject),
            "healthCheck": healing,
            "machineRootVolume": disk,
        },
        "nodeGroupDefaults": defaults,
        "nodeGroups": _groups(subject, found),
        "addons": _addons(subject, found),
        "authWebhook": "k8s-keystone-auth" if has_webhook else "",
    }


def bounds(group: evidence.Group, found: old_labels.Labels) -> tuple[int, int]:
    """Least and most machines of a group, where it lets groups scale.

    :raises Refusal: it does not like them
    """
    least = group.count if group.minimum is None else group.minimum
    most = group.count if group.maximum is None else group.maximum
    if group.default:
        # Magnum gives the default group a minimum that nobody asked for.
        least = group.count if group.minimum == 1 else least
        least = _or(found.number("min_node_count"), least)
        most = _or(found.number("max_node_count"), most)
    if least < 1:
        raise Refusal(f"nodegroup {group.name} has a minimum below 1")
    if least > group.count:
        raise Refusal(
            f"nodegroup {group.name} has fewer nodes ({group.count}) than "
            f"its minimum ({least})"
        )
    if most < least:
        raise Refusal(
            f"nodegroup {group.name} has a maximum ({most}) below its "
            f"minimum ({least})"
        )
    return least, most


def _or(found: int | None, other: int) -> int:
    return other if found is None else found


def _control_plane(subject: evidence.Subject) -> dict[str, Any]:
    for each in subject.groups:
        if each.control_plane:
            return {"machineFlavor": each.flavor, "machineCount": each.count}
    return {}


def _groups(
    subject: evidence.Subject, found: old_labels.Labels
) -> list[dict[str, Any]]:
    """Of all rows, those of groups that are being deleted among them."""
    items = []
    for each in subject.groups:
        if each.control_plane:
            continue
        item: dict[str, Any] = {
            "name": names.legacy_node_group(each.name),
            "machineFlavor": each.flavor,
            "machineCount": each.count,
        }
        if found.flag("auto_scaling_enabled"):
            least, most = bounds(each, found)
            if least != most:
                item["autoscale"] = "true"
                item["machineCountMin"] = least
                item["machineCountMax"] = most
        items.append(item)
    return items


def _root_volume(
    found: old_labels.Labels, options: evidence.Options
) -> dict[str, Any]:
    return {
        "volumeType": found.text("boot_volume_type", options.boot_volume_type),
        "diskSize": found.number("boot_volume_size", options.boot_volume_size),
    }


def _ports(found: old_labels.Labels) -> list[dict[str, Any]]:
    text = found.text("extra_network_names") or found.text(
        "extra_network_name"
    )
    if not text:
        return []
    ports: list[dict[str, Any]] = [
        {"network": {"name": each}, "securityGroups": []}
        for each in text.split(" ")
    ]
    return [{}, *ports]


def _etcd(found: old_labels.Labels) -> dict[str, Any]:
    size = found.number("etcd_blockdevice_size")
    if not found.given("etcd_blockdevice_size"):
        size = found.number("etcd_volume_size", size)
    if not size or size < 0:
        return {}
    if found.text("etcd_blockdevice_type") == "local":
        return {"blockDevice": {"size": size, "type": "Local"}}
    older = found.text("etcd_volume_type")
    return {
        "blockDevice": {
            "size": size,
            "type": "Volume",
            "volumeType": found.text("etcd_blockdevice_volume_type", older),
            "availabilityZone": found.text("etcd_blockdevice_volume_az"),
        }
    }


def _api_server(found: old_labels.Labels) -> dict[str, Any]:
    server: dict[str, Any] = {
        "associateFloatingIP": found.flag("master_lb_floating_ip_enabled"),
        "enableLoadBalancer": True,
        "loadBalancerProvider": found.text("octavia_provider"),
    }
    if cidrs := found.cidrs():
        server["allowedCidrs"] = cidrs
    return server


def _addons(
    subject: evidence.Subject, found: old_labels.Labels
) -> dict[str, Any]:
    provider = found.text("octavia_provider")
    ovn = provider.lower() == "ovn"
    method = "SOURCE_IP_PORT" if ovn else "ROUND_ROBIN"
    driver = subject.template.network_driver
    return {
        "cni": {"type": re.sub(r"[^a-zA-Z0-9.\-_]+", "", driver)},
        "openstack": {
            "cloudConfig": {
                "LoadBalancer": {
                    "lb-provider": provider,
                    "lb-method": found.text("octavia_lb_algorithm", method),
                    "create-monitor": found.flag("octavia_lb_healthcheck"),
                }
            },
            "k8sKeystoneAuth": {
                "enabled": found.flag("keystone_auth_enabled")
            },
        },
        "monitoring": {"enabled": found.flag("monitoring_enabled")},
        "ingress": {"enabled": False},
    }
