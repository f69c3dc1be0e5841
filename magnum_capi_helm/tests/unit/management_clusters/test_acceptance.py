# SPDX-License-Identifier: Apache-2.0

"""New clusters are not made on a management cluster that is not accepted."""

from __future__ import annotations

import contextlib
from unittest import mock
import uuid

from magnum.common import exception

from magnum_capi_helm.config import conf
from magnum_capi_helm.database import rows
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.tests.fakes import plane
from magnum_capi_helm.tests.unit.cli import test_management_cluster
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.lifecycle import placing

NOT_ACCEPTED = "is not the one that the other clusters are on"


class OneTest(placing.OriginTestCase):
    """A complete cluster, and Magnum is started with another kubeconfig."""

    def setUp(self) -> None:
        super().setUp()
        self.complete()
        self.first = self.uuid

    def another(self) -> str:
        self.uuid = str(uuid.uuid4())
        with contextlib.suppress(exception.MagnumException):
            self.create(name="db")
        row, self.uuid = self.row(), self.first
        self.reason = str(row.status_reason)
        return str(row.status)

    def test_a_cluster_is_not_made_on_another_one(self) -> None:
        other = self.move()
        credentials = dict(self.openstack.credentials)
        self.assertEqual("CREATE_FAILED", self.another())
        self.assertIn(
            "are on, and nothing is made there: the operator has to end that",
            self.reason,
        )
        self.assertIn(
            f"UID of its kube-system: {other.management.identity()}, "
            f"expected: {self.management.identity()}. Set [capi_helm] "
            "kubeconfig_file",
            self.log.output,
        )
        self.assert_untouched(other)
        self.assertEqual(credentials, self.openstack.credentials)
        self.move_back()
        self.assertEqual("CREATE_IN_PROGRESS", self.another())

    def test_accept_lifts_it(self) -> None:
        accept = test_management_cluster
        for copied, words in ((True, ("web",)), (False, ("web", "--lost"))):
            other = self.move()
            if copied:
                accept.copy(self.server, other.server)
            self.assertEqual("CREATE_FAILED", self.another())
            self.assertEqual(0, accept.run(*words, "--apply")[0], str(words))
            self.assertEqual("CREATE_IN_PROGRESS", self.another(), self.reason)

    def test_no_record_and_an_accepted_loss_expect_nothing(self) -> None:
        for record in (base.RELEASE, f"{self.here()}@@gone"):
            self.move()
            self.save(self.groups()["default-master"], stack_id=record)
            self.assertEqual("CREATE_IN_PROGRESS", self.another())
            self.uuid = self.first

    def test_a_process_looks_for_one_that_it_knows_once(self) -> None:
        with mock.patch.object(
            rows, "stack_ids", wraps=rows.stack_ids
        ) as looks:
            for _ in range(3):
                self.assertEqual("CREATE_IN_PROGRESS", self.another())
        self.assertEqual(1, looks.call_count)


class SeveralTest(placing.LocationTestCase):
    """A complete cluster on b, of a and b."""

    def setUp(self) -> None:
        super().setUp()
        self.made()

    def another(self, name: str) -> str:
        first, self.uuid = self.uuid, str(uuid.uuid4())
        with contextlib.suppress(exception.MagnumException):
            self.make(name, name="db")
        row, self.uuid = self.row(), first
        self.reason = str(row.status_reason)
        return str(row.status)

    def rebuild(self, name: str) -> None:
        store = conf.CONF.capi_helm.chart_store
        home = self.planes[name].home
        self.planes[name] = plane.Plane(store, home)
        self.restart()

    def test_a_rebuilt_one_gets_no_clusters(self) -> None:
        self.rebuild("b")
        self.assertEqual("CREATE_FAILED", self.another("b"))
        self.assertIn(NOT_ACCEPTED, self.reason)
        self.assertEqual(
            [], self.planes["b"].server.list(kinds.SECRET, base.NAMESPACE)
        )

    def test_a_new_one_gets_clusters_whatever_the_others_answer(self) -> None:
        for exchanged in ({}, {"a": "b", "b": "a"}):
            self.restart(**exchanged)
            status = self.another("a")
            self.assertEqual("CREATE_IN_PROGRESS", status, self.reason)
        self.restart()
        self.stop("b")
        self.assertEqual("CREATE_IN_PROGRESS", self.another("a"), self.reason)

    def test_the_only_one_of_the_list_is_the_recorded_one(self) -> None:
        self.configure("a")
        self.restart(a="a")
        self.assertEqual("CREATE_FAILED", self.another("a"))
        self.assertIn(NOT_ACCEPTED, self.reason)
