# SPDX-License-Identifier: Apache-2.0
"""The connection, against a real HTTP server on the loopback."""

from __future__ import annotations

import os
import threading
import time
import traceback
from unittest import mock

import requests

from magnum_capi_helm.kubernetes import client
from magnum_capi_helm.kubernetes import connection
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.unit.kubernetes import server

SHORT = (0.2, 0.2)
NOBODY = "http://127.0.0.1:9"


class RequestTest(server.ServerTest):
    def test_core_groups_and_discovery_have_their_paths(self) -> None:
        connected = self.connect()
        connected.request("GET", "v1", "secrets/s", namespace="ns")
        connected.request("GET", "cluster.x-k8s.io/v1beta2", "clusters")
        connected.request("GET", "/apis/cluster.x-k8s.io")
        self.assertEqual(
            [
                ("GET", "/api/v1/namespaces/ns/secrets/s"),
                ("GET", "/apis/cluster.x-k8s.io/v1beta2/clusters"),
                ("GET", "/apis/cluster.x-k8s.io"),
            ],
            [
                (method, path.rstrip("/"))
                for method, path in self.server.requests
            ],
        )

    def test_a_connection_is_used_again(self) -> None:
        connected = self.connect()
        for _ in range(5):
            connected.request("GET", "v1", "secrets")
        self.assertEqual(1, len(self.server.clients))

    def test_a_connection_knows_its_server(self) -> None:
        self.assertEqual(self.server.url, self.connect().server)


class DeadlineTest(server.ServerTest):
    def test_a_server_that_does_not_answer_is_a_time_out(self) -> None:
        self.server.hangs()
        began = time.monotonic()
        self.assertRaises(
            requests.Timeout,
            self.connect(SHORT).request,
            "PATCH",
            "v1",
            "secrets/s",
        )
        self.assertLess(time.monotonic() - began, 1)

    def test_a_dead_server_is_given_up_soon(self) -> None:
        began = time.monotonic()
        dead = self.connect(server=NOBODY)
        self.assertRaises(
            requests.ConnectionError, dead.request, "GET", "v1", "secrets"
        )
        self.assertLess(time.monotonic() - began, 1)

    def test_the_server_does_not_choose_how_long_to_wait(self) -> None:
        self.server.says(503, Retry_After="30")
        connected = self.connect()
        done = threading.Event()

        def ask() -> None:
            connected.request("GET", "v1", "secrets")
            done.set()

        threading.Thread(target=ask, daemon=True).start()
        self.assertTrue(done.wait(0.9), "still waits for Retry-After")


class OnceTest(server.ServerTest):
    """Only ``insistence`` repeats requests."""

    def test_each_request_is_sent_once(self) -> None:
        for method in ("GET", "PATCH", "POST", "DELETE"):
            for code in (200, 401, 403, 404, 410, 429, 500, 502, 503, 504):
                del self.server.requests[:]
                self.server.says(code, Retry_After="0")
                answer = self.connect().request(method, "v1", "secrets")
                self.assertEqual(
                    (code, 1), (answer.status_code, len(self.server.requests))
                )

    def test_a_connection_that_is_cut_is_an_error(self) -> None:
        self.server.cuts()
        self.assertRaises(
            requests.ConnectionError,
            self.connect().request,
            "GET",
            "v1",
            "secrets",
        )
        self.assertEqual(1, len(self.server.requests))


class AuthenticationTest(server.ServerTest):
    def _tokens(self) -> list[str | None]:
        return [each.get("Authorization") for each in self.server.headers]

    def test_a_static_token_is_sent(self) -> None:
        self.connect().request("GET", "v1", "secrets")
        self.assertEqual(["Bearer static"], self._tokens())

    def test_a_token_file_is_read_for_each_request(self) -> None:
        token = self.home / "token"
        token.write_text("first\n")
        connected = self.connect(user={"tokenFile": "token"})
        connected.request("GET", "v1", "secrets")
        token.write_text("second\n")
        connected.request("GET", "v1", "secrets")
        self.assertEqual(["Bearer first", "Bearer second"], self._tokens())

    def test_a_token_file_that_vanished_is_a_fault_with_a_name(self) -> None:
        connected = self.connect(user={"tokenFile": "token"})
        management = client.Client(lambda: connected)
        self.assertRaises(
            errors.CapiHelmError, management.get, kinds.SECRET, "ns", "s"
        )

    def test_a_token_that_no_header_can_hold_is_not_quoted(self) -> None:
        token = self.home / "token"
        connected = self.connect(user={"tokenFile": "token"})
        management = client.Client(lambda: connected)
        for content in (b"canary\ntwo", b"canary\xe2\x82\xac", b"canary\xff"):
            token.write_bytes(content)
            error = self.assertRaises(
                errors.CapiHelmError,
                management.get,
                kinds.SECRET,
                "ns",
                "s",
            )
            self.assertIn("one line of ASCII", errors.explained(error))
            told = "".join(traceback.format_exception(error))
            self.assertNotIn("canary", told)

    def test_a_ca_file_that_is_missing_is_a_fault_with_a_name(self) -> None:
        path = self.kubeconfig(
            server="https://127.0.0.1:9", **{"certificate-authority": "ca.pem"}
        )
        management = client.Client(lambda: connection.Connection(path, SHORT))
        self.assertRaises(
            errors.CapiHelmError, management.get, kinds.SECRET, "ns", "s"
        )


class EnvironmentTest(server.ServerTest):
    def test_proxies_of_the_environment_are_ignored(self) -> None:
        elsewhere = {
            "HTTP_PROXY": NOBODY,
            "http_proxy": NOBODY,
            "ALL_PROXY": NOBODY,
            "NO_PROXY": "",
            "no_proxy": "",
        }
        with mock.patch.dict(os.environ, elsewhere):
            answer = self.connect().request("GET", "v1", "secrets")
        self.assertEqual(200, answer.status_code)

    def test_netrc_is_ignored(self) -> None:
        netrc = self.home / "netrc"
        netrc.write_text("machine 127.0.0.1 login a password b\n")
        with mock.patch.dict(os.environ, {"NETRC": str(netrc)}):
            self.connect(user={}).request("GET", "v1", "secrets")
        self.assertNotIn("Authorization", self.server.headers[0])

    def test_the_kubeconfigs_own_proxy_is_used(self) -> None:
        connected = self.connect(
            SHORT,
            server="http://api.example.org",
            **{"proxy-url": self.server.url},
        )
        connected.request("GET", "v1", "secrets")
        self.assertEqual(
            "http://api.example.org/api/v1/secrets",
            self.server.requests[0][1],
        )
