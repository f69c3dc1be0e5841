# SPDX-License-Identifier: Apache-2.0

"""Encryption of Secrets and other resources in etcd.

The chart reads the key from a Secret that has to be there before helm runs:
:mod:`magnum_capi_helm.lifecycle.encryption_key` makes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from oslo_config import types

from magnum_capi_helm.features import needs
from magnum_capi_helm.features import topic
from magnum_capi_helm.model import chart_versions
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import labels

#: The charts that have the values ``etcd.encryption``.
_CHARTS = (chart_versions.Range(since="0.16.0"),)

#: ``resource``, ``resource.group``, ``*.group``, ``*.`` (the core group) or
#: ``*.*``, as an EncryptionConfiguration has them.
_RESOURCE = r"\A([a-z][a-z0-9-]*(\.[a-z0-9.-]+)?|\*\.(\*|[a-z0-9.-]*))\Z"

ENABLED = labels.Switch(
    name="etcd_encryption_enabled",
    default=False,
    help="Encrypt resources in etcd, with a key that the driver makes for "
    "each cluster.",
    becomes=("etcd.encryption.enabled",),
    charts=_CHARTS,
)
PROVIDER = labels.Label(
    name="etcd_encryption_provider",
    type=types.String(choices=["secretbox", "aescbc", "aesgcm"]),
    default="secretbox",
    allowed="secretbox, aescbc or aesgcm",
    help="How etcd's data is encrypted. secretbox is the one that Kubernetes "
    "recommends: aescbc can be attacked by padding oracles, and aesgcm needs "
    "a new key every 200000 writes.",
    becomes=("etcd.encryption.provider",),
    charts=_CHARTS,
)
RESOURCES = labels.Label(
    name="etcd_encryption_resources",
    type=types.List(item_type=types.String(regex=_RESOURCE)),
    default=["secrets"],
    allowed="a comma separated list of resources",
    details="an example is secrets,configmaps,widgets.example.org",
    help="Which resources are encrypted in etcd.",
    becomes=("etcd.encryption.resources",),
    charts=_CHARTS,
)


def _check(cluster: cluster_spec.Cluster) -> None:
    found = cluster.labels
    resources = found[RESOURCES]
    # The API server does not start with none, or with one twice.
    usable = resources and len(set(resources)) == len(resources)
    if found[ENABLED] and not usable:
        raise found.refused(RESOURCES, "each resource once, at least one")
    needs.check(
        found, (ENABLED,), (PROVIDER, RESOURCES), f"{ENABLED.name}=true"
    )


def _values(cluster: cluster_spec.Cluster) -> topic.Values:
    found = cluster.labels
    if not found[ENABLED]:
        return {}
    encryption = {
        "enabled": True,
        "provider": found[PROVIDER],
        "resources": found[RESOURCES],
    }
    return {"etcd": {"encryption": encryption}}


def needs_key(values: Mapping[str, Any]) -> bool:
    """Whether a chart with these values looks for the key's Secret."""
    encryption = (values.get("etcd") or {}).get("encryption") or {}
    return bool(encryption.get("enabled"))


TOPIC = topic.Topic(
    name="Encryption at rest",
    labels=(ENABLED, PROVIDER, RESOURCES),
    cluster=_values,
    check=_check,
)
