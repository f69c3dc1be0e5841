# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Releases whose manifest names API versions that are not served any more.

What helm can't read is made readable, once, under the Lease; then it goes on.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
import json
from unittest import mock

from magnum_capi_helm import names
from magnum_capi_helm import packed
from magnum_capi_helm.helm import manifests
from magnum_capi_helm.management import client
from magnum_capi_helm.management import kinds
from magnum_capi_helm.management import lease
from magnum_capi_helm.tests.fakes import helm
from magnum_capi_helm.tests.fakes import management
from magnum_capi_helm.tests.unit.flows import base
from magnum_capi_helm.tests.unit.flows import upgrading

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
        """helm's record of a revision."""
        name = f"sh.helm.release.v1.{base.RELEASE}.v{version}"
        found = self.server.get(kinds.SECRET, base.NAMESPACE, name)
        assert found is not None
        return found

    def body(self, version: int = 1) -> client.Object:
        """What is in it."""
        text = base64.b64decode(self.record(version)["data"]["release"])
        found: client.Object = packed.unpack(text)
        return found

    def put(self, body: client.Object) -> None:
        """Store another one, as helm would."""
        text = base64.b64encode(packed.pack(body).encode()).decode()
        name = self.record()["metadata"]["name"]
        self.server.patch(
            kinds.SECRET, base.NAMESPACE, name, {"data": {"release": text}}
        )

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
        """The Secret with what helm itself had written."""
        return self.server.get(kinds.SECRET, base.NAMESPACE, COPY)


class UpgradeTest(StrandedTestCase):
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
            f"versions that are not served: changed {OLD} to v1beta1 in its "
            f"record; what it was is in Secret {COPY}",
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
            before["manifest"].replace(f'"{OLD}", "kind"', f'"{NEW}", "kind"'),
            after["manifest"],
        )
        self.assertNotIn(OLD, self.named())
        self.assertEqual(
            f"rewritten: {OLD} to v1beta1", after["info"].pop("description")
        )
        del before["manifest"], after["manifest"]
        self.assertEqual(before, after)

    def test_what_helm_wrote_is_kept_until_the_cluster_goes(self) -> None:
        self.resize(3)
        found = self.copy()
        assert found is not None
        self.assertEqual(self.before, found["data"])
        self.settle()
        self.delete()
        self.capi.finish()
        self.poll()
        self.assertEqual([], self.server.names(kinds.SECRET))

    def test_what_helm_wrote_at_first_is_kept_when_it_changes_again(
        self,
    ) -> None:
        self.server.create(
            kinds.SECRET,
            {
                "metadata": {"name": COPY, "namespace": base.NAMESPACE},
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
        body["manifest"] = body["manifest"].replace(OLD, NEW)
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

    def test_what_two_spellings_hide_from_helm_is_put_right(self) -> None:
        # What both manifests say alike is in no patch of helm's.
        plane = names.control_plane(base.RELEASE)
        wrong = {"spec": {"version": "v1.99.0"}}
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


class ChartTooOldTest(StrandedTestCase):
    """The chart itself makes what is not served."""

    def strand(self) -> None:
        self.management.retired.add(f"{CAPI}/v1beta1")
        self.before = self.record()["data"]

    def test_a_change_is_refused_and_says_what_it_takes(self) -> None:
        self.resize(3)
        self.poll()
        row = self.row()
        self.assertEqual("UPDATE_FAILED", row.status)
        self.assertEqual(
            "helm upgrade: the chart makes objects of cluster.x-k8s.io/"
            "v1beta1, which the management cluster does not serve: it takes "
            "another chart, or a management cluster that serves this again",
            row.status_reason,
        )
        self.assertEqual(2, self.replicas())

    def test_no_live_object_is_compared_with_fields_of_another_version(
        self,
    ) -> None:
        self.resize(3)
        self.assertIn(f"{CAPI}/v1beta2", self.named())
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
        self.assertEqual([], patched)

    def test_back_at_its_old_count_the_cluster_is_well_again(self) -> None:
        self.resize(3)
        self.poll()
        self.resize(2)
        self.poll()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)


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

    def test_what_else_keeps_helm_from_it_is_told_as_it_is(self) -> None:
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
        self.assertEqual(
            f"deletion waits: release {base.RELEASE} can't be changed: no "
            "version is served of HelmRelease addons.stackhpc.com/v1alpha1, "
            "Manifests addons.stackhpc.com/v1alpha1: install the provider "
            'that has it ("kubectl api-resources '
            '--api-group=addons.stackhpc.com" shows what is there), and it '
            "goes on by itself",
            self.row().status_reason,
        )
        self.assertIsNone(self.copy())
        self.management.retired.clear()
        self.poll()
        self.capi.finish()
        self.poll()
        self.assertEqual([], self.server.names(kinds.CLUSTER))


class DisturbedTest(StrandedTestCase):
    """Something comes in between."""

    def before_write(self, verb: str, act: Callable[[], None]) -> None:
        """Act once, just before such a request for a record."""

        def before() -> None:
            asked = self.management.requests
            if asked and asked[-1].name == COPY and asked[-1].verb == verb:
                self.management.before = lambda: None
                act()

        self.management.before = before

    def test_a_record_that_somebody_writes_meanwhile_is_read_again(
        self,
    ) -> None:
        def write() -> None:
            body = self.body()
            body["info"]["description"] = "by somebody else"
            self.put(body)

        self.before_write("create", write)
        self.resize(3)
        self.assertEqual(2, self.replicas())
        self.assertIn(OLD, self.named())
        self.assertEqual("UPDATE_IN_PROGRESS", self.row().status)
        self.plane.clock.advance(60)
        self.poll()
        self.assertEqual(3, self.replicas())
        self.assertIn("by somebody else", self.body()["info"]["description"])

    def test_without_its_lease_a_conductor_changes_no_record(self) -> None:
        for verb in ("get", "create"):
            self.helm.upgrades.clear()
            self.before_write(verb, self.take_over)
            self.resize(3)
            self.assertEqual(1, len(self.helm.upgrades), verb)
            self.assertIn(OLD, self.named(), verb)
            self.give_back()
        self.poll()
        self.assertEqual(3, self.replicas())

    def take_over(self) -> None:
        """Another conductor has the Lease, this one stood still."""
        self.plane.clock.advance(lease.DURATION + 1)
        self._hold("other")

    def give_back(self) -> None:
        self._hold("")

    def _hold(self, holder: str) -> None:
        spec = {"holderIdentity": holder, "renewTime": holder or "now"}
        self.server.patch(
            kinds.LEASE, base.NAMESPACE, base.RELEASE, {"spec": spec}
        )

    def test_killed_before_it_kept_what_helm_wrote(self) -> None:
        self.killed_before("create", COPY)

    def test_killed_before_it_changed_the_record(self) -> None:
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

    def test_a_helm_that_can_read_its_record_costs_no_look_at_it(self) -> None:
        body = self.body()
        body["manifest"] = body["manifest"].replace(OLD, NEW)
        self.put(body)
        self.management.requests.clear()
        self.resize(3)
        record = self.record(1)["metadata"]["name"]
        asked = {(each.verb, each.name) for each in self.management.requests}
        self.assertNotIn(("get", record), asked)
        self.assertNotIn("discover", {verb for verb, _ in asked})

    def test_json_of_a_manifest_stays_json(self) -> None:
        self.resize(3)
        for each in self.body()["manifest"].split("\n---\n"):
            json.loads(each)
