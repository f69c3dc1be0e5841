# SPDX-License-Identifier: Apache-2.0

"""``cluster upgrade`` and ``cluster rollback``: lines, requests and effect."""

from __future__ import annotations

import io
import re
from typing import Any

from magnum import objects
from magnum.common import context as magnum_context
from magnum.common import exception
import requests

from magnum_capi_helm.cli import batch
from magnum_capi_helm.cli import cluster
from magnum_capi_helm.config import conf
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.fakes import helm as fake_helm
from magnum_capi_helm.tests.fakes import openstack
from magnum_capi_helm.tests.unit.cli import command_case
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.lifecycle import upgrading

_STABLE = {"labels": {"upgrade_channel": "stable"}}
_URL = re.compile(f"{openstack.CONTAINERS}/v1/clusters/[^/]+/actions/upgrade")
_DETAIL = (
    "stable: 1.34.2 to 1.34.3, template new: 6 objects to change; 3 machines "
    "to be replaced"
)


class UpgradeCommandTest(upgrading.UpgradeTestCase):
    """A cluster of channel stable, Magnum's API and a newer template."""

    def setUp(self) -> None:
        base.FlowTestCase.setUp(self)
        self.complete(_STABLE)
        self.health_poll()
        self.new = self.offer("new", "ubuntu-1.34.3")
        self.err = io.StringIO()
        self.api = self.openstack.mocker.post(_URL, json=self._upgrade)

    def offer(self, name: str, image: str, **fields: Any) -> Any:
        return self.template(
            **{**_STABLE, "name": name, "image_id": image, "public": True}
            | fields
        )

    def _upgrade(self, request: Any, answer: Any) -> Any:
        """What Magnum's API does, with its conductor behind."""
        body = request.json()
        service = magnum_context.RequestContext(
            auth_token="service-token",
            auth_token_info=openstack.token_info(
                ("admin",), project="service"
            ),
            project_id="service",
            is_admin=True,
            all_tenants=True,
        )
        answer.status_code = 202
        answer.headers["Content-Type"] = "application/json"
        try:
            self.handler.cluster_upgrade(
                service,
                self.row(),
                objects.ClusterTemplate.get_by_uuid(
                    self.admin, body["cluster_template"]
                ),
                body["max_batch_size"],
                self.groups()["default-worker"],
            )
        except exception.NotSupported as error:
            answer.status_code = 400
            text = str(error)
            return {"errors": [{"title": text, "detail": text}]}
        return {"uuid": self.uuid}

    def line(
        self, *argv: str, kind: type[batch.Batch] = cluster.Upgrade
    ) -> tuple[int, str, str]:
        # Machines come up and Magnum polls while it waits.
        polled = command_case.polled(kind, self.settle)
        code, [line] = command_case.run_json(
            polled, "web", *argv, err=self.err
        )
        return code, line["Result"], line["Detail"]

    def test_a_cluster_that_is_behind_is_shown_then_upgraded(self) -> None:
        before = self.snapshot()
        self.assertEqual((0, "would change", _DETAIL), self.line())
        self.assertEqual(before, self.snapshot())
        self.assertEqual(0, self.api.call_count)
        self.assertEqual((0, "changed", _DETAIL), self.line("--apply"))
        row = self.row()
        self.assertEqual(
            ("UPDATE_COMPLETE", self.new.uuid),
            (row.status, row.cluster_template_id),
        )
        self.assertEqual(
            {("1.34.3", "i-1.34.3")}, set(self.machines().values())
        )
        self.assertEqual(
            (0, "nothing to do", "stable: 1.34.3"), self.line("--apply")
        )
        # The request is that of a user.
        [request] = self.api.request_history
        self.assertEqual(
            {"cluster_template": self.new.uuid, "max_batch_size": 1},
            request.json(),
        )
        self.assertEqual(
            ("container-infra 1.8", "service-token"),
            (
                request.headers["OpenStack-API-Version"],
                request.headers["X-Auth-Token"],
            ),
        )
        # An upgrade that failed is refused until it is repaired.
        self.health_poll()
        self.dbapi.update_cluster(row.id, {"status": "UPDATE_FAILED"})
        self.assertEqual("refused", self.line("--apply")[1])

    def test_the_next_minor_version_takes_an_option(self) -> None:
        self.offer("next", "ubuntu-1.35")
        self.assertIn("1.34.2 to 1.34.3, template new", self.line()[2])
        self.assertIn(
            "1.34.2 to 1.35.1, template next", self.line("--minor")[2]
        )

    def test_public_templates_of_the_driver_alone_are_offered(self) -> None:
        self.new.destroy()
        others: tuple[dict[str, Any], ...] = (
            {"public": False},
            {"hidden": True},
            {"labels": {}},
            {"labels": {"upgrade_channel": ""}},
            {"driver": "k8s_fedora_coreos_v1"},
        )
        for fields in others:
            self.offer("other", "ubuntu-1.34.3", **fields)
        self.assertEqual((0, "nothing to do", "stable: 1.34.2"), self.line())
        # The label of a template without image version counts.
        tagged = {"upgrade_channel": "stable", "kube_tag": "v1.34.3"}
        self.offer("tagged", "bare", labels=tagged)
        self.assertIn("1.34.2 to v1.34.3, template tagged", self.line()[2])
        self.offer("broken", "gone")
        error = self.assertRaises(errors.InvalidInput, self.line)
        self.assertEqual(
            "template broken: there is no such image; choose one of "
            "`openstack image list`. It is 'gone'",
            str(error),
        )

    def test_only_a_complete_and_healthy_cluster_is_upgraded(self) -> None:
        for fields, state in (
            ({"health_status": "UNHEALTHY"}, "CREATE_COMPLETE, UNHEALTHY"),
            ({"health_status": None}, "CREATE_COMPLETE, UNKNOWN"),
            (
                {"status": "UPDATE_FAILED", "health_status": "HEALTHY"},
                "UPDATE_FAILED, HEALTHY",
            ),
            ({"status": "UPDATE_IN_PROGRESS"}, "UPDATE_IN_PROGRESS, HEALTHY"),
        ):
            self.dbapi.update_cluster(self.row().id, fields)
            self.assertEqual(
                (
                    1,
                    "refused",
                    f"the cluster is {state}: only complete and healthy "
                    "clusters are upgraded",
                ),
                self.line("--apply"),
            )
        self.assertEqual(0, self.api.call_count)

    def test_a_hibernated_cluster_is_refused(self) -> None:
        self.line("--apply", kind=cluster.Hibernate)
        self.health_poll()
        self.assertEqual(
            (1, "refused", "the cluster is hibernated: wake it"),
            self.line("--apply"),
        )

    def test_the_label_or_the_option_chooses_the_channel(self) -> None:
        for labels, result, detail in (
            ({"upgrade_channel": ""}, "nothing to do", ""),
            ({"upgrade_channel": "early"}, "nothing to do", "early: 1.34.2"),
            # Magnum lets a user leave the template's labels out.
            ({}, "would change", _DETAIL),
        ):
            self.dbapi.update_cluster(self.row().id, {"labels": labels})
            self.assertEqual((0, result, detail), self.line())
        plain = self.template(image_id="ubuntu-1.34")
        row = {"cluster_template_id": plain.uuid}
        self.dbapi.update_cluster(self.row().id, row)
        self.assertEqual((0, "nothing to do", ""), self.line())
        conf.CONF.set_override(
            "upgrade_channel", "stable", "capi_helm_cluster_labels"
        )
        self.assertEqual((0, "would change", _DETAIL), self.line())

    def test_an_upgrade_that_goes_on_is_waited_for(self) -> None:
        self.upgrade(self.new)
        detail = "not complete yet; stable: 1.34.3"
        self.assertEqual((0, "would change", detail), self.line())
        self.assertEqual((0, "changed", detail), self.line("--apply"))
        self.assertEqual(0, self.api.call_count)
        self.assertEqual("UPDATE_COMPLETE", self.row().status)

    def test_a_refusal_of_the_api_fails_with_its_text(self) -> None:
        with self.busy():
            self.assertEqual(
                (
                    1,
                    "failed",
                    "upgrade by Magnum's API: the request failed. another "
                    "operation works on the cluster, try again in a moment "
                    "(HTTP 400)",
                ),
                self.line("--apply"),
            )
        self.assertEqual("CREATE_COMPLETE", self.row().status)
        self.assertEqual(1, self.api.call_count)

    def test_the_row_says_whether_a_request_was_lost(self) -> None:
        def lost(request: Any, answer: Any) -> Any:
            self._upgrade(request, answer)
            raise requests.ConnectTimeout

        self.openstack.mocker.post(_URL, exc=requests.ConnectTimeout)
        code, result, detail = self.line("--apply")
        self.assertEqual((1, "failed"), (code, result))
        self.assertRegex(detail, "^upgrade by Magnum's API: no answer")
        taken_back = {"uuid": self.uuid}
        self.openstack.mocker.post(_URL, json=taken_back, status_code=202)
        self.assertEqual(
            (1, "failed", "the cluster does not have the new template"),
            self.line("--apply"),
        )
        self.openstack.mocker.post(_URL, json=lost)
        self.assertEqual((0, "changed", _DETAIL), self.line("--apply"))


class RollbackCommandTest(upgrading.UpgradeTestCase):
    """On a cluster whose upgrade helm refused."""

    def setUp(self) -> None:
        super().setUp()
        self.err = io.StringIO()

    def fail_upgrade(self) -> None:
        self.helm.outcomes = [fake_helm.Outcome.REFUSED] * 2
        self.upgrade(self.template(image_id="ubuntu-1.35"))
        self.poll()

    def rollback(self, *argv: str) -> list[dict[str, Any]]:
        code, lines = command_case.run_json(
            cluster.Rollback, *argv, err=self.err
        )
        self.assertEqual(0, code)
        return lines

    def test_a_rollback_is_accepted_and_finished_by_polls(self) -> None:
        old = self.row().cluster_template_id
        self.fail_upgrade()
        before = self.snapshot(), len(self.helm.upgrades)
        self.rollback("web")
        self.assertIn(
            ": nothing was written: add --apply", self.err.getvalue()
        )
        self.assertEqual(before, (self.snapshot(), len(self.helm.upgrades)))
        self.rollback("web", "--apply")
        self.assertIn(": accepted\n", self.err.getvalue())
        self.settle()
        self.assertEqual(
            ("UPDATE_COMPLETE", old),
            (self.row().status, self.row().cluster_template_id),
        )

    def test_helm_is_left_to_the_polls_when_it_fails(self) -> None:
        self.fail_upgrade()
        self.helm.outcomes = [fake_helm.Outcome.REFUSED]
        self.rollback("web", "--apply")
        self.assertIn(
            ": accepted; Magnum's polls continue: ", self.err.getvalue()
        )
        self.assertEqual("UPDATE_IN_PROGRESS", self.row().status)

    def test_an_upgrade_stops_where_it_is(self) -> None:
        old = self.row().cluster_template_id
        self.upgrade(self.template(image_id="ubuntu-1.35"))
        self.capi.settle()
        for argv in (("--stop-here",), ("--stop-here", "--apply")):
            self.rollback("web", *argv)
        text = self.err.getvalue()
        self.assertIn(": nothing was written: add --apply", text)
        self.assertIn(": accepted\n", text)
        self.settle()
        self.assertEqual(
            {
                "control-plane": upgrading.NEW,
                "default-worker": upgrading.OLD,
            },
            self.machines(),
        )
        row = self.row()
        done = ("UPDATE_COMPLETE", old)
        self.assertEqual(done, (row.status, row.cluster_template_id))
