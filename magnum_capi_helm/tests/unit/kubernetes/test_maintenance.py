# SPDX-License-Identifier: Apache-2.0

"""What the namespace ``kube-system`` says, and how old that may be."""

from __future__ import annotations

import json
import math
from typing import cast

from oslotest import base

from magnum_capi_helm.kubernetes import client
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import maintenance
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.fakes import api_server
from magnum_capi_helm.tests.fakes import held
from magnum_capi_helm.tests.fakes import management
from magnum_capi_helm.tests.unit.kubernetes import api


def namespace(**annotations: str) -> client.Object:
    """The namespace with the driver's annotations."""
    noted = {
        f"magnum.openstack.org/{key.replace('_', '-')}": value
        for key, value in annotations.items()
    }
    return {"metadata": {"uid": "u-1", "annotations": noted}}


class ParsedTest(base.BaseTestCase):
    def test_annotations_of_the_namespace_give_the_state(self) -> None:
        rows: tuple[tuple[client.Object | None, maintenance.State], ...] = (
            (None, maintenance.State("")),
            ({"metadata": {"uid": "u-1"}}, maintenance.State("u-1")),
            (
                namespace(frozen='{"reason": "etcd", "since": 5, "by": "x"}'),
                maintenance.State("u-1", maintenance.Freeze("etcd", 5.0, "x")),
            ),
            (
                namespace(was_frozen="[[1, 2], [3.5, 4]]"),
                maintenance.State("u-1", None, ((1.0, 2.0), (3.5, 4.0))),
            ),
            # Written by hand, it freezes as well.
            *(
                (
                    namespace(frozen=text),
                    maintenance.State(
                        "u-1", maintenance.Freeze(text, -math.inf)
                    ),
                )
                for text in ("", "by hand", "[]", "7", '{"reason": "x"}')
            ),
            (namespace(was_frozen="never"), maintenance.State("u-1")),
            (namespace(was_frozen="[1]"), maintenance.State("u-1")),
        )
        for found, state in rows:
            self.assertEqual(state, maintenance.parsed(found), str(found))

    def test_a_freeze_by_hand_has_no_known_start(self) -> None:
        state = maintenance.parsed(
            namespace(frozen="x", was_frozen="[[1, 2]]")
        )
        self.assertEqual(((1.0, 2.0), (-math.inf, 9.0)), state.spans(9.0))

    def test_the_seconds_of_freezes_count_from_a_moment_on(self) -> None:
        now = maintenance.Freeze("x", 80.0)
        for state, since, seconds in (
            (maintenance.State(), 0.0, 0.0),
            (maintenance.State("u", now), 0.0, 20.0),
            (maintenance.State("u", now), 90.0, 10.0),
            (maintenance.State("u", None, ((1.0, 3.0), (5.0, 9.0))), 2.0, 5.0),
            (maintenance.State("u", now, ((70.0, 75.0),)), 72.0, 23.0),
            (maintenance.State("u", maintenance.Freeze("x")), 60.0, 40.0),
        ):
            self.assertEqual(seconds, state.seconds(since, 100.0))


class ReadTest(base.BaseTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.useFixture(held.Lease())
        self.now = 100.0
        self.management = management.FakeManagement(api_server.ApiServer())
        self.maintenance = maintenance.Maintenance(
            cast("client.Client", self.management), "east", lambda: self.now
        )

    def test_identity_is_the_uid_of_kube_system(self) -> None:
        real, transport = api.over(
            api.Answer(200, {"metadata": {"uid": "u-1"}})
        )
        self.assertEqual("u-1", maintenance.Maintenance(real).read().identity)
        self.assertEqual(
            [("GET", "v1 namespaces/kube-system")], transport.asked
        )

    def test_an_answer_is_used_for_five_seconds(self) -> None:
        for ahead, reads in ((0.0, 1), (4.9, 1), (5.0, 2), (9.9, 2)):
            self.now = 100.0 + ahead
            self.maintenance.check()
            self.assertEqual(reads, len(self.management.requests))

    def test_frozen_it_refuses_with_the_reason(self) -> None:
        self.maintenance.freeze("etcd moves", "op@host", 1000.0)
        error = self.assertRaises(errors.Frozen, self.maintenance.check)
        self.assertRegex(
            str(error),
            "cluster east is frozen .* says: etcd moves$",
        )
        self.assertTrue(error.retriable)

    def test_another_reason_is_the_same_maintenance(self) -> None:
        self.maintenance.freeze("one", "a", 1000.0)
        self.maintenance.freeze("two", "b", 2000.0)
        self.assertEqual(
            maintenance.Freeze("two", 1000.0, "b"),
            self.maintenance.read().freeze,
        )

    def test_a_reason_is_one_that_says_something(self) -> None:
        for wrong in ("", "  ", "x" * 201):
            error = self.assertRaises(
                errors.InvalidInput, self.maintenance.freeze, wrong, "a", 1.0
            )
            self.assertIn("give 1 to 200 characters", str(error))
        self.assertEqual([], self.management.requests)

    def test_thawed_it_is_remembered(self) -> None:
        for began, ended in ((1000.0, 1100.0), (2000.0, 2200.0)):
            self.maintenance.freeze("x", "a", began)
            self.maintenance.thaw(ended)
        self.maintenance.check()
        found = self.maintenance.read()
        self.assertEqual(((1000.0, 1100.0), (2000.0, 2200.0)), found.before)
        self.maintenance.thaw(3000.0)
        self.assertEqual(found, self.maintenance.read())

    def test_twenty_are_remembered(self) -> None:
        for each in range(25):
            self.maintenance.freeze("x", "a", each * 10.0)
            self.maintenance.thaw(each * 10.0 + 1)
        before = self.maintenance.read().before
        self.assertEqual((20, 50.0), (len(before), before[0][0]))

    def test_a_freeze_by_hand_is_ended_and_not_remembered(self) -> None:
        self.management.patch(
            kinds.NAMESPACE,
            "",
            "kube-system",
            {"metadata": {"annotations": {maintenance.FROZEN: "by hand"}}},
        )
        self.assertRaises(errors.Frozen, self.maintenance.check)
        self.maintenance.thaw(1000.0)
        self.maintenance.check()
        self.assertEqual((), self.maintenance.read().before)

    def test_an_unreachable_one_stays_frozen(self) -> None:
        self.management.unreachable()
        self.assertRaises(errors.ManagementUnreachable, self.maintenance.check)
        self.management.recover()
        self.maintenance.freeze("x", "a", 1000.0)
        self.management.unreachable()
        self.now += 60
        self.assertRaises(errors.Frozen, self.maintenance.check)
        self.assertRaises(errors.ManagementUnreachable, self.maintenance.read)

    def test_other_annotations_stay(self) -> None:
        change = {"metadata": {"annotations": {"theirs": "1"}}}
        self.management.patch(kinds.NAMESPACE, "", "kube-system", change)
        self.maintenance.freeze("x", "a", 1000.0)
        self.maintenance.thaw(1001.0)
        found = self.management.get(kinds.NAMESPACE, "", "kube-system") or {}
        self.assertEqual(
            {
                "theirs": "1",
                maintenance.WAS_FROZEN: json.dumps([[1000.0, 1001.0]]),
            },
            found["metadata"]["annotations"],
        )
