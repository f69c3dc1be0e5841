# SPDX-License-Identifier: Apache-2.0

"""API versions that releases serve, charts make, and manifests name."""

from __future__ import annotations

from oslotest import base

from magnum_capi_helm.model import api_versions
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import versions

CAPI = "cluster.x-k8s.io"
CAPI_GROUPS = (
    CAPI,
    "controlplane.cluster.x-k8s.io",
    "bootstrap.cluster.x-k8s.io",
)
CAPO = "infrastructure.cluster.x-k8s.io"
_HOW = (
    "give capi=RELEASE, capo=RELEASE or GROUP/VERSION, with commas between "
    "them, such as capi=1.14,capo=0.14"
)


class TargetTest(base.BaseTestCase):
    def test_releases_serve_versions(self) -> None:
        one, two = frozenset({"v1beta1"}), frozenset({"v1beta2"})
        alpha = frozenset({"v1alpha7"})
        rows = {
            "capi=1.8": dict.fromkeys(CAPI_GROUPS, one),
            "capi=1.10.4": dict.fromkeys(CAPI_GROUPS, one),
            "capi=1.11": dict.fromkeys(CAPI_GROUPS, one | two),
            "capi=v1.15.2": dict.fromkeys(CAPI_GROUPS, one | two),
            "capi=1.16.0-rc.0": dict.fromkeys(CAPI_GROUPS, two),
            "capi=2.0": dict.fromkeys(CAPI_GROUPS, two),
            "capo=0.11.3": {CAPO: alpha | one},
            "capo=0.12.0": {CAPO: one},
            "capo=0.14.6": {CAPO: one},
            "capo=0.15.0": {CAPO: one | two},
            "capi=1.16, capo=0.14": {
                **dict.fromkeys(CAPI_GROUPS, two),
                CAPO: one,
            },
            "cluster.x-k8s.io/v1beta2": {CAPI: two},
            f"{CAPO}/v1beta1,{CAPO}/v1beta2": {CAPO: one | two},
        }
        found = {text: api_versions.target(text) for text in rows}
        self.assertEqual(rows, found)

    def test_what_is_no_version_is_refused_and_said_how_it_is_given(
        self,
    ) -> None:
        rows = {
            "": f"--target is empty: {_HOW}",
            ",": f"--target is empty: {_HOW}",
            "capi": f"--target capi='' is no release: {_HOW}",
            "capi=new": f"--target capi='new' is no release: {_HOW}",
            "capa=1.2": f"--target 'capa=1.2' is no version: {_HOW}",
            "v1beta2": f"--target 'v1beta2' is no version: {_HOW}",
            "cluster.x-k8s.io": (
                f"--target 'cluster.x-k8s.io' is no version: {_HOW}"
            ),
            "capo=0.9": (
                "--target capo=0.9 is too old to be known: give 0.10 or "
                "later, or GROUP/VERSION"
            ),
        }
        for text, expected in rows.items():
            error = self.assertRaises(
                errors.InvalidInput, api_versions.target, text
            )
            self.assertEqual(expected, str(error))


class ChartsTest(base.BaseTestCase):
    def test_0_10_1_alone_makes_objects_of_v1alpha7(self) -> None:
        charts = versions.known_charts()
        made = {each: api_versions.made_by(each) for each in charts}
        capi = dict.fromkeys(CAPI_GROUPS, "v1beta1")
        self.assertEqual({**capi, CAPO: "v1alpha7"}, made.pop("0.10.1"))
        for version, found in made.items():
            self.assertEqual({**capi, CAPO: "v1beta1"}, found, version)


ADDONS = "addons.stackhpc.com"

CLUSTER = api_versions.Api(CAPI, "v1beta1", "Cluster")
OLD = api_versions.Api(CAPO, "v1alpha7", "OpenStackCluster")
ADDON = api_versions.Api(ADDONS, "v1alpha1", "HelmRelease")
SECRET = api_versions.Api("", "v1", "Secret")
NAMED = frozenset({CLUSTER, OLD, ADDON, SECRET})

#: CAPO 0.14 beside Cluster API 1.14.
SERVED = {
    (CAPI, "Cluster"): {"v1beta1", "v1beta2"},
    (CAPO, "OpenStackCluster"): {"v1beta1"},
    (ADDONS, "HelmRelease"): {"v1alpha1"},
    ("", "Secret"): {"v1"},
}
#: What the chart of the next operation makes.
SAME = {CAPI: "v1beta1", CAPO: "v1alpha7"}
NEWER = {CAPI: "v1beta1", CAPO: "v1beta1"}

#: Cluster API 1.16.
LATER = {**SERVED, (CAPI, "Cluster"): {"v1beta2"}}


class ApiTest(base.BaseTestCase):
    def test_an_api_version_has_a_group_or_none(self) -> None:
        self.assertEqual(
            CLUSTER, api_versions.api(f"{CAPI}/v1beta1", "Cluster")
        )
        self.assertEqual(SECRET, api_versions.api("v1", "Secret"))
        self.assertEqual(f"Cluster {CAPI}/v1beta1", str(CLUSTER))
        self.assertEqual("Secret v1", str(SECRET))


class PlanTest(base.BaseTestCase):
    def test_what_is_served_stays(self) -> None:
        found = api_versions.plan_repair({CLUSTER, ADDON, SECRET}, SERVED)
        self.assertEqual(api_versions.Plan({}), found)

    def test_what_is_served_in_another_version_is_named_in_that(self) -> None:
        found = api_versions.plan_repair(NAMED, LATER)
        self.assertEqual(
            api_versions.Plan({CLUSTER: "v1beta2", OLD: "v1beta1"}), found
        )
        self.assertEqual(
            f"{CAPI}/v1beta1 to v1beta2, {CAPO}/v1alpha7 to v1beta1",
            str(found),
        )

    def test_what_is_served_in_none_is_lost(self) -> None:
        served = {key: SERVED[key] for key in SERVED if key[0] != ADDONS}
        found = api_versions.plan_repair(NAMED, served)
        self.assertEqual(api_versions.Plan({OLD: "v1beta1"}, (ADDON,)), found)

    def test_a_version_that_another_kind_of_the_group_has_is_not_served(
        self,
    ) -> None:
        # OpenStackServer is v1alpha1 in the group of OpenStackCluster.
        served = {(CAPO, "OpenStackServer"): {"v1alpha7"}, **SERVED}
        found = api_versions.plan_repair({OLD}, served)
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
                expected, api_versions.nearest(version, served), version
            )

    def test_a_refusal_says_what_to_do(self) -> None:
        refusal = api_versions.refusal([ADDON])
        for phrase in (
            "serves no version of HelmRelease addons.stackhpc.com/v1alpha1",
            "install the provider",
            "kubectl api-resources --api-group=addons.stackhpc.com",
        ):
            self.assertIn(phrase, refusal)


class OutlookTest(base.BaseTestCase):
    """What ``check --target`` says of a release."""

    def test_of_a_release_whose_versions_stay_nothing_is_said(self) -> None:
        found = api_versions.forecast({CLUSTER, ADDON}, SERVED, NEWER)
        self.assertEqual(api_versions.Outlook("ok"), found)

    def test_a_newer_chart_is_what_a_release_of_an_old_one_needs(self) -> None:
        found = api_versions.forecast(NAMED, SERVED, SAME)
        self.assertEqual("upgrade", found.state)
        self.assertIn("chart 0.11.0 or later", found.detail)
        self.assertIn(f"makes {CAPO}/v1alpha7", found.detail)

    def test_what_failed_is_resized_back_before_it_can_be_upgraded(
        self,
    ) -> None:
        for status, first in (
            ("UPDATE_FAILED", "resize it back to its old count"),
            ("UPDATE_COMPLETE", "upgrade it to chart 0.11.0"),
            ("CREATE_FAILED", "upgrade it to chart 0.11.0"),
        ):
            found = api_versions.forecast(NAMED, SERVED, SAME, status)
            self.assertTrue(found.detail.startswith(first), found.detail)
            self.assertIn("upgrade it to chart 0.11.0", found.detail)

    def test_an_upgrade_that_is_wanted_already_is_all_it_takes(self) -> None:
        found = api_versions.forecast(NAMED, SERVED, NEWER)
        self.assertEqual("repaired", found.state)
        self.assertIn(f"replaces {CAPO}/v1alpha7", found.detail)

    def test_a_release_that_is_being_deleted_needs_nothing(self) -> None:
        found = api_versions.forecast(NAMED, LATER, None)
        self.assertEqual("repaired", found.state)

    def test_where_no_chart_makes_what_is_served_it_is_too_early(self) -> None:
        found = api_versions.forecast({CLUSTER, ADDON}, LATER, NEWER)
        self.assertEqual("refused", found.state)
        self.assertIn(f"keep serving {CAPI}/v1beta1", found.detail)

    def test_a_version_that_the_driver_converts_is_repaired(self) -> None:
        for converted, state in (
            ({(CLUSTER, "v1beta2")}, "repaired"),
            ({(CLUSTER, "v1beta3"), (ADDON, "v1beta2")}, "refused"),
        ):
            found = api_versions.forecast(
                {CLUSTER, ADDON},
                LATER,
                NEWER,
                converts=lambda *each, known=converted: each in known,
            )
            self.assertEqual(state, found.state)

    def test_what_no_version_is_served_of_is_refused(self) -> None:
        served = {key: SERVED[key] for key in SERVED if key[0] != ADDONS}
        found = api_versions.forecast({CLUSTER, ADDON}, served, NEWER)
        self.assertEqual(
            api_versions.Outlook("refused", api_versions.refusal([ADDON])),
            found,
        )
