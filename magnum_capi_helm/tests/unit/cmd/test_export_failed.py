# SPDX-License-Identifier: Apache-2.0

"""``export`` of what is lost, moves or is silent: when it makes no file."""

from __future__ import annotations

import gzip
from typing import Any

from magnum_capi_helm.cmd import export
from magnum_capi_helm.management import kinds
from magnum_capi_helm.management import lease
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.tests.unit.cmd import backups
from magnum_capi_helm.tests.unit.lifecycle import base

INTENT = backups.INTENT
CREDENTIALS = backups.CREDENTIALS
CA = backups.CA


class FailedTest(backups.ExportTestCase):
    def test_what_is_lost_stays_in_the_file(self) -> None:
        self.export()
        before = self.file.read_bytes()
        release = base.RELEASE
        for gone, why in (
            (CA, f"there is no Secret {CA}"),
            (CREDENTIALS, f"there is no Secret {CREDENTIALS}"),
            (
                INTENT,
                f"has no more: Secret {INTENT}. Import it",
            ),
            (f"sh.helm.release.v1.{release}.v1", "no helm's records"),
        ):
            self.lose(gone)
            code, result, detail = self.export()
            self.assertEqual((1, "failed"), (code, result))
            self.assertIn(why, detail)
            self.assertEqual(before, self.file.read_bytes())
            self.bring("--apply")

    def test_a_cluster_object_that_is_gone(self) -> None:
        self.server.delete(kinds.CLUSTER, base.NAMESPACE, base.RELEASE)
        self.server.release(kinds.CLUSTER, base.NAMESPACE, base.RELEASE)
        code, result, detail = self.export()
        self.assertEqual((1, "failed"), (code, result))
        self.assertIn(f"there is no Cluster {base.RELEASE}", detail)
        self.assertFalse(self.file.exists())

    def test_the_key_for_etcd_is_missed_where_it_is_wanted(self) -> None:
        self.create(labels={"etcd_encryption_enabled": "true"}, **self.other())
        self.capi.settle()
        self.poll()
        self.assertEqual(0, self.export(self.uuid)[0])
        self.file_of_other = self.directory / f"{self.release}.jsonl.gz"
        self.file_of_other.unlink()
        self.lose(names.etcd_key(self.release))
        code, _, detail = self.export(self.uuid)
        self.assertEqual(1, code)
        self.assertIn(f"no Secret {names.etcd_key(self.release)}", detail)

    def other(self) -> dict[str, Any]:
        """The helpers are about another cluster from now on."""
        self.uuid = "0e1a8d2b-6a37-4e0c-9d5f-2b7c61a04f9d"
        self.release = names.release("db", self.uuid)
        self.capi = self.plane.cluster_api(base.NAMESPACE, self.release)
        return {"name": "db"}

    def test_one_that_can_not_be_read_keeps_no_other_back(self) -> None:
        self.create(**self.other())
        self.capi.settle()
        self.poll()
        error = errors.ManagementUnreachable("cut off")
        self.management.fail(error, verbs=("get",), name=f"{base.RELEASE}-etc")
        code, lines = self.run_command(
            export.Export, "--all", "--directory", str(self.directory)
        )
        self.assertEqual(
            [("db", "exported"), ("web", "failed")],
            [(each["Cluster"], each["Result"]) for each in lines],
        )
        self.assertEqual("cut off", lines[1]["Detail"])
        self.assertEqual(1, code)
        self.assertEqual(
            {f"{self.release}.jsonl.gz", "charts"},
            {each.name for each in self.directory.iterdir()},
        )
        self.assertIn("1 exported, 1 failed\n", self.said)

    def meanwhile(self, *argv: str) -> list[tuple[str, str]]:
        """The lines; its user deletes it once something is being read."""

        def delete() -> None:
            self.management.before = lambda: None
            self.delete()
            self.capi.finish()
            self.poll()

        self.management.before = delete
        self.code, lines = self.run_command(
            export.Export, *argv, "--directory", str(self.directory)
        )
        return [(each["Cluster"], each["Result"]) for each in lines]

    def test_one_that_is_deleted_before_its_turn_is_left_out(self) -> None:
        web = self.uuid, self.capi
        self.create(**self.other())
        self.capi.settle()
        self.poll()
        self.uuid, self.capi = web
        self.assertEqual([("db", "exported")], self.meanwhile("--all"))
        self.assertEqual(0, self.code)
        # Nobody asked for what it had.
        self.assertNotIn(f"{self.uuid}: refused: export", self.log.output)

    def test_one_that_is_deleted_while_it_is_read_is_left_out(self) -> None:
        project = self.row().project_id
        self.assertEqual([], self.meanwhile("--project", project))
        self.assertEqual(0, self.code)

    def test_one_that_was_named_fails_when_it_is_deleted(self) -> None:
        self.assertEqual([("web", "failed")], self.meanwhile("web"))
        self.assertEqual(1, self.code)

    def test_only_the_client_repeats_requests(self) -> None:
        self.management.unreachable(times=1)
        self.assertEqual((1, "failed"), self.export()[:2])
        self.assertEqual(0, self.export()[0])

    def test_what_changes_meanwhile_is_read_again(self) -> None:
        changes = iter(("one", "two"))

        def before() -> None:
            # Between the intent and what is read at the end.
            last = self.management.requests[-1].kind
            if last == "OpenStackMachine" and (text := next(changes, None)):
                self.change(INTENT, parked=text)

        self.management.before = before
        self.assertEqual(0, self.export()[0])
        self.assertEqual(None, next(changes, None))
        _, body = self.parts()
        (intent,) = (
            each
            for each in body["secrets"]
            if each["metadata"]["name"] == INTENT
        )
        self.assertEqual("two", intent["data"]["parked"])

    def test_what_goes_on_changing_fails(self) -> None:
        count = iter(range(1000))
        self.management.before = lambda: self.change(
            INTENT, parked=str(next(count))
        )
        code, result, detail = self.export()
        self.assertEqual((1, "failed"), (code, result))
        self.assertIn("is being changed while it is read", detail)
        self.assertFalse(self.file.exists())

    def test_a_cluster_that_is_being_deleted(self) -> None:
        row, master = self.row(), self.groups()["default-master"]
        mark = {lease.DELETE_MARK: "2026-01-01T00:00:00.000000Z"}
        where = (kinds.LEASE, base.NAMESPACE, base.RELEASE)

        def says(status: str, of_master: str, annotations: Any) -> None:
            row.status, master.status = status, of_master
            row.save()
            master.save()
            marked = {"metadata": {"annotations": annotations}}
            self.server.patch(*where, marked)

        well, leaving = "UPDATE_COMPLETE", "DELETE_IN_PROGRESS"
        for says_so in (
            ("DELETE_FAILED", well, None),
            (well, leaving, None),
            (well, well, mark),
        ):
            says(*says_so)
            self.assertEqual(
                (1, "failed", "the cluster is being deleted"), self.export()
            )
        says(well, well, None)
        self.assertEqual(0, self.export()[0])

    def test_another_management_cluster_has_nothing_of_it(self) -> None:
        self.server.delete(kinds.NAMESPACE, "", "kube-system")
        self.server.create(
            kinds.NAMESPACE, {"metadata": {"name": "kube-system"}}
        )
        code, _, detail = self.export()
        self.assertEqual(1, code)
        self.assertIn("is not the one that the cluster was made on", detail)

    def test_a_file_of_another_cluster_is_not_replaced(self) -> None:
        self.export()
        head, body = gzip.decompress(self.file.read_bytes()).splitlines(True)
        other = head.replace(self.uuid.encode(), b"somebody")
        for content, why in (
            (gzip.compress(other + body), "is the export of cluster somebody"),
            (b"precious", "move it away"),
        ):
            self.file.write_bytes(content)
            code, _, detail = self.export()
            self.assertEqual(1, code)
            self.assertIn(why, detail)
            self.assertEqual(content, self.file.read_bytes())
