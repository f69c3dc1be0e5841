# SPDX-License-Identifier: Apache-2.0

"""Releases whose manifest names API versions that are not served any more.

What helm can't read is made readable, once, under the Lease; then it goes on.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
import contextlib
import itertools
import json
from unittest import mock

import fixtures
from magnum.common import exception
import yaml

from magnum_capi_helm.chart import conversion
from magnum_capi_helm.helm import manifests
from magnum_capi_helm.kubernetes import client
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import lease
from magnum_capi_helm.model import encoding
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.tests.fakes import helm
from magnum_capi_helm.tests.fakes import management
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.lifecycle import upgrading

CAPI = "cluster.x-k8s.io"
CAPO = f"infrastructure.{CAPI}"
OLD = f"{CAPO}/v1alpha7"
NEW = f"{CAPO}/v1beta1"
COPY = names.original(base.RELEASE, 1)


class StrandedTestCase(upgrading.UpgradeTestCase):
    """A complete cluster, its release made by chart 0.10.1.

    CAPO serves what that chart makes no more.
    """

    def setUp(self) -> None:
        super().setUp()
        self.strand()

    def strand(self) -> None:
        """Let the manifest name what an older chart made."""
        body = self.body()
        body["manifest"] = body["manifest"].replace(NEW, OLD)
        self.put(body)
        self.before = self.record(1)["data"]

    def record(self, version: int = 1) -> client.Object:
        return self.live(
            kinds.SECRET, names.helm_record(base.RELEASE, version)
        )

    def body(self, version: int = 1) -> client.Object:
        text = base64.b64decode(self.record(version)["data"]["release"])
        found: client.Object = encoding.unpack(text)
        return found

    def put(self, body: client.Object) -> None:
        """Store another one, as helm would."""
        text = base64.b64encode(encoding.pack(body).encode()).decode()
        name = self.record()["metadata"]["name"]
        self.edit(kinds.SECRET, name, {"data": {"release": text}})

    def objects(self, version: int = 1) -> dict[str, client.Object]:
        """The objects of a manifest by their kind; one of each."""
        found = yaml.safe_load_all(self.body(version)["manifest"])
        return {each["kind"]: each for each in found}

    def revisions(self, prefix: str = "") -> list[int]:
        """Numbers of the Secrets named so; by default of helm's records."""
        prefix = prefix or names.helm_record(base.RELEASE, 0)[:-1]
        return [
            int(each.removeprefix(prefix))
            for each in self.server.names(kinds.SECRET)
            if each.startswith(prefix)
        ]

    def named(self, version: int = 1) -> set[str]:
        """API versions in the manifest of a revision."""
        found = manifests.apis(self.body(version)["manifest"])
        return {each.name for each in found}

    def writes(self) -> list[tuple[str, str, str]]:
        """What was written on the management cluster, but for the Lease."""
        return [
            (each.verb, each.kind, each.name)
            for each in self.management.requests
            if each.verb in ("create", "replace", "patch", "delete")
            and each.kind != "Lease"
        ]

    def copy(self) -> client.Object | None:
        return self.server.get(kinds.SECRET, base.NAMESPACE, COPY)


#: Kinds of each cluster that have a newer version.
CONVERTED = {
    "Cluster",
    "KubeadmControlPlane",
    "MachineDeployment",
    "OpenStackCluster",
    "OpenStackMachineTemplate",
}


class UpgradeTest(StrandedTestCase):
    def test_a_resize_gets_through_and_helm_runs_twice(self) -> None:
        before = self.body()
        self.helm.upgrades.clear()
        self.resize(3)
        self.assertEqual(2, len(self.helm.upgrades))
        self.assertEqual(3, self.replicas())
        self.assertIn(
            f"Revision 1 of {base.RELEASE} in {base.NAMESPACE} names API "
            f"versions that are not served: changed {OLD} to "
            f"v1beta1 in its record; what it was is in Secret {COPY}",
            self.log.output,
        )
        # The record is what it was but for the versions.
        after = self.body()
        self.assertEqual(
            before["manifest"].replace(f'"{OLD}", "kind"', f'"{NEW}", "kind"'),
            after["manifest"],
        )
        for each in after["manifest"].split("\n---\n"):
            json.loads(each)
        self.assertNotIn(OLD, self.named())
        self.assertEqual(
            f"rewritten: {OLD} to v1beta1",
            after["info"].pop("description"),
        )
        del before["manifest"], after["manifest"]
        self.assertEqual(before, after)
        self.assert_updated()
        # The next change costs nothing more.
        self.helm.upgrades.clear()
        self.management.requests.clear()
        self.resize(4)
        self.assertEqual(1, len(self.helm.upgrades))
        verbs = {each.verb for each in self.management.requests}
        self.assertNotIn("discover", verbs)
        # The original record is kept until the cluster goes.
        self.assertEqual(self.before, (self.copy() or {})["data"])
        self.vanish()
        self.assertEqual([], self.server.names(kinds.SECRET))

    def test_both_helms_of_an_upgrade_share_its_time(self) -> None:
        upgrade = self.helm.upgrade
        with mock.patch.object(self.helm, "upgrade", wraps=upgrade) as ran:
            self.upgrade(self.template(image_id="ubuntu-1.35"))
        first, second = (each.kwargs["within"] for each in ran.mock_calls)
        self.assertLess(second, first)
        self.settle()
        self.assertEqual({"UPDATE_COMPLETE"}, self.upgraded_statuses())
        self.assertEqual("1.35.1", self.machines()["default-worker"][0])

    def test_the_first_original_record_is_kept(self) -> None:
        meta = {"name": COPY, "namespace": base.NAMESPACE}
        first = {"metadata": meta, "data": {"release": "first"}}
        self.server.create(kinds.SECRET, first)
        self.resize(3)
        self.assertEqual(3, self.replicas())
        self.assertEqual({"release": "first"}, (self.copy() or {})["data"])

    def test_the_last_deployed_revision_is_what_helm_reads(self) -> None:
        body = self.body()
        body["manifest"] = body["manifest"].replace(OLD, NEW)
        self.put(body)
        self.helm.outcomes = [helm.Outcome.REFUSED]
        self.resize(3)
        self.strand()
        self.resize(3)
        self.assertEqual(3, self.replicas())
        originals = names.original(base.RELEASE, 0)[:-1]
        self.assertEqual([1], self.revisions(originals))

    def test_a_change_hidden_by_two_spellings_is_repaired(self) -> None:
        # What both manifests say alike is in no patch of helm's.
        plane = names.control_plane(base.RELEASE)
        wrong = {"spec": {"version": "v1.33.0"}}
        self.edit(kinds.CONTROL_PLANE, plane, wrong)
        self.resize(3)
        found = self.live(kinds.CONTROL_PLANE, plane)
        self.assertEqual("v1.34.2", found["spec"]["version"])

    def test_polls_finish_what_the_second_helm_did_not(self) -> None:
        self.helm.outcomes = [helm.Outcome.DONE, helm.Outcome.UNREACHABLE]
        self.resize(3)
        self.assertEqual(2, self.replicas())
        self.helm.upgrades.clear()
        self.poll()
        self.assertEqual(3, self.replicas())
        self.assertEqual(1, len(self.helm.upgrades))


class ChartTooOldTest(StrandedTestCase):
    """The chart itself makes what is not served."""

    def strand(self) -> None:
        self.management.retired.add(f"{CAPI}/v1beta1")
        self.before = self.record()["data"]
        # As with versions that the driver can't convert.
        self.useFixture(fixtures.MockPatchObject(conversion, "TABLES", {}))

    def test_a_change_is_refused_and_says_what_it_takes(self) -> None:
        self.resize(3)
        self.poll()
        status, reason = self.state()
        self.assertEqual("UPDATE_FAILED", status)
        self.assertRegex(
            str(reason),
            "^helm upgrade: .* objects of cluster.x-k8s.io/v1beta1, .* not "
            "serve: .*; after a resize that failed, resize back .* upgrade:",
        )
        self.assertEqual(2, self.replicas())
        # Back at its old count the cluster is well again.
        self.resize(2)
        self.poll()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)

    def test_fields_of_another_version_are_not_compared(self) -> None:
        self.resize(3)
        self.assertIn(f"{CAPI}/v1beta2", self.named())
        plane = names.control_plane(base.RELEASE)
        more = {"spec": {"replicas": 3}}
        self.edit(kinds.CONTROL_PLANE, plane, more)
        # The counts are as they were, of the workers at least.
        self.resize(2)
        self.management.requests.clear()
        self.poll_after(60)
        patched = [each for each in self.writes() if each[0] == "patch"]
        # Only the mark of the update's progress.
        self.assertEqual([("patch", "Cluster", base.RELEASE)], patched)


class ConvertedTest(StrandedTestCase):
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
        named = {each.kind for each in found if each.version == "v1beta2"}
        return named - {"KubeadmConfigTemplate"}

    def test_a_resize_keeps_the_machines(self) -> None:
        """The old record is converted whole.

        So helm removes the fields that the next manifest does not have.
        """
        before = self.server.names(kinds.OPENSTACK_MACHINE_TEMPLATE)
        self.resize(3)
        plane = self.objects()["KubeadmControlPlane"]
        self.assertEqual(
            "controlplane.cluster.x-k8s.io/v1beta2", plane["apiVersion"]
        )
        self.assertEqual(["spec"], [*plane["spec"]["machineTemplate"]])
        self.assert_updated()
        self.assertEqual(3, self.replicas())
        self.assertEqual(CONVERTED, self.kinds_named(2))
        self.assertEqual(
            before, self.server.names(kinds.OPENSTACK_MACHINE_TEMPLATE)
        )
        # The second change runs helm once.
        self.helm.upgrades.clear()
        self.resize(2)
        self.assert_updated()
        self.assertEqual(1, len(self.helm.upgrades))
        self.assertEqual(2, self.replicas())

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
        plane = self.objects()["KubeadmControlPlane"]
        self.assertEqual(["spec"], [*plane["spec"]["machineTemplate"]])
        self.assertIn("of_long_ago is no field", self.log.output)

    def test_an_upgrade_may_be_the_first_change(self) -> None:
        self.upgrade(self.template(image_id="ubuntu-1.35"))
        self.assert_updated()
        self.assertEqual(CONVERTED, self.kinds_named(2))

    def refuse_a_field(self) -> None:
        """Assert that a resize is refused for a field without a row."""
        tables = {**conversion.TABLES, (CAPI, "Cluster"): {}}
        self.useFixture(fixtures.MockPatchObject(conversion, "TABLES", tables))
        # The request refuses it, if the driver has converted before.
        with contextlib.suppress(exception.MagnumException):
            self.resize(3)
            self.poll()
        reason = (
            f"Cluster {base.RELEASE} can't be written as "
            "cluster.x-k8s.io/v1beta2: spec.infrastructureRef is no field "
            "that the driver knows of v1beta1: remove it from the values"
        )
        self.assertEqual(("UPDATE_FAILED", reason), self.state())
        self.assertEqual(2, self.replicas())
        self.assertEqual([1], self.revisions())

    def test_a_field_that_cannot_be_kept_is_refused_and_named(self) -> None:
        self.refuse_a_field()

    def test_a_field_is_named_though_helm_does_not_name_it(self) -> None:
        silent = errors.Unconvertible("helm 4: plugin exited with error")
        first = errors.ChartStranded("no matches")
        answers = itertools.chain([first], itertools.repeat(silent))
        with mock.patch.object(self.helm, "upgrade", side_effect=answers):
            self.refuse_a_field()


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


class DeletionTest(StrandedTestCase):
    """helm does not say why it can't uninstall."""

    def strand(self) -> None:
        # What CAPO's objects are named, it does not look at: they are kept.
        self.management.retired.add(f"{CAPI}/v1beta1")
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
        self.management.retired.add(f"{CAPI}/v1beta1")
        self.helm.outcomes = [helm.Outcome.DONE, helm.Outcome.UNREACHABLE]
        self.delete()
        self.assertIn(f"{CAPI}/v1beta1", self.named(1))
        self.assertIn(f"{CAPI}/v1beta2", self.named(2))

    def test_another_error_of_helm_is_shown_as_it_is(self) -> None:
        self.management.retired.clear()
        self.helm.outcomes = [helm.Outcome.REFUSED] * 2
        self.delete()
        self.poll()
        failed = f"helm uninstall: failed to delete release: {base.RELEASE}"
        self.assertEqual(f"deletion waits: {failed}", self.why())
        self.assertIsNone(self.copy())

    def test_without_the_provider_it_waits_and_says_for_what(self) -> None:
        self.management.retired = {"addons.stackhpc.com/v1alpha1"}
        self.delete()
        self.poll()
        self.assertRegex(
            self.why(),
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


class DisturbedTest(StrandedTestCase):
    def before_write(self, verb: str, act: Callable[[], None]) -> None:
        """Act once, just before such a request for a record."""

        def before() -> None:
            asked = self.management.requests
            if asked and asked[-1].name == COPY and asked[-1].verb == verb:
                self.management.before = lambda: None
                act()

        self.management.before = before

    def test_a_record_that_somebody_writes_is_read_again(self) -> None:
        def write() -> None:
            body = self.body()
            body["info"]["description"] = "by somebody else"
            self.put(body)

        self.before_write("create", write)
        self.resize(3)
        self.assertEqual(2, self.replicas())
        self.assertIn(OLD, self.named())
        self.assertEqual("UPDATE_IN_PROGRESS", self.row().status)
        self.poll_after(60)
        self.assertEqual(3, self.replicas())
        self.assertIn("by somebody else", self.body()["info"]["description"])

    def test_without_its_lease_a_conductor_changes_no_record(self) -> None:
        for verb in ("get", "create"):
            self.helm.upgrades.clear()
            self.before_write(verb, self.take_over)
            self.resize(3)
            self.assertEqual(1, len(self.helm.upgrades), verb)
            self.assertIn(OLD, self.named(), verb)
            self.hold()
        self.poll()
        self.assertEqual(3, self.replicas())

    def take_over(self) -> None:
        """Another conductor has the Lease, this one stood still."""
        self.plane.clock.advance(lease.DURATION + 1)
        self.hold("other")

    def test_a_conductor_killed_before_the_copy_loses_nothing(self) -> None:
        self.killed_before("create", COPY)

    def test_a_conductor_killed_before_the_record_loses_nothing(self) -> None:
        self.killed_before("replace", self.record()["metadata"]["name"])

    def killed_before(self, verb: str, name: str) -> None:
        """Another conductor goes on with what is there."""
        self.management.kill_before(verb, kinds.SECRET, name)
        self.assertRaises(management.Killed, self.resize, 3)
        self.management.recover()
        self.assertIn(OLD, self.named())
        for _ in range(2):
            self.poll()
            self.plane.clock.advance(lease.DURATION + 1)
        self.assertEqual(3, self.replicas())
        self.assertEqual(self.before, (self.copy() or {})["data"])
