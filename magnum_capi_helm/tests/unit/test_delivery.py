# SPDX-License-Identifier: Apache-2.0

"""Deliveries: content, signature, times, ids, cost, and a receiver."""

from __future__ import annotations

import base64
import contextlib
import dataclasses
from http import client
import importlib.util
import io
import json
import pathlib
import ssl
import threading
import time
from typing import Any
from unittest import mock

import fixtures
from magnum.conductor.handlers import ca_conductor
from oslotest import base as oslotest_base
import yaml

import magnum_capi_helm
from magnum_capi_helm import delivery as deliveries
from magnum_capi_helm import runtime
from magnum_capi_helm import schedules
from magnum_capi_helm.config import conf
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import names
from magnum_capi_helm.tests.fakes import management
from magnum_capi_helm.tests.unit.delivery import delivery_case
from magnum_capi_helm.tests.unit.delivery import pki
from magnum_capi_helm.tests.unit.lifecycle import base


class ReadyTest(delivery_case.DeliveryCase):
    def test_a_cluster_is_delivered_when_its_create_is_complete(self) -> None:
        """The administrator's credential is sent, and not kept."""
        self.ready()
        [found] = self.receiver.received
        body = found.json
        certificate, key = self.credential
        self.assertEqual(
            {"client-certificate-data": certificate, "client-key-data": key},
            delivery_case.user_of(body),
        )
        config = yaml.safe_load(body.pop("kubeconfig"))
        self.assertEqual(delivery_case.ADDRESS, body.pop("api_address"))
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
        self.assertEqual(delivery_case.ADDRESS, cluster["cluster"]["server"])
        self.assertEqual("/hook", found.path)
        self.assertEqual({"delivery.json"}, self.keys())

    def test_many_polls_deliver_a_cluster_once(self) -> None:
        self.ready()
        for _ in range(3):
            self.later()
            self.restart()
            self.later()
        # It has no application credential.
        self.rotate()
        self.later()
        self.assertEqual(1, len(self.receiver.received))

    def test_a_rotation_is_delivered_when_the_new_ca_signs(self) -> None:
        self.ready()
        name = names.kubeconfig(base.RELEASE)
        ca_conductor.Handler().rotate_ca_certificate(self.context, self.row())
        while self.server.get(kinds.SECRET, base.NAMESPACE, name):
            self.poll()
            self.capi.roll()
        self.assertIn("step 3 of 6", self.why())
        self.administrator(*self.credential, pki.Authority("new").pem)
        self.later(60.0)
        self.assertEqual(2, len(self.receiver.received))

    def test_a_health_poll_alone_delivers_a_complete_cluster(self) -> None:
        self.create()
        self.poll()
        self.health_poll()
        self.assertEqual([], self.receiver.received)
        self.assertIsNone(self.secret())
        self.settle()
        self.assertEqual([], self.receiver.received)
        self.health_poll()
        self.assertEqual(1, len(self.receiver.received))

    def test_the_record_goes_with_the_cluster(self) -> None:
        self.ready()
        self.assertIsNotNone(self.secret())
        self.vanish()
        self.assertIsNone(self.secret())


class OnceTest(delivery_case.DeliveryCase):
    """At least once, and always by the same id."""

    def test_a_refused_delivery_is_sent_again_by_the_same_id(self) -> None:
        """Also by another conductor."""
        scope = (base.NAMESPACE, base.RELEASE)
        self.receiver.answers = [500, 503, 503]
        self.ready()
        self.assertEqual("CREATE_COMPLETE", self.row().status)
        self.assertEqual({scope}, set(runtime.get().undelivered))
        self.later(20)
        self.assertEqual(1, len(self.receiver.received), "too early")
        self.later(60)
        self.restart()
        self.later(120)
        self.restart("conductor-3")
        self.later(240)
        self.assertEqual({}, runtime.get().undelivered)
        self.later()
        received = self.receiver.received
        self.assertEqual(4, len(received))
        self.assertEqual(1, len({(each.id, each.body) for each in received}))

    def test_a_delivery_is_recorded_before_it_is_sent(self) -> None:
        """Without a record of its end, it is sent by the same id."""
        self.complete()
        for verb, sent in (("create", 0), ("replace", 1)):
            kill = self.management.kill_before
            kill(verb, kinds.SECRET, delivery_case.SECRET)
            self.assertRaises(management.Killed, self.health_poll)
            self.assertEqual(sent, len(self.receiver.received))
            self.management.recover()
            self.restart()
        self.later(60)
        first, second = self.receiver.received
        self.assertEqual((first.id, first.body), (second.id, second.body))

    def test_while_one_conductor_sends_no_other_one_does(self) -> None:
        self.complete()
        row, others = self.row(), []

        def poll_elsewhere() -> None:
            self.receiver.meanwhile = lambda: None
            others.append(self.poll_elsewhere(row))

        self.receiver.meanwhile = poll_elsewhere
        self.health_poll()
        self.assertEqual(1, len(self.receiver.received))
        self.assertEqual([1], [len(each.undelivered) for each in others])

    def test_two_conductors_send_a_due_delivery_once(self) -> None:
        self.receiver.answers = [500]
        self.ready()
        row, before = self.row(), self.management.before

        def verbs() -> list[str]:
            return [
                each.verb
                for each in self.management.requests
                if each.name == delivery_case.SECRET
            ]

        def on_write() -> None:
            # The look has read the record; its claim comes next.
            if verbs()[-1] == "get" and len(verbs()) > earlier:
                self.management.before = before
                self.poll_elsewhere(row)

        earlier = len(verbs())
        self.management.before = on_write
        self.later(60)
        self.assertEqual(2, len(self.receiver.received))
        self.assertEqual(1, len(set(self.receiver.ids)))


class AdministratorTest(delivery_case.DeliveryCase):
    def test_a_delivery_waits_for_the_kubeconfig_of_cluster_api(self) -> None:
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
        self.ready()
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


class ChangesTest(delivery_case.DeliveryCase):
    def setUp(self) -> None:
        super().setUp()
        self.ready()

    def events(self) -> list[str]:
        return [each.json["event"] for each in self.receiver.received]

    def test_another_address_of_the_api_is_delivered_at_once(self) -> None:
        """Back to the former one is a change of its own."""
        self.move("https://203.0.113.99:6443")
        self.health_poll()
        self.assertEqual(
            ["cluster.ready", "cluster.credentials_changed"], self.events()
        )
        body = self.receiver.received[1].json
        self.assertEqual("https://203.0.113.99:6443", body["api_address"])
        [cluster] = yaml.safe_load(body["kubeconfig"])["clusters"]
        self.assertEqual(body["api_address"], cluster["cluster"]["server"])
        self.move(delivery_case.ADDRESS)
        self.health_poll()
        self.assertEqual(3, len(set(self.receiver.ids)))
        moments = [e.json["created_at"] for e in self.receiver.received]
        self.assertEqual(sorted(set(moments)), moments)

    def test_an_address_that_was_replaced_is_not_sent_any_more(self) -> None:
        self.receiver.answers = [500]
        first, second = (f"https://203.0.113.{n}:6443" for n in (98, 99))
        self.move(first)
        self.health_poll()
        self.move(second)
        self.later(60)
        self.later()
        found = [each.json["api_address"] for each in self.receiver.received]
        self.assertEqual([delivery_case.ADDRESS, first, second], found)
        self.assertEqual(3, len(set(self.receiver.ids)))

    def test_another_credential_or_ca_is_delivered(self) -> None:
        other = pki.Authority("another")
        for number, authority, name in (
            (2, self.ca, "second"),
            (3, other, "x"),
        ):
            self.administrator(*authority.signed(name), authority.pem)
            self.later()
            self.assertEqual(number, len(set(self.receiver.ids)))
            body = self.receiver.received[-1].json
            found = delivery_case.certificate_of(body)
            self.assertEqual(f"CN={name}", found.subject.rfc4514_string())
        self.assertIn("another", found.issuer.rfc4514_string())

    def test_a_lost_record_makes_the_same_id_again(self) -> None:
        record = (kinds.SECRET, base.NAMESPACE, delivery_case.SECRET)
        for _ in range(2):
            self.server.delete(*record)
            self.restart()
            self.later()
        self.assertEqual(["cluster.ready"] * 3, self.events())
        self.assertEqual(1, len(set(self.receiver.ids)))


class CostTest(delivery_case.DeliveryCase):
    def requests(self) -> list[tuple[str, ...]]:
        self.management.requests.clear()
        self.later(30)
        return [tuple(each) for each in self.management.requests]

    def test_a_disabled_delivery_reads_and_writes_nothing(self) -> None:
        self.option("delivery_url", "")
        self.ready()
        self.later()
        self.assertFalse(self.asked())
        self.assertIsNone(self.secret())
        self.assertEqual([], self.receiver.received)
        self.assertEqual([], self.warnings())

    def test_a_poll_costs_nothing_when_nothing_is_due(self) -> None:
        self.ready()
        self.later()
        on = self.requests()
        self.option("delivery_url", "")
        self.assertEqual(self.requests(), on)

    def test_a_poll_waits_for_no_other_that_delivers(self) -> None:
        self.complete()
        with runtime.receiver().turn:
            self.assertFalse(self.asked())
        self.health_poll()
        self.assertEqual(1, len(self.receiver.received))

    def test_a_conductor_that_starts_looks_within_five_minutes(self) -> None:
        self.complete()
        rt = runtime.get()
        rt.deliveries = schedules.Schedule(self.plane.clock, lambda: 0.5)
        self.assertFalse(self.asked())
        self.later(149)
        self.assertEqual([], self.receiver.received)
        self.later(2)
        self.assertEqual(1, len(self.receiver.received))

    def test_an_operation_of_this_process_is_a_reason_to_look(self) -> None:
        """Also one that begins during a look."""
        self.ready()
        self.assertFalse(self.asked())
        self.rotate()
        rt, look = runtime.get(), deliveries._look

        def overtaken(*args: Any) -> float:
            wait = look(*args)
            rt.invalidate((base.NAMESPACE, base.RELEASE))
            return wait

        with mock.patch.object(deliveries, "_look", overtaken):
            self.assertTrue(self.asked())
        self.assertTrue(self.asked())
        self.assertFalse(self.asked())


class HeadersTest(oslotest_base.BaseTestCase):
    def test_the_signature_of_the_standards_example_is_equal(self) -> None:
        key = base64.b64decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
        name = "msg_p5jXN8AQM9LWM0D4loKWxJek"
        content = b'{"test": 2432232314}'
        self.assertEqual(
            {
                "webhook-id": name,
                "webhook-timestamp": "1614265330",
                "webhook-signature": "v1,"
                "g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
            },
            deliveries.signature([key], name, 1614265330.9, content),
        )

    def test_the_former_key_signs_too(self) -> None:
        made = deliveries.signature([b"1" * 24, b"2" * 24], "kc_1", 1.0, b"{}")
        first, second = made["webhook-signature"].split(" ")
        alone = deliveries.signature([b"2" * 24], "kc_1", 1.0, b"{}")
        self.assertEqual(alone["webhook-signature"], second)
        self.assertNotEqual(first, second)


KEY, FORMER = b"k" * 32, b"f" * 32
UUID = "5d12f6fd-a196-4bf0-ae4c-1f639a523a52"
_PATH = (
    pathlib.Path(magnum_capi_helm.__file__).parents[1]
    / "samples"
    / "delivery_receiver.py"
)


def _sample() -> Any:
    spec = importlib.util.spec_from_file_location("delivery_receiver", _PATH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class ReceiverTest(oslotest_base.BaseTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.sample = _sample()
        self.directory = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.serve([KEY])

    def serve(self, keys: list[bytes]) -> None:
        pem = self.directory / "server.pem"
        pem.write_text(pki.receiver())
        self.ca = self.directory / "ca.pem"
        self.ca.write_text(pki.trusted().pem)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pem)
        inbox = self.sample.Inbox(str(self.directory), keys)
        serving = self.sample.Server(("127.0.0.1", 0), inbox, context)
        serving.RequestHandlerClass.log_message = lambda *args: None
        thread = threading.Thread(target=serving.serve_forever, args=(0.01,))
        thread.start()
        self.addCleanup(inbox.close)
        self.addCleanup(serving.server_close)
        self.addCleanup(thread.join)
        self.addCleanup(serving.shutdown)
        self.port = serving.server_address[1]

    def send(
        self,
        delivery: str = "kc_1",
        text: str = "first",
        *,
        created: str = "2026-01-01T00:00:00.000Z",
        keys: tuple[bytes, ...] = (KEY,),
        now: float | None = None,
        **body: Any,
    ) -> str:
        """Send one as the driver does; empty, or why it was refused."""
        options = conf.Delivery(
            url=f"https://127.0.0.1:{self.port}/",
            host="127.0.0.1",
            port=self.port,
            keys=keys,
            ca_file=str(self.ca),
            user="admin",
            interval=60.0,
        )
        document = {"delivery_id": delivery, "cluster_uuid": UUID}
        document |= {"created_at": created, "kubeconfig": text, **body}
        content = json.dumps(document).encode()
        moment = time.time() if now is None else now
        headers = deliveries.signature(keys, delivery, moment, content)
        try:
            deliveries.post(options, headers, content)
        except deliveries.NotDeliveredError as error:
            return str(error).rpartition(" ")[2]
        return ""

    def kept(self) -> str:
        return (self.directory / f"{UUID}.yaml").read_text()

    def test_a_signed_delivery_is_kept_for_its_owner_alone(self) -> None:
        self.assertEqual("401", self.send(keys=(FORMER,)))
        kept = self.directory / f"{UUID}.yaml"
        self.assertFalse(kept.exists())
        self.assertEqual("", self.send())
        self.assertEqual("first", self.kept())
        self.assertEqual(0o600, kept.stat().st_mode & 0o777)

    def test_former_deliveries_are_accepted_and_not_taken(self) -> None:
        self.send()
        for restarted in (False, True):
            if restarted:
                self.serve([KEY])
            self.assertEqual("", self.send(text="again"))
            self.assertEqual("first", self.kept())

    def test_a_later_one_takes_the_place_of_an_earlier_one(self) -> None:
        self.send()
        self.send("kc_3", "third", created="2026-01-03T00:00:00.000Z")
        self.assertEqual("third", self.kept())
        self.send("kc_2", "second", created="2026-01-02T00:00:00.000Z")
        self.assertEqual("third", self.kept())

    def test_while_keys_change_either_side_may_be_first(self) -> None:
        self.assertEqual("", self.send(keys=(FORMER, KEY)))
        self.serve([FORMER, KEY])
        self.assertEqual("", self.send("kc_2", keys=(FORMER,)))

    def test_a_sender_without_trust_is_a_line_in_its_log(self) -> None:
        said = io.StringIO()
        self.useFixture(fixtures.MonkeyPatch("sys.stderr", said))
        self.ca.write_text(pki.Authority("another").pem)
        # It tells of it in a thread of its own.
        self.assertEqual("delivery_ca_file)", self.send())
        until = time.monotonic() + 10
        while "\n" not in said.getvalue() and time.monotonic() < until:
            time.sleep(0.01)
        [line] = said.getvalue().splitlines()
        self.assertRegex(line, r"^\('127\.0\.0\.1', \d+\): .*ALERT")

    def test_an_old_timestamp_is_refused(self) -> None:
        for seconds, answer in ((-290, ""), (-310, "400"), (310, "400")):
            found = self.send(now=time.time() + seconds)
            self.assertEqual(answer, found, str(seconds))

    def test_an_invalid_delivery_is_refused(self) -> None:
        bodies: list[dict[str, Any]] = [
            {"cluster_uuid": "../../etc/passwd"},
            {"delivery_id": "kc_9"},
            {"created_at": None},
            {"kubeconfig": 5},
        ]
        for body in bodies:
            self.assertEqual("400", self.send(**body), str(body))

    def test_a_long_body_is_refused_unread(self) -> None:
        context = ssl.create_default_context(cafile=str(self.ca))
        asking = client.HTTPSConnection(
            "127.0.0.1", self.port, timeout=30, context=context
        )
        with contextlib.closing(asking):
            asking.request("POST", "/", headers={"content-length": "1048577"})
            self.assertEqual(413, asking.getresponse().status)

    def test_its_key_file_is_the_driver_s(self) -> None:
        path = self.directory / "key"
        text = base64.b64encode(KEY).decode()
        path.write_text(f"whsec_{text}\n{base64.b64encode(FORMER).decode()}\n")
        path.chmod(0o600)
        self.assertEqual([KEY, FORMER], self.sample.read_keys(str(path)))
        self.assertEqual((KEY, FORMER), conf.read_keys(str(path)))
