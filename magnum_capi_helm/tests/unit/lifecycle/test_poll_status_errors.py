# SPDX-License-Identifier: Apache-2.0

"""Operations whose polls meet an error each time."""

from __future__ import annotations

from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import responses
from magnum_capi_helm.tests.unit.lifecycle import base

DAMAGED = "the Secret with the desired state, <release>-intent, is damaged"
FORBIDDEN = "the management cluster refused GET Secret (403)"


class ErrorsTest(base.NodegroupTestCase):
    def damage(self) -> str:
        """Damage the desired state; return the values of before."""
        place = (kinds.SECRET, base.NAMESPACE, base.INTENT)
        secret = self.server.get(*place)
        assert secret is not None
        self.server.patch(*place, {"data": {"values.json.gz": "!"}})
        return str(secret["data"]["values.json.gz"])

    def forbid(self, name: str) -> None:
        """The role of the driver does not let it read Secrets."""
        self.management.fail(
            responses.ForbiddenError(FORBIDDEN),
            verbs=("get",),
            kind=kinds.SECRET,
            name=name,
        )

    def outcome(self) -> tuple[str, str]:
        """Status and reason after one more poll."""
        self.poll()
        row = self.row()
        return row.status, row.status_reason or ""

    def later(self, seconds: float) -> tuple[str, str]:
        """The same, after some time."""
        self.plane.clock.advance(seconds)
        return self.outcome()

    def test_a_damaged_desired_state_ends_an_update(self) -> None:
        with self.busy():
            self.resize(3)
        content = self.damage()
        for seconds in (11, 3500):
            status, reason = self.later(seconds)
            self.assertEqual("UPDATE_IN_PROGRESS", status)
            self.assertIn(DAMAGED, reason)
        status, reason = self.later(101)
        self.assertEqual("UPDATE_FAILED", status)
        self.assertTrue(reason.startswith("not done in time: "), reason)
        self.assertIn(DAMAGED, reason)
        groups = self.groups()
        self.assertEqual("UPDATE_FAILED", groups["default-worker"].status)
        # The operator restores it.
        self.server.patch(
            kinds.SECRET,
            base.NAMESPACE,
            base.INTENT,
            {"data": {"values.json.gz": content}},
        )
        for _ in range(3):
            self.plane.clock.advance(60)
            self.health_poll()
            self.capi.settle()
        self.assertEqual({"UPDATE_COMPLETE"}, {self.row().status})
        self.assertEqual(3, self.replicas())

    def test_a_role_without_rights_ends_an_update(self) -> None:
        self.resize(3)
        self.forbid(base.INTENT)
        self.capi.settle()
        expected = ("UPDATE_IN_PROGRESS", FORBIDDEN)
        self.assertEqual(expected, self.outcome())
        expected = ("UPDATE_FAILED", f"not done in time: {FORBIDDEN}")
        self.assertEqual(expected, self.later(3601))

    def test_only_errors_without_a_pause_end_it(self) -> None:
        self.resize(3)
        self.forbid(base.INTENT)
        self.capi.settle()
        self.outcome()
        self.management.recover()
        self.capi.fail_machine("default-worker")
        self.later(3000)
        self.forbid("")
        self.damage()
        self.capi.settle()
        self.assertEqual("UPDATE_IN_PROGRESS", self.later(700)[0])

    def test_a_conductor_at_work_ends_nothing(self) -> None:
        self.resize(3)
        self.capi.settle()
        for number in range(5):
            held = {"holderIdentity": "other", "renewTime": str(number)}
            self.server.patch(
                kinds.LEASE, base.NAMESPACE, base.RELEASE, {"spec": held}
            )
            self.assertEqual("UPDATE_IN_PROGRESS", self.later(1000)[0])

    def test_errors_before_a_conductors_work_do_not_count(self) -> None:
        self.resize(3)
        self.forbid(base.INTENT)
        self.capi.settle()
        self.outcome()
        self.management.recover()
        with self.busy():
            self.later(3000)
        self.forbid(base.INTENT)
        self.assertEqual("UPDATE_IN_PROGRESS", self.later(700)[0])
