# SPDX-License-Identifier: Apache-2.0

"""Storage classes of the Cinder CSI driver, one per volume type.

The parameters of a class are immutable: a cluster keeps the classes that it
was created with.
"""

from __future__ import annotations

from oslo_config import types

from magnum_capi_helm.features import topic
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import labels
from magnum_capi_helm.model import paths

TOPIC = topic.Topic("Persistent volumes")

#: Topology key of the Cinder CSI driver (cloud-provider-openstack).
_ZONE_KEY = "topology.cinder.csi.openstack.org/zone"

_CLASS = paths.CINDER_CLASS

#: Text without braces or control characters. The addon provider renders what
#: it installs with Jinja2, on the management cluster and without a sandbox:
#: a user's text must never be a template.
TEXT = r"\A[^{}\x00-\x1f]*\Z"

ENABLED = TOPIC.switch(
    "cinder_csi_enabled",
    default=True,
    help="Install the Cinder CSI driver, and a StorageClass for each Cinder "
    "volume type.",
    becomes=(paths.CINDER_ENABLED,),
)
AVAILABILITY_ZONE = TOPIC.label(
    "csi_cinder_availability_zone",
    types.String(regex=TEXT),
    "nova",
    allowed="the name of a Cinder availability zone, without { and }",
    help="Availability zone of persistent volumes.",
    former=("csi_cinder_availability_zone",),
    becomes=(f"{_CLASS}.availabilityZone",),
)
RECLAIM_POLICY = TOPIC.choice(
    "csi_cinder_reclaim_policy",
    ("Retain", "Delete"),
    "Retain",
    help="Retain keeps a volume when its claim is deleted, Delete deletes it.",
    former=("csi_cinder_reclaim_policy",),
    becomes=(f"{_CLASS}.reclaimPolicy",),
)
BINDING_MODE = TOPIC.choice(
    "csi_cinder_volume_binding_mode",
    ("WaitForFirstConsumer", "Immediate"),
    "WaitForFirstConsumer",
    help="Time at which Kubernetes makes the volume of a claim: when the "
    "first pod uses the claim (WaitForFirstConsumer), or immediately.",
    former=("csi_cinder_volume_binding_mode",),
    becomes=(f"{_CLASS}.volumeBindingMode",),
)
FSTYPE = TOPIC.label(
    "csi_cinder_fstype",
    types.String(regex=r"\A[a-z0-9]+\Z"),
    "ext4",
    allowed="the name of a file system, such as ext4 or xfs",
    help="File system of persistent volumes.",
    former=("csi_cinder_fstype",),
    becomes=(f"{_CLASS}.fstype",),
)
EXPANSION = TOPIC.switch(
    "csi_cinder_allow_volume_expansion",
    default=True,
    help="Allow users to enlarge the volume of a claim.",
    former=("csi_cinder_allow_volume_expansion",),
    becomes=(f"{_CLASS}.allowVolumeExpansion",),
)
#: Values of VOLUMES_POLICY, as cluster-api-janitor-openstack calls them.
KEEP = "keep"
DELETE = "delete"
VOLUMES_POLICY: labels.Label[str | None] = TOPIC.label(
    "volumes_policy",
    types.String(choices=[KEEP, DELETE]),
    allowed=errors.one_of((KEEP, DELETE)),
    help="Keep or delete the Cinder volumes and snapshots that Kubernetes "
    "made, when the user deletes the cluster. Default: keep, unless "
    "cluster-api-janitor-openstack is installed and deletes them. A volume "
    "with the property janitor.capi.azimuth-cloud.com/keep=true always "
    "stays.",
)


def _topologies(zones: tuple[str, ...]) -> list[paths.Values]:
    if not zones:
        return []
    expression = {"key": _ZONE_KEY, "values": list(zones)}
    return [{"matchLabelExpressions": [expression]}]


def _class(
    cluster: cluster_spec.Cluster, item: cluster_spec.StorageClass
) -> paths.Values:
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


def _leaves(cluster: cluster_spec.Cluster) -> topic.Leaves:
    """Return the classes; without a default, the chart's own class is off."""
    if not cluster.labels[ENABLED]:
        return {paths.CINDER_ENABLED: False}
    found = cluster.storage_classes
    default = [_class(cluster, each) for each in found if each.default]
    others = [_class(cluster, each) for each in found if not each.default]
    values: paths.Values = {}
    paths.put(
        values, paths.CINDER_CLASS, (default or [{"enabled": False}])[-1]
    )
    # An empty list, too.
    paths.put(values, paths.CINDER_CLASSES, others if found else None)
    return values


TOPIC.leaves = _leaves


SHARED_VOLUMES = topic.Topic("Shared volumes")

_MANILA = "addons.openstack.csiManila"
_PARAMETERS = f"{_MANILA}.defaultStorageClass.parameters"

_UUID = r"\A([0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})?\Z"

_NFS = "nfs"
_CEPHFS = "cephfs"

#: The NFS driver mounts shares for Manila's driver. It listens at the socket
#: that Manila's driver expects (``/var/lib/kubelet/plugins/csi-nfsplugin``).
NFS_MOUNTER: paths.Values = {
    "namespace": "openstack-system",
    "chart": {
        "repo": "https://raw.githubusercontent.com/kubernetes-csi/"
        "csi-driver-nfs/master/charts",
        "name": "csi-driver-nfs",
        "version": "4.13.1",
    },
    "values": {},
}

MANILA = SHARED_VOLUMES.switch(
    "manila_csi_enabled",
    help="Install the Manila CSI driver and the StorageClass csi-manila, for "
    "volumes that several pods write to.",
    becomes=(f"{_MANILA}.enabled",),
)
SHARE_TYPE = SHARED_VOLUMES.text(
    "manila_csi_share_type",
    "the name of a Manila share type, without { and }",
    regex=TEXT,
    help="Share type of the StorageClass csi-manila. It is required with "
    "manila_csi_enabled.",
    becomes=(f"{_PARAMETERS}.type",),
)
PROTOCOL = SHARED_VOLUMES.choice(
    "manila_csi_protocol",
    (_NFS, _CEPHFS),
    _NFS,
    ignore_case=True,
    help="Protocol of the shares of that share type.",
    becomes=(
        f"{_MANILA}.defaultStorageClass.provisioner",
        "addons.csi.cephfs.enabled",
        "addons.custom",
    ),
)
SHARE_NETWORK = SHARED_VOLUMES.text(
    "manila_csi_share_network_id",
    "the UUID of a Manila share network",
    regex=_UUID,
    help="Share network of the shares. Set it only for share types with "
    "driver_handles_share_servers.",
    becomes=(f"{_PARAMETERS}.shareNetworkID",),
)


def _check_manila(cluster: cluster_spec.Cluster) -> None:
    settings = cluster.labels
    if settings[MANILA]:
        _check_class(settings)
    topic.check_dependents(
        settings, (SHARE_TYPE, PROTOCOL, SHARE_NETWORK), MANILA
    )


def _check_class(settings: labels.Values) -> None:
    if not settings[SHARE_TYPE]:
        # Manila has no default type that a class could leave out.
        raise settings.refused(MANILA, f"it together with {SHARE_TYPE.name}")
    if settings[SHARE_NETWORK] and settings[PROTOCOL].lower() == _CEPHFS:
        # Manila's CephFS driver handles no share servers, so it refuses one.
        raise settings.refused(
            SHARE_NETWORK, f"it with {PROTOCOL.name}={_NFS} only"
        )


def _mounter(site: cluster_spec.Site) -> paths.Values:
    """Return the release of the NFS driver, from the operator's repository.

    The driver redirects the chart's own addons elsewhere; the NFS driver is
    not one of them.
    """
    chart = dict(NFS_MOUNTER["chart"])
    if site.addon_repository:
        chart["repo"] = site.addon_repository
    return {"kind": "HelmRelease", "spec": {**NFS_MOUNTER, "chart": chart}}


def _manila_leaves(cluster: cluster_spec.Cluster) -> topic.Leaves:
    settings = cluster.labels
    if not settings[MANILA]:
        return {}
    protocol = settings[PROTOCOL].lower()
    provisioner, cephfs, custom = PROTOCOL.becomes
    return {
        provisioner: f"{protocol}.manila.csi.openstack.org",
        **topic.changed(settings, MANILA, SHARE_TYPE, SHARE_NETWORK),
        **(
            {f"{custom}.csi-driver-nfs": _mounter(cluster.site)}
            if protocol == _NFS
            else {cephfs: True}
        ),
    }


SHARED_VOLUMES.leaves = _manila_leaves
SHARED_VOLUMES.check = _check_manila
