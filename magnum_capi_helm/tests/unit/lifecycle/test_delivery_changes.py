# SPDX-License-Identifier: Apache-2.0

"""What was delivered, and is another one by now, is delivered again."""

from __future__ import annotations

import yaml

from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.tests.unit.delivery import pki
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.lifecycle import delivering


class ChangesTest(delivering.DeliveryCase):
    """What was delivered, and is another one by now."""

    def setUp(self) -> None:
        super().setUp()
        self.created()

    def events(self) -> list[str]:
        """Of all that was received."""
        return [each.json["event"] for each in self.receiver.received]

    def test_another_address_of_the_api_is_delivered_at_once(self) -> None:
        self.move("https://203.0.113.99:6443")
        self.health_poll()
        self.assertEqual(
            ["cluster.ready", "cluster.credentials_changed"], self.events()
        )
        body = self.receiver.received[1].json
        self.assertEqual("https://203.0.113.99:6443", body["api_address"])
        [cluster] = yaml.safe_load(body["kubeconfig"])["clusters"]
        self.assertEqual(body["api_address"], cluster["cluster"]["server"])

    def test_back_to_the_former_address_is_a_change_of_its_own(self) -> None:
        self.move("https://203.0.113.99:6443")
        self.health_poll()
        self.move(delivering.ADDRESS)
        self.health_poll()
        self.assertEqual(3, len(set(self.receiver.ids)))
        moments = [e.json["created_at"] for e in self.receiver.received]
        self.assertEqual(sorted(set(moments)), moments)

    def test_what_is_overtaken_is_not_sent_any_more(self) -> None:
        self.receiver.answers = [500]
        self.move("https://203.0.113.98:6443")
        self.health_poll()
        self.move("https://203.0.113.99:6443")
        self.later(60)
        self.later()
        found = [each.json["api_address"] for each in self.receiver.received]
        self.assertEqual(
            [
                delivering.ADDRESS,
                "https://203.0.113.98:6443",
                "https://203.0.113.99:6443",
            ],
            found,
        )
        self.assertEqual(3, len(set(self.receiver.ids)))

    def test_another_ca_is_delivered_when_it_is_looked_at_again(self) -> None:
        other = pki.Authority("another")
        self.administrator(*other.signed("admin"), other.pem)
        self.later()
        self.assertEqual(2, len(set(self.receiver.ids)))
        found = delivering.certificate_of(self.receiver.received[1].json)
        self.assertIn("another", found.issuer.rfc4514_string())

    def test_a_credential_that_cluster_api_renewed_is_delivered(self) -> None:
        self.administrator(*self.ca.signed("second"), self.ca.pem)
        self.later()
        self.assertEqual(2, len(set(self.receiver.ids)))
        found = delivering.certificate_of(self.receiver.received[1].json)
        self.assertEqual("CN=second", found.subject.rfc4514_string())

    def test_a_rotated_application_credential_is_none_of_it(self) -> None:
        self.rotate()
        self.later()
        self.assertEqual(1, len(self.receiver.received))

    def test_a_record_that_was_deleted_is_delivered_anew(self) -> None:
        self.server.delete(kinds.SECRET, base.NAMESPACE, delivering.SECRET)
        self.later()
        self.assertEqual(["cluster.ready"] * 2, self.events())
        self.assertEqual(1, len(set(self.receiver.ids)))
