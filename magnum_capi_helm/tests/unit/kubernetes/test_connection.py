# SPDX-License-Identifier: Apache-2.0
"""The connection, and its kubeconfig, against a real server on loopback."""

from __future__ import annotations

import base64
import os
import pathlib
import tempfile
import threading
import time
import traceback
from typing import Any
from unittest import mock

from cryptography import x509
import fixtures
import requests
import yaml

from magnum_capi_helm import runtime
from magnum_capi_helm.config import options
from magnum_capi_helm.kubernetes import client
from magnum_capi_helm.kubernetes import connection
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import kubeconfig
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.unit.delivery import pki
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


class DeadlineTest(server.ServerTest):
    def test_a_server_that_does_not_answer_is_a_time_out(self) -> None:
        self.server.hangs()
        connected = self.connect(SHORT)
        began = time.monotonic()
        request = ("PATCH", "v1", "secrets/s")
        self.assertRaises(requests.Timeout, connected.request, *request)
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


class AuthenticationTest(server.ServerTest):
    def _tokens(self) -> list[str | None]:
        return [each.get("Authorization") for each in self.server.headers]

    def test_a_token_file_is_read_for_each_request(self) -> None:
        token = self.home / "token"
        token.write_text("first\n")
        connected = self.connect(user={"tokenFile": "token"})
        connected.request("GET", "v1", "secrets")
        token.write_text("second\n")
        connected.request("GET", "v1", "secrets")
        self.assertEqual(["Bearer first", "Bearer second"], self._tokens())

    def test_a_token_that_fits_no_header_is_not_quoted(self) -> None:
        token = self.home / "token"
        connected = self.connect(user={"tokenFile": "token"})
        management = client.Client(lambda: connected)
        rows = (None, b"canary\ntwo", b"canary\xe2\x82\xac", b"canary\xff")
        for content in rows:
            if content:
                token.write_bytes(content)
            error = self.assertRaises(
                errors.CapiHelmError, management.get, kinds.SECRET, "ns", "s"
            )
            if content:
                self.assertIn("one line of ASCII", errors.explained(error))
            told = "".join(traceback.format_exception(error))
            self.assertNotIn("canary", told)


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


class ReplacedTest(server.ServerTest):
    def setUp(self) -> None:
        super().setUp()
        self.path = self.token("one")

    def token(self, token: str, **changes: Any) -> str:
        return self.kubeconfig(user={"token": token}, **changes)

    def through(self) -> connection.Connection:
        return connection.Connection(self.path, server.PATIENT)

    def ask(self, through: connection.Connection) -> tuple[int, list[str]]:
        self.server.headers.clear()
        answer = through.request("GET", "v1", "secrets")
        tokens = [each["Authorization"] for each in self.server.headers]
        return answer.status_code, [
            each.removeprefix("Bearer ") for each in tokens
        ]

    def test_another_token_is_used_from_the_next_request_on(self) -> None:
        through = self.through()
        self.assertEqual((200, ["one"]), self.ask(through))
        self.token("two")
        self.assertEqual((200, ["two"]), self.ask(through))
        self.assertEqual((200, ["two"]), self.ask(through))
        self.assertEqual(2, len(self.clients))

    def test_a_file_that_is_put_in_its_place_is_another_one(self) -> None:
        through = self.through()
        old = os.stat(self.path)
        self.path = self.token("two")
        pathlib.Path(self.path).rename(self.home / "new")
        os.utime(self.home / "new", ns=(old.st_atime_ns, old.st_mtime_ns))
        (self.home / "new").rename(self.path)
        self.assertEqual((200, ["two"]), self.ask(through))

    def test_a_refused_request_is_repeated_after_a_change_once(self) -> None:
        through = self.through()

        def revoked() -> tuple[int, dict[str, str]]:
            self.token("two")
            return 401, {}

        for again in (200, 401):
            self.token("one")
            self.ask(through)
            self.server.script.append(revoked)
            self.server.says(again)
            self.assertEqual((again, ["one", "two"]), self.ask(through))

    def test_a_refusal_with_the_same_file_stands(self) -> None:
        through = self.through()
        self.server.says(401)
        self.assertEqual((401, ["one"]), self.ask(through))
        self.assertEqual(1, len(self.clients))

    def test_half_a_file_or_none_is_left_until_it_is_whole(self) -> None:
        through, path = self.through(), pathlib.Path(self.path)
        whole = pathlib.Path(self.token("two")).read_text()
        for half in (whole[: len(whole) // 2], "{", ""):
            path.write_text(half)
            self.assertRaises(errors.NotConfigured, self.through)
            self.assertEqual((200, ["one"]), self.ask(through), half)
        log = self.useFixture(fixtures.FakeLogger("magnum_capi_helm"))
        for _ in range(2):
            self.assertEqual((200, ["one"]), self.ask(through))
        self.assertEqual("", log.output)
        path.unlink()
        self.assertEqual((200, ["one"]), self.ask(through))
        path.write_text(whole)
        self.assertEqual((200, ["two"]), self.ask(through))

    def test_another_certificate_makes_another_connection(self) -> None:
        authority = self.home / "ca.pem"
        authority.write_text("one")
        self.token("one", **{"certificate-authority": "ca.pem"})
        through = self.through()
        self.ask(through)
        self.assertEqual(1, len(self.clients))
        authority.write_text("another")
        self.ask(through)
        self.ask(through)
        self.assertEqual(2, len(self.clients))

    def test_expiries_are_those_of_the_newest_kubeconfig(self) -> None:
        through = self.through()
        self.assertEqual((), through.expiries())
        # {"exp": 2000000000}
        self.token("e30.eyJleHAiOiAyMDAwMDAwMDAwfQ.e30")
        self.assertEqual([2e9], [each.time for each in through.expiries()])
        self.assertEqual(self.server.url, through.server)


class RuntimeTest(server.ServerTest):
    def test_a_conductor_needs_no_restart(self) -> None:
        path = self.kubeconfig(user={"token": "one"})
        settings = options.ManagementCluster(
            "replaced", path, "kubeconfig_file"
        )
        management = runtime.build(settings=settings).management
        for token in ("one", "two"):
            self.kubeconfig(user={"token": token})
            management.get(kinds.SECRET, "ns", "s")
        self.assertEqual(
            ["Bearer one", "Bearer two"],
            [each["Authorization"] for each in self.server.headers],
        )


class KubeconfigTest(server.ServerTest):
    def test_a_kubeconfig_without_a_cluster_to_use_is_refused(self) -> None:
        path = self.kubeconfig()
        document = yaml.safe_load(pathlib.Path(path).read_text())
        nowhere = [{"name": "x", "context": None}]
        for changes in (
            {"current-context": None},
            {"current-context": "other"},
            {"current-context": "x", "contexts": nowhere},
        ):
            pathlib.Path(path).write_text(
                yaml.safe_dump({**document, **changes})
            )
            self.assertRaises(
                errors.NotConfigured, connection.Connection, path, SHORT
            )

    def test_keys_are_in_no_directory_and_go_with_the_connection(self) -> None:
        key = {"client-key-data": "aHVudGVyMg==", "token": "t"}
        temporary = pathlib.Path(tempfile.gettempdir())
        before = set(temporary.rglob("*"))
        connected = self.connect(user=key)
        [made] = self.clients
        path = pathlib.Path(made.config.user["client-key"].filename())
        self.assertEqual("hunter2", path.read_text())
        new = set(temporary.rglob("*")) - before
        self.assertNotIn("hunter2", [each.read_text() for each in new])
        del connected, made
        self.clients.clear()
        self.assertFalse(path.exists())

    def test_a_client_certificate_ends_inline_and_in_a_file(self) -> None:
        pem, key = pki.trusted().signed("admin", days=2.0)
        found = x509.load_pem_x509_certificate(pem.encode())
        ends = found.not_valid_after_utc.timestamp()
        inline, files = {}, {}
        for name, text in (("client-certificate", pem), ("client-key", key)):
            inline[f"{name}-data"] = base64.b64encode(text.encode()).decode()
            files[name] = str(self.home / name)
            (self.home / name).write_text(text)
        for user in (inline, files):
            expiry = kubeconfig.Expiry(kubeconfig.CERTIFICATE, ends)
            self.assertEqual((expiry,), self.connect(user=user).expiries())
