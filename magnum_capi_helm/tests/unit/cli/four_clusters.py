# SPDX-License-Identifier: Apache-2.0

"""Four clusters, one management cluster that answers, one that does not."""

from __future__ import annotations

from magnum_capi_helm import metrics
from magnum_capi_helm.cli import metrics_sources
from magnum_capi_helm.database import inventory
from magnum_capi_helm.status import view

SHOP = ("magnum-p1", "shop-111111111111")
DB = ("magnum-p1", "db-222222222222")
NEW = ("magnum-p2", "")
LOST = ("magnum-p2", "old-333333333333")

ROWS = (
    inventory.Row(
        name="shop",
        uuid="u-1",
        project="p1",
        status="CREATE_COMPLETE",
        version="v1.34.2",
        scope=SHOP,
        fingerprint="f",
        identity="i-a",
        changed=1000.0,
        refused=False,
    ),
    inventory.Row(
        name='d"b',
        uuid="u-2",
        project="p1",
        status="UPDATE_FAILED",
        version="",
        scope=DB,
        fingerprint="f",
        identity="i-b",
        changed=900.5,
        refused=True,
    ),
    inventory.Row(
        name="new",
        uuid="u-3",
        project="p2",
        status="CREATE_IN_PROGRESS",
        version="",
        scope=NEW,
        fingerprint="",
        changed=2000.0,
    ),
    inventory.Row(
        name="newer",
        uuid="u-4",
        project="p2",
        status="CREATE_IN_PROGRESS",
        version="",
        scope=NEW,
        fingerprint="",
        changed=2100.0,
    ),
)
DEPLOYED = inventory.ReleaseObjects(
    cluster={
        "metadata": {"labels": {"helm.sh/chart": "openstack-cluster-0.27.0"}}
    },
    newest=view.Revision(1, "deployed"),
)
PLANES = (
    inventory.ManagementCluster("a", "i-a", {SHOP: DEPLOYED, LOST: DEPLOYED}),
    inventory.ManagementCluster("b", "", error="no answer"),
)
#: Samples of the objects on the first management cluster.
OBJECTS: tuple[metrics_sources.Sample, ...] = (
    (metrics.READ, 0.0, ("a", "addons")),
    (metrics.READ, 1.0, ("a", "leases")),
    (metrics.ADDONS, 2.0, ("u-1", "Deployed")),
    (metrics.ADDONS, 1.0, ("u-1", "Failed")),
    (metrics.CERTIFICATE, 9000.0, ("u-1", "ca")),
    (metrics.CERTIFICATE, 4000.0, ("u-1", "control-plane")),
    (metrics.LEASE, 2990.0, ("a", *SHOP, "u-1")),
    (metrics.LEASE, 0.0, ("a", *LOST, "")),
)

#: Without the lines of help.
TEXT = """\
# TYPE magnum_capi_helm_management_cluster_up gauge
magnum_capi_helm_management_cluster_up{management_cluster="a"} 1.0
magnum_capi_helm_management_cluster_up{management_cluster="b"} 0.0
# TYPE magnum_capi_helm_read_success gauge
magnum_capi_helm_read_success{management_cluster="a",part="releases"} 1.0
magnum_capi_helm_read_success{management_cluster="b",part="releases"} 0.0
magnum_capi_helm_read_success{management_cluster="a",part="addons"} 0.0
magnum_capi_helm_read_success{management_cluster="a",part="leases"} 1.0
# TYPE magnum_capi_helm_clusters gauge
magnum_capi_helm_clusters{status="CREATE_IN_PROGRESS"} 2.0
magnum_capi_helm_clusters{status="CREATE_COMPLETE"} 1.0
magnum_capi_helm_clusters{status="CREATE_FAILED"} 0.0
magnum_capi_helm_clusters{status="UPDATE_IN_PROGRESS"} 0.0
magnum_capi_helm_clusters{status="UPDATE_COMPLETE"} 0.0
magnum_capi_helm_clusters{status="UPDATE_FAILED"} 1.0
magnum_capi_helm_clusters{status="DELETE_IN_PROGRESS"} 0.0
magnum_capi_helm_clusters{status="DELETE_COMPLETE"} 0.0
magnum_capi_helm_clusters{status="DELETE_FAILED"} 0.0
# TYPE magnum_capi_helm_clusters_oldest_timestamp_seconds gauge
magnum_capi_helm_clusters_oldest_timestamp_seconds\
{status="CREATE_IN_PROGRESS"} 2000.0
magnum_capi_helm_clusters_oldest_timestamp_seconds\
{status="CREATE_COMPLETE"} 1000.0
magnum_capi_helm_clusters_oldest_timestamp_seconds\
{status="UPDATE_FAILED"} 900.5
# TYPE magnum_capi_helm_cluster_info gauge
magnum_capi_helm_cluster_info{chart="0.27.0",management_cluster="a",\
name="shop",project_id="p1",release="shop-111111111111",uuid="u-1",\
version="v1.34.2"} 1.0
magnum_capi_helm_cluster_info{chart="",management_cluster="b",\
name="d\\"b",project_id="p1",release="db-222222222222",uuid="u-2",\
version=""} 1.0
magnum_capi_helm_cluster_info{chart="",management_cluster="",\
name="new",project_id="p2",release="",uuid="u-3",version=""} 1.0
magnum_capi_helm_cluster_info{chart="",management_cluster="",\
name="newer",project_id="p2",release="",uuid="u-4",version=""} 1.0
# TYPE magnum_capi_helm_cluster_status_timestamp_seconds gauge
magnum_capi_helm_cluster_status_timestamp_seconds\
{status="CREATE_COMPLETE",uuid="u-1"} 1000.0
magnum_capi_helm_cluster_status_timestamp_seconds\
{status="UPDATE_FAILED",uuid="u-2"} 900.5
magnum_capi_helm_cluster_status_timestamp_seconds\
{status="CREATE_IN_PROGRESS",uuid="u-3"} 2000.0
magnum_capi_helm_cluster_status_timestamp_seconds\
{status="CREATE_IN_PROGRESS",uuid="u-4"} 2100.0
# TYPE magnum_capi_helm_cluster_state gauge
magnum_capi_helm_cluster_state{state="ok",uuid="u-1"} 1.0
magnum_capi_helm_cluster_state{state="unreachable",uuid="u-2"} 1.0
magnum_capi_helm_cluster_state{state="ok",uuid="u-3"} 1.0
magnum_capi_helm_cluster_state{state="ok",uuid="u-4"} 1.0
# TYPE magnum_capi_helm_orphans gauge
magnum_capi_helm_orphans{management_cluster="a"} 1.0
# TYPE magnum_capi_helm_cluster_addons gauge
magnum_capi_helm_cluster_addons{phase="Deployed",uuid="u-1"} 2.0
magnum_capi_helm_cluster_addons{phase="Failed",uuid="u-1"} 1.0
# TYPE magnum_capi_helm_cluster_certificate_expiry_timestamp_seconds gauge
magnum_capi_helm_cluster_certificate_expiry_timestamp_seconds\
{certificate="ca",uuid="u-1"} 9000.0
magnum_capi_helm_cluster_certificate_expiry_timestamp_seconds\
{certificate="control-plane",uuid="u-1"} 4000.0
# TYPE magnum_capi_helm_cluster_credential_refused gauge
magnum_capi_helm_cluster_credential_refused{uuid="u-1"} 0.0
magnum_capi_helm_cluster_credential_refused{uuid="u-2"} 1.0
# TYPE magnum_capi_helm_lease_renewed_timestamp_seconds gauge
magnum_capi_helm_lease_renewed_timestamp_seconds{management_cluster="a",\
namespace="magnum-p1",release="shop-111111111111",uuid="u-1"} 2990.0
magnum_capi_helm_lease_renewed_timestamp_seconds{management_cluster="a",\
namespace="magnum-p2",release="old-333333333333",uuid=""} 0.0
"""
