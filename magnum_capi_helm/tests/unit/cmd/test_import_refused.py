# SPDX-License-Identifier: Apache-2.0

"""``import``: files that are of no use, and clusters that changed."""

from __future__ import annotations

import gzip
import json
from typing import Any

from magnum_capi_helm.chart import values
from magnum_capi_helm.cmd import import_
from magnum_capi_helm.management import kinds
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.unit.cmd import backups
from magnum_capi_helm.tests.unit.lifecycle import base

RELEASE = base.RELEASE
RECORD = backups.RECORD
INTENT = backups.INTENT
CA = backups.CA
SA = backups.SA


class RefusedTest(backups.ImportTestCase):
    """Nothing is written."""

    def test_what_differs_is_named_and_nothing_is_touched(self) -> None:
        for name, expected in (
            (CA, f"Secret {CA}"),
            (INTENT, f"Secret {INTENT}"),
            (RECORD, f"Secret {RECORD}"),
        ):
            before = self.secrets()[name]["data"]
            self.change(name, extra="ZGlmZmVyZW50")
            self.lose(SA)
            detail = self.refused()
            self.assertEqual(
                f"what is there is not what the file has: {expected}. "
                "Nothing was written over it; --leave-different restores "
                "the rest",
                detail,
            )
            self.assertEqual((1, "refused"), self.bring()[:2])
            self.server.patch(
                kinds.SECRET,
                base.NAMESPACE,
                name,
                {"data": {"extra": None} | before},
            )
            self.bring("--apply")
            self.management.requests.clear()

    def test_an_older_state_of_the_cluster_does_not_come_back(self) -> None:
        self.resize(3)
        self.capi.settle()
        self.poll()
        self.lose(INTENT, SA)
        self.assertIn(
            f"the file has: Secret {RECORD}; helm's newest revision, which is "
            f"2 and in the file 1; Cluster {RELEASE}, which was changed "
            "since. Nothing was",
            self.refused(),
        )
        self.bring("--apply", "--leave-different")
        self.assertIn(SA, self.secrets())
        self.assertNotIn(INTENT, self.secrets())

    def test_a_cluster_that_was_changed_since_keeps_its_state(self) -> None:
        changes: tuple[dict[str, Any], ...] = (
            {"annotations": {values.INTENT_ANNOTATION: "later"}},
            {"annotations": {values.UPGRADE_ANNOTATION: "1"}},
        )
        meta = (kinds.CLUSTER, base.NAMESPACE, RELEASE)
        before = (self.server.get(*meta) or {})["metadata"]["annotations"]
        self.lose(INTENT, RECORD)
        for change in changes:
            self.server.patch(*meta, {"metadata": change})
            self.assertIn(
                f"Cluster {RELEASE}, which was changed since", self.refused()
            )
            (key,) = change["annotations"]
            undone = {"annotations": {key: before.get(key)}}
            self.server.patch(*meta, {"metadata": undone})
        self.assertEqual(0, self.bring()[0])
        self.server.delete(*meta)
        self.assertIn("which is being deleted", self.refused())

    def test_a_file_that_can_not_be_used(self) -> None:
        good = self.file.read_bytes()
        whole = gzip.decompress(good)
        head, body = whole.splitlines(True)
        changed = body.replace(CA.encode(), SA.encode())
        damaged = "it is damaged or was cut short"
        rows = (
            (good[: len(good) // 2], f"{damaged} (EOFError)"),
            (good[:-1], f"{damaged} (EOFError)"),
            (b"", "it is no file that magnum-capi-helm export wrote"),
            (b"a: b\n", damaged),
            (good[:-8] + b"\0" * 8, damaged),
            (gzip.compress(b"{}"), "it is no file that magnum-capi-helm"),
            (gzip.compress(head + changed), "are not those of its checksum"),
            (gzip.compress(head), "are not those of its checksum"),
            (
                gzip.compress(head.replace(b'sion": 1', b'sion": 2') + body),
                "it is of version 2 of the format; this magnum-capi-helm "
                "knows version 1",
            ),
            (
                gzip.compress(head.replace(b'"release"', b'"x"') + body),
                "its header does not say release",
            ),
        )
        self.lose()
        for content, why in rows:
            self.file.write_bytes(content)
            detail = self.refused()
            self.assertTrue(detail.startswith(f"{self.file}: "), detail)
            self.assertIn(why, detail)

    def test_objects_that_have_no_place_in_a_file(self) -> None:
        body = json.loads(
            gzip.decompress(self.file.read_bytes()).split(b"\n")[1]
        )
        secret = body["secrets"][1]
        for change in (
            {"name": "somebody-elses-ca"},
            {"namespace": "kube-system"},
            {"name": f"sh.helm.release.v1.{RELEASE}.v01"},
        ):
            meta = secret["metadata"] | change
            self.rewrite(secrets=[{**secret, "metadata": meta}])
            self.assertIn("it has a Secret that is not of", self.refused())
        self.rewrite(secrets=[{"metadata": {}}])
        self.assertIn("damaged or was cut short (KeyError)", self.refused())

    def test_a_file_of_another_cluster_or_project(self) -> None:
        self.lose()
        for key, value, why in (
            ("project", "p2", "the file is of project 'p2', and Magnum's"),
            ("release", "db-000000000000", "it has a Secret that is not of"),
            ("namespace", "magnum-p2", "it has a Secret that is not of"),
        ):
            good = self.file.read_bytes()
            self.rewrite(**{key: value})
            self.assertIn(why, self.refused())
            self.file.write_bytes(good)
        self.rewrite(release="db-000000000000", secrets=[])
        self.assertIn("the file is of release 'db-0000", self.refused())
        row = self.row()
        row.stack_id = None
        row.save()
        self.assertEqual(
            f"nothing was ever made for Magnum's cluster {self.uuid}",
            self.refused(),
        )

    def test_a_cluster_that_magnum_does_not_have(self) -> None:
        nobody = "00000000-0000-4000-8000-000000000000"
        self.rewrite(cluster=nobody)
        code, lines = self.run_command(import_.Import, str(self.file))
        self.assertEqual(
            (1, f"Magnum has no cluster {nobody} (any more)"),
            (code, lines[0]["Detail"]),
        )
        # In a directory they stay behind when clusters go.
        self.assertEqual((0, "", ""), self.bring("--apply"))
        self.assertIn(f"{self.file} is left out: Magnum has no", self.said)
        self.assertEqual([], self.writes())

    def test_a_cluster_that_is_being_deleted(self) -> None:
        self.delete()
        self.management.requests.clear()
        code, lines = self.run_command(
            import_.Import, str(self.file), "--apply"
        )
        self.assertEqual(
            (1, "the cluster is being deleted"), (code, lines[0]["Detail"])
        )
        self.assertEqual((0, "", ""), self.bring("--apply"))
        self.assertEqual([], self.writes())

    def test_one_that_is_deleted_meanwhile(self) -> None:
        self.lose(CA)
        original = self.management.replace

        def marked(kind: kinds.Kind, obj: Any) -> Any:
            self.management.replace = original  # type: ignore[method-assign]
            self.driver.delete_cluster(self.admin, self.row())
            obj["metadata"].pop("resourceVersion")
            mark = {"magnum.openstack.org/delete": "2026-01-01T00:00:00.0Z"}
            obj["metadata"].setdefault("annotations", {}).update(mark)
            return original(kind, obj)

        self.management.replace = marked  # type: ignore[method-assign]
        code, result, detail = self.bring("--apply")
        self.assertEqual(
            (1, "failed", "the cluster is being deleted"),
            (code, result, detail),
        )
        self.assertNotIn(CA, self.secrets())

    def test_another_conductor_that_works_on_it(self) -> None:
        self.lose(CA)
        with self.busy():
            code, result, detail = self.bring("--apply")
        self.assertEqual((1, "failed"), (code, result))
        self.assertIn("another conductor works on", detail)
        self.assertNotIn(CA, self.secrets())

    def test_a_file_that_is_refused_keeps_no_other_one_back(self) -> None:
        (self.directory / "a.jsonl.gz").write_bytes(b"nothing")
        (self.directory / ".half.jsonl.gz").write_bytes(b"nothing")
        self.lose(CA)
        code, lines = self.run_command(
            import_.Import, str(self.directory), str(self.file), "--apply"
        )
        self.assertEqual(
            [("a.jsonl.gz", "refused"), ("web", "changed")],
            [(each["Cluster"], each["Result"]) for each in lines],
        )
        self.assertEqual(1, code)

    def test_what_is_no_file(self) -> None:
        for path, why in (
            (self.place / "nothing", f"there is no {self.place}/nothing"),
            (
                self.directory / "charts",
                f"{self.directory}/charts has no file *.jsonl.gz",
            ),
        ):
            error = self.assertRaises(
                errors.InvalidInput,
                self.run_command,
                import_.Import,
                str(path),
            )
            self.assertEqual(why, str(error))
