# SPDX-License-Identifier: Apache-2.0

"""``cluster apply --certificates``: its lines, effect and end."""

from __future__ import annotations

from magnum_capi_helm import runtime
from magnum_capi_helm.kubernetes import helm_records
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.lifecycle import renew
from magnum_capi_helm.operations import operation as operations
from magnum_capi_helm.tests.fakes import management
from magnum_capi_helm.tests.unit.cli import renewed
from magnum_capi_helm.tests.unit.lifecycle import base


class RenewTest(renewed.RenewTestCase):
    def test_it_is_shown_and_not_done(self) -> None:
        self.assertEqual(
            {
                "Result": "would change",
                "Detail": "certificates expire on "
                f"{renewed.days_ahead(100)[:10]}; "
                "the only machine of the control plane is replaced: "
                "connections to the API break when the old one goes",
            },
            self.renew(),
        )
        self.assertNotIn("rollout", self.plane_spec())
        self.assertEqual("CREATE_COMPLETE", self.row().status)

    def test_cluster_api_replaces_the_machines_and_the_row_tells(self) -> None:
        old = {each["metadata"]["uid"] for each in self.machines()}
        upgrades = len(self.helm.upgrades)
        self.assertEqual("changed", self.renew("--apply")["Result"])
        new = {each["metadata"]["uid"] for each in self.machines()}
        self.assertEqual(set(), old & new)
        self.assertEqual("UPDATE_COMPLETE", self.row().status)
        self.assertEqual(upgrades, len(self.helm.upgrades))
        # Those of the new machines are for a year.
        self.assertEqual(
            {"Result": "nothing to do", "Detail": ""}, self.renew("--apply")
        )

    def begin(self) -> None:
        """As far as a command gets that is stopped while it waits."""
        operation = operations.Operation(self.admin, self.row(), runtime.get())
        renew.begin(operation, 180)

    def test_meanwhile_the_row_is_in_progress(self) -> None:
        self.begin()
        self.assertEqual("UPDATE_IN_PROGRESS", self.row().status)
        self.poll()
        self.assertEqual("UPDATE_IN_PROGRESS", self.row().status)
        self.assertIn("default-master", self.row().status_reason)
        self.capi.roll_control_plane()
        self.poll()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)

    def test_it_is_not_complete_before_cluster_api_has_begun(self) -> None:
        """A controller whose clock is behind sees nothing to do yet."""
        self.begin()
        self.capi.settle()
        self.poll()
        self.assertEqual("UPDATE_IN_PROGRESS", self.row().status)
        self.assertEqual(
            f"cluster: machine {renewed.PLANE}-m0 is still to be replaced",
            self.row().status_reason,
        )

    def test_its_time_begins_with_it_and_not_with_the_release(self) -> None:
        for each in self.server.list(
            kinds.SECRET, base.NAMESPACE, helm_records.OWNED
        ):
            self.server.patch(
                kinds.SECRET,
                base.NAMESPACE,
                each["metadata"]["name"],
                {"metadata": {"labels": {"modifiedAt": "1000"}}},
            )
        self.begin()
        self.poll()
        self.assertEqual("UPDATE_IN_PROGRESS", self.row().status)
        change = {"spec": {"rollout": {"after": renewed.days_ahead(-1)}}}
        self.server.patch(
            kinds.CONTROL_PLANE, base.NAMESPACE, renewed.PLANE, change
        )
        self.poll()
        self.assertEqual("UPDATE_FAILED", self.row().status)
        self.assertIn("not done in time", self.row().status_reason)

    def test_a_command_that_was_stopped_waits_when_it_is_run_again(
        self,
    ) -> None:
        self.begin()
        spec = self.plane_spec()
        self.assertEqual(
            {
                "Result": "changed",
                "Detail": "renewed already: to be waited for",
            },
            self.renew("--apply"),
        )
        self.assertEqual(spec["rollout"], self.plane_spec()["rollout"])

    def test_a_conductor_that_dies_before_it_asks_loses_nothing(self) -> None:
        self.management.kill_before("patch", kinds.CONTROL_PLANE)
        self.assertRaises(management.Killed, self.begin)
        self.management.recover()
        change = {"spec": {"holderIdentity": ""}}
        self.server.patch(kinds.LEASE, base.NAMESPACE, base.RELEASE, change)
        self.poll()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)
        self.assertNotIn("rollout", self.plane_spec())

    def test_neither_helm_nor_repairs_take_it_back(self) -> None:
        self.begin()
        self.capi.roll_control_plane()
        self.poll()
        after = self.plane_spec()["rollout"]
        self.resize(3)
        self.capi.settle()
        self.poll()
        self.resize(3)
        self.poll()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)
        self.assertEqual(after, self.plane_spec()["rollout"])

    def renew_until(self, status: str, reason: str | None) -> str:
        """Return the failure, if that is written while the command waits."""

        def end() -> None:
            row = self.row()
            row.status, row.status_reason = status, reason
            row.save()

        self.meanwhile = end  # type: ignore[method-assign]
        line = self.renew("--apply")
        self.assertEqual("failed", line["Result"])
        return line["Detail"]

    def test_a_failure_is_reported_with_its_reason(self) -> None:
        self.assertEqual(
            "UPDATE_FAILED: No valid host was found",
            self.renew_until("UPDATE_FAILED", "No valid host was found"),
        )

    def test_a_cluster_that_is_deleted_meanwhile_is_not_waited_for(
        self,
    ) -> None:
        self.assertEqual(
            "the cluster was deleted meanwhile",
            self.renew_until("DELETE_IN_PROGRESS", None),
        )


class RefusalTest(renewed.RenewTestCase):
    def refused(self) -> str:
        line = self.renew("--apply")
        self.assertEqual("refused", line["Result"])
        self.assertNotIn("rollout", self.plane_spec())
        return line["Detail"]

    def test_what_expires_later_is_left_alone(self) -> None:
        for days, result in (
            (99, "nothing to do"),
            (101, "would change"),
        ):
            self.assertEqual(
                result, self.renew("--within", str(days))["Result"]
            )

    def test_only_what_is_complete_and_healthy_gets_other_machines(
        self,
    ) -> None:
        begins = (
            "only a complete and healthy cluster gets other machines, and "
            "this one is not: "
        )
        row = self.row()
        row.health_status = "UNHEALTHY"
        row.save()
        self.assertEqual(f"{begins}UNHEALTHY", self.refused())
        row.health_status = "HEALTHY"
        row.status = "UPDATE_IN_PROGRESS"
        row.save()
        self.assertEqual(f"{begins}UPDATE_IN_PROGRESS", self.refused())
        row.status = "UPDATE_COMPLETE"
        row.save()
        self.capi.fail_machine("default-worker")
        self.expire(100)
        self.assertIn("No valid host was found", self.refused())

    def test_a_node_that_is_ill_in_a_cluster_that_is_complete(self) -> None:
        every = self.server.list(kinds.MACHINE, base.NAMESPACE)
        [worker, *_] = [
            each for each in every if "worker" in each["metadata"]["name"]
        ]
        ill = {"type": "NodeReady", "status": "False", "reason": "Gone"}
        self.server.set_status(
            kinds.MACHINE,
            base.NAMESPACE,
            worker["metadata"]["name"],
            {**worker["status"], "conditions": [ill]},
        )
        self.assertIn("this one is not: UNHEALTHY", self.refused())

    def test_an_unhealthy_one_whose_certificates_are_good(self) -> None:
        self.capi.fail_machine("default-worker")
        self.expire(300)
        self.assertEqual("nothing to do", self.renew("--apply")["Result"])

    def test_one_that_is_being_deleted(self) -> None:
        row = self.row()
        row.status = "DELETE_IN_PROGRESS"
        row.save()
        self.assertEqual("the cluster is being deleted", self.refused())

    def test_somebody_else_who_works_on_it(self) -> None:
        with self.busy():
            line = self.renew("--apply")
        self.assertEqual(
            {
                "Result": "failed",
                "Detail": f"another conductor works on {base.RELEASE}",
            },
            line,
        )
        self.assertEqual("CREATE_COMPLETE", self.row().status)
