# SPDX-License-Identifier: Apache-2.0

"""A real HTTPS server on 127.0.0.1 that answers as it is told."""

from __future__ import annotations

from collections.abc import Callable
import contextlib
import dataclasses
from http import server
import json
import pathlib
import ssl
import threading
from typing import Any

import fixtures

from magnum_capi_helm.tests.unit.delivery import pki


@dataclasses.dataclass(frozen=True)
class Received:
    """One request."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def id(self) -> str:
        """Return the id by which receivers recognize a repetition."""
        return self.headers["webhook-id"]

    @property
    def json(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.body)
        return found


class Endpoint(fixtures.Fixture):
    """Serves while a test runs.

    :param certificate: and key, in PEM
    """

    def __init__(self, certificate: str = "") -> None:
        self._certificate = certificate or pki.receiver()
        self.received: list[Received] = []
        #: Statuses of the next answers; 204 after them.
        self.answers: list[int] = []
        #: Called while a request waits for its answer.
        self.meanwhile: Callable[[], None] = lambda: None

    def _setUp(self) -> None:  # noqa: N802 (fixtures' name)
        directory = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        pem = directory / "server.pem"
        pem.write_text(self._certificate)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pem)
        serving = _Server(("127.0.0.1", 0), _handler(self))
        serving.socket = context.wrap_socket(serving.socket, server_side=True)
        thread = threading.Thread(target=serving.serve_forever, args=(0.01,))
        thread.start()
        self.addCleanup(serving.server_close)
        self.addCleanup(thread.join)
        self.addCleanup(serving.shutdown)
        self.port = serving.server_address[1]
        self.url = f"https://127.0.0.1:{self.port}/hook"

    @property
    def ids(self) -> list[str]:
        return [each.id for each in self.received]


class _Server(server.ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that does not trust us hangs up: nothing to print."""

    def get_request(self) -> Any:
        """The same, where the handshake is made."""
        with contextlib.suppress(ssl.SSLError):
            return super().get_request()
        raise OSError


def _handler(endpoint: Endpoint) -> type[server.BaseHTTPRequestHandler]:
    class Handler(server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers["content-length"])
            endpoint.received.append(
                Received(
                    self.path,
                    {k.lower(): v for k, v in self.headers.items()},
                    self.rfile.read(length),
                )
            )
            endpoint.meanwhile()
            answers = endpoint.answers
            self.send_response(answers.pop(0) if answers else 204)
            self.send_header("location", f"{endpoint.url}/elsewhere")
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *args: Any) -> None:
            """Not on the screen."""

    return Handler
