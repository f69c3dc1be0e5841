# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.
"""The connection, against a real HTTP server on the loopback."""

from __future__ import annotations

from collections.abc import Callable
import http.server
import json
import os
import pathlib
import stat
import tempfile
import threading
import time
from typing import Any
from unittest import mock

import fixtures
from oslotest import base
import requests
import yaml

from magnum_capi_helm import exceptions
from magnum_capi_helm import spent
from magnum_capi_helm.management import client
from magnum_capi_helm.management import connection
from magnum_capi_helm.management import kinds

SHORT = (0.2, 0.2)
NOBODY = "http://127.0.0.1:9"


class _Handler(http.server.BaseHTTPRequestHandler):
    """Answers by the script of its server; then 200."""

    protocol_version = "HTTP/1.1"
    server: Server

    def _answer(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        self.rfile.read(length)
        script = self.server.seen(self)
        code, headers = script() if script else (200, {})
        body = json.dumps({"code": code}).encode()
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_PATCH = do_POST = do_DELETE = _answer  # noqa: N815

    def log_message(self, *_: Any) -> None:
        """Silent."""


class Server(http.server.ThreadingHTTPServer):
    """An API server that does as it is told, and keeps what it saw."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.script: list[Callable[[], tuple[int, dict[str, str]]]] = []
        self.requests: list[tuple[str, str]] = []
        self.headers: list[dict[str, str]] = []
        self.clients: set[Any] = set()
        self.over = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def seen(
        self, handler: _Handler
    ) -> Callable[[], tuple[int, dict[str, str]]] | None:
        self.requests.append((handler.command, handler.path))
        self.headers.append(dict(handler.headers))
        self.clients.add(handler.client_address)
        return self.script.pop(0) if self.script else None

    def says(self, code: int, **headers: str) -> None:
        """Answer the next request with this."""
        named = {name.replace("_", "-"): it for name, it in headers.items()}
        self.script.append(lambda: (code, named))

    def hangs(self) -> None:
        """Don't answer the next request before the test is over."""

        def hang() -> tuple[int, dict[str, str]]:
            self.over.wait(5)
            return 200, {}

        self.script.append(hang)


class _ServerTest(base.BaseTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.home = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.server = Server()
        serving = threading.Thread(
            target=self.server.serve_forever, args=(0.01,), daemon=True
        )
        serving.start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(serving.join, 5)
        self.addCleanup(self.server.shutdown)
        self.addCleanup(self.server.over.set)

    def _kubeconfig(self, server: str = "", **changes: Any) -> str:
        user = changes.pop("user", {"token": "static"})
        cluster = {"server": server or self.server.url, **changes}
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "c", "cluster": cluster}],
            "users": [{"name": "u", "user": user}],
            "contexts": [
                {"name": "x", "context": {"cluster": "c", "user": "u"}}
            ],
            "current-context": "x",
        }
        path = self.home / "kubeconfig"
        path.write_text(yaml.safe_dump(document))
        return str(path)

    def _connect(
        self, timeout: tuple[float, float] = SHORT, **changes: Any
    ) -> connection.Connection:
        return connection.Connection(self._kubeconfig(**changes), timeout)


class RequestTest(_ServerTest):
    def test_paths_of_core_groups_and_discovery(self) -> None:
        connected = self._connect()
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

    def test_one_connection_is_used_again(self) -> None:
        connected = self._connect()
        for _ in range(5):
            connected.request("GET", "v1", "secrets")
        self.assertEqual(1, len(self.server.clients))

    def test_its_time_is_measured(self) -> None:
        connected = self._connect()
        with spent.measured() as measured:
            connected.request("GET", "v1", "secrets")
        self.assertIn("(1 requests)", str(measured))

    def test_it_knows_the_server_for_messages(self) -> None:
        self.assertEqual(self.server.url, self._connect().server)


class DeadlineTest(_ServerTest):
    def test_a_server_that_does_not_answer_is_a_time_out(self) -> None:
        self.server.hangs()
        began = time.monotonic()
        self.assertRaises(
            requests.Timeout,
            self._connect().request,
            "PATCH",
            "v1",
            "secrets/s",
        )
        self.assertLess(time.monotonic() - began, 1)

    def test_a_dead_server_is_given_up_soon(self) -> None:
        began = time.monotonic()
        dead = self._connect(server=NOBODY)
        self.assertRaises(
            requests.ConnectionError, dead.request, "GET", "v1", "secrets"
        )
        self.assertLess(time.monotonic() - began, 1)

    def test_the_server_does_not_choose_how_long_to_wait(self) -> None:
        self.server.says(503, Retry_After="30")
        connected = self._connect()
        done = threading.Event()

        def ask() -> None:
            connected.request("GET", "v1", "secrets")
            done.set()

        threading.Thread(target=ask, daemon=True).start()
        self.assertTrue(done.wait(0.9), "still waits for Retry-After")


class RetryTest(_ServerTest):
    def test_a_read_is_repeated_when_the_server_is_busy(self) -> None:
        for code in (429, 500, 502, 503, 504):
            del self.server.requests[:]
            self.server.says(code)
            answer = self._connect().request("GET", "v1", "secrets")
            self.assertEqual(
                (200, 2), (answer.status_code, len(self.server.requests))
            )

    def test_a_read_that_was_refused_is_not_repeated(self) -> None:
        for code in (401, 403, 404, 410):
            del self.server.requests[:]
            self.server.says(code)
            answer = self._connect().request("GET", "v1", "secrets")
            self.assertEqual(
                (code, 1), (answer.status_code, len(self.server.requests))
            )

    def test_a_write_is_never_repeated(self) -> None:
        for method in ("PATCH", "POST", "DELETE"):
            del self.server.requests[:]
            self.server.says(503)
            answer = self._connect().request(method, "v1", "secrets")
            self.assertEqual(
                (503, 1), (answer.status_code, len(self.server.requests))
            )


class AuthenticationTest(_ServerTest):
    def _tokens(self) -> list[str | None]:
        return [each.get("Authorization") for each in self.server.headers]

    def test_a_static_token(self) -> None:
        self._connect().request("GET", "v1", "secrets")
        self.assertEqual(["Bearer static"], self._tokens())

    def test_a_token_file_is_read_for_each_request(self) -> None:
        token = self.home / "token"
        token.write_text("first\n")
        connected = self._connect(user={"tokenFile": "token"})
        connected.request("GET", "v1", "secrets")
        token.write_text("second\n")
        connected.request("GET", "v1", "secrets")
        self.assertEqual(["Bearer first", "Bearer second"], self._tokens())

    def test_a_token_file_that_vanished_is_a_fault_with_a_name(self) -> None:
        connected = self._connect(user={"tokenFile": "token"})
        management = client.Client(lambda: connected)
        self.assertRaises(
            exceptions.CapiHelmError, management.get, kinds.SECRET, "ns", "s"
        )

    def test_a_ca_file_that_is_missing_is_a_fault_with_a_name(self) -> None:
        path = self._kubeconfig(
            server="https://127.0.0.1:9", **{"certificate-authority": "ca.pem"}
        )
        management = client.Client(lambda: connection.Connection(path, SHORT))
        self.assertRaises(
            exceptions.CapiHelmError, management.get, kinds.SECRET, "ns", "s"
        )


class EnvironmentTest(_ServerTest):
    def test_proxies_of_the_environment_are_ignored(self) -> None:
        elsewhere = {
            "HTTP_PROXY": NOBODY,
            "http_proxy": NOBODY,
            "ALL_PROXY": NOBODY,
            "NO_PROXY": "",
            "no_proxy": "",
        }
        with mock.patch.dict(os.environ, elsewhere):
            answer = self._connect().request("GET", "v1", "secrets")
        self.assertEqual(200, answer.status_code)

    def test_netrc_is_ignored(self) -> None:
        netrc = self.home / "netrc"
        netrc.write_text("machine 127.0.0.1 login a password b\n")
        with mock.patch.dict(os.environ, {"NETRC": str(netrc)}):
            self._connect(user={}).request("GET", "v1", "secrets")
        self.assertNotIn("Authorization", self.server.headers[0])

    def test_the_kubeconfigs_own_proxy_is_used(self) -> None:
        connected = self._connect(
            SHORT,
            server="http://api.example.org",
            **{"proxy-url": self.server.url},
        )
        connected.request("GET", "v1", "secrets")
        self.assertEqual(
            "http://api.example.org/api/v1/secrets",
            self.server.requests[0][1],
        )


class KubeconfigTest(_ServerTest):
    def test_a_kubeconfig_that_names_no_cluster_to_use_is_refused(
        self,
    ) -> None:
        path = self._kubeconfig()
        document = yaml.safe_load(pathlib.Path(path).read_text())
        for context in (None, "other"):
            document["current-context"] = context
            pathlib.Path(path).write_text(yaml.safe_dump(document))
            self.assertRaises(
                exceptions.NotConfigured, connection.Connection, path, SHORT
            )

    def test_files_of_keys_go_with_the_connection(self) -> None:
        key = {"client-key-data": "aHVudGVyMg==", "token": "t"}
        connected = self._connect(user=key)
        temporary = pathlib.Path(tempfile.gettempdir())
        (directory,) = temporary.glob("magnum-capi-helm-*")
        self.assertEqual(0o700, stat.S_IMODE(directory.stat().st_mode))
        self.assertEqual(1, len(list(directory.iterdir())))
        del connected
        self.assertFalse(directory.exists())
