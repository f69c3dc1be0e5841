# SPDX-License-Identifier: Apache-2.0

"""Who asked: one line in the log, and in helm's history."""

from __future__ import annotations

from magnum.common import exception

from magnum_capi_helm.model import call
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.fakes import helm as fake_helm
from magnum_capi_helm.tests.unit.lifecycle import base

#: Who :meth:`base.FlowTestCase.login` is.
WHO = "user fake_user, project fake_project"


class ActorTest(base.FlowTestCase):
    ROWS = (
        (call.Actor("status poll"), "status poll"),
        (
            call.Actor("resize", "u1", "p1", "req-1"),
            "resize, user u1, project p1, request req-1",
        ),
        (
            call.Actor("rollout", user="root@controller"),
            "rollout, user root@controller",
        ),
        (
            call.Actor("resize", "u\n2026 forged\x1b[2J", request="é"),
            "resize, user u?2026 forged?[2J, request é",
        ),
        (call.Actor("resize", "u" * 100), "resize, user " + "u" * 64),
    )

    def test_an_actor_is_one_line_of_its_known_parts(self) -> None:
        for found, text in self.ROWS:
            self.assertEqual(text, str(found))

    def test_a_request_is_logged_and_in_helms_history(self) -> None:
        self.complete()
        with call.acting(call.Actor("outer")):
            self.resize(3)
            self.assertEqual(call.Actor("outer"), call.actor())
        self.assertIsNone(call.actor())
        text = f"resize, {WHO}, request {self.context.request_id}"
        self.assertEqual(text, self.helm.upgrades[-1].asked)
        self.delete()
        for each in (f"{text}\n", f"delete, {WHO}"):
            self.assertIn(
                f"audit: cluster {self.uuid}: accepted: {each}",
                self.log.output,
            )

    def test_a_refused_request_is_logged_as_refused(self) -> None:
        self.complete()
        with self.busy():
            self.assertRaises(exception.OperationInProgress, self._rotate_ca)
        self.assertIn(
            f"audit: cluster {self.uuid}: refused: CA rotation, {WHO}",
            self.log.output,
        )

    def _rotate_ca(self) -> None:
        self.driver.rotate_ca_certificate(self.context, self.row())

    def test_a_change_that_a_poll_applies_names_the_poll(self) -> None:
        self.complete()
        self.helm.outcomes = [fake_helm.Outcome.UNREACHABLE]
        self.resize(3)
        self.poll()
        asked = [call.asked for call in self.helm.upgrades[-2:]]
        self.assertEqual([True, False], [WHO in each for each in asked])
        self.assertEqual("status poll", asked[-1])

    def test_an_error_ends_the_actor_as_well(self) -> None:
        try:
            with call.acting(call.Actor("inner")):
                raise errors.CapiHelmError("no")
        except errors.CapiHelmError:
            self.assertIsNone(call.actor())
