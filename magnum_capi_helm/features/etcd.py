# SPDX-License-Identifier: Apache-2.0

"""A disk of its own for etcd."""

from __future__ import annotations

from oslo_config import types

from magnum_capi_helm.features import needs
from magnum_capi_helm.features import topic
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import labels
from magnum_capi_helm.model import option_types

SIZE = labels.Label(
    name="etcd_blockdevice_size",
    type=option_types.Integer(min=0, max=65536),
    default=0,
    allowed="a size in GB up to 65536; 0 keeps etcd on the root disk",
    help="Size of a separate disk for etcd.",
    aliases=("etcd_volume_size",),
    former=("etcd_volume_size",),
    becomes=("etcd.blockDevice.size",),
)
KIND = labels.Label(
    name="etcd_blockdevice_type",
    type=types.String(choices=["volume", "local"], ignore_case=True),
    default="volume",
    allowed="volume (Cinder) or local (the hypervisor's disk)",
    help="What the etcd disk is.",
    becomes=("etcd.blockDevice.type",),
)
VOLUME_TYPE = labels.Label(
    name="etcd_blockdevice_volume_type",
    type=types.String(),
    default="",
    allowed="the name of a Cinder volume type",
    help="Cinder type of the etcd volume.",
    aliases=("etcd_volume_type",),
    former=("etcd_volume_type",),
    becomes=("etcd.blockDevice.volumeType",),
)
VOLUME_AZ = labels.Label(
    name="etcd_blockdevice_volume_az",
    type=types.String(),
    default="",
    allowed="the name of a Cinder availability zone",
    help="Cinder availability zone of the etcd volume.",
    becomes=("etcd.blockDevice.availabilityZone",),
)


def _check(cluster: cluster_spec.Cluster) -> None:
    found = cluster.labels
    needs.check(found, (SIZE,), (KIND, VOLUME_TYPE, VOLUME_AZ), SIZE.name)
    if not found[SIZE] or not _is_local(found):
        return
    for label in (VOLUME_TYPE, VOLUME_AZ):
        if needs.is_given(found, label):
            raise found.refused(label, f"it with {KIND.name}=volume")


def _is_local(found: labels.Values) -> bool:
    return found[KIND].lower() == "local"


def _values(cluster: cluster_spec.Cluster) -> topic.Values:
    size = cluster.labels[SIZE]
    if not size:
        return {}
    kind = cluster.labels[KIND].capitalize()
    device: topic.Values = {"size": size, "type": kind}
    if not _is_local(cluster.labels):
        if volume_type := cluster.labels[VOLUME_TYPE]:
            device["volumeType"] = volume_type
        if zone := cluster.labels[VOLUME_AZ]:
            device["availabilityZone"] = zone
    return {"etcd": {"blockDevice": device}}


TOPIC = topic.Topic(
    name="etcd",
    labels=(SIZE, KIND, VOLUME_TYPE, VOLUME_AZ),
    cluster=_values,
    check=_check,
)
