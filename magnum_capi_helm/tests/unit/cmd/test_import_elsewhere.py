# SPDX-License-Identifier: Apache-2.0

"""``import``: other management clusters, and clusters of 1.4.0."""

from __future__ import annotations

from magnum_capi_helm.management import kinds
from magnum_capi_helm.tests.unit.cmd import backups
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.lifecycle import placing
from magnum_capi_helm.tests.unit.lifecycle import test_legacy

RELEASE = base.RELEASE
CA = backups.CA


class ElsewhereTest(backups.BackupTestCase):
    """The management cluster is another one now."""

    def setUp(self) -> None:
        super().setUp()
        self.complete()
        self.export()
        self.before = self.secrets()
        self.lose()
        self.server.delete(kinds.LEASE, base.NAMESPACE, RELEASE)
        self.server.delete(kinds.NAMESPACE, "", "kube-system")
        self.server.create(
            kinds.NAMESPACE, {"metadata": {"name": "kube-system"}}
        )
        self.management.requests.clear()

    def test_it_is_refused_unless_that_is_wanted(self) -> None:
        code, result, detail = self.bring("--apply")
        self.assertEqual((1, "refused"), (code, result))
        self.assertIn("is not the one that the cluster was made on", detail)
        self.assertIn("import with --onto and its UID", detail)
        code, result, detail = self.bring("--apply", "--onto", "another")
        self.assertEqual((1, "refused"), (code, result))
        self.assertIn(
            "--onto 'another' is not the UID of the kube-system of a "
            "management cluster that is configured and answers: "
            f"{self.management.identity()}",
            detail,
        )
        self.assertEqual([], self.writes())

    def test_wanted_it_is_restored_and_the_rows_stay(self) -> None:
        stack_id = self.groups()["default-master"].stack_id
        onto = self.management.identity()
        with self.saves() as saved:
            code, result, _ = self.bring("--apply", "--onto", onto)
        self.assertEqual((0, "changed"), (code, result))
        self.assertEqual(self.before, self.secrets())
        self.assertEqual([], saved)
        self.assertEqual(stack_id, self.groups()["default-master"].stack_id)

    def test_a_cluster_without_a_record_and_without_a_trace(self) -> None:
        master = self.groups()["default-master"]
        master.stack_id = RELEASE
        master.save()
        # Where its Cluster is, it is.
        self.assertEqual((0, "would change"), self.bring()[:2])
        self.server.delete(kinds.CLUSTER, base.NAMESPACE, RELEASE)
        self.server.release(kinds.CLUSTER, base.NAMESPACE, RELEASE)
        code, result, detail = self.bring("--apply")
        self.assertEqual((1, "refused"), (code, result))
        self.assertIn("nobody knows which management cluster", detail)
        self.assertEqual([], self.writes())


class SeveralTest(placing.PlacesTestCase, backups.BackupTestCase):
    """Two management clusters, and a cluster on b."""

    def setUp(self) -> None:
        super().setUp()
        self.made()
        self.assertEqual(0, self.export()[0])
        self.identities = {
            name: each.management.identity()
            for name, each in self.planes.items()
        }

    def test_it_is_restored_where_it_is(self) -> None:
        server = self.planes["b"].server
        server.delete(kinds.SECRET, base.NAMESPACE, CA)
        self.assertEqual(
            (0, "changed", f"restores Secret {CA}"),
            self.bring("--apply"),
        )
        self.assertIn(CA, server.names(kinds.SECRET))
        self.assertNotIn(CA, self.planes["a"].server.names(kinds.SECRET))

    def test_nowhere_else_while_it_is_there(self) -> None:
        argv = ("--apply", "--onto", self.identities["a"])
        code, result, detail = self.bring(*argv)
        self.assertEqual((1, "refused"), (code, result))
        self.assertIn("is still on the management cluster b", detail)
        self.stop("b")
        code, result, detail = self.bring(*argv)
        self.assertEqual(
            (1, "refused", "the management cluster b does not answer"),
            (code, result, detail),
        )
        self.assertEqual([], self.planes["a"].server.names(kinds.SECRET))

    def test_elsewhere_when_it_has_gone(self) -> None:
        server = self.planes["b"].server
        server.delete(kinds.CLUSTER, base.NAMESPACE, RELEASE)
        server.release(kinds.CLUSTER, base.NAMESPACE, RELEASE)
        self.assertEqual(
            (0, "changed"),
            self.bring("--apply", "--onto", self.identities["a"])[:2],
        )
        self.assertIn(CA, self.planes["a"].server.names(kinds.SECRET))


class LegacyBackupTest(test_legacy.LegacyTestCase, backups.BackupTestCase):
    """A cluster of 1.4.0: no intent, no Lease, other names."""

    def test_what_was_lost_is_as_it_was(self) -> None:
        self.assertEqual(0, self.export()[0])
        before = self.secrets()
        self.lose()
        self.assertEqual((0, "changed"), self.bring("--apply")[:2])
        self.assertEqual(before, self.secrets())

    def test_an_intent_that_came_later_is_another_state(self) -> None:
        self.export()
        self.resize(3)
        self.lose(f"{test_legacy.RELEASE}-ca")
        code, result, detail = self.bring("--apply")
        self.assertEqual((1, "refused"), (code, result))
        self.assertIn(
            f"Secret {test_legacy.RELEASE}-intent, which the file has not",
            detail,
        )
