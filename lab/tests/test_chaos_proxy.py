# SPDX-License-Identifier: Apache-2.0

"""The proxy of the fault tests does what each fault says, and no more."""

from __future__ import annotations

import os
from typing import Any

import requests

from lab.chaos import faults
from lab.chaos import keystone
from lab.chaos import processes
from lab.chaos import proxy
from magnum_capi_helm.tests.unit.kubernetes import server

_CUT = (requests.ConnectionError, requests.exceptions.ChunkedEncodingError)


def _is_post(request: faults.Request) -> bool:
    return request.method == "POST"


class FaultsTest(server.ServerTest):
    def setUp(self) -> None:
        super().setUp()
        self.upstream = self.server
        self.proxy = proxy.Proxy(self.upstream.url)
        self.addCleanup(self.proxy.close)

    def post(self, session: requests.Session | None = None) -> Any:
        return (session or requests).post(
            f"{self.proxy.url}/things?x=1", json={"a": 1}, timeout=5
        )

    def served(self) -> int:
        return len(self.upstream.requests)

    def test_without_a_fault_it_is_as_if_it_were_not_there(self) -> None:
        self.assertEqual({"code": 200}, self.post().json())
        self.assertEqual([("POST", "/things?x=1")], self.upstream.requests)
        self.assertEqual("8", self.upstream.headers[0]["Content-Length"])

    def test_each_fault_hits_one_request_and_the_next_gets_through(
        self,
    ) -> None:
        seen: list[str] = []

        def act(request: faults.Request) -> None:
            seen.append(request.path)

        # What the client sees, and whether the request was served.
        rows: list[tuple[faults.Fault, Any, int]] = [
            (faults.delayed(0.01), 200, 1),
            (faults.lost, None, 0),
            (faults.unanswered, None, 1),
            (faults.truncated, None, 1),
            (faults.answered(503), 503, 0),
            (faults.before(act), None, 0),
            (faults.after(act), 200, 1),
        ]
        for fault, status, served in rows:
            before = self.served()
            rule = self.proxy.when(_is_post, fault)
            if status is None:
                self.assertRaises(_CUT, self.post)
            else:
                self.assertEqual(status, self.post().status_code)
            self.assertTrue(rule.hit.is_set(), str(fault))
            self.assertEqual(served, self.served() - before, str(fault))
            self.assertEqual(200, self.post().status_code, str(fault))
        self.assertEqual(["/things?x=1"] * 2, seen)

    def test_other_requests_are_left_alone(self) -> None:
        rule = self.proxy.when(_is_post, faults.lost)
        answer = requests.get(f"{self.proxy.url}/things", timeout=5)
        self.assertEqual(200, answer.status_code)
        self.assertFalse(rule.hit.is_set())
        self.proxy.recover()
        self.assertEqual(200, self.post().status_code)

    def test_while_it_is_away_nobody_listens(self) -> None:
        session = requests.Session()
        self.post(session)
        with self.proxy.away():
            self.assertRaises(_CUT, self.post, session)
            self.assertRaises(_CUT, self.post)
        self.assertEqual(200, self.post(session).status_code)

    def test_it_is_back_when_the_last_of_two_absences_is_over(self) -> None:
        with self.proxy.away():
            with self.proxy.away():
                pass
            self.assertRaises(_CUT, self.post)
        self.assertEqual(200, self.post().status_code)

    def test_who_asks_is_known_by_the_connection(self) -> None:
        seen: list[int | None] = []

        def look(request: faults.Request) -> None:
            seen.append(processes.asking(request.port, self.proxy.port))

        self.proxy.when(_is_post, faults.after(look))
        self.post()
        self.assertEqual([os.getpid()], seen)

    def test_keystone_says_that_it_is_where_its_proxy_is(self) -> None:
        between = keystone.Proxy(f"{self.upstream.url}/v3")
        self.addCleanup(between.close)
        self.assertEqual(f"http://127.0.0.1:{between.port}/v3", between.url)
        text = f'{{"url": "{self.upstream.url}"}}'.encode()
        between.when(lambda _: True, lambda *_: faults.Answer(200, (), text))
        found = requests.get(f"{between.url}/auth/catalog", timeout=5).json()
        self.assertEqual({"url": f"http://127.0.0.1:{between.port}"}, found)
