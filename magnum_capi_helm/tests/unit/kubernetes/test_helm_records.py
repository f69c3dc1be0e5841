# SPDX-License-Identifier: Apache-2.0

"""helm's records of releases, read without helm."""

from __future__ import annotations

import base64
import gzip
import json
from typing import Any

from magnum_capi_helm.kubernetes import helm_records
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import errors
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.unit.helm import records


class RevisionsTest(records.RecordsTestCase):
    def test_the_newest_is_the_last_by_number(self) -> None:
        self.record(9, "superseded", modifiedAt="1764000009")
        self.record(10, "pending-upgrade", createdAt="1764000010")
        self.record(8, "superseded")
        self.assertEqual(
            (
                view.Revision(8, "superseded", 0.0),
                view.Revision(9, "superseded", 1764000009.0),
                view.Revision(10, "pending-upgrade", 1764000010.0),
            ),
            helm_records.revisions(
                self.management, records.NAMESPACE, records.RELEASE
            ),
        )

    def test_labels_that_helm_copied_do_not_count(self) -> None:
        copied: dict[str, Any] = {
            "modifiedAt": "1764000009",
            "magnum.openstack.org/repaired": "9",
        }
        self.record(9, "failed", **copied)
        self.record(10, "failed", created="2027-01-15T08:00:00Z", **copied)
        self.assertEqual(
            (
                view.Revision(9, "failed", 1764000009.0, repaired=True),
                view.Revision(10, "failed", 1800000000.0),
            ),
            helm_records.revisions(
                self.management, records.NAMESPACE, records.RELEASE
            ),
        )

    def test_records_of_another_release_are_not_ours(self) -> None:
        self.record(1, "deployed", name="demo-2")
        self.assertEqual(
            (),
            helm_records.revisions(
                self.management, records.NAMESPACE, records.RELEASE
            ),
        )


class ReadTest(records.RecordsTestCase):
    def test_a_whole_revision(self) -> None:
        self.record(3, "deployed", records.packed(records.BODY))
        found = self.read()
        assert found is not None
        self.assertEqual(
            (
                3,
                "deployed",
                "openstack-cluster",
                "0.27.0",
                {"kubernetesVersion": "1.34.2"},
            ),
            (
                found.version,
                found.status,
                found.chart_name,
                found.chart_version,
                found.values,
            ),
        )
        self.assertEqual(
            ["Cluster", "HelmRelease", "Manifests"],
            [each["kind"] for each in found.objects],
        )
        self.assertEqual(
            {"demo-1-cni-calico", "demo-1-cloud-config"},
            found.names(kinds.HELM_RELEASE, kinds.MANIFESTS),
        )
        self.assertEqual(frozenset(), found.names())

    def test_a_revision_without_values_or_manifest(self) -> None:
        self.record(
            3,
            "failed",
            records.packed({**records.BODY, "config": None, "manifest": ""}),
        )
        found = self.read()
        assert found is not None
        self.assertEqual(({}, ()), (found.values, found.objects))

    def test_one_that_is_gone_is_none(self) -> None:
        self.assertIsNone(self.read())

    def test_a_damaged_record_says_which_and_quotes_nothing(self) -> None:
        whole = gzip.compress(json.dumps(records.BODY).encode(), mtime=0)
        flipped = bytearray(whole)
        flipped[10] ^= 0xFF
        rows = {
            "empty": b"",
            "no base64": b"!",
            "not compressed": base64.b64encode(b"{}"),
            "no JSON": records.packed(b'{"password": "hunter2'),
            "a list": records.packed([]),
            "no chart": records.packed({**records.BODY, "chart": None}),
            "no version": records.packed({**records.BODY, "version": None}),
            "no YAML": records.packed(
                {**records.BODY, "manifest": "a: [hunter2"}
            ),
            "cut short": base64.b64encode(whole[:-20]),
            "flipped bits": base64.b64encode(bytes(flipped)),
        }
        wrong = {}
        for what, content in rows.items():
            self.record(3, "deployed", content)
            try:
                wrong[what] = repr(self.read())
            except errors.HelmError as error:
                if "hunter2" in str(error) or "revision 3" not in str(error):
                    wrong[what] = str(error)
            except Exception as error:
                wrong[what] = repr(error)
        self.assertEqual({}, wrong)

    def test_a_record_without_data_is_damaged(self) -> None:
        name = f"sh.helm.release.v1.{records.RELEASE}.v3"
        meta = {"name": name, "namespace": records.NAMESPACE}
        damaged: list[Any] = [{}, {"data": None}, {"data": {}}]
        for rest in damaged:
            self.api.put("secrets", {"metadata": dict(meta), **rest})
            self.assertRaises(errors.HelmError, self.read)
