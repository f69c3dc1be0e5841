# SPDX-License-Identifier: Apache-2.0

"""Problems of a delivery, and their log lines."""

from __future__ import annotations

import logging
import time

import fixtures

from magnum_capi_helm import delivery
from magnum_capi_helm import runtime
from magnum_capi_helm.config import conf
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import names
from magnum_capi_helm.tests.unit.delivery import delivery_case
from magnum_capi_helm.tests.unit.delivery import pki
from magnum_capi_helm.tests.unit.lifecycle import base


class RefusedTest(delivery_case.DeliveryCase):
    def test_a_bad_certificate_is_refused_and_nothing_is_sent(self) -> None:
        """A receiver that has a good one at last gets it."""
        stranger = pki.Authority("stranger")
        certificate = "".join(stranger.signed("receiver", host=True))
        bad = self.useFixture(pki.Endpoint(certificate))
        self.option("delivery_url", bad.url)
        self.ready()
        self.later()
        self.assertEqual([], bad.received)
        [line] = self.warnings()
        self.assertIn(
            f"No kubeconfig is delivered: the certificate of "
            f"https://127.0.0.1:{bad.port} is not trusted, and nothing was "
            "sent: unable to get local issuer certificate",
            line,
        )
        self.assertIn("delivery_ca_file", line)
        self.assertEqual("CREATE_COMPLETE", self.row().status)
        self.option("delivery_ca_file", self.file("ca", stranger.pem))
        self.later()
        self.assertEqual(1, len(bad.received))

    def test_a_certificate_of_another_host_is_refused(self) -> None:
        certificate = "".join(pki.trusted().signed("elsewhere.test"))
        bad = self.useFixture(pki.Endpoint(certificate))
        self.option("delivery_url", bad.url)
        self.ready()
        self.assertEqual([], bad.received)
        self.assertIn("mismatch", self.warnings()[0])

    def test_a_redirect_is_not_followed(self) -> None:
        self.receiver.answers = [307]
        self.ready()
        self.assertEqual(["/hook"], [e.path for e in self.receiver.received])
        [line] = self.warnings()
        self.assertIn("answered 307, a redirect, which", line)
        self.assertFalse(self.record().delivered)

    def test_a_problem_is_logged_once(self) -> None:
        self.receiver.answers = [500, 500, 500]
        self.ready()
        for _ in range(2):
            self.later()
        self.assertEqual(3, len(self.receiver.received))
        place = f"https://127.0.0.1:{self.receiver.port}"
        self.assertEqual(
            [
                f"WARNING Cluster {base.UUID} is not delivered: {place} "
                "answered 500"
            ],
            self.warnings(),
        )

    def test_a_silent_receiver_pauses_all_clusters(self) -> None:
        self.option("delivery_url", "https://127.0.0.1:1/hook")
        self.complete()
        self.health_poll()
        self.option("delivery_url", self.receiver.url)
        self.move("https://203.0.113.99:6443")
        self.assertFalse(self.asked())
        self.assertIn("does not answer", self.warnings()[0])
        self.later(60)
        self.assertEqual(1, len(self.receiver.received))


class HinderedTest(delivery_case.DeliveryCase):
    def test_wrong_options_are_logged_once_and_delay_no_poll(self) -> None:
        """A URL is not logged."""
        self.option("delivery_key_file", "/nowhere/key")
        row = self.ready()
        self.assertEqual("CREATE_COMPLETE", row.status)
        self.assertEqual("HEALTHY", row.health_status)
        self.later()
        self.option("delivery_url", "http://portal.test/secret-path")
        self.later()
        first, second = self.warnings()
        self.assertEqual(
            "ERROR No kubeconfig is delivered: [capi_helm] delivery_key_file "
            "/nowhere/key can't be read: No such file or directory",
            first,
        )
        self.assertIn("delivery_url is not a URL to send to", second)
        self.assertNotIn("secret-path", self.log.output)
        self.assertIsNone(self.secret())

    def test_a_key_is_read_again_for_each_delivery(self) -> None:
        self.receiver.answers = [500]
        self.ready()
        other = "d2hzZWMgaXMgbm90IGEgc2VjcmV0LCBpcyBpdD8hISE="
        self.file("key", f"whsec_{other}\n{delivery_case.KEY}\n")
        self.later(60)
        first, second = (
            each.headers["webhook-signature"].split()
            for each in self.receiver.received
        )
        self.assertEqual((1, 2), (len(first), len(second)))

    def test_an_unreachable_management_cluster_delays_it(self) -> None:
        self.complete()
        self.fails(name=delivery_case.SECRET, times=1)
        self.assertEqual("HEALTHY", self.health_poll().health_status)
        self.assertEqual([], self.receiver.received)
        self.later(61)
        self.assertEqual(1, len(self.receiver.received))
        self.assertEqual([], self.warnings())

    def test_a_delivery_waits_while_its_place_is_frozen(self) -> None:
        """So does its repetition."""
        self.complete()
        anchor = self.plane.runtime().maintenance
        self.receiver.answers = [500]
        for sent in range(2):
            anchor.freeze("etcd moves", "op@host", time.time())
            self.restart()
            self.later(61)
            self.assertEqual(sent, len(self.receiver.received))
            anchor.thaw(time.time())
            self.later(61)
            self.assertEqual(sent + 1, len(self.receiver.received))

    def test_an_unexpected_error_fails_no_poll_and_is_not_quoted(self) -> None:
        self.useFixture(
            fixtures.MockPatchObject(
                delivery, "message", side_effect=KeyError("canary")
            )
        )
        self.assertEqual("HEALTHY", self.ready().health_status)
        self.assertEqual(
            [
                f"WARNING Cluster {base.UUID} is not delivered: unexpected "
                "KeyError"
            ],
            self.warnings(),
        )
        self.assertNotIn("canary", self.log.output)
        self.assertFalse(runtime.receiver().turn.locked())

    def test_sending_holds_no_lease_and_waits_for_none(self) -> None:
        self.complete()
        holders = []

        def look() -> None:
            lease = self.server.get(kinds.LEASE, base.NAMESPACE, base.RELEASE)
            holders.append((lease or {})["spec"]["holderIdentity"])

        self.receiver.meanwhile = look
        self.health_poll()
        self.move("https://203.0.113.99:6443")
        with self.busy():
            self.health_poll()
        self.assertEqual(["", "other"], holders)

    def test_a_cluster_that_is_being_deleted_gets_no_record(self) -> None:
        self.complete()
        late = self.row()
        self.delete()
        self.poll_elsewhere(late)
        self.capi.finish()
        self.poll()
        self.poll_elsewhere(late)
        self.assertIsNone(self.secret())
        lease = (kinds.LEASE, base.NAMESPACE, base.RELEASE)
        self.assertIsNone(self.server.get(*lease))
        self.assertEqual([], self.receiver.received)

    def test_a_late_poll_does_not_bring_an_old_address_back(self) -> None:
        self.ready()
        late = self.row()
        self.move("https://203.0.113.99:6443")
        self.health_poll()
        self.poll_elsewhere(late)
        self.assertEqual(2, len(self.receiver.received))

    def test_damaged_secrets_are_named_and_not_quoted(self) -> None:
        self.complete()
        for name, key in (
            (names.kubeconfig(base.RELEASE), "value"),
            (delivery_case.SECRET, "delivery.json"),
        ):
            meta = {"name": name, "namespace": base.NAMESPACE}
            data = {key: "Y2FuYXJ5IGNhbmFyeQ=="}
            self.server.apply(kinds.SECRET, {"metadata": meta, "data": data})
            self.restart()
            self.health_poll()
            self.assertIn(f"the Secret {name}", self.warnings()[-1])
        self.assertNotIn("canary", self.log.output)
        self.assertEqual([], self.receiver.received)

    def test_no_log_has_any_secret(self) -> None:
        log = self.useFixture(
            fixtures.FakeLogger("", level=logging.DEBUG, nuke_handlers=False)
        )
        for name in ("magnum_capi_helm", "urllib3", "requests"):
            logger = logging.getLogger(name)
            self.addCleanup(logger.setLevel, logger.level)
            logger.setLevel(logging.DEBUG)
        self.option("delivery_url", f"{self.receiver.url}/path-canary")
        self.receiver.answers = [500, 302]
        self.ready()
        secrets = [delivery_case.KEY, self.credential[1]]
        self.later()
        self.later()
        self.option("delivery_url", "https://127.0.0.1:1/path-canary")
        self.move("https://203.0.113.99:6443")
        self.later()
        self.option("delivery_ca_file", self.file("ca", pki.Authority().pem))
        self.option("delivery_url", f"{self.receiver.url}/path-canary")
        self.later(4000)
        self.assertIn("is not trusted", log.output)
        self.assertIn("does not answer", log.output)
        self.assertIn("redirect", log.output)
        self.assertEqual(3, len(self.receiver.received))
        for secret in secrets:
            for line in secret.split("\n"):
                if line and not line.startswith("-----"):
                    self.assertNotIn(line, log.output)
        self.assertNotIn("current-context", log.output)
        # urllib3 itself tells paths at debug level, which Magnum's
        # configuration does not let it.
        self.assertNotIn("path-canary", self.log.output)
        self.assertFalse(conf.CONF.capi_helm.delivery_url in self.log.output)
