# SPDX-License-Identifier: Apache-2.0

"""API versions that manifests name, and that are served."""

from __future__ import annotations

from oslotest import base

from magnum_capi_helm.chart import conversion
from magnum_capi_helm.helm import converting

CAPI = "cluster.x-k8s.io"
CAPO = "infrastructure.cluster.x-k8s.io"
ADDONS = "addons.stackhpc.com"

CLUSTER = conversion.Api(CAPI, "v1beta1", "Cluster")
OLD = conversion.Api(CAPO, "v1alpha7", "OpenStackCluster")
ADDON = conversion.Api(ADDONS, "v1alpha1", "HelmRelease")
SECRET = conversion.Api("", "v1", "Secret")
NAMED = frozenset({CLUSTER, OLD, ADDON, SECRET})

#: CAPO 0.14 beside Cluster API 1.14.
SERVED = {
    (CAPI, "Cluster"): {"v1beta1", "v1beta2"},
    (CAPO, "OpenStackCluster"): {"v1beta1"},
    (ADDONS, "HelmRelease"): {"v1alpha1"},
    ("", "Secret"): {"v1"},
}
#: Cluster API 1.16.
LATER = {**SERVED, (CAPI, "Cluster"): {"v1beta2"}}


class ApiTest(base.BaseTestCase):
    def test_an_api_version_has_a_group_or_none(self) -> None:
        self.assertEqual(
            CLUSTER,
            conversion.api_of(
                {"apiVersion": f"{CAPI}/v1beta1", "kind": "Cluster"}
            ),
        )
        self.assertEqual(
            SECRET, conversion.api_of({"apiVersion": "v1", "kind": "Secret"})
        )
        self.assertEqual(f"Cluster {CAPI}/v1beta1", str(CLUSTER))
        self.assertEqual("Secret v1", str(SECRET))


class PlanTest(base.BaseTestCase):
    def test_a_served_version_stays(self) -> None:
        found = converting.plan_repair({CLUSTER, ADDON, SECRET}, SERVED)
        self.assertEqual(converting.Plan({}), found)

    def test_a_kind_moves_to_its_served_version(self) -> None:
        found = converting.plan_repair(NAMED, LATER)
        self.assertEqual(
            converting.Plan({CLUSTER: "v1beta2", OLD: "v1beta1"}), found
        )
        self.assertEqual(
            f"{CAPI}/v1beta1 to v1beta2, {CAPO}/v1alpha7 to v1beta1",
            str(found),
        )

    def test_an_unserved_kind_is_lost(self) -> None:
        served = {key: SERVED[key] for key in SERVED if key[0] != ADDONS}
        found = converting.plan_repair(NAMED, served)
        self.assertEqual(converting.Plan({OLD: "v1beta1"}, (ADDON,)), found)

    def test_a_version_that_another_kind_of_the_group_has_is_not_served(
        self,
    ) -> None:
        # OpenStackServer is v1alpha1 in the group of OpenStackCluster.
        served = {(CAPO, "OpenStackServer"): {"v1alpha7"}, **SERVED}
        found = converting.plan_repair({OLD}, served)
        self.assertEqual({OLD: "v1beta1"}, found.moves)

    def test_the_nearest_version_is_the_next_newer_one(self) -> None:
        rows: list[tuple[str, set[str], str]] = [
            ("v1alpha7", {"v1beta2", "v1beta1"}, "v1beta1"),
            ("v1alpha7", {"v1alpha10", "v1"}, "v1alpha10"),
            ("v1beta1", {"v1beta2"}, "v1beta2"),
            ("v1beta2", {"v2alpha1", "v1"}, "v1"),
            # A provider that was rolled back.
            ("v1beta2", {"v1alpha7", "v1beta1"}, "v1beta1"),
            ("v1", {"v1beta1"}, "v1beta1"),
            ("odd", {"v1", "v1beta1"}, "v1beta1"),
        ]
        for version, served, expected in rows:
            self.assertEqual(
                expected, converting.nearest(version, served), version
            )

    def test_a_refusal_says_what_to_do(self) -> None:
        refusal = converting.refusal([ADDON])
        for phrase in (
            "serves no version of HelmRelease addons.stackhpc.com/v1alpha1",
            "install the provider",
            "kubectl api-resources --api-group=addons.stackhpc.com",
        ):
            self.assertIn(phrase, refusal)
