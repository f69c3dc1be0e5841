# SPDX-License-Identifier: Apache-2.0

"""Samples of rows and of objects, and their text."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import fixtures
from oslotest import base

from magnum_capi_helm import metrics
from magnum_capi_helm.cli import metrics_sources
from magnum_capi_helm.database import inventory
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import location
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.fakes import plane
from magnum_capi_helm.tests.unit.lifecycle import base as flows
from magnum_capi_helm.tests.unit.metrics import promtool

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
    *(
        inventory.Row(
            name=name,
            uuid=uuid,
            project="p2",
            status="CREATE_IN_PROGRESS",
            version="",
            scope=NEW,
            fingerprint="",
            changed=changed,
        )
        for name, uuid, changed in (
            ("new", "u-3", 2000.0),
            ("newer", "u-4", 2100.0),
        )
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


def text(
    rows: tuple[inventory.Row, ...],
    planes: tuple[inventory.ManagementCluster, ...],
    *objects: metrics_sources.Sample,
) -> str:
    lines = inventory.compare(rows, planes, "magnum")
    samples = metrics_sources.samples_of(rows, lines, planes)
    return metrics.text(metrics_sources.Samples([*samples, *objects]))


class TextTest(base.BaseTestCase):
    maxDiff = None

    def test_prometheus_understands_the_text_of_every_metric(self) -> None:
        whole = text(ROWS, PLANES, *OBJECTS)
        lines = whole.splitlines(keepends=True)
        helpless = [each for each in lines if not each.startswith("# HELP")]
        self.assertEqual(TEXT, "".join(helpless))
        found = promtool.parsed(whole)
        self.assertEqual([each.name for each in metrics.OF_CLOUD], list(found))
        self.assertEqual(
            "", promtool.run(self, "check", "metrics", text=whole)
        )

    def test_an_empty_cloud_has_zeros(self) -> None:
        found = promtool.parsed(
            text((), (inventory.ManagementCluster("", "i"),))
        )
        self.assertEqual(
            ["magnum_capi_helm_orphans{'management_cluster': ''} 0.0"],
            found["magnum_capi_helm_orphans"],
        )
        self.assertEqual(9, len(found["magnum_capi_helm_clusters"]))
        self.assertNotIn("magnum_capi_helm_cluster_info", found)

    def test_a_cluster_on_two_of_them_is_one_and_drifts(self) -> None:
        planes = (
            inventory.ManagementCluster("a", "i-a", {SHOP: DEPLOYED}),
            inventory.ManagementCluster("b", "i-b", {SHOP: DEPLOYED}),
        )
        rows = ROWS[:1]
        found = promtool.parsed(text(rows, planes))
        self.assertEqual(
            [
                "magnum_capi_helm_cluster_state"
                "{'state': 'drift', 'uuid': 'u-1'} 1.0",
                "magnum_capi_helm_cluster_state"
                "{'state': 'ok', 'uuid': 'u-1'} 1.0",
            ],
            found["magnum_capi_helm_cluster_state"],
        )
        (info,) = found["magnum_capi_helm_cluster_info"]
        self.assertIn("'management_cluster': 'a'", info)
        # The objects of the copy are not those of the cluster.
        lines = inventory.compare(rows, planes, "magnum")
        self.assertEqual(
            [{SHOP: "u-1"}, {}],
            [metrics_sources.uuids_on(each, rows, lines) for each in planes],
        )

    def test_states_are_words(self) -> None:
        for fields, state in (
            ({"releases": {SHOP: DEPLOYED}}, "ok"),
            ({"releases": {SHOP: inventory.ReleaseObjects()}}, "drift"),
            ({}, "absent"),
            ({"error": "no"}, "unreachable"),
        ):
            where = inventory.ManagementCluster("a", "i-a", **fields)
            found = promtool.parsed(text(ROWS[:1], (where,)))
            self.assertEqual(
                [
                    "magnum_capi_helm_cluster_state"
                    f"{{'state': '{state}', 'uuid': 'u-1'}} 1.0"
                ],
                found["magnum_capi_helm_cluster_state"],
            )

    def test_a_refusing_management_cluster_is_up_without_orphans(self) -> None:
        refused = inventory.ManagementCluster("a", "i-a", error="forbidden")
        found = promtool.parsed(text((), (refused,)))
        self.assertEqual(
            [
                "magnum_capi_helm_management_cluster_up"
                "{'management_cluster': 'a'} 1.0"
            ],
            found["magnum_capi_helm_management_cluster_up"],
        )
        self.assertNotIn("magnum_capi_helm_orphans", found)


class ObjectsTest(base.BaseTestCase):
    """The objects of a cluster, and of a release without one."""

    def setUp(self) -> None:
        super().setUp()
        flows.configure(self)
        self.plane = plane.Plane(self.useFixture(fixtures.TempDir()).path)
        for namespace in (SHOP[0], LOST[0], "east-p1"):
            self.plane.server.create(
                kinds.NAMESPACE, {"metadata": {"name": namespace}}
            )

    def create(
        self,
        kind: kinds.Kind,
        name: str,
        scope: inventory.Scope,
        label: str,
        **content: Any,
    ) -> None:
        labels = {label: scope[1], view.CONTROL_PLANE_LABEL: ""}
        metadata = {"namespace": scope[0], "name": name, "labels": labels}
        self.plane.server.create(kind, {"metadata": metadata, **content})

    def samples(
        self, read: Callable[..., Iterable[metrics_sources.Sample]]
    ) -> list[metrics_sources.Sample]:
        """Return the samples, where Magnum has the first cluster alone."""
        return list(read(self.plane.runtime(), {SHOP: "u-1"}))

    def test_addons_are_counted_by_phase(self) -> None:
        label = view.CHART_CLUSTER_LABEL
        for kind, name, scope, content in (
            (kinds.HELM_RELEASE, "cni", SHOP, {"phase": "Deployed"}),
            (kinds.HELM_RELEASE, "csi", SHOP, {"phase": "Failed"}),
            (kinds.MANIFESTS, "config", SHOP, {"phase": "Deployed"}),
            # The addon provider has not begun it.
            (kinds.MANIFESTS, "new", SHOP, {}),
            (kinds.HELM_RELEASE, "cni", LOST, {"phase": "Failed"}),
        ):
            self.create(kind, name, scope, label, status=content)
        self.assertEqual(
            [
                (metrics.ADDONS, 2.0, ("u-1", "Deployed")),
                (metrics.ADDONS, 1.0, ("u-1", "Failed")),
                (metrics.ADDONS, 1.0, ("u-1", "Unknown")),
            ],
            self.samples(metrics_sources.addons),
        )

    def test_the_first_machine_whose_certificates_end_counts(self) -> None:
        label = view.CLUSTER_NAME_LABEL
        for name, scope, content in (
            ("m0", SHOP, {"certificatesExpiryDate": "1970-01-01T02:00:00Z"}),
            ("m1", SHOP, {"certificatesExpiryDate": "1970-01-01T01:00:00Z"}),
            # Cluster API does not report it yet.
            ("m2", SHOP, {}),
            ("m3", LOST, {"certificatesExpiryDate": "1970-01-01T00:01:00Z"}),
        ):
            self.create(kinds.MACHINE, name, scope, label, status=content)
        self.assertEqual(
            [(metrics.CERTIFICATE, 3600.0, ("u-1", "control-plane"))],
            self.samples(metrics_sources.machines),
        )

    def test_held_leases_have_samples_even_of_orphans(self) -> None:
        label = location.CLUSTER_UUID
        for name, scope, content in (
            (
                SHOP[1],
                SHOP,
                {
                    "holderIdentity": "c1/7/aa",
                    "renewTime": "1970-01-01T00:01:00.123456Z",
                },
            ),
            ("never-renewed", LOST, {"holderIdentity": "c1/7/aa"}),
            (
                "free",
                SHOP,
                {"holderIdentity": "", "renewTime": "1970-01-01T00:01:00Z"},
            ),
            ("new", SHOP, {}),
            ("of-another-cloud", ("east-p1", ""), {"holderIdentity": "x"}),
        ):
            self.create(kinds.LEASE, name, scope, label, spec=content)
        self.assertEqual(
            [
                (metrics.LEASE, 60.0, ("", *SHOP, "u-1")),
                (metrics.LEASE, 0.0, ("", LOST[0], "never-renewed", "")),
            ],
            self.samples(metrics_sources.leases),
        )
