# SPDX-License-Identifier: Apache-2.0
"""A server for tests of connections, that does as it is told."""

from __future__ import annotations

from collections.abc import Callable
import contextlib
import http.server
import json
import pathlib
import threading
from typing import Any

import fixtures
from oslotest import base
import pykube
import yaml

from magnum_capi_helm.kubernetes import connection

#: Seconds to connect and to read: far more than a busy machine needs.
PATIENT = (10.0, 10.0)


class _Handler(http.server.BaseHTTPRequestHandler):
    """Answers by the script of its server; then 200."""

    protocol_version = "HTTP/1.1"
    server: Server

    def _answer(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        self.rfile.read(length)
        script = self.server.seen(self)
        code, headers = script() if script else (200, {})
        if not code:
            self.close_connection = True
            return
        body = json.dumps({"code": code}).encode()
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        # Who asked may have given up by now.
        with contextlib.suppress(ConnectionError):
            self.end_headers()
            self.wfile.write(body)

    do_GET = do_PATCH = do_POST = do_PUT = do_DELETE = _answer  # noqa: N815

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
        #: Set by each request: a client that gave up may be ahead of it.
        self.arrived = threading.Event()
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
        self.arrived.set()
        return self.script.pop(0) if self.script else None

    def says(self, code: int, **headers: str) -> None:
        """Answer the next request with this."""
        named = {name.replace("_", "-"): it for name, it in headers.items()}
        self.script.append(lambda: (code, named))

    def cuts(self) -> None:
        """Close the connection of the next request without an answer."""
        self.script.append(lambda: (0, {}))

    def hangs(self) -> None:
        """Don't answer the next request before the test is over."""

        def hang() -> tuple[int, dict[str, str]]:
            self.over.wait(5)
            return 200, {}

        self.script.append(hang)


def document(user: dict[str, Any], **cluster: Any) -> dict[str, Any]:
    """A kubeconfig of one user and one cluster."""
    cluster = {"server": "https://api", **cluster}
    return {
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": user}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }


class ServerTest(base.BaseTestCase):
    """A test with a :class:`Server`, and kubeconfigs of it."""

    def setUp(self) -> None:
        super().setUp()
        self.home = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        #: Clients of pykube that connections have made.
        self.clients: list[Any] = []
        make = pykube.HTTPClient

        def record(*arguments: Any, **options: Any) -> Any:
            self.clients.append(make(*arguments, **options))
            return self.clients[-1]

        self.useFixture(fixtures.MockPatchObject(pykube, "HTTPClient", record))
        self.server = Server()
        serving = threading.Thread(
            target=self.server.serve_forever, args=(0.01,), daemon=True
        )
        serving.start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(serving.join, 5)
        self.addCleanup(self.server.shutdown)
        self.addCleanup(self.server.over.set)

    @property
    def tokens(self) -> list[str | None]:
        return [each.get("Authorization") for each in self.server.headers]

    def kubeconfig(self, server: str = "", **changes: Any) -> str:
        user = changes.pop("user", {"token": "static"})
        cluster = {"server": server or self.server.url, **changes}
        path = self.home / "kubeconfig"
        path.write_text(yaml.safe_dump(document(user, **cluster)))
        return str(path)

    def connect(
        self, timeout: tuple[float, float] = PATIENT, **changes: Any
    ) -> connection.Connection:
        return connection.Connection(self.kubeconfig(**changes), timeout)
