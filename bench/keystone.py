# SPDX-License-Identifier: Apache-2.0

"""A stand-in for Keystone: every login succeeds at once.

What is measured is the driver's own work for a login, and none of Keystone's.
Run as a script, so that it imports nothing of the bench.
"""

from __future__ import annotations

import http.server
import json
import sys
from typing import Any

_TOKEN = {
    "token": {
        "methods": ["application_credential"],
        "user": {
            "domain": {"id": "default", "name": "Default"},
            "id": "b" * 32,
            "name": "bench",
            "password_expires_at": None,
        },
        "audit_ids": ["bench"],
        "expires_at": "2099-01-01T00:00:00.000000Z",
        "issued_at": "2026-01-01T00:00:00.000000Z",
        "project": {
            "domain": {"id": "default", "name": "Default"},
            "id": "c" * 32,
            "name": "bench",
        },
        "roles": [{"id": "d" * 32, "name": "member"}],
        "catalog": [],
    }
}


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """The version document."""
        link = {"rel": "self", "href": f"http://{self.headers['Host']}/v3/"}
        version = {"id": "v3.14", "status": "stable", "links": [link]}
        self._answer(200, {"version": version})

    def do_POST(self) -> None:
        """A login."""
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self._answer(201, _TOKEN)

    def _answer(self, code: int, body: Any) -> None:
        text = json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.send_header("X-Subject-Token", "bench")
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: a log would be work."""


if __name__ == "__main__":
    address = ("127.0.0.1", int(sys.argv[1]))
    http.server.ThreadingHTTPServer(address, _Handler).serve_forever()
