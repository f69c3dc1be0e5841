# SPDX-License-Identifier: Apache-2.0

"""Certificates of clusters and receivers, and a receiver that has one."""

from __future__ import annotations

from collections.abc import Callable
import contextlib
import dataclasses
import datetime
import functools
from http import server
import ipaddress
import json
import pathlib
import ssl
import threading
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509 import oid
import fixtures

_DAY = datetime.timedelta(days=1)
#: Python 3.13 asks for what RFC 5280 wants of a CA, and of what it signs.
_SIGNS = x509.KeyUsage(
    *(False, False, False, False, False),
    key_cert_sign=True,
    crl_sign=True,
    encipher_only=False,
    decipher_only=False,
)
_Identifier = Callable[
    [ec.EllipticCurvePrivateKey], x509.SubjectKeyIdentifier | None
]
_HOST = ipaddress.ip_address("127.0.0.1")


def _identifier(key: ec.EllipticCurvePrivateKey) -> x509.SubjectKeyIdentifier:
    return x509.SubjectKeyIdentifier.from_public_key(key.public_key())


class Authority:
    """A CA that is good for ten years.

    :param identifier: what it calls its key, if anything
    """

    def __init__(
        self,
        name: str = "test",
        days: float = 3650.0,
        identifier: _Identifier = _identifier,
    ) -> None:
        self._name = _subject(name)
        self._key = ec.generate_private_key(ec.SECP256R1())
        called = identifier(self._key)
        builder = (
            _builder(days)
            .subject_name(self._name)
            .issuer_name(self._name)
            .public_key(self._key.public_key())
            .add_extension(x509.BasicConstraints(True, None), True)
            .add_extension(_SIGNS, True)
        )
        if called is not None:
            builder = builder.add_extension(called, False)
        self._certificate = builder.sign(self._key, hashes.SHA256())
        self.pem = _pem(self._certificate)
        self.key = _key_pem(self._key)

    def signed(
        self, name: str, days: float = 30.0, host: bool = False
    ) -> tuple[str, str]:
        """A certificate and its key in PEM.

        :param host: it is of 127.0.0.1, and no other
        """
        key = ec.generate_private_key(ec.SECP256R1())
        builder = (
            _builder(days)
            .subject_name(_subject(name))
            .issuer_name(self._name)
            .public_key(key.public_key())
            .add_extension(_issuer(self._key), False)
        )
        if host:
            names = x509.SubjectAlternativeName([x509.IPAddress(_HOST)])
            builder = builder.add_extension(names, False)
        return _pem(builder.sign(self._key, hashes.SHA256())), _key_pem(key)


@functools.cache
def trusted() -> Authority:
    """The CA of the receiver's operator."""
    return Authority()


@functools.cache
def receiver() -> str:
    """Certificate and key of a receiver on 127.0.0.1."""
    return "".join(trusted().signed("receiver", host=True))


def _builder(days: float) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.timezone.utc)
    return (
        x509.CertificateBuilder()
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _DAY)
        .not_valid_after(now + days * _DAY)
    )


def _subject(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(oid.NameOID.COMMON_NAME, name)])


def _issuer(key: ec.EllipticCurvePrivateKey) -> x509.AuthorityKeyIdentifier:
    public = key.public_key()
    return x509.AuthorityKeyIdentifier.from_issuer_public_key(public)


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode()


def _key_pem(key: ec.EllipticCurvePrivateKey) -> str:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    ).decode()


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
        self._certificate = certificate or receiver()
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


def _handler(there: Endpoint) -> type[server.BaseHTTPRequestHandler]:
    class Handler(server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers["content-length"])
            there.received.append(
                Received(
                    self.path,
                    {k.lower(): v for k, v in self.headers.items()},
                    self.rfile.read(length),
                )
            )
            there.meanwhile()
            answers = there.answers
            self.send_response(answers.pop(0) if answers else 204)
            self.send_header("location", f"{there.url}/elsewhere")
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *args: Any) -> None:
            """Not on the screen."""

    return Handler
