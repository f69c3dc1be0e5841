# SPDX-License-Identifier: Apache-2.0
"""A receiver of kubeconfigs, to begin with: Python 3.10, and nothing else.

    delivery_receiver.py DIRECTORY KEY_FILE CERTIFICATE_FILE PORT

It keeps one kubeconfig for each cluster, DIRECTORY/<UUID>.yaml, and in
DIRECTORY/deliveries.sqlite which deliveries it has had.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
import contextlib
import hashlib
import hmac
from http import server
import json
import os
import pathlib
import sqlite3
import ssl
import sys
import threading
import time
import uuid

#: Seconds by which a sender's clock may differ from ours. What is older may
#: be a copy that somebody kept.
TOLERANCE = 300
#: Bytes of a body. A kubeconfig has ten thousand.
LONGEST = 1024 * 1024


class Refused(Exception):
    """An answer other than 204."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


def read_keys(path: str) -> list[bytes]:
    """The keys of a file as ``[capi_helm] delivery_key_file`` has them."""
    lines = pathlib.Path(path).read_text().split()
    return [base64.b64decode(each.removeprefix("whsec_")) for each in lines]


def verify(
    keys: list[bytes], headers: Mapping[str, str], body: bytes, now: float
) -> str:
    """The id of a delivery that is genuine and new enough."""
    delivery = headers.get("webhook-id", "")
    moment = headers.get("webhook-timestamp", "")
    given = headers.get("webhook-signature", "").split()
    if not moment.isascii() or not moment.isdigit():
        raise Refused(400, "no webhook-timestamp")
    if abs(now - int(moment)) > TOLERANCE:
        raise Refused(400, "webhook-timestamp is too old, or ahead")
    signed = f"{delivery}.{moment}.".encode() + body
    for key in keys:
        digest = hmac.new(key, signed, hashlib.sha256).digest()
        wanted = b"v1," + base64.b64encode(digest)
        # Compared as bytes: text that is not ASCII would raise.
        if any(hmac.compare_digest(wanted, each.encode()) for each in given):
            return delivery
    raise Refused(401, "no signature of ours")


class Inbox:
    """What was delivered, in a directory."""

    def __init__(self, directory: str, keys: list[bytes]) -> None:
        self._directory = pathlib.Path(directory)
        self._keys = keys
        self._lock = threading.Lock()
        self._database = sqlite3.connect(
            self._directory / "deliveries.sqlite", check_same_thread=False
        )
        with self._database:
            self._database.execute(
                "CREATE TABLE IF NOT EXISTS deliveries (id TEXT PRIMARY KEY, "
                "cluster TEXT NOT NULL, created TEXT NOT NULL)"
            )

    def take(
        self, headers: Mapping[str, str], body: bytes, now: float
    ) -> bool:
        """Take a delivery; whether it brought anything new."""
        delivery = verify(self._keys, headers, body, now)
        try:
            found = json.loads(body)
            cluster = str(uuid.UUID(found["cluster_uuid"]))
            created, text = found["created_at"], found["kubeconfig"]
            if found["delivery_id"] != delivery:
                raise ValueError
            if not isinstance(created, str) or not isinstance(text, str):
                raise TypeError
        except (KeyError, TypeError, ValueError):
            raise Refused(400, "no delivery") from None
        with self._lock, self._database:
            if self._known(delivery):
                return False
            newest = self._newest(cluster)
            self._database.execute(
                "INSERT INTO deliveries VALUES (?, ?, ?)",
                (delivery, cluster, created),
            )
            if created <= newest:
                # One that was overtaken on its way.
                return False
            # Kept before the transaction ends: a crash in between makes the
            # sender send it again, and this is done again.
            self._keep(cluster, text)
            return True

    def close(self) -> None:
        """No more is taken."""
        self._database.close()

    def _known(self, delivery: str) -> bool:
        query = "SELECT 1 FROM deliveries WHERE id = ?"
        rows = self._database.execute(query, (delivery,))
        return rows.fetchone() is not None

    def _newest(self, cluster: str) -> str:
        query = "SELECT max(created) FROM deliveries WHERE cluster = ?"
        [newest] = self._database.execute(query, (cluster,)).fetchone()
        return newest or ""

    def _keep(self, cluster: str, text: str) -> None:
        path = self._directory / f"{cluster}.yaml"
        new = path.with_suffix(".new")
        new.unlink(missing_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        with os.fdopen(os.open(new, flags, 0o600), "w") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        new.replace(path)


def handler(inbox: Inbox) -> type[server.BaseHTTPRequestHandler]:
    """Answers 204 to what was taken, and to what was known already."""

    class Handler(server.BaseHTTPRequestHandler):
        timeout = 30

        def do_POST(self) -> None:
            status, why = 204, ""
            try:
                length = self.headers.get("content-length", "")
                if not length.isdigit() or int(length) > LONGEST:
                    raise Refused(413, "too long, or of no known length")
                body = self.rfile.read(int(length))
                new = inbox.take(self.headers, body, time.time())
                why = "new" if new else "known"
            except Refused as refusal:
                status, why = refusal.status, str(refusal)
                self.close_connection = True
            self.log_message("%s: %s", status, why)
            self.send_response_only(status)
            self.send_header("content-length", "0")
            self.end_headers()

    return Handler


class Server(server.ThreadingHTTPServer):
    """Speaks TLS; a client that is slow to begin keeps nobody waiting."""

    daemon_threads = True

    def __init__(
        self,
        address: tuple[str, int],
        inbox: Inbox,
        context: ssl.SSLContext,
    ) -> None:
        super().__init__(address, handler(inbox))
        self.socket = context.wrap_socket(
            self.socket, server_side=True, do_handshake_on_connect=False
        )

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hangs up, such as one that does not trust us."""
        print(f"{client_address}: {sys.exc_info()[1]}", file=sys.stderr)


def main(directory: str, key_file: str, certificate: str, port: str) -> None:
    """Receive until interrupted."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    inbox = Inbox(directory, read_keys(key_file))
    with (
        contextlib.closing(inbox),
        Server(("", int(port)), inbox, context) as serving,
        contextlib.suppress(KeyboardInterrupt),
    ):
        serving.serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])
