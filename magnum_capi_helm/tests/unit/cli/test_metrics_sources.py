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
from magnum_capi_helm.tests.unit.cli import four_clusters
from magnum_capi_helm.tests.unit.lifecycle import base as flows
from magnum_capi_helm.tests.unit.metrics import promtool

SHOP = four_clusters.SHOP
LOST = four_clusters.LOST
DEPLOYED = four_clusters.DEPLOYED


def text(
    rows: tuple[inventory.Row, ...],
    planes: tuple[inventory.ManagementCluster, ...],
    *objects: metrics_sources.Sample,
) -> str:
    """The text for rows and planes, compared as the command does."""
    lines = inventory.compare(rows, planes, "magnum")
    samples = metrics_sources.samples_of(rows, lines, planes)
    return metrics.text(metrics_sources.Samples([*samples, *objects]))


class TextTest(base.BaseTestCase):
    """Four clusters, one management cluster that answers, one that is not."""

    maxDiff = None

    def test_prometheus_understands_the_text_of_every_metric(self) -> None:
        whole = text(
            four_clusters.ROWS, four_clusters.PLANES, *four_clusters.OBJECTS
        )
        lines = whole.splitlines(keepends=True)
        helpless = [each for each in lines if not each.startswith("# HELP")]
        self.assertEqual(four_clusters.TEXT, "".join(helpless))
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
        rows = four_clusters.ROWS[:1]
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
            [metrics_sources.uuids_on(each, rows, lines) for each in "ab"],
        )

    def test_states_are_words(self) -> None:
        for fields, state in (
            ({"releases": {SHOP: DEPLOYED}}, "ok"),
            ({"releases": {SHOP: inventory.ReleaseObjects()}}, "drift"),
            ({}, "absent"),
            ({"error": "no"}, "unreachable"),
        ):
            where = inventory.ManagementCluster("a", "i-a", **fields)  # type: ignore[arg-type]
            found = promtool.parsed(text(four_clusters.ROWS[:1], (where,)))
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
        """Create an object whose label has the release of a scope."""
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
