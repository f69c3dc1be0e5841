# SPDX-License-Identifier: Apache-2.0

"""One connection for all threads, made at the first request."""

from __future__ import annotations

import threading
from typing import Any

from oslotest import base

from magnum_capi_helm.kubernetes import client
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.unit.kubernetes import api


class ThreadsTest(base.BaseTestCase):
    def test_all_threads_share_one_connection(self) -> None:
        made: list[api.Memory] = []
        together = threading.Barrier(8, timeout=5)

        def connect() -> api.Memory:
            made.append(api.Memory())
            return made[-1]

        management = client.Client(connect)

        def ask() -> None:
            together.wait()
            management.get(kinds.SECRET, "ns", "s")

        threads = [threading.Thread(target=ask) for _ in range(8)]
        for each in threads:
            each.start()
        for each in threads:
            each.join(5)
        self.assertEqual(1, len(made))

    def test_a_client_does_not_connect_before_its_first_request(self) -> None:
        management = client.Client(self.fail)
        self.assertIsNotNone(management)

    def test_a_connection_that_can_t_be_made_is_tried_again(self) -> None:
        outcomes: list[Any] = [
            errors.NotConfigured("no kubeconfig"),
            api.Memory(),
        ]

        def connect() -> Any:
            outcome = outcomes.pop(0)
            if isinstance(outcome, Exception):
                raise outcome
            return outcome

        management = client.Client(connect)
        self.assertRaises(
            errors.NotConfigured, management.get, kinds.SECRET, "ns", "s"
        )
        self.assertIsNone(management.get(kinds.SECRET, "ns", "s"))
