# SPDX-License-Identifier: Apache-2.0

"""A cluster is deleted whose release helm can't read any more."""

from __future__ import annotations

from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.tests.fakes import helm
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.lifecycle import stranded


class DeletionTest(stranded.StrandedTestCase):
    """helm does not say why it can't uninstall."""

    def strand(self) -> None:
        # What CAPO's objects are named, it does not look at: they are kept.
        self.management.retired.add(f"{stranded.CAPI}/v1beta1")
        self.before = self.record()["data"]

    def test_a_cluster_is_deleted(self) -> None:
        self.delete()
        self.assertEqual([base.RELEASE] * 2, self.helm.uninstalls)
        self.capi.finish()
        self.poll()
        self.assertEqual([], self.server.names(kinds.SECRET))
        self.assertEqual([], self.server.names(kinds.CLUSTER))

    def test_the_newest_revision_is_what_helm_reads(self) -> None:
        self.management.retired.clear()
        self.helm.outcomes = [helm.Outcome.REFUSED]
        self.resize(3)
        self.management.retired.add(f"{stranded.CAPI}/v1beta1")
        self.helm.outcomes = [helm.Outcome.DONE, helm.Outcome.UNREACHABLE]
        self.delete()
        self.assertIn(f"{stranded.CAPI}/v1beta1", self.named(1))
        self.assertIn(f"{stranded.CAPI}/v1beta2", self.named(2))

    def test_another_error_of_helm_is_shown_as_it_is(self) -> None:
        self.management.retired.clear()
        self.helm.outcomes = [helm.Outcome.REFUSED] * 2
        self.delete()
        self.poll()
        self.assertEqual(
            "deletion waits: helm uninstall: failed to delete release: "
            f"{base.RELEASE}",
            self.row().status_reason,
        )
        self.assertIsNone(self.copy())

    def test_without_the_provider_it_waits_and_says_for_what(self) -> None:
        self.management.retired = {"addons.stackhpc.com/v1alpha1"}
        self.delete()
        self.poll()
        self.assertRegex(
            self.row().status_reason,
            f"^deletion waits: release {base.RELEASE} .* serves no version of "
            "HelmRelease addons.stackhpc.com/v1alpha1, Manifests .*/v1alpha1: "
            "install the provider",
        )
        self.assertIsNone(self.copy())
        self.management.retired.clear()
        self.poll()
        self.capi.finish()
        self.poll()
        self.assertEqual([], self.server.names(kinds.CLUSTER))
