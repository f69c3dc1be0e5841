# SPDX-License-Identifier: Apache-2.0

"""etcd: its disk, and encryption of the resources that it stores.

The chart reads the encryption key from a Secret that must exist before
helm runs: :mod:`magnum_capi_helm.operations.holding` makes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from oslo_config import types

from magnum_capi_helm.features import topic
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import label_types
from magnum_capi_helm.model import labels
from magnum_capi_helm.model import paths
from magnum_capi_helm.model import versions

TOPIC = topic.Topic("etcd")

SIZE = TOPIC.label(
    "etcd_blockdevice_size",
    label_types.Integer(0, 65536, "a size in GB"),
    0,
    details="0 keeps etcd on the root disk",
    help="Size of a separate disk for etcd.",
    aliases=("etcd_volume_size",),
    former=("etcd_volume_size",),
    becomes=("etcd.blockDevice.size",),
)
KIND = TOPIC.choice(
    "etcd_blockdevice_type",
    ("volume", "local"),
    "volume",
    ignore_case=True,
    details="local is a disk of the hypervisor, volume is in Cinder",
    help="Kind of the etcd disk.",
    becomes=("etcd.blockDevice.type",),
)
VOLUME_TYPE = TOPIC.text(
    "etcd_blockdevice_volume_type",
    "the name of a Cinder volume type",
    help="Cinder volume type of the etcd volume. Default: as in Cinder.",
    aliases=("etcd_volume_type",),
    former=("etcd_volume_type",),
    becomes=("etcd.blockDevice.volumeType",),
)
VOLUME_AZ = TOPIC.text(
    "etcd_blockdevice_volume_az",
    "the name of a Cinder availability zone",
    help="Cinder availability zone of the etcd volume.",
    becomes=("etcd.blockDevice.availabilityZone",),
)


def _check(cluster: cluster_spec.Cluster) -> None:
    settings = cluster.labels
    topic.check_dependents(settings, (KIND, VOLUME_TYPE, VOLUME_AZ), SIZE)
    if not local_size(settings):
        return
    for label in (VOLUME_TYPE, VOLUME_AZ):
        if topic.is_given(settings, label):
            raise settings.refused(label, f"it with {KIND.name}=volume")


def local_size(settings: labels.Values) -> int:
    """Return the size of the disk on the hypervisor in GB; 0: none."""
    return settings[SIZE] if settings[KIND].lower() == "local" else 0


def _leaves(cluster: cluster_spec.Cluster) -> topic.Leaves:
    settings = cluster.labels
    if not settings[SIZE]:
        return {}
    cinder = () if local_size(settings) else (VOLUME_TYPE, VOLUME_AZ)
    return {
        KIND.becomes[0]: settings[KIND].capitalize(),
        **topic.changed(settings, SIZE, *cinder),
    }


TOPIC.leaves = _leaves
TOPIC.check = _check


ENCRYPTION_TOPIC = topic.Topic("Encryption at rest")

#: The charts that have the values ``etcd.encryption``.
_CHARTS = (versions.Range(since="0.16.0"),)

#: ``resource``, ``resource.group``, ``*.group``, ``*.`` (the core group) or
#: ``*.*``, as an EncryptionConfiguration has them.
_RESOURCE = r"\A([a-z][a-z0-9-]*(\.[a-z0-9.-]+)?|\*\.(\*|[a-z0-9.-]*))\Z"

ENCRYPTION = ENCRYPTION_TOPIC.switch(
    "etcd_encryption_enabled",
    help="Encrypt resources in etcd, with a key that the driver makes for "
    "each cluster.",
    becomes=(f"{paths.ENCRYPTION}.enabled",),
    charts=_CHARTS,
)
ENCRYPTION_PROVIDER = ENCRYPTION_TOPIC.choice(
    "etcd_encryption_provider",
    ("secretbox", "aescbc", "aesgcm"),
    "secretbox",
    help="Encryption provider of Kubernetes. Kubernetes recommends secretbox: "
    "padding oracles can attack aescbc, and aesgcm needs a new key every "
    "200000 writes.",
    becomes=(f"{paths.ENCRYPTION}.provider",),
    charts=_CHARTS,
)
ENCRYPTED_RESOURCES = ENCRYPTION_TOPIC.label(
    "etcd_encryption_resources",
    types.List(item_type=types.String(regex=_RESOURCE)),
    ["secrets"],
    allowed="a comma separated list of resources",
    details="an example is secrets,configmaps,widgets.example.org",
    help="Resources that Kubernetes encrypts in etcd.",
    becomes=(f"{paths.ENCRYPTION}.resources",),
    charts=_CHARTS,
)


def _check_encryption(cluster: cluster_spec.Cluster) -> None:
    settings = cluster.labels
    resources = settings[ENCRYPTED_RESOURCES]
    # The API server does not start with none, or with one twice.
    usable = resources and len(set(resources)) == len(resources)
    if settings[ENCRYPTION] and not usable:
        raise settings.refused(
            ENCRYPTED_RESOURCES, "each resource once, at least one"
        )
    topic.check_dependents(
        settings, (ENCRYPTION_PROVIDER, ENCRYPTED_RESOURCES), ENCRYPTION
    )


def _encryption_leaves(cluster: cluster_spec.Cluster) -> topic.Leaves:
    settings = cluster.labels
    if not settings[ENCRYPTION]:
        return {}
    return {
        ENCRYPTION.becomes[0]: True,
        ENCRYPTION_PROVIDER.becomes[0]: settings[ENCRYPTION_PROVIDER],
        ENCRYPTED_RESOURCES.becomes[0]: settings[ENCRYPTED_RESOURCES],
    }


def needs_key(values: Mapping[str, Any]) -> bool:
    """Return whether the chart needs the Secret with the key."""
    return bool(paths.value_at(values, ENCRYPTION.becomes[0]))


ENCRYPTION_TOPIC.leaves = _encryption_leaves
ENCRYPTION_TOPIC.check = _check_encryption
