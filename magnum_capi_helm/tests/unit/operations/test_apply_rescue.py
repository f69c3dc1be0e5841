# SPDX-License-Identifier: Apache-2.0

"""Releases whose manifest names API versions that are not served any more.

What helm can't read is made readable, once, under the Lease; then it goes on.
"""

from __future__ import annotations

import contextlib
import itertools
import json
from unittest import mock

import fixtures
from magnum.common import exception
import yaml

from magnum_capi_helm.chart import conversion
from magnum_capi_helm.helm import manifests
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.tests.fakes import helm
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.lifecycle import stranded

#: Kinds of each cluster that have a newer version.
CONVERTED = {
    "Cluster",
    "KubeadmControlPlane",
    "MachineDeployment",
    "OpenStackCluster",
    "OpenStackMachineTemplate",
}


class UpgradeTest(stranded.StrandedTestCase):
    """Changes of a cluster."""

    def test_a_resize_gets_through_and_helm_runs_twice(self) -> None:
        self.helm.upgrades.clear()
        self.resize(3)
        self.assertEqual(2, len(self.helm.upgrades))
        self.assertEqual(3, self.replicas())
        self.settle()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)
        self.assertIn(
            f"Revision 1 of {base.RELEASE} in {base.NAMESPACE} names API "
            f"versions that are not served: changed {stranded.OLD} to "
            f"v1beta1 in its record; what it was is in Secret {stranded.COPY}",
            self.log.output,
        )

    def test_an_upgrade_to_a_newer_chart_gets_through(self) -> None:
        self.upgrade(self.template(image_id="ubuntu-1.35"))
        self.settle()
        self.assertEqual({"UPDATE_COMPLETE"}, self.upgraded_statuses())
        self.assertEqual("1.35.1", self.machines()["default-worker"][0])

    def test_the_record_is_what_it_was_but_for_the_versions(self) -> None:
        before = self.body()
        self.resize(3)
        after = self.body()
        self.assertEqual(
            before["manifest"].replace(
                f'"{stranded.OLD}", "kind"', f'"{stranded.NEW}", "kind"'
            ),
            after["manifest"],
        )
        self.assertNotIn(stranded.OLD, self.named())
        self.assertEqual(
            f"rewritten: {stranded.OLD} to v1beta1",
            after["info"].pop("description"),
        )
        del before["manifest"], after["manifest"]
        self.assertEqual(before, after)

    def test_the_original_record_is_kept_until_the_cluster_goes(self) -> None:
        self.resize(3)
        found = self.copy()
        assert found is not None
        self.assertEqual(self.before, found["data"])
        self.settle()
        self.delete()
        self.capi.finish()
        self.poll()
        self.assertEqual([], self.server.names(kinds.SECRET))

    def test_the_first_original_record_is_kept(self) -> None:
        self.server.create(
            kinds.SECRET,
            {
                "metadata": {
                    "name": stranded.COPY,
                    "namespace": base.NAMESPACE,
                },
                "data": {"release": "first"},
            },
        )
        self.resize(3)
        self.assertEqual(3, self.replicas())
        self.assertEqual({"release": "first"}, (self.copy() or {})["data"])

    def test_the_next_change_costs_nothing_more(self) -> None:
        self.resize(3)
        self.settle()
        self.helm.upgrades.clear()
        self.management.requests.clear()
        self.resize(4)
        self.assertEqual(1, len(self.helm.upgrades))
        self.assertEqual([], self.asked())

    def asked(self) -> list[str]:
        """Groups that were discovered."""
        return [
            each.name
            for each in self.management.requests
            if each.verb == "discover"
        ]

    def test_both_helms_share_the_time_that_there_is(self) -> None:
        with mock.patch.object(
            self.helm, "upgrade", wraps=self.helm.upgrade
        ) as ran:
            self.upgrade(self.template(image_id="ubuntu-1.35"))
        first, second = (each.kwargs["within"] for each in ran.mock_calls)
        self.assertLess(second, first)

    def test_the_last_revision_that_was_deployed_is_what_helm_reads(
        self,
    ) -> None:
        body = self.body()
        body["manifest"] = body["manifest"].replace(stranded.OLD, stranded.NEW)
        self.put(body)
        self.helm.outcomes = [helm.Outcome.REFUSED]
        self.resize(3)
        self.strand()
        self.resize(3)
        self.assertEqual(3, self.replicas())
        self.assertEqual([1], self.kept())

    def kept(self) -> list[int]:
        """Revisions whose record was changed."""
        prefix = names.original(base.RELEASE, 0)[:-1]
        return [
            int(each.removeprefix(prefix))
            for each in self.server.names(kinds.SECRET)
            if each.startswith(prefix)
        ]

    def test_a_change_hidden_by_two_spellings_is_repaired(self) -> None:
        # What both manifests say alike is in no patch of helm's.
        plane = names.control_plane(base.RELEASE)
        wrong = {"spec": {"version": "v1.33.0"}}
        self.server.patch(kinds.CONTROL_PLANE, base.NAMESPACE, plane, wrong)
        self.resize(3)
        found = self.server.get(kinds.CONTROL_PLANE, base.NAMESPACE, plane)
        assert found is not None
        self.assertEqual("v1.34.2", found["spec"]["version"])

    def test_polls_finish_what_the_second_helm_did_not(self) -> None:
        self.helm.outcomes = [helm.Outcome.DONE, helm.Outcome.UNREACHABLE]
        self.resize(3)
        self.assertEqual(2, self.replicas())
        self.helm.upgrades.clear()
        self.poll()
        self.assertEqual(3, self.replicas())
        self.assertEqual(1, len(self.helm.upgrades))


class ChartTooOldTest(stranded.StrandedTestCase):
    """The chart itself makes what is not served."""

    def strand(self) -> None:
        self.management.retired.add(f"{stranded.CAPI}/v1beta1")
        self.before = self.record()["data"]
        # As with versions that the driver can't convert.
        self.useFixture(fixtures.MockPatchObject(conversion, "TABLES", {}))

    def test_a_change_is_refused_and_says_what_it_takes(self) -> None:
        self.resize(3)
        self.poll()
        row = self.row()
        self.assertEqual("UPDATE_FAILED", row.status)
        self.assertRegex(
            row.status_reason,
            "^helm upgrade: .* objects of cluster.x-k8s.io/v1beta1, .* not "
            "serve: .*; after a resize that failed, resize back .* upgrade:",
        )
        self.assertEqual(2, self.replicas())

    def test_no_live_object_is_compared_with_fields_of_another_version(
        self,
    ) -> None:
        self.resize(3)
        self.assertIn(f"{stranded.CAPI}/v1beta2", self.named())
        plane = names.control_plane(base.RELEASE)
        self.server.patch(
            kinds.CONTROL_PLANE,
            base.NAMESPACE,
            plane,
            {"spec": {"replicas": 3}},
        )
        # The counts are as they were, of the workers at least.
        self.resize(2)
        self.management.requests.clear()
        self.plane.clock.advance(60)
        self.poll()
        patched = [each for each in self.writes() if each[0] == "patch"]
        # Only the mark of the update's progress.
        self.assertEqual([("patch", "Cluster", base.RELEASE)], patched)

    def test_back_at_its_old_count_the_cluster_is_well_again(self) -> None:
        self.resize(3)
        self.poll()
        self.resize(2)
        self.poll()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)


class ConvertedTest(stranded.StrandedTestCase):
    """The chart makes v1beta1, and v1beta2 alone is served."""

    def strand(self) -> None:
        self.management.retired = {
            f"{group}/v1beta1" for group, _ in conversion.TABLES
        }
        self.before = self.record()["data"]
        self.helm.upgrades.clear()

    def kinds_named(self, version: int) -> set[str]:
        """Kinds of the manifest that it has in v1beta2."""
        found = manifests.apis(self.body(version)["manifest"])
        return {each.kind for each in found if each.version == "v1beta2"}

    def test_a_resize_keeps_the_machines(self) -> None:
        before = self.server.names(kinds.OPENSTACK_MACHINE_TEMPLATE)
        self.resize(3)
        self.settle()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)
        self.assertEqual(3, self.replicas())
        self.assertEqual(
            CONVERTED, self.kinds_named(2) - {"KubeadmConfigTemplate"}
        )
        self.assertEqual(
            before, self.server.names(kinds.OPENSTACK_MACHINE_TEMPLATE)
        )

    def test_the_old_record_is_converted_whole(self) -> None:
        """So helm removes the fields that the next manifest does not have."""
        self.resize(3)
        (plane,) = (
            each
            for each in yaml.safe_load_all(self.body(1)["manifest"])
            if each["kind"] == "KubeadmControlPlane"
        )
        self.assertEqual(
            "controlplane.cluster.x-k8s.io/v1beta2", plane["apiVersion"]
        )
        self.assertEqual(["spec"], [*plane["spec"]["machineTemplate"]])

    def test_an_old_record_that_cannot_be_converted_is_renamed(self) -> None:
        body = self.body()
        documents = [*yaml.safe_load_all(body["manifest"])]
        for each in documents:
            if each["kind"] == "MachineDeployment":
                each["spec"]["of_long_ago"] = True
        body["manifest"] = "\n---\n".join(map(json.dumps, documents))
        self.put(body)
        self.resize(3)
        self.assertEqual(3, self.replicas())
        self.assertIn("MachineDeployment", self.kinds_named(1))
        (plane,) = (
            each
            for each in yaml.safe_load_all(self.body(1)["manifest"])
            if each["kind"] == "KubeadmControlPlane"
        )
        self.assertEqual(["spec"], [*plane["spec"]["machineTemplate"]])
        self.assertIn("of_long_ago is no field", self.log.output)

    def test_the_second_change_runs_helm_once(self) -> None:
        self.resize(3)
        self.settle()
        self.helm.upgrades.clear()
        self.resize(2)
        self.settle()
        self.assertEqual(1, len(self.helm.upgrades))
        self.assertEqual("UPDATE_COMPLETE", self.row().status)
        self.assertEqual(2, self.replicas())

    def test_an_upgrade_may_be_the_first_change(self) -> None:
        self.upgrade(self.template(image_id="ubuntu-1.35"))
        self.settle()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)
        self.assertEqual(
            CONVERTED, self.kinds_named(2) - {"KubeadmConfigTemplate"}
        )

    def refuse_a_field(self) -> None:
        """Assert that a resize is refused for a field without a row."""
        self.useFixture(
            fixtures.MockPatchObject(
                conversion,
                "TABLES",
                {**conversion.TABLES, (stranded.CAPI, "Cluster"): {}},
            )
        )
        # The request refuses it, if the driver has converted before.
        with contextlib.suppress(exception.MagnumException):
            self.resize(3)
            self.poll()
        self.assertEqual("UPDATE_FAILED", self.row().status)
        self.assertEqual(
            f"Cluster {base.RELEASE} can't be written as "
            "cluster.x-k8s.io/v1beta2: spec.infrastructureRef is no field "
            "that the driver knows of v1beta1: remove it from the values",
            self.row().status_reason,
        )
        self.assertEqual(2, self.replicas())
        self.assertEqual([1], self.recorded())

    def test_a_field_that_cannot_be_kept_is_refused_and_named(self) -> None:
        self.refuse_a_field()

    def test_a_field_is_named_though_helm_does_not_name_it(self) -> None:
        silent = errors.Unconvertible("helm 4: plugin exited with error")
        first = errors.ChartStranded("no matches")
        answers = itertools.chain([first], itertools.repeat(silent))
        with mock.patch.object(self.helm, "upgrade", side_effect=answers):
            self.refuse_a_field()

    def recorded(self) -> list[int]:
        """Numbers of the revisions that helm has recorded."""
        prefix = f"sh.helm.release.v1.{base.RELEASE}.v"
        return [
            int(each.removeprefix(prefix))
            for each in self.server.names(kinds.SECRET)
            if each.startswith(prefix)
        ]


class ConvertedByHelm4Test(ConvertedTest):
    """helm 4 asks for the kind of each object when it only renders, too."""

    def strand(self) -> None:
        super().strand()
        self.helm.installed = "v4.3.1"


class NewClusterTest(base.FlowTestCase):
    """The management cluster has served v1beta2 alone from the start."""

    def test_a_cluster_is_made_and_changed_without_v1beta1(self) -> None:
        self.management.retired = {
            f"{group}/v1beta1" for group, _ in conversion.TABLES
        }
        self.created()
        self.assertEqual("CREATE_COMPLETE", self.row().status)
        self.assertEqual(2, len(self.helm.upgrades))
