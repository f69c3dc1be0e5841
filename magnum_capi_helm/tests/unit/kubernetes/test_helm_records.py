# SPDX-License-Identifier: Apache-2.0

"""helm's records of releases, read and changed without helm."""

from __future__ import annotations

import base64
import gzip
import json
from typing import Any

from oslotest import base

from magnum_capi_helm.kubernetes import helm_records
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import errors
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.fakes import held
from magnum_capi_helm.tests.unit.kubernetes import api

NAMESPACE = "magnum-p1"
RELEASE = "demo-1"
MANIFEST = """---
# Source: openstack-cluster/templates/cluster.yaml
apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata:
  name: demo-1
---
# only a comment
---
apiVersion: addons.stackhpc.com/v1alpha1
kind: HelmRelease
metadata:
  name: demo-1-cni-calico
---
apiVersion: addons.stackhpc.com/v1alpha1
kind: Manifests
metadata:
  name: demo-1-cloud-config
"""
BODY = {
    "name": RELEASE,
    "version": 3,
    "info": {"status": "deployed"},
    "chart": {"metadata": {"name": "openstack-cluster", "version": "0.27.0"}},
    "config": {"kubernetesVersion": "1.34.2"},
    "manifest": MANIFEST,
}


def packed(body: Any) -> bytes:
    text = body if isinstance(body, bytes) else json.dumps(body).encode()
    return base64.b64encode(gzip.compress(text))


class RecordsTestCase(base.BaseTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.useFixture(held.Lease())
        self.api = api.Memory()
        self.management = self.api.client()

    def record(
        self,
        version: int,
        status: str,
        content: bytes = b"",
        created: str = "",
        **labels: str,
    ) -> None:
        """Add a record; Kubernetes adds the second base64."""
        name = f"sh.helm.release.v1.{RELEASE}.v{version}"
        meta = {
            "name": name,
            "namespace": NAMESPACE,
            "creationTimestamp": created,
            "labels": {
                "owner": "helm",
                "name": RELEASE,
                "version": str(version),
                "status": status,
                **labels,
            },
        }
        data = {"release": base64.b64encode(content).decode()}
        self.api.put("secrets", {"metadata": meta, "data": data})

    def read(self, version: int = 3) -> helm_records.RevisionContent:
        found = helm_records.read(self.management, NAMESPACE, RELEASE, version)
        assert found is not None
        return found

    def revisions(self) -> tuple[view.Revision, ...]:
        return tuple(
            helm_records.revisions(self.management, NAMESPACE, RELEASE)
        )


class RevisionsTest(RecordsTestCase):
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
            self.revisions(),
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
            self.revisions(),
        )

    def test_records_of_another_release_are_not_ours(self) -> None:
        self.record(1, "deployed", name="demo-2")
        self.assertEqual((), self.revisions())


class ReadTest(RecordsTestCase):
    def test_a_revision_is_read_whole(self) -> None:
        self.record(3, "deployed", packed(BODY))
        found = self.read()
        values = {"kubernetesVersion": "1.34.2"}
        self.assertEqual(
            (3, "deployed", "openstack-cluster", "0.27.0", values),
            (
                *(found.version, found.status, found.chart_name),
                *(found.chart_version, found.values),
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

    def test_an_empty_revision_is_read(self) -> None:
        empty = packed({**BODY, "config": None, "manifest": ""})
        self.record(3, "failed", empty)
        self.assertEqual(({}, ()), (self.read().values, self.read().objects))

    def test_an_absent_release_is_none(self) -> None:
        self.assertIsNone(
            helm_records.read(self.management, NAMESPACE, RELEASE, 3)
        )

    def test_a_damaged_record_says_which_and_quotes_nothing(self) -> None:
        whole = gzip.compress(json.dumps(BODY).encode(), mtime=0)
        flipped = bytearray(whole)
        flipped[10] ^= 0xFF
        rows: dict[str, Any] = {
            "empty": b"",
            "no base64": b"!",
            "not compressed": base64.b64encode(b"{}"),
            "no JSON": packed(b'{"password": "hunter2'),
            "a list": packed([]),
            "no chart": packed({**BODY, "chart": None}),
            "no version": packed({**BODY, "version": None}),
            "no YAML": packed({**BODY, "manifest": "a: [hunter2"}),
            "cut short": base64.b64encode(whole[:-20]),
            "flipped bits": base64.b64encode(bytes(flipped)),
            "nothing": {},
            "no data": {"data": None},
            "no release": {"data": {}},
        }
        for what, content in rows.items():
            number = "None of release None"
            if isinstance(content, bytes):
                number = f"3 of release {RELEASE}"
                self.record(3, "deployed", content)
            else:
                meta = {"name": f"sh.helm.release.v1.{RELEASE}.v3"}
                meta["namespace"] = NAMESPACE
                self.api.put("secrets", {"metadata": meta, **content})
            error = self.assertRaises(errors.HelmError, self.read)
            self.assertRegex(
                str(error),
                rf"^revision {number} can't be read: \w+$",
                what,
            )


class GiveUpTest(RecordsTestCase):
    def _statuses(self) -> dict[int, tuple[str, bool]]:
        return {
            each.version: (each.status, each.repaired)
            for each in self.revisions()
        }

    def test_a_revision_whose_helm_died_has_failed(self) -> None:
        self.record(3, "deployed")
        self.record(4, "pending-upgrade", packed(BODY))
        helm_records.give_up(self.management, NAMESPACE, RELEASE, 4)
        self.assertEqual(
            {3: ("deployed", False), 4: ("failed", False)}, self._statuses()
        )
        # helm looks into the record, and not at its label.
        found = self.read(4)
        self.assertEqual(
            ("failed", BODY["config"]), (found.status, found.values)
        )

    def test_giving_up_an_absent_release_changes_nothing(self) -> None:
        helm_records.give_up(self.management, NAMESPACE, RELEASE, 4)
        self.assertEqual({}, self._statuses())

    def test_a_record_that_helm_cannot_read_goes(self) -> None:
        self.record(3, "deployed")
        self.record(4, "pending-upgrade", packed([]))
        helm_records.give_up(self.management, NAMESPACE, RELEASE, 4)
        self.assertEqual({3: ("deployed", False)}, self._statuses())

    def test_a_repaired_revision_is_marked(self) -> None:
        self.record(4, "failed")
        helm_records.mark_repaired(self.management, NAMESPACE, RELEASE, 4)
        self.assertEqual({4: ("failed", True)}, self._statuses())


class RewriteTest(RecordsTestCase):
    NEW = MANIFEST.replace("v1alpha1", "v1alpha2")

    def _stored(self) -> tuple[dict[str, Any], dict[str, Any]]:
        name = f"sh.helm.release.v1.{RELEASE}.v3"
        secret = self.api.find("secrets", NAMESPACE, name)
        assert secret is not None
        text = base64.b64decode(secret["data"]["release"])
        return secret, json.loads(gzip.decompress(base64.b64decode(text)))

    def test_only_manifest_and_description_are_rewritten(self) -> None:
        for before, after in (
            ({}, "rewritten: a/v1 to v2"),
            ({"description": "Done"}, "Done; rewritten: a/v1 to v2"),
        ):
            info = {"status": "deployed", **before}
            self.record(3, "deployed", packed({**BODY, "info": info}))
            found = self.read()
            self.assertEqual(MANIFEST, found.manifest)
            helm_records.rewrite(
                self.management, found, self.NEW, "a/v1 to v2"
            )
            stored, body = self._stored()
            info = {"status": "deployed", "description": after}
            self.assertEqual(
                {**BODY, "manifest": self.NEW, "info": info}, body
            )
            self.assertEqual(
                found.record["metadata"]["labels"],
                stored["metadata"]["labels"],
            )

    def test_a_rewritten_record_is_marked_until_helm_writes_it(self) -> None:
        self.record(3, "deployed", packed(BODY))
        self.assertFalse(self.read().rewritten)
        helm_records.rewrite(self.management, self.read(), self.NEW, "so")
        self.assertTrue(self.read().rewritten)
        self.record(3, "superseded", packed(BODY))
        self.assertFalse(self.read().rewritten)

    def test_a_record_that_was_written_meanwhile_is_a_conflict(self) -> None:
        self.record(3, "deployed", packed(BODY))
        old = (self.management, self.read(), self.NEW, "so")
        self.record(3, "uninstalling", packed(BODY))
        self.assertRaises(errors.Conflict, helm_records.rewrite, *old)
