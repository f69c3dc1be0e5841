# SPDX-License-Identifier: Apache-2.0

"""Kubeconfigs that are delivered: what, when, how often, and to whom."""

from __future__ import annotations

import base64

from cryptography import x509
from cryptography.x509 import oid
import yaml

from magnum_capi_helm.delivery import notice
from magnum_capi_helm.management import kinds
from magnum_capi_helm.model import names
from magnum_capi_helm.tests.fakes import management
from magnum_capi_helm.tests.unit.delivery import pki
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
                "kubeconfig_user": "limited",
            },
            body,
        )
        self.assertEqual("limited@web", config["current-context"])
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

    def test_the_limited_user_is_who_the_options_say(self) -> None:
        self.option("delivery_user_name", "portal")
        self.option("delivery_user_groups", ["view", "tools"])
        self.created()
        found = delivering.certificate_of(self.receiver.received[0].json)
        self.assertEqual(
            [
                (oid.NameOID.ORGANIZATION_NAME, "view"),
                (oid.NameOID.ORGANIZATION_NAME, "tools"),
                (oid.NameOID.COMMON_NAME, "portal"),
            ],
            [(each.oid, each.value) for each in found.subject],
        )
        ca = self.server.get(
            kinds.SECRET, base.NAMESPACE, names.certificate(base.RELEASE, "ca")
        )
        assert ca is not None
        pem = base64.b64decode(ca["data"]["tls.crt"])
        found.verify_directly_issued_by(x509.load_pem_x509_certificate(pem))

    def test_the_key_is_kept_until_it_is_delivered_and_no_longer(self) -> None:
        self.receiver.answers = [500]
        self.created()
        sent = delivering.user_of(self.receiver.received[0].json)
        self.assertEqual(sent["client-key-data"], self.record().key)
        self.later(60)
        self.assertEqual("", self.record().key)
        self.assertEqual({"delivery.json", "tls.crt"}, self.keys())

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
            notice.seen(other, self.admin, row, now=True)

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
            notice.seen(other, self.admin, row, now=True)

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
    def setUp(self) -> None:
        super().setUp()
        self.option("delivery_user", "admin")
        self.complete()
        self.ca = pki.Authority("cluster")

    def test_it_waits_until_cluster_api_has_made_a_kubeconfig(self) -> None:
        self.health_poll()
        self.assertEqual([], self.receiver.received)
        certificate, key = self.ca.signed("kubernetes-admin")
        self.administrator(certificate, key, self.ca.pem)
        self.later(61)
        [found] = self.receiver.received
        self.assertEqual("admin", found.json["kubeconfig_user"])
        self.assertEqual(
            {"client-certificate-data": certificate, "client-key-data": key},
            delivering.user_of(found.json),
        )
        self.assertEqual({"delivery.json"}, self.keys())

    def test_one_that_cluster_api_renewed_is_delivered(self) -> None:
        self.administrator(*self.ca.signed("one"), self.ca.pem)
        self.later()
        self.administrator(*self.ca.signed("two"), self.ca.pem)
        self.later()
        self.assertEqual(2, len(set(self.receiver.ids)))
        found = delivering.certificate_of(self.receiver.received[1].json)
        self.assertEqual("CN=two", found.subject.rfc4514_string())

    def test_there_and_back_are_three_ids(self) -> None:
        self.administrator(*self.ca.signed("one"), self.ca.pem)
        self.later()
        for address in ("https://203.0.113.99:6443", delivering.ADDRESS):
            self.move(address)
            self.health_poll()
        self.assertEqual(3, len(set(self.receiver.ids)))

    def test_a_lost_record_makes_the_same_id_for_the_same_change(self) -> None:
        self.administrator(*self.ca.signed("one"), self.ca.pem)
        self.later()
        self.server.delete(kinds.SECRET, base.NAMESPACE, delivering.SECRET)
        self.restart()
        self.later()
        self.assertEqual(2, len(self.receiver.received))
        self.assertEqual(1, len(set(self.receiver.ids)))
