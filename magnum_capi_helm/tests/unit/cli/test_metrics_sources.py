# SPDX-License-Identifier: Apache-2.0

"""What rows and lists come to, as whole texts."""

from __future__ import annotations

from oslotest import base

from magnum_capi_helm import metrics
from magnum_capi_helm.cli import metrics_sources
from magnum_capi_helm.database import inventory
from magnum_capi_helm.tests.unit.cli import four_clusters
from magnum_capi_helm.tests.unit.metrics import promtool

SHOP = four_clusters.SHOP
DEPLOYED = four_clusters.DEPLOYED


def text(
    rows: tuple[inventory.Row, ...],
    planes: tuple[inventory.ManagementCluster, ...],
    *details: metrics_sources.Details,
) -> str:
    """The text for rows and planes, compared as the command does."""
    lines = inventory.compare(rows, planes, "magnum")
    return metrics.text(metrics_sources.Samples(rows, planes, lines, details))


class TextTest(base.BaseTestCase):
    """Four clusters, one management cluster that answers, one that is not."""

    maxDiff = None

    def all_metrics(self) -> str:
        """Return the text of all four clusters."""
        return text(
            four_clusters.ROWS, four_clusters.PLANES, four_clusters.DETAILS
        )

    def test_everything_at_once(self) -> None:
        lines = self.all_metrics().splitlines(keepends=True)
        helpless = [each for each in lines if not each.startswith("# HELP")]
        self.assertEqual(four_clusters.TEXT, "".join(helpless))

    def test_prometheus_parser_understands_it(self) -> None:
        found = promtool.parsed(self.all_metrics())
        self.assertEqual([each.name for each in metrics.OF_CLOUD], list(found))

    def test_promtool_has_nothing_to_say(self) -> None:
        self.assertEqual(
            "",
            promtool.run(self, "check", "metrics", text=self.all_metrics()),
        )

    def test_of_an_empty_cloud_the_numbers_are_zero(self) -> None:
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
        copy = metrics_sources.Details(
            name="b",
            addons=[(SHOP, "Failed")],
            certificates=[(SHOP, "ca", 1.0)],
        )
        found = promtool.parsed(text(four_clusters.ROWS[:1], planes, copy))
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
        # What the copy has says nothing of the cluster.
        self.assertNotIn("magnum_capi_helm_cluster_addons", found)

    def test_states_are_words(self) -> None:
        for plane, state in (
            (inventory.ManagementCluster("a", "i-a", {SHOP: DEPLOYED}), "ok"),
            (
                inventory.ManagementCluster(
                    "a", "i-a", {SHOP: inventory.Release()}
                ),
                "drift",
            ),
            (inventory.ManagementCluster("a", "i-a"), "absent"),
            (
                inventory.ManagementCluster("a", "i-a", error="no"),
                "unreachable",
            ),
        ):
            found = promtool.parsed(text(four_clusters.ROWS[:1], (plane,)))
            self.assertEqual(
                [
                    "magnum_capi_helm_cluster_state"
                    f"{{'state': '{state}', 'uuid': 'u-1'}} 1.0"
                ],
                found["magnum_capi_helm_cluster_state"],
            )

    def test_one_that_answers_and_refuses_is_up_and_its_orphans_unknown(
        self,
    ) -> None:
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
    """What is measured of an object."""

    def test_an_addon_whose_provider_has_not_seen_it_is_unknown(self) -> None:
        meta = {
            "namespace": SHOP[0],
            "labels": {"capi.stackhpc.com/cluster": SHOP[1]},
        }
        failed = {"metadata": meta, "status": {"phase": "Failed"}}
        self.assertEqual((SHOP, "Failed"), metrics_sources.addon(failed))
        self.assertEqual(
            (SHOP, "Unknown"), metrics_sources.addon({"metadata": meta})
        )

    def test_a_machine_says_when_its_certificates_end_or_does_not_yet(
        self,
    ) -> None:
        meta = {
            "namespace": SHOP[0],
            "labels": {"cluster.x-k8s.io/cluster-name": SHOP[1]},
        }
        status = {"certificatesExpiryDate": "1970-01-01T01:00:00Z"}
        self.assertEqual(
            (SHOP, "control-plane", 3600.0),
            metrics_sources.machine({"metadata": meta, "status": status}),
        )
        self.assertIsNone(metrics_sources.machine({"metadata": meta}))

    def test_a_lease_that_nobody_holds_is_none(self) -> None:
        lease = {
            "metadata": {"namespace": SHOP[0], "name": SHOP[1]},
            "spec": {
                "holderIdentity": "c1/7/aa",
                "renewTime": "1970-01-01T00:01:00.123456Z",
            },
        }
        self.assertEqual((SHOP, 60.0), metrics_sources.lease(lease))
        free = {"holderIdentity": "", "renewTime": "1970-01-01T00:01:00Z"}
        self.assertIsNone(metrics_sources.lease({**lease, "spec": free}))
        self.assertIsNone(
            metrics_sources.lease({"metadata": lease["metadata"]})
        )
