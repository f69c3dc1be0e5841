# SPDX-License-Identifier: Apache-2.0

"""Several management clusters: which one a cluster is on, and goes to."""

from __future__ import annotations

import uuid

from magnum.common import exception

from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import names
from magnum_capi_helm.tests.fakes import helm
from magnum_capi_helm.tests.fakes import management
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.lifecycle import placing


class CreateTest(placing.LocationTestCase):
    def test_a_cluster_is_made_where_its_template_says(self) -> None:
        for name, other in (("a", "b"), ("b", "a")):
            self.uuid = str(uuid.uuid5(uuid.NAMESPACE_DNS, name))
            release = names.release("web", self.uuid)
            self.make(name)
            has, has_not = (self.planes[each].server for each in (name, other))
            where = (kinds.CLUSTER, base.NAMESPACE, release)
            self.assertIsNotNone(has.get(*where))
            self.assertIsNone(has_not.get(*where))

    def test_an_unknown_name_is_refused_with_nothing_written(self) -> None:
        self.assertRaises(exception.InvalidParameterValue, self.make, "c")
        row = self.row()
        self.assertEqual("CREATE_FAILED", row.status)
        self.assertIn(
            "label capi_management_cluster: give a or b. It is 'c'",
            row.status_reason,
        )
        self.assertIsNone(row.stack_id)

    def test_the_one_that_the_template_names_has_to_answer(self) -> None:
        self.stop("b")
        self.assertRaises(exception.MagnumException, self.make)
        row = self.row()
        self.assertEqual("CREATE_FAILED", row.status)
        self.assertIn("management cluster b does not", row.status_reason)
        self.assertIsNone(row.stack_id)

    def test_the_record_names_it_from_the_claim_on(self) -> None:
        there = self.planes["b"].management
        there.kill_before("apply", kinds.SECRET)
        self.assertRaises(management.Killed, self.make)
        there.recover()
        self.assertEqual(
            f"{base.RELEASE}@{there.identity()}@b", self.recorded()
        )

    def test_an_interrupted_create_goes_on_where_it_began(self) -> None:
        there = self.planes["b"].management
        self.planes["b"].helm.outcomes = [helm.Outcome.NOT_STARTED]
        self.stop("a")
        self.assertRaises(management.Killed, self.make, on="")
        there.recover()
        # By now it would go there.
        self.planes["a"].management.recover()
        expired = {"spec": {"holderIdentity": ""}}
        self.planes["b"].server.patch(
            kinds.LEASE, base.NAMESPACE, base.RELEASE, expired
        )
        for lost in (False, True):
            if lost:
                self.overwrite()
            self.restart()
            self.poll()
            self.assertFalse(self.there("a"))
        self.settle()
        self.poll()
        self.assertEqual("CREATE_COMPLETE", self.row().status)

    def test_an_unclaimed_cluster_leaves_no_lease(self) -> None:
        there = self.planes["b"].management
        there.kill_before("apply", kinds.SECRET)
        self.assertRaises(management.Killed, self.make)
        there.recover()
        row = self.row()
        row.stack_id = None
        row.save()
        self.delete()
        self.poll()
        self.assertFalse(self.there("b"))


class WindowTest(placing.LocationTestCase):
    """Magnum has overwritten the record, and there was no poll yet."""

    def setUp(self) -> None:
        super().setUp()
        self.make()
        self.assertEqual(base.RELEASE, self.recorded())

    def test_the_first_poll_finds_it_and_records_it(self) -> None:
        self.restart()
        self.poll()
        here = self.planes["b"].management.identity()
        self.assertEqual(f"{base.RELEASE}@{here}@b", self.recorded())

    def test_a_cluster_is_found_while_the_other_place_is_down(self) -> None:
        self.stop("a")
        self.settle()
        self.restart()
        self.poll()
        self.assertEqual("CREATE_COMPLETE", self.row().status)

    def test_while_it_is_down_it_is_waited_for(self) -> None:
        self.stop("b")
        self.restart()
        self.poll()
        row = self.row()
        self.assertEqual("CREATE_IN_PROGRESS", row.status)
        self.assertIn("still to answer: b: ", row.status_reason)
        self.assertFalse(self.there("a"))
        self.planes["b"].management.recover()
        self.forget_silence()
        self.settle()
        self.poll()
        self.assertEqual("CREATE_COMPLETE", self.row().status)
        self.assertIsNone(self.row().status_reason)

    def test_a_deletion_waits_for_it(self) -> None:
        self.stop("b")
        self.restart()
        self.delete()
        self.poll()
        self.assertEqual({"DELETE_IN_PROGRESS"}, self.statuses())
        self.assertIn(
            "deletion waits: the cluster is on none", self.row().status_reason
        )
        self.assertEqual(1, len(self.openstack.credentials))

    def test_a_cluster_that_is_nowhere_is_not_gone(self) -> None:
        for kind in (kinds.CLUSTER, kinds.LEASE):
            self.planes["b"].server.delete(kind, base.NAMESPACE, base.RELEASE)
            self.planes["b"].server.release(kind, base.NAMESPACE, base.RELEASE)
        for each in self.planes["b"].server.list(kinds.SECRET, None):
            self.planes["b"].server.delete(
                kinds.SECRET, base.NAMESPACE, each["metadata"]["name"]
            )
        self.delete()
        self.poll()
        self.assertIn(
            "none of the management clusters a, b is the one that the cluster "
            "was made on",
            self.row().status_reason,
        )
