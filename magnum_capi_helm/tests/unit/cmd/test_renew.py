# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""``magnum-capi-helm renew``: what it says, writes, and waits for."""

from __future__ import annotations

from collections.abc import Callable
import io
import json
import time
from typing import Any
from unittest import mock

from magnum import objects

from magnum_capi_helm import conf
from magnum_capi_helm import exceptions
from magnum_capi_helm import names
from magnum_capi_helm import runtime
from magnum_capi_helm.changes import renewal
from magnum_capi_helm.cmd import main
from magnum_capi_helm.cmd import renew
from magnum_capi_helm.helm import releases
from magnum_capi_helm.management import kinds
from magnum_capi_helm.tests.fakes import management
from magnum_capi_helm.tests.unit.cmd import test_list
from magnum_capi_helm.tests.unit.flows import base

PLANE = names.chart_object(base.RELEASE, "control-plane")


def days_ahead(days: float) -> str:
    """As Kubernetes writes it."""
    moment = time.gmtime(time.time() + days * 86400)
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", moment)


class Watched(renew.Renew):
    """Something happens between two looks, in no time."""

    meanwhile: Callable[[], None]

    @property
    def pause(self) -> float:  # type: ignore[override]
        """Asked for before each pause."""
        self.meanwhile()
        return 0.0


class RenewTestCase(base.FlowTestCase):
    """A cluster that is complete, whose certificates expire in 100 days."""

    def setUp(self) -> None:
        super().setUp()
        self.complete()
        self.expire(100)

    def expire(self, days: float) -> None:
        """What Cluster API says of the control plane's machines."""
        for each in self.machines():
            status = {
                **each["status"],
                "certificatesExpiryDate": days_ahead(days),
            }
            self.server.set_status(
                kinds.MACHINE,
                base.NAMESPACE,
                each["metadata"]["name"],
                status,
            )

    def machines(self) -> list[dict[str, Any]]:
        label = "cluster.x-k8s.io/control-plane"
        return self.server.list(kinds.MACHINE, base.NAMESPACE, label)

    def plane_spec(self) -> dict[str, Any]:
        live = self.server.get(kinds.CONTROL_PLANE, base.NAMESPACE, PLANE)
        assert live is not None
        return dict(live["spec"])

    def renew(self, *argv: str) -> dict[str, str]:
        """The line of the cluster, once the command was run."""
        app = main.Application()
        app.stdout, app.stderr = io.StringIO(), io.StringIO()
        command = Watched(app, None)
        command.meanwhile = self.meanwhile
        words = ["web", *argv, "-f", "json"]
        command.run(command.get_parser("test").parse_args(words))
        [line] = json.loads(app.stdout.getvalue())
        return {key: line[key] for key in ("Result", "Detail")}

    def meanwhile(self) -> None:
        """Cluster API and the polls go on while the command waits."""
        self.capi.roll_control_plane()
        self.poll()


class RenewTest(RenewTestCase):
    def test_it_is_shown_and_not_done(self) -> None:
        self.assertEqual(
            {
                "Result": "would change",
                "Detail": f"certificates expire on {days_ahead(100)[:10]}; "
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
        renewal.begin(runtime.get(), self.admin, self.row(), 180)

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
            f"cluster: machine {PLANE}-m0 is still to be replaced",
            self.row().status_reason,
        )

    def test_its_time_begins_with_it_and_not_with_the_release(self) -> None:
        for each in self.server.list(
            kinds.SECRET, base.NAMESPACE, releases.OWNED
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
        change = {"spec": {"rollout": {"after": days_ahead(-1)}}}
        self.server.patch(kinds.CONTROL_PLANE, base.NAMESPACE, PLANE, change)
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

    def test_what_fails_is_told(self) -> None:
        def fail() -> None:
            row = self.row()
            row.status = "UPDATE_FAILED"
            row.status_reason = "No valid host was found"
            row.save()

        self.meanwhile = fail  # type: ignore[method-assign]
        self.assertEqual(
            {"Result": "failed", "Detail": "No valid host was found"},
            self.renew("--apply"),
        )


class RefusalTest(RenewTestCase):
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


class WarningTest(RenewTestCase):
    """What health and the list say ahead of it."""

    def test_a_month_ahead_it_is_said_and_no_illness(self) -> None:
        self.expire(31)
        self.assertNotIn(
            "certificates", self.health_poll().health_status_reason
        )
        self.assertEqual((0, "ok"), self.listed())
        self.expire(29)
        row = self.health_poll()
        why = (
            f"those of the control plane expire on {days_ahead(29)[:10]}: an "
            "upgrade, or the operator, renews them"
        )
        self.assertEqual(
            ("HEALTHY", why),
            (row.health_status, row.health_status_reason["certificates"]),
        )
        self.assertEqual((1, f"warning: certificates: {why}"), self.listed())

    def test_once_they_are_new_it_is_said_no_more(self) -> None:
        self.expire(29)
        self.health_poll()
        self.renew("--apply")
        self.expire(365)
        self.health_poll()
        self.assertEqual((0, "ok"), self.listed())

    def test_it_costs_no_poll_anything(self) -> None:
        self.expire(29)
        self.health_poll()
        # Magnum's task would hide what is raised.
        monitor = self.driver.get_monitor(self.admin, self.row())
        with mock.patch.object(objects.NodeGroup, "list", self.fail):
            monitor.poll_health_status()
        self.assertEqual({}, monitor.data)

    def listed(self) -> tuple[int, str]:
        """Exit code and state of the list."""
        code, [line] = test_list.run()
        return code, line["State"]


class InTimeTest(RenewTestCase):
    """What the driver renews where the operator wants it."""

    def setUp(self) -> None:
        super().setUp()
        conf.CONF.set_override("renew_certificates_days", 40, "capi_helm")

    def renewed(self) -> bool:
        """Whether a health poll asks for new machines."""
        before = self.plane_spec().get("rollout")
        self.health_poll()
        return bool(self.plane_spec().get("rollout") != before)

    def test_those_that_expire_soon_enough(self) -> None:
        self.expire(41)
        self.assertFalse(self.renewed())
        self.expire(39)
        self.assertTrue(self.renewed())
        self.assertEqual("UPDATE_IN_PROGRESS", self.row().status)
        self.assertIn(
            f"audit: cluster {self.uuid}: accepted: renew", self.log.output
        )
        self.assertFalse(self.renewed())
        self.capi.roll_control_plane()
        self.poll()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)
        self.expire(365)
        self.assertFalse(self.renewed())

    def test_never_unless_the_operator_wants_it(self) -> None:
        conf.CONF.clear_override("renew_certificates_days", "capi_helm")
        self.expire(1)
        self.assertFalse(self.renewed())

    def test_what_cluster_api_renews_is_left_to_it(self) -> None:
        before = {"rollout": {"before": {"certificatesExpiryDays": 30}}}
        self.server.patch(
            kinds.CONTROL_PLANE, base.NAMESPACE, PLANE, {"spec": before}
        )
        self.capi.settle()
        self.expire(35)
        self.assertFalse(self.renewed())

    def test_one_cluster_at_a_time(self) -> None:
        self.expire(39)
        other = (base.NAMESPACE, "other")
        self.assertTrue(runtime.get().renewing.take(other))
        self.assertFalse(self.renewed())
        # The next look at a cluster that did not change.
        self.plane.clock.advance(901)
        runtime.get().renewing.pass_on(other)
        self.assertTrue(self.renewed())

    def test_an_unhealthy_cluster_is_left_alone(self) -> None:
        self.capi.fail_machine("default-worker")
        self.expire(39)
        self.assertFalse(self.renewed())
        self.assertEqual("CREATE_COMPLETE", self.row().status)

    def test_a_lease_that_is_held_and_one_that_fails_hide_no_health(
        self,
    ) -> None:
        self.expire(39)
        with self.busy():
            self.assertFalse(self.renewed())
        self.assertEqual([], self.warnings())
        self.plane.clock.advance(901)
        self.management.fail(
            exceptions.ManagementError("denied the request"),
            verbs=["patch"],
            kind=kinds.CONTROL_PLANE,
        )
        self.assertFalse(self.renewed())
        self.assertEqual("HEALTHY", self.row().health_status)
        [line] = self.warnings()
        self.assertEqual(
            f"WARNING No new certificates for cluster {self.uuid}: denied the "
            "request",
            line,
        )
        # Polls find it complete, and it is not asked for again at once.
        self.poll()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)
        self.management.recover()
        self.assertFalse(self.renewed())
        self.plane.clock.advance(3601)
        self.assertTrue(self.renewed())
