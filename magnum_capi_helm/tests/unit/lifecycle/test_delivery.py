# SPDX-License-Identifier: Apache-2.0

"""Kubeconfigs that are delivered: what, when, how often, and to whom."""

from __future__ import annotations

import dataclasses

import yaml

from magnum_capi_helm import delivery
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import names
from magnum_capi_helm.operations import operation
from magnum_capi_helm.tests.fakes import management
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.lifecycle import delivering


class ReadyTest(delivering.DeliveryCase):
    def test_a_cluster_is_delivered_when_its_create_is_complete(self) -> None:
        self.created()
        [found] = self.receiver.received
        body = found.json
        config = yaml.safe_load(body.pop("kubeconfig"))
        self.assertEqual(delivering.ADDRESS, body.pop("api_address"))
        self.assertRegex(body.pop("created_at"), r"\A20.+\.[0-9]{3}Z\Z")
        self.assertRegex(body.pop("kubeconfig_expires_at"), r"\A20.+Z\Z")
        self.assertEqual(
            {
                "delivery_id": found.id,
                "event": "cluster.ready",
                "cluster_name": "web",
                "cluster_uuid": base.UUID,
                "project_id": "fake_project",
                "user_id": "fake_user",
                "kubeconfig_user": "admin",
            },
            body,
        )
        self.assertEqual("admin@web", config["current-context"])
        [cluster] = config["clusters"]
        self.assertEqual(delivering.ADDRESS, cluster["cluster"]["server"])
        self.assertEqual("/hook", found.path)

    def test_it_is_delivered_once_whoever_polls_and_how_often(self) -> None:
        self.created()
        for _ in range(3):
            self.later()
            self.restart()
            self.later()
        self.assertEqual(1, len(self.receiver.received))

    def test_one_that_was_complete_before_is_delivered_too(self) -> None:
        self.complete()
        self.health_poll()
        [found] = self.receiver.received
        self.assertEqual("cluster.ready", found.json["event"])

    def test_one_that_is_not_ready_is_not_delivered(self) -> None:
        self.create()
        self.poll()
        self.health_poll()
        self.assertEqual([], self.receiver.received)
        self.assertIsNone(self.secret())

    def test_the_administrator_s_credential_is_sent_and_not_kept(
        self,
    ) -> None:
        self.created()
        certificate, key = self.credential
        self.assertEqual(
            {"client-certificate-data": certificate, "client-key-data": key},
            delivering.user_of(self.receiver.received[0].json),
        )
        self.assertEqual({"delivery.json"}, self.keys())

    def test_the_record_goes_with_the_cluster(self) -> None:
        self.created()
        self.assertIsNotNone(self.secret())
        self.delete()
        self.capi.finish()
        self.poll()
        self.assertIsNone(self.secret())


class OnceTest(delivering.DeliveryCase):
    """At least once, and always by the same id."""

    def test_what_was_refused_is_sent_again_by_the_same_id(self) -> None:
        self.receiver.answers = [500]
        self.created()
        self.assertEqual("CREATE_COMPLETE", self.row().status)
        self.later(20)
        self.assertEqual(1, len(self.receiver.received), "too early")
        self.later(60)
        first, second = self.receiver.received
        self.assertEqual(first.id, second.id)
        self.assertEqual(first.body, second.body)
        self.later()
        self.assertEqual(2, len(self.receiver.received))

    def test_another_conductor_goes_on_by_the_same_id(self) -> None:
        self.receiver.answers = [503, 503]
        self.created()
        self.restart()
        self.later(60)
        self.restart("conductor-3")
        self.later(120)
        self.assertEqual(3, len(self.receiver.received))
        self.assertEqual(1, len(set(self.receiver.ids)))
        self.assertEqual(
            1, len({each.body for each in self.receiver.received})
        )

    def test_pauses_double_up_to_an_hour(self) -> None:
        self.receiver.answers = [500] * 99
        self.created()
        for _ in range(12):
            self.later(3601)
        pause = self.record().not_before - self.record().created
        self.assertEqual(13, len(self.receiver.received))
        self.assertEqual(13, self.record().attempts)
        self.assertLess(pause, 14 * 3601)

    def test_what_nobody_noted_is_sent_again_by_the_same_id(self) -> None:
        self.complete()
        kill = self.management.kill_before
        kill("replace", kinds.SECRET, delivering.SECRET)
        self.assertRaises(management.Killed, self.health_poll)
        self.management.recover()
        self.restart()
        self.later(60)
        first, second = self.receiver.received
        self.assertEqual(first.id, second.id)
        self.assertEqual(first.body, second.body)

    def test_nothing_is_sent_that_was_not_written_down_before(self) -> None:
        self.complete()
        self.management.kill_before("create", kinds.SECRET, delivering.SECRET)
        self.assertRaises(management.Killed, self.health_poll)
        self.assertEqual([], self.receiver.received)

    def test_while_one_conductor_sends_no_other_one_does(self) -> None:
        self.complete()
        row, other = self.row(), self.plane.runtime("conductor-2")

        def poll_elsewhere() -> None:
            self.receiver.meanwhile = lambda: None
            delivery.notice(
                operation.Operation(self.admin, row, other), now=True
            )

        self.receiver.meanwhile = poll_elsewhere
        self.health_poll()
        self.assertEqual(1, len(self.receiver.received))
        self.assertEqual(1, other.deliveries.pending())

    def test_of_two_that_find_it_due_one_sends_it(self) -> None:
        self.receiver.answers = [500]
        self.created()
        row, other = self.row(), self.plane.runtime("conductor-2")
        before = self.management.before

        def just_before_the_write() -> None:
            self.management.before = before
            delivery.notice(
                operation.Operation(self.admin, row, other), now=True
            )

        def on_write() -> None:
            # The look has read the record; its claim comes next.
            reads = [
                each
                for each in self.management.requests
                if each.name == delivering.SECRET
            ]
            if reads[-1].verb == "get" and len(reads) > seen:
                just_before_the_write()

        seen = sum(
            each.name == delivering.SECRET for each in self.management.requests
        )
        self.management.before = on_write
        self.later(60)
        self.assertEqual(2, len(self.receiver.received))
        self.assertEqual(1, len(set(self.receiver.ids)))


class AdministratorTest(delivering.DeliveryCase):
    def test_it_waits_until_cluster_api_has_made_a_kubeconfig(self) -> None:
        name = names.kubeconfig(base.RELEASE)
        self.complete()
        self.server.delete(kinds.SECRET, base.NAMESPACE, name)
        self.health_poll()
        self.assertEqual([], self.receiver.received)
        self.administrator(*self.ca.signed("late"), self.ca.pem)
        self.later(61)
        self.assertEqual(1, len(self.receiver.received))

    def test_a_record_of_a_limited_user_is_followed(self) -> None:
        """Earlier commits of 2.0 sent a user with fewer rights by default."""
        self.created()
        found = self.secret()
        assert found is not None
        sent = dataclasses.replace(self.record(), looks="of another user")
        found["data"] = {**sent.to_secret(), "tls.crt": "YQ=="}
        self.server.apply(kinds.SECRET, found)
        self.restart()
        self.later()
        first, second = self.receiver.received
        self.assertNotEqual(first.id, second.id)
        self.assertEqual("cluster.credentials_changed", second.json["event"])
        self.assertEqual({"delivery.json"}, self.keys())

    def test_there_and_back_are_three_ids(self) -> None:
        self.created()
        for address in ("https://203.0.113.99:6443", delivering.ADDRESS):
            self.move(address)
            self.health_poll()
        self.assertEqual(3, len(set(self.receiver.ids)))

    def test_a_lost_record_makes_the_same_id_for_the_same_change(self) -> None:
        self.created()
        self.server.delete(kinds.SECRET, base.NAMESPACE, delivering.SECRET)
        self.restart()
        self.later()
        self.assertEqual(2, len(self.receiver.received))
        self.assertEqual(1, len(set(self.receiver.ids)))
