# SPDX-License-Identifier: Apache-2.0

"""The signature of a delivery."""

from __future__ import annotations

import base64

from oslotest import base

from magnum_capi_helm import delivery


class HeadersTest(base.BaseTestCase):
    def test_the_example_of_standard_webhooks(self) -> None:
        key = base64.b64decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
        self.assertEqual(
            {
                "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
                "webhook-timestamp": "1614265330",
                "webhook-signature": "v1,"
                "g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
            },
            delivery.signature(
                [key],
                "msg_p5jXN8AQM9LWM0D4loKWxJek",
                1614265330.9,
                b'{"test": 2432232314}',
            ),
        )

    def test_the_former_key_signs_too(self) -> None:
        made = delivery.signature([b"1" * 24, b"2" * 24], "kc_1", 1.0, b"{}")
        first, second = made["webhook-signature"].split(" ")
        alone = delivery.signature([b"2" * 24], "kc_1", 1.0, b"{}")
        self.assertEqual(alone["webhook-signature"], second)
        self.assertNotEqual(first, second)
