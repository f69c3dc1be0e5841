# SPDX-License-Identifier: Apache-2.0

"""Manila shares as persistent volumes that many pods write to.

Manila's CSI driver makes shares; another one, for the protocol of the share
type, mounts them. The chart has that of CephFS. That of NFS is added here.
"""

from __future__ import annotations

from oslo_config import types

from magnum_capi_helm.features import needs
from magnum_capi_helm.features import storage
from magnum_capi_helm.features import topic
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import labels

_NODE = "addons.openstack.csiManila"
_PARAMETERS = f"{_NODE}.defaultStorageClass.parameters"

_UUID = r"\A([0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})?\Z"

_NFS = "nfs"
_CEPHFS = "cephfs"

#: Mounts NFS shares for Manila's driver, at the socket where that one looks
#: by default (``/var/lib/kubelet/plugins/csi-nfsplugin``), in its namespace.
NFS_MOUNTER: topic.Values = {
    "namespace": "openstack-system",
    "chart": {
        "repo": "https://raw.githubusercontent.com/kubernetes-csi/"
        "csi-driver-nfs/master/charts",
        "name": "csi-driver-nfs",
        "version": "4.13.1",
    },
    "values": {},
}

ENABLED = labels.Switch(
    name="manila_csi_enabled",
    default=False,
    help="Install the Manila CSI driver and the StorageClass csi-manila, for "
    "volumes that many pods write to.",
    becomes=(f"{_NODE}.enabled",),
)
SHARE_TYPE = labels.Label(
    name="manila_csi_share_type",
    type=types.String(regex=storage.TEXT),
    default="",
    allowed="the name of a Manila share type, without { and }",
    help="Share type of the StorageClass csi-manila; needed with "
    "manila_csi_enabled.",
    becomes=(f"{_PARAMETERS}.type",),
)
PROTOCOL = labels.Label(
    name="manila_csi_protocol",
    type=types.String(choices=[_NFS, _CEPHFS], ignore_case=True),
    default=_NFS,
    allowed="nfs or cephfs",
    help="Protocol of the shares of that type.",
    becomes=(
        f"{_NODE}.defaultStorageClass.provisioner",
        "addons.csi.cephfs.enabled",
        "addons.custom",
    ),
)
SHARE_NETWORK = labels.Label(
    name="manila_csi_share_network_id",
    type=types.String(regex=_UUID),
    default="",
    allowed="the UUID of a Manila share network",
    help="Share network of the shares; only for share types with "
    "driver_handles_share_servers.",
    becomes=(f"{_PARAMETERS}.shareNetworkID",),
)


def _check(cluster: cluster_spec.Cluster) -> None:
    found = cluster.labels
    if found[ENABLED]:
        _check_class(found)
    needs.check(
        found,
        (ENABLED,),
        (SHARE_TYPE, PROTOCOL, SHARE_NETWORK),
        f"{ENABLED.name}=true",
    )


def _check_class(found: labels.Values) -> None:
    if not found[SHARE_TYPE]:
        # Manila has no default type that a class could leave out.
        raise found.refused(ENABLED, f"it together with {SHARE_TYPE.name}")
    if found[SHARE_NETWORK] and found[PROTOCOL].lower() == _CEPHFS:
        # Manila's CephFS driver handles no share servers, so it refuses one.
        raise found.refused(
            SHARE_NETWORK, f"it with {PROTOCOL.name}={_NFS} only"
        )


def _mounter(site: cluster_spec.Site) -> topic.Values:
    """The release of the NFS driver, from the operator's repository if any.

    The chart's own addons are redirected elsewhere; it knows nothing of this.
    """
    chart = dict(NFS_MOUNTER["chart"])
    if site.addon_repository:
        chart["repo"] = site.addon_repository
    return {"kind": "HelmRelease", "spec": {**NFS_MOUNTER, "chart": chart}}


def _values(cluster: cluster_spec.Cluster) -> topic.Values:
    found = cluster.labels
    if not found[ENABLED]:
        return {}
    protocol = found[PROTOCOL].lower()
    parameters = {"type": found[SHARE_TYPE]}
    if found[SHARE_NETWORK]:
        parameters["shareNetworkID"] = found[SHARE_NETWORK]
    manila = {
        "enabled": True,
        "defaultStorageClass": {
            "provisioner": f"{protocol}.manila.csi.openstack.org",
            "parameters": parameters,
        },
    }
    mounter: topic.Values = (
        {"custom": {"csi-driver-nfs": _mounter(cluster.site)}}
        if protocol == _NFS
        else {"csi": {"cephfs": {"enabled": True}}}
    )
    return {"addons": {"openstack": {"csiManila": manila}, **mounter}}


TOPIC = topic.Topic(
    name="Shared volumes",
    labels=(ENABLED, SHARE_TYPE, PROTOCOL, SHARE_NETWORK),
    cluster=_values,
    check=_check,
)
