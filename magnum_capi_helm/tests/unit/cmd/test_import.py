# SPDX-License-Identifier: Apache-2.0

"""``import``: what it restores, and what it keeps its hands off."""

from __future__ import annotations

import gzip

from magnum_capi_helm.management import kinds
from magnum_capi_helm.model import names
from magnum_capi_helm.tests.unit.cmd import backups
from magnum_capi_helm.tests.unit.lifecycle import base

RELEASE = base.RELEASE
RECORD = backups.RECORD
INTENT = backups.INTENT
CREDENTIALS = backups.CREDENTIALS
CA = backups.CA
ETCD = backups.ETCD
PROXY = backups.PROXY
SA = backups.SA


class ImportTest(backups.ImportTestCase):
    """What was lost."""

    def test_where_nothing_is_missing_there_is_nothing_to_do(self) -> None:
        for argv in ((), ("--apply",)):
            self.assertEqual((0, "nothing to do", ""), self.bring(*argv))
        self.assertEqual([], self.writes())

    def test_unless_it_is_told_to_apply_it_writes_nothing(self) -> None:
        self.lose(CA, INTENT)
        self.assertEqual(
            (
                0,
                "would change",
                f"restores Secret {CA}, Secret {INTENT}",
            ),
            self.bring(),
        )
        self.assertEqual([], self.writes())

    def test_what_was_lost_is_as_it_was(self) -> None:
        self.change(CREDENTIALS, extra="c2VjcmV0")
        note = {"metadata": {"annotations": {"magnum.openstack.org/x": "y"}}}
        self.server.patch(kinds.SECRET, base.NAMESPACE, CREDENTIALS, note)
        fixed = {"immutable": True}
        self.server.patch(kinds.SECRET, base.NAMESPACE, SA, fixed)
        self.export()
        before = self.secrets()
        self.lose()
        self.server.delete(kinds.LEASE, base.NAMESPACE, RELEASE)
        code, result, detail = self.bring("--apply")
        self.assertEqual((0, "changed"), (code, result))
        self.assertEqual(
            f"restores Lease {RELEASE}, Secret {CREDENTIALS}, Secret {CA}, "
            f"Secret {ETCD}, Secret {PROXY}, Secret {SA}, Secret {INTENT}, "
            "helm's records of revisions 1",
            detail,
        )
        self.assertEqual(before, self.secrets())
        lease = self.server.get(kinds.LEASE, base.NAMESPACE, RELEASE)
        assert lease is not None
        self.assertEqual("", lease["spec"]["holderIdentity"])
        self.assertEqual((0, "nothing to do", ""), self.bring("--apply"))

    def test_keys_alone_do_not_let_a_deletion_conclude(self) -> None:
        """Of a cluster that an older backup of etcd does not have."""
        self.lose()
        self.server.delete(kinds.LEASE, base.NAMESPACE, RELEASE)
        self.server.delete(kinds.CLUSTER, base.NAMESPACE, RELEASE)
        self.server.release(kinds.CLUSTER, base.NAMESPACE, RELEASE)
        code, result, detail = self.bring("--apply")
        self.assertEqual((0, "changed"), (code, result))
        self.assertNotIn("Lease", detail)
        self.assertIsNone(
            self.server.get(kinds.LEASE, base.NAMESPACE, RELEASE)
        )
        self.delete()
        self.poll()
        row = self.row()
        self.assertEqual("DELETE_IN_PROGRESS", row.status)
        self.assertIn("nothing is concluded from that", row.status_reason)

    def test_the_cluster_lives_on_as_if_nothing_had_been(self) -> None:
        self.lose()
        self.bring("--apply")
        self.health_poll()
        self.assertEqual(1, len(self.helm.upgrades))
        self.resize(3)
        self.capi.settle()
        self.poll()
        self.assertEqual({"UPDATE_COMPLETE"}, {self.row().status})
        self.assertEqual(3, self.replicas())

    def test_marks_of_ours_are_part_of_a_secret_and_others_are_not(
        self,
    ) -> None:
        rows = (
            (CREDENTIALS, "annotations", "velero.io/restored", False),
            (CA, "labels", "velero.io/backup-name", False),
            (CA, "labels", "version", False),
            (
                CREDENTIALS,
                "annotations",
                "magnum.openstack.org/a",
                True,
            ),
            (CA, "labels", "cluster.x-k8s.io/cluster-name", True),
            (RECORD, "labels", "status", True),
            (RECORD, "labels", "modifiedAt", False),
        )
        for name, where, key, differs in rows:
            old = (self.secrets()[name][where] or {}).get(key)
            for value in ("x", old):
                self.server.patch(
                    kinds.SECRET,
                    base.NAMESPACE,
                    name,
                    {"metadata": {where: {key: value}}},
                )
                self.assertEqual(
                    int(differs and value == "x"), self.bring()[0], key
                )

    def test_the_rest_is_restored_where_that_is_wanted(self) -> None:
        self.change(CA, extra="ZGlmZmVyZW50")
        self.lose(SA)
        self.assertEqual(
            (
                0,
                "changed",
                f"restores Secret {SA}; stays as it is: Secret {CA}",
            ),
            self.bring("--apply", "--leave-different"),
        )
        found = self.secrets()
        self.assertEqual(self.before[SA], found[SA])
        self.assertIn("extra", found[CA]["data"])
        self.assertEqual(
            (0, "nothing to do", ""),
            self.bring("--apply", "--leave-different"),
        )

    def test_without_a_cluster_object_keys_alone_come_back(self) -> None:
        self.server.delete(kinds.CLUSTER, base.NAMESPACE, RELEASE)
        self.server.release(kinds.CLUSTER, base.NAMESPACE, RELEASE)
        self.lose()
        later = (
            f"once the Cluster {RELEASE} is there, and not before, import "
            f"restores Secret {INTENT}, helm's records of revisions 1"
        )
        code, result, detail = self.bring("--apply")
        self.assertEqual((0, "changed"), (code, result))
        self.assertEqual(
            f"restores Secret {CREDENTIALS}, Secret {CA}, Secret {ETCD}, "
            f"Secret {PROXY}, Secret {SA}; {later}",
            detail,
        )
        self.assertEqual(
            {
                CREDENTIALS,
                CA,
                ETCD,
                PROXY,
                SA,
            },
            set(self.secrets()),
        )
        self.management.requests.clear()
        self.assertEqual(later, self.refused())

    def test_a_namespace_comes_back_with_its_marks(self) -> None:
        marks = {"labels": {"team": "a"}, "annotations": {"note": "b"}}
        space = (kinds.NAMESPACE, "", base.NAMESPACE)
        self.server.patch(*space, {"metadata": marks})
        self.export()
        cluster = self.server.get(kinds.CLUSTER, base.NAMESPACE, RELEASE)
        self.lose()
        self.server.delete(*space)
        assert cluster is not None
        self.bring("--apply")
        found = (self.server.get(*space) or {})["metadata"]
        self.assertEqual(
            marks, {key: found[key] for key in ("labels", "annotations")}
        )
        self.assertEqual(self.before, self.secrets())

    def test_the_kubeconfig_is_left_to_cluster_api(self) -> None:
        name = names.kubeconfig(RELEASE)
        self.server.create(
            kinds.SECRET,
            {
                "metadata": {"name": name, "namespace": base.NAMESPACE},
                "data": {"value": "a3ViZQ=="},
            },
        )
        self.export()
        self.assertIn(name, gzip.decompress(self.file.read_bytes()).decode())
        self.lose(name)
        self.assertEqual((0, "nothing to do", ""), self.bring("--apply"))
        # It is made anew any moment, so an export does without.
        self.assertEqual(0, self.export()[0])

    def test_who_imported_it_is_logged(self) -> None:
        self.lose(CA)
        self.bring("--apply")
        self.assertRegex(
            self.log.output,
            f"audit: cluster {self.uuid}: accepted: import, user .+@",
        )
