# SPDX-License-Identifier: Apache-2.0

"""helm's records of releases, changed without helm."""

from __future__ import annotations

import base64
import gzip
import json

from magnum_capi_helm.kubernetes import helm_records
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.unit.helm import records


class GiveUpTest(records.RecordsTestCase):
    def _statuses(self) -> dict[int, tuple[str, bool]]:
        found = helm_records.revisions(
            self.management, records.NAMESPACE, records.RELEASE
        )
        return {each.version: (each.status, each.repaired) for each in found}

    def test_a_revision_whose_helm_died_has_failed(self) -> None:
        self.record(3, "deployed")
        self.record(4, "pending-upgrade", records.packed(records.BODY))
        helm_records.give_up(
            self.management, records.NAMESPACE, records.RELEASE, 4
        )
        self.assertEqual(
            {3: ("deployed", False), 4: ("failed", False)}, self._statuses()
        )
        # helm looks into the record, and not at its label.
        found = helm_records.read(
            self.management, records.NAMESPACE, records.RELEASE, 4
        )
        assert found is not None
        self.assertEqual("failed", found.status)
        self.assertEqual(records.BODY["config"], found.values)

    def test_one_that_is_gone_is_fine(self) -> None:
        helm_records.give_up(
            self.management, records.NAMESPACE, records.RELEASE, 4
        )
        self.assertEqual({}, self._statuses())

    def test_a_record_that_helm_cannot_read_goes(self) -> None:
        self.record(3, "deployed")
        self.record(4, "pending-upgrade", records.packed([]))
        helm_records.give_up(
            self.management, records.NAMESPACE, records.RELEASE, 4
        )
        self.assertEqual({3: ("deployed", False)}, self._statuses())

    def test_what_was_repaired_is_marked(self) -> None:
        self.record(4, "failed")
        helm_records.mark_repaired(
            self.management, records.NAMESPACE, records.RELEASE, 4
        )
        self.assertEqual({4: ("failed", True)}, self._statuses())


class RewriteTest(records.RecordsTestCase):
    """Another manifest in the record of a revision."""

    NEW = records.MANIFEST.replace("v1alpha1", "v1alpha2")

    def _release(self) -> helm_records.Release:
        release = self.read()
        assert release is not None
        return release

    def test_it_is_all_that_differs_in_what_helm_reads(self) -> None:
        self.record(3, "deployed", records.packed(records.BODY))
        found = self._release()
        self.assertEqual(records.MANIFEST, found.manifest)
        helm_records.rewrite(self.management, found, self.NEW, "a/v1 to v2")
        name = f"sh.helm.release.v1.{records.RELEASE}.v3"
        stored = self.api.find("secrets", records.NAMESPACE, name) or {}
        text = base64.b64decode(stored["data"]["release"])
        body = json.loads(gzip.decompress(base64.b64decode(text)))
        info = {"status": "deployed", "description": "rewritten: a/v1 to v2"}
        self.assertEqual(
            {**records.BODY, "manifest": self.NEW, "info": info}, body
        )
        self.assertEqual(
            found.record["metadata"]["labels"], stored["metadata"]["labels"]
        )

    def test_it_shows_until_helm_writes_the_record(self) -> None:
        self.record(3, "deployed", records.packed(records.BODY))
        before = self.read()
        assert before is not None
        self.assertFalse(before.rewritten)
        helm_records.rewrite(self.management, self._release(), self.NEW, "so")
        after = self.read()
        assert after is not None
        self.assertTrue(after.rewritten)
        self.record(3, "superseded", records.packed(records.BODY))
        again = self.read()
        assert again is not None
        self.assertFalse(again.rewritten)

    def test_a_record_that_was_written_meanwhile_is_a_conflict(self) -> None:
        self.record(3, "deployed", records.packed(records.BODY))
        found = self._release()
        self.record(3, "uninstalling", records.packed(records.BODY))
        self.assertRaises(
            errors.Conflict,
            helm_records.rewrite,
            self.management,
            found,
            self.NEW,
            "so",
        )

    def test_what_helm_said_of_the_revision_stays(self) -> None:
        info = {"status": "deployed", "description": "Upgrade complete"}
        self.record(
            3, "deployed", records.packed({**records.BODY, "info": info})
        )
        helm_records.rewrite(self.management, self._release(), self.NEW, "so")
        name = f"sh.helm.release.v1.{records.RELEASE}.v3"
        stored = self.api.find("secrets", records.NAMESPACE, name) or {}
        text = base64.b64decode(stored["data"]["release"])
        body = json.loads(gzip.decompress(base64.b64decode(text)))
        self.assertEqual(
            "Upgrade complete; rewritten: so", body["info"]["description"]
        )

    def test_one_that_is_gone_and_one_that_is_damaged(self) -> None:
        self.assertIsNone(self.read())
        self.record(3, "deployed", records.packed([]))
        error = self.assertRaises(errors.HelmError, self._release)
        self.assertEqual(
            f"revision 3 of release {records.RELEASE} can't be read: "
            "TypeError",
            str(error),
        )
