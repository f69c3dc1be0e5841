# SPDX-License-Identifier: Apache-2.0

"""``magnum-capi-helm check --target``: before an upgrade strands releases."""

from __future__ import annotations

import base64
import io

from magnum_capi_helm.cli import check
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import encoding
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.fakes import helm
from magnum_capi_helm.tests.fakes import openstack
from magnum_capi_helm.tests.unit.cli import command_case
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.lifecycle import placing

CAPO = "infrastructure.cluster.x-k8s.io"
RECORD = f"sh.helm.release.v1.{base.RELEASE}.v1"


class Answer:
    """What the command answered."""

    def __init__(self, *argv: str) -> None:
        err = io.StringIO()
        self.code, self.lines = command_case.run_json(
            check.Check, *argv, err=err
        )
        self.summary = err.getvalue()

    def short(self) -> tuple[int, list[tuple[str, str]]]:
        """Exit code; release and state of each line."""
        found = [(each["Release"], each["State"]) for each in self.lines]
        return self.code, found


class TargetTest(base.FlowTestCase):
    """A cluster that is complete, made by chart 0.10.1 or by 0.27.0."""

    def setUp(self) -> None:
        super().setUp()
        self.complete()

    def made_by_0_10_1(self, record: str = RECORD) -> None:
        """Let a revision be what that chart makes."""
        found = self.server.get(kinds.SECRET, base.NAMESPACE, record)
        assert found is not None
        text = base64.b64decode(found["data"]["release"])
        body = encoding.unpack(text)
        body["chart"]["metadata"]["version"] = "0.10.1"
        body["manifest"] = body["manifest"].replace(
            f"{CAPO}/v1beta1", f"{CAPO}/v1alpha7"
        )
        packed_again = base64.b64encode(encoding.pack(body).encode()).decode()
        change = {"data": {"release": packed_again}}
        self.server.patch(kinds.SECRET, base.NAMESPACE, record, change)

    def old_cluster(self) -> None:
        """A cluster of chart 0.10.1, which it is to keep."""
        self.made_by_0_10_1()
        secret = f"{base.RELEASE}-intent"
        found = self.server.get(kinds.SECRET, base.NAMESPACE, secret)
        assert found is not None
        wanted = encoding.read_plain(found["data"]["intent.json"])
        wanted["chart"]["version"] = "0.10.1"
        data = {"intent.json": encoding.plain(wanted)}
        self.server.patch(kinds.SECRET, base.NAMESPACE, secret, {"data": data})

    def test_releases_whose_versions_stay_are_not_listed(self) -> None:
        found = Answer("--target", "capi=1.14,capo=0.14")
        self.assertEqual((0, []), found.short())
        self.assertEqual("releases read: 1, listed: 0\n", found.summary)

    def test_an_old_chart_has_to_go_first(self) -> None:
        self.old_cluster()
        found = Answer("--target", "capi=1.11,capo=0.12")
        line = {
            "Name": "web",
            "UUID": self.uuid,
            "Project": openstack.PROJECT,
            "Management cluster": "",
            "Release": base.RELEASE,
            "Chart": "0.10.1",
            "State": "upgrade",
            "First": (
                "upgrade it to chart 0.11.0 or later: its own chart makes "
                "infrastructure.cluster.x-k8s.io/v1alpha7, so the driver can "
                "delete the cluster but not change it"
            ),
        }
        self.assertEqual([line], found.lines)
        self.assertEqual(1, found.code)
        self.assertEqual("releases read: 1, listed: 1\n", found.summary)

    def test_one_that_has_failed_since_is_resized_back_first(self) -> None:
        self.old_cluster()
        row = self.row()
        row.status = "UPDATE_FAILED"
        row.save()
        (line,) = Answer("--target", "capi=1.11,capo=0.12").lines
        self.assertRegex(
            line["First"],
            "^resize it back to its old count, .*; then upgrade it "
            "to chart 0.11.0 or later: ",
        )

    def test_versions_that_are_served_until_then_strand_nobody(self) -> None:
        self.old_cluster()
        found = Answer("--target", "capo=0.11")
        self.assertEqual((0, []), found.short())

    def test_what_is_not_named_is_taken_to_stay(self) -> None:
        self.old_cluster()
        found = Answer("--target", "cluster.x-k8s.io/v1beta1")
        self.assertEqual((0, []), found.short())

    def test_a_chart_that_is_wanted_already_repairs_it(self) -> None:
        # Its upgrade to 0.27.0 did not get through yet.
        self.made_by_0_10_1()
        found = Answer("--target", "capo=0.14")
        self.assertEqual((0, [(base.RELEASE, "repaired")]), found.short())

    def test_what_is_being_deleted_needs_nothing(self) -> None:
        self.helm.outcomes = [helm.Outcome.UNREACHABLE]
        self.delete()
        found = Answer("--target", "capi=1.16")
        self.assertEqual((0, [(base.RELEASE, "repaired")]), found.short())

    def test_what_the_driver_converts_needs_nothing(self) -> None:
        found = Answer("--target", "capi=1.16")
        self.assertEqual((0, [(base.RELEASE, "repaired")]), found.short())

    def test_too_early_for_any_chart(self) -> None:
        found = Answer("--target", "cluster.x-k8s.io/v1beta3")
        self.assertEqual((1, [(base.RELEASE, "refused")]), found.short())
        self.assertIn(
            "no chart that the driver knows", found.lines[0]["First"]
        )

    def test_the_last_revision_that_was_deployed_is_what_counts(self) -> None:
        self.helm.outcomes = [helm.Outcome.REFUSED]
        self.resize(3)
        self.made_by_0_10_1(RECORD.removesuffix("1") + "2")
        self.assertEqual((0, []), Answer("--target", "capo=0.14").short())
        self.made_by_0_10_1()
        self.assertEqual(
            (0, [(base.RELEASE, "repaired")]),
            Answer("--target", "capo=0.14").short(),
        )

    def test_after_the_upgrade_it_lists_what_is_stranded_now(self) -> None:
        self.assertEqual((0, []), Answer("--target", "now").short())
        self.old_cluster()
        self.assertEqual(
            (1, [(base.RELEASE, "upgrade")]), Answer("--target", "now").short()
        )
        self.management.unserved = {kinds.HELM_RELEASE}
        found = Answer("--target", "now")
        self.assertEqual((1, [(base.RELEASE, "refused")]), found.short())
        self.assertIn("install the provider", found.lines[0]["First"])

    def test_nothing_is_written(self) -> None:
        self.old_cluster()
        self.management.requests.clear()
        Answer("--target", "capo=0.14")
        verbs = {each.verb for each in self.management.requests}
        self.assertEqual({"get", "list"}, verbs)

    def test_a_record_that_cannot_be_read_is_told_of(self) -> None:
        change = {"data": {"release": "bm8="}}
        self.server.patch(kinds.SECRET, base.NAMESPACE, RECORD, change)
        found = Answer("--target", "capo=0.14")
        self.assertEqual((1, [(base.RELEASE, "unreadable")]), found.short())
        self.assertIn("revision 1 of release", found.lines[0]["First"])
        self.assertEqual("releases read: 0, listed: 1\n", found.summary)

    def test_a_management_cluster_that_does_not_answer_is_asked_once(
        self,
    ) -> None:
        self.management.unreachable()
        self.management.requests.clear()
        found = Answer("--target", "capo=0.14")
        self.assertEqual(1, len(self.management.requests))
        self.assertEqual((1, [(base.RELEASE, "unreadable")]), found.short())
        self.assertIn("does not answer", found.lines[0]["First"])

    def test_versions_that_are_none_are_refused_before_any_request(
        self,
    ) -> None:
        self.management.requests.clear()
        self.assertRaises(errors.InvalidInput, Answer, "--target", "capo=new")
        self.assertEqual([], self.management.requests)

    def test_a_cluster_of_which_helm_knows_nothing_is_not_listed(self) -> None:
        self.server.delete(kinds.SECRET, base.NAMESPACE, RECORD)
        found = Answer("--target", "capi=1.16")
        self.assertEqual((0, []), found.short())


class SeveralTest(placing.LocationTestCase):
    """Two management clusters, and a cluster on b."""

    def setUp(self) -> None:
        super().setUp()
        self.made()

    def test_those_on_one_of_them_alone(self) -> None:
        self.stop("a")
        found = Answer("--target", "capi=1.16", "--management-cluster", "b")
        self.assertEqual((0, [(base.RELEASE, "repaired")]), found.short())
        self.assertEqual("b", found.lines[0]["Management cluster"])

    def test_on_the_other_one_there_is_nothing(self) -> None:
        found = Answer("--target", "capi=1.16", "--management-cluster", "a")
        self.assertEqual((0, []), found.short())

    def test_of_one_that_is_down_nothing_is_known(self) -> None:
        self.stop("a")
        found = Answer("--target", "capo=0.14")
        self.assertEqual((1, [("", "unreadable")]), found.short())
        self.assertEqual("a", found.lines[0]["Management cluster"])

    def test_there_is_none_of_that_name(self) -> None:
        self.assertRaises(
            errors.NotConfigured,
            Answer,
            "--target",
            "capo=0.14",
            "--management-cluster",
            "x",
        )
