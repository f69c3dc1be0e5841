# SPDX-License-Identifier: Apache-2.0

"""etcd: its disk, and encryption of the resources that it stores.

The chart reads the encryption key from a Secret that must exist before
helm runs: :mod:`magnum_capi_helm.lifecycle.encryption_key` makes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from oslo_config import types

from magnum_capi_helm.features import topic
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import label_types
from magnum_capi_helm.model import labels
from magnum_capi_helm.model import versions

SIZE = labels.Label(
    name="etcd_blockdevice_size",
    type=label_types.Integer(min=0, max=65536),
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
VOLUME_TYPE = label_types.text(
    "etcd_blockdevice_volume_type",
    "the name of a Cinder volume type",
    help="Cinder type of the etcd volume.",
    aliases=("etcd_volume_type",),
    former=("etcd_volume_type",),
    becomes=("etcd.blockDevice.volumeType",),
)
VOLUME_AZ = label_types.text(
    "etcd_blockdevice_volume_az",
    "the name of a Cinder availability zone",
    help="Cinder availability zone of the etcd volume.",
    becomes=("etcd.blockDevice.availabilityZone",),
)


def _check(cluster: cluster_spec.Cluster) -> None:
    settings = cluster.labels
    topic.check_dependents(settings, (KIND, VOLUME_TYPE, VOLUME_AZ), SIZE)
    if not settings[SIZE] or not _is_local(settings):
        return
    for label in (VOLUME_TYPE, VOLUME_AZ):
        if topic.is_given(settings, label):
            raise settings.refused(label, f"it with {KIND.name}=volume")


def _is_local(settings: labels.Values) -> bool:
    return settings[KIND].lower() == "local"


def _leaves(cluster: cluster_spec.Cluster) -> topic.Leaves:
    settings = cluster.labels
    if not settings[SIZE]:
        return {}
    cinder = () if _is_local(settings) else (VOLUME_TYPE, VOLUME_AZ)
    return {
        KIND.becomes[0]: settings[KIND].capitalize(),
        **topic.changed(settings, SIZE, *cinder),
    }


TOPIC = topic.Topic(
    name="etcd",
    labels=(SIZE, KIND, VOLUME_TYPE, VOLUME_AZ),
    leaves=_leaves,
    check=_check,
)


#: The charts that have the values ``etcd.encryption``.
_CHARTS = (versions.Range(since="0.16.0"),)

#: ``resource``, ``resource.group``, ``*.group``, ``*.`` (the core group) or
#: ``*.*``, as an EncryptionConfiguration has them.
_RESOURCE = r"\A([a-z][a-z0-9-]*(\.[a-z0-9.-]+)?|\*\.(\*|[a-z0-9.-]*))\Z"

ENCRYPTION = labels.Switch(
    name="etcd_encryption_enabled",
    default=False,
    help="Encrypt resources in etcd, with a key that the driver makes for "
    "each cluster.",
    becomes=("etcd.encryption.enabled",),
    charts=_CHARTS,
)
ENCRYPTION_PROVIDER = label_types.choice(
    "etcd_encryption_provider",
    ("secretbox", "aescbc", "aesgcm"),
    default="secretbox",
    help="How etcd's data is encrypted. secretbox is the one that Kubernetes "
    "recommends: aescbc can be attacked by padding oracles, and aesgcm needs "
    "a new key every 200000 writes.",
    becomes=("etcd.encryption.provider",),
    charts=_CHARTS,
)
ENCRYPTED_RESOURCES = labels.Label(
    name="etcd_encryption_resources",
    type=types.List(item_type=types.String(regex=_RESOURCE)),
    default=["secrets"],
    allowed="a comma separated list of resources",
    details="an example is secrets,configmaps,widgets.example.org",
    help="Which resources are encrypted in etcd.",
    becomes=("etcd.encryption.resources",),
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
        "etcd.encryption.enabled": True,
        "etcd.encryption.provider": settings[ENCRYPTION_PROVIDER],
        "etcd.encryption.resources": settings[ENCRYPTED_RESOURCES],
    }


def needs_key(values: Mapping[str, Any]) -> bool:
    """Return whether the chart needs the Secret with the key."""
    return bool(topic.value_at(values, ENCRYPTION.becomes[0]))


ENCRYPTION_TOPIC = topic.Topic(
    name="Encryption at rest",
    labels=(ENCRYPTION, ENCRYPTION_PROVIDER, ENCRYPTED_RESOURCES),
    leaves=_encryption_leaves,
    check=_check_encryption,
)
