# SPDX-License-Identifier: Apache-2.0

"""Which API versions releases serve, and charts make."""

from __future__ import annotations

from oslotest import base

from magnum_capi_helm.model import api_versions
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import versions

CAPI = (
    "cluster.x-k8s.io",
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
            "capi=1.8": dict.fromkeys(CAPI, one),
            "capi=1.10.4": dict.fromkeys(CAPI, one),
            "capi=1.11": dict.fromkeys(CAPI, one | two),
            "capi=v1.15.2": dict.fromkeys(CAPI, one | two),
            "capi=1.16.0-rc.0": dict.fromkeys(CAPI, two),
            "capi=2.0": dict.fromkeys(CAPI, two),
            "capo=0.11.3": {CAPO: alpha | one},
            "capo=0.12.0": {CAPO: one},
            "capo=0.14.6": {CAPO: one},
            "capo=0.15.0": {CAPO: one | two},
            "capi=1.16, capo=0.14": {
                **dict.fromkeys(CAPI, two),
                CAPO: one,
            },
            "cluster.x-k8s.io/v1beta2": {CAPI[0]: two},
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
        capi = dict.fromkeys(CAPI, "v1beta1")
        self.assertEqual({**capi, CAPO: "v1alpha7"}, made.pop("0.10.1"))
        for version, found in made.items():
            self.assertEqual({**capi, CAPO: "v1beta1"}, found, version)
