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


class PlanTest(base.BaseTestCase):
    def test_each_kind_stays_moves_or_is_lost(self) -> None:
        moves = {CLUSTER: "v1beta2", OLD: "v1beta1"}
        without = {key: SERVED[key] for key in SERVED if key[0] != ADDONS}
        # OpenStackServer is v1alpha1 in the group of OpenStackCluster.
        other = {(CAPO, "OpenStackServer"): {"v1alpha7"}, **SERVED}
        for named, served, plan in (
            ({CLUSTER, ADDON, SECRET}, SERVED, converting.Plan({})),
            (NAMED, LATER, converting.Plan(moves)),
            (NAMED, without, converting.Plan({OLD: "v1beta1"}, (ADDON,))),
            ({OLD}, other, converting.Plan({OLD: "v1beta1"})),
        ):
            found = converting.plan_repair(named, served)
            self.assertEqual(plan, found, str(plan))
        self.assertEqual(
            f"{CAPI}/v1beta1 to v1beta2, {CAPO}/v1alpha7 to v1beta1",
            str(converting.Plan(moves)),
        )

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
