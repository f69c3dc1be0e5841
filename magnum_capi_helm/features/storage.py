# SPDX-License-Identifier: Apache-2.0

"""Storage classes of the Cinder CSI driver, one per volume type.

Kubernetes lets nobody change the parameters of a class: a cluster keeps the
classes that it was created with.
"""

from __future__ import annotations

from oslo_config import types

from magnum_capi_helm.features import topic
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import labels

#: Topology key of the Cinder CSI driver (cloud-provider-openstack).
_ZONE_KEY = "topology.cinder.csi.openstack.org/zone"

#: The node of the values, and its key for the class of a cluster's default.
_NODE = "addons.openstack.csiCinder"
_CLASS = f"{_NODE}.defaultStorageClass"

#: Text without braces or control characters. The addon provider renders what
#: it installs with Jinja2, on the management cluster and without a sandbox:
#: a user's text must never be a template.
TEXT = r"\A[^{}\x00-\x1f]*\Z"

ENABLED = labels.Switch(
    name="cinder_csi_enabled",
    default=True,
    help="Install the Cinder CSI driver, and a StorageClass for each Cinder "
    "volume type.",
    becomes=(f"{_NODE}.enabled",),
)
AVAILABILITY_ZONE = labels.Label(
    name="csi_cinder_availability_zone",
    type=types.String(regex=TEXT),
    default="nova",
    allowed="the name of a Cinder availability zone, without { and }",
    help="Availability zone of persistent volumes.",
    former=("csi_cinder_availability_zone",),
    becomes=(f"{_CLASS}.availabilityZone",),
)
RECLAIM_POLICY = labels.Label(
    name="csi_cinder_reclaim_policy",
    type=types.String(choices=["Retain", "Delete"]),
    default="Retain",
    allowed="Retain or Delete",
    help="What becomes of a volume when its claim is deleted.",
    former=("csi_cinder_reclaim_policy",),
    becomes=(f"{_CLASS}.reclaimPolicy",),
)
BINDING_MODE = labels.Label(
    name="csi_cinder_volume_binding_mode",
    type=types.String(choices=["WaitForFirstConsumer", "Immediate"]),
    default="WaitForFirstConsumer",
    allowed="WaitForFirstConsumer or Immediate",
    help="When a claim gets its volume.",
    former=("csi_cinder_volume_binding_mode",),
    becomes=(f"{_CLASS}.volumeBindingMode",),
)
FSTYPE = labels.Label(
    name="csi_cinder_fstype",
    type=types.String(regex=r"\A[a-z0-9]+\Z"),
    default="ext4",
    allowed="the name of a file system, such as ext4 or xfs",
    help="File system of persistent volumes.",
    former=("csi_cinder_fstype",),
    becomes=(f"{_CLASS}.fstype",),
)
EXPANSION = labels.Switch(
    name="csi_cinder_allow_volume_expansion",
    default=True,
    help="Let claims grow.",
    former=("csi_cinder_allow_volume_expansion",),
    becomes=(f"{_CLASS}.allowVolumeExpansion",),
)
#: Values of VOLUMES_POLICY, as cluster-api-janitor-openstack calls them.
KEEP = "keep"
DELETE = "delete"
VOLUMES_POLICY: labels.Label[str | None] = labels.Label(
    name="volumes_policy",
    type=types.String(choices=[KEEP, DELETE]),
    default=None,
    allowed="keep or delete",
    help="What becomes of the Cinder volumes and snapshots that Kubernetes "
    "made, when the cluster is deleted. Unset: they are kept, unless "
    "cluster-api-janitor-openstack runs and does otherwise. A volume with "
    "the property janitor.capi.azimuth-cloud.com/keep=true stays in any "
    "case.",
)


def _topologies(zones: tuple[str, ...]) -> list[topic.Values]:
    if not zones:
        return []
    expression = {"key": _ZONE_KEY, "values": list(zones)}
    return [{"matchLabelExpressions": [expression]}]


def _class(
    cluster: cluster_spec.Cluster, item: cluster_spec.StorageClass
) -> topic.Values:
    values = {
        "enabled": True,
        "name": item.name,
        "isClusterDefault": item.default,
        "reclaimPolicy": cluster.labels[RECLAIM_POLICY],
        "allowVolumeExpansion": cluster.labels[EXPANSION],
        "volumeBindingMode": cluster.labels[BINDING_MODE],
        "allowedTopologies": _topologies(cluster.allowed_zones),
        "fstype": cluster.labels[FSTYPE],
        "availabilityZone": cluster.labels[AVAILABILITY_ZONE],
    }
    if item.volume_type is not None:
        values["volumeType"] = item.volume_type
    return values


def _classes(cluster: cluster_spec.Cluster) -> topic.Values:
    """The chart's own class stays off where none is the default one."""
    csi: topic.Values = {"defaultStorageClass": {"enabled": False}}
    others = []
    for item in cluster.storage_classes:
        if item.default:
            csi["defaultStorageClass"] = _class(cluster, item)
        else:
            others.append(_class(cluster, item))
    if cluster.storage_classes:
        csi["additionalStorageClasses"] = others
    return csi


def _values(cluster: cluster_spec.Cluster) -> topic.Values:
    enabled = cluster.labels[ENABLED]
    csi = _classes(cluster) if enabled else {"enabled": False}
    return {"addons": {"openstack": {"csiCinder": csi}}}


TOPIC = topic.Topic(
    name="Persistent volumes",
    labels=(
        ENABLED,
        AVAILABILITY_ZONE,
        RECLAIM_POLICY,
        BINDING_MODE,
        FSTYPE,
        EXPANSION,
        VOLUMES_POLICY,
    ),
    cluster=_values,
)
