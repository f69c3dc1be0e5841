# SPDX-License-Identifier: Apache-2.0

"""A proxy in front of an API, with faults for chosen requests.

It ends TLS itself, so it sees what is asked. Whoever is to use it is told its
address in the place of the API's.
"""

from __future__ import annotations

from collections.abc import Callable
import contextlib
import dataclasses
import http.client
import http.server
import pathlib
import socket
import ssl
import threading
from typing import Any
import urllib.parse

from lab.chaos import faults

#: Said by one side to the next one alone.
_BETWEEN_TWO = {"connection", "keep-alive", "transfer-encoding"}


@dataclasses.dataclass(frozen=True)
class Trust:
    """The API's certificate and key, which the proxy shows, too."""

    certificate: pathlib.Path
    key: pathlib.Path
    authority: pathlib.Path


@dataclasses.dataclass
class Rule:
    """A fault for the next requests of one kind.

    :param times: how many requests it hits
    """

    matches: Callable[[faults.Request], bool]
    fault: faults.Fault
    times: int
    hit: threading.Event = dataclasses.field(default_factory=threading.Event)


class Proxy:
    """Listens on a port of its own, until it is closed.

    :param upstream: ``http://`` or ``https://`` with host and port
    """

    def __init__(self, upstream: str, trust: Trust | None = None) -> None:
        self._upstream = urllib.parse.urlsplit(upstream)
        self._trust = trust
        self._rules: list[Rule] = []
        self._lock = threading.Lock()
        self._coming = threading.Condition()
        self._away = 0
        self._open: set[socket.socket] = set()
        self._server = self._listen(0)
        self.port = int(self._server.server_address[1])

    @property
    def url(self) -> str:
        """What a client is told in the place of the API's address."""
        return f"{self._upstream.scheme}://127.0.0.1:{self.port}"

    # Faults

    def when(
        self,
        matches: Callable[[faults.Request], bool],
        fault: faults.Fault,
        times: int = 1,
    ) -> Rule:
        """Let the next requests that match have a fault."""
        rule = Rule(matches, fault, times)
        with self._lock:
            self._rules.append(rule)
        return rule

    def recover(self) -> None:
        """No faults any more."""
        with self._lock:
            self._rules.clear()
        self.back()

    def back(self) -> None:
        """Wait until somebody listens."""
        with self._coming:
            self._coming.wait_for(lambda: not self._away)

    @contextlib.contextmanager
    def away(self) -> Any:
        """Nobody listens, and open connections are cut.

        When several are at it, until the last one is done.
        """
        with self._coming:
            self._away += 1
            if self._away == 1:
                self.close()
        try:
            yield
        finally:
            with self._coming:
                self._away -= 1
                if not self._away:
                    self._server = self._listen(self.port)
                    self._coming.notify_all()

    def close(self) -> None:
        """Listen no more, and cut what is open."""
        self._server.shutdown()
        self._server.server_close()
        with self._lock:
            left, self._open = self._open, set()
        for each in left:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    # Serving

    def _listen(self, port: int) -> http.server.ThreadingHTTPServer:
        server = _Server(port, self)
        if self._trust:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(self._trust.certificate, self._trust.key)
            # Shaking hands is the business of each connection's thread.
            server.socket = context.wrap_socket(
                server.socket, server_side=True, do_handshake_on_connect=False
            )
        threading.Thread(
            target=server.serve_forever, args=(0.05,), daemon=True
        ).start()
        return server

    def opened(self, connection: socket.socket) -> None:
        """A client has come."""
        with self._lock:
            self._open.add(connection)

    def closed(self, connection: socket.socket) -> None:
        """It has gone."""
        with self._lock:
            self._open.discard(connection)

    def connect(self) -> http.client.HTTPConnection:
        """A connection to the API."""
        host, port = self._upstream.hostname or "", self._upstream.port
        if not self._trust:
            return http.client.HTTPConnection(host, port, timeout=60)
        context = ssl.create_default_context(cafile=self._trust.authority)
        return http.client.HTTPSConnection(
            host, port, timeout=60, context=context
        )

    def answer(
        self, request: faults.Request, forward: faults.Forward
    ) -> faults.Answer:
        """Through the first fault that matches, if there is one."""
        with self._lock:
            for rule in self._rules:
                if rule.times and rule.matches(request):
                    rule.times -= 1
                    break
            else:
                rule = None
        if rule is None:
            return forward()
        try:
            return rule.fault(request, forward)
        finally:
            rule.hit.set()


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    # The threads of connections that are cut end by themselves.
    block_on_close = False

    def __init__(self, port: int, proxy: Proxy) -> None:
        self.proxy = proxy
        super().__init__(("127.0.0.1", port), _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A connection that broke is what this is for."""


class _Handler(http.server.BaseHTTPRequestHandler):
    """One for each connection."""

    server: _Server
    protocol_version = "HTTP/1.1"

    def setup(self) -> None:
        super().setup()
        self.server.proxy.opened(self.connection)

    def finish(self) -> None:
        self.server.proxy.closed(self.connection)
        super().finish()

    def log_message(self, format: str, *args: Any) -> None:
        """The API has a log."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("do_"):
            return self._serve
        raise AttributeError(name)

    def _serve(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        request = faults.Request(
            self.command,
            self.path,
            self.rfile.read(length),
            self.client_address[1],
        )
        try:
            found = self.server.proxy.answer(
                request, lambda: self._forward(request)
            )
        except (faults.Cut, OSError, http.client.HTTPException):
            self.close_connection = True
            return
        self._tell(found)

    def _forward(self, request: faults.Request) -> faults.Answer:
        headers = {
            name: value
            for name, value in self.headers.items()
            if name.lower() not in _BETWEEN_TWO
        }
        # One that was kept open might have been closed by the API meanwhile,
        # which is a fault that nobody asked for.
        with contextlib.closing(self.server.proxy.connect()) as upstream:
            upstream.request(
                request.method, request.path, request.body, headers
            )
            found = upstream.getresponse()
            return faults.Answer(
                found.status, tuple(found.getheaders()), found.read()
            )

    def _tell(self, answer: faults.Answer) -> None:
        # Not the proxy's own date: the API has sent one.
        self.send_response_only(answer.status)
        for name, value in answer.headers:
            if name.lower() not in {*_BETWEEN_TWO, "content-length"}:
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        self.wfile.write(answer.body[: answer.sent])
        if answer.sent is not None:
            self.wfile.flush()
            self.close_connection = True
