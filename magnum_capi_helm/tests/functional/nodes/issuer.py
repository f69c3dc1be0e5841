# SPDX-License-Identifier: Apache-2.0

"""An OpenID Connect issuer on this host, which machines reach.

It serves what Kubernetes reads of one: the discovery document and the public
keys (OpenID Connect Discovery 1.0, RFC 7517), with a certificate of a CA of
its own.
"""

from __future__ import annotations

import datetime
import http.server
import ipaddress
import json
import pathlib
import ssl
import threading
import time
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509 import oid
import jwt
from jwt import algorithms

_KEY_ID = "first"
_DISCOVERY = "/.well-known/openid-configuration"
_KEYS = "/keys"
_PEM = serialization.Encoding.PEM
_DAY = datetime.timedelta(days=1)


class Issuer:
    """Signs tokens; serves the keys to prove them until it is closed.

    :param address: of this host, as machines reach it
    :param folder: for the certificate and its key
    """

    def __init__(self, address: str, folder: pathlib.Path) -> None:
        self._key = rsa_key()
        authority = ec.generate_private_key(ec.SECP256R1())
        own = ec.generate_private_key(ec.SECP256R1())
        signed_by_itself = _certificate("issuer-ca", authority, authority)
        #: PEM of the CA that machines have to trust.
        self.authority = signed_by_itself.public_bytes(_PEM).decode()
        certificate = _certificate("issuer", own, authority, address)
        file = folder / "issuer.pem"
        file.write_bytes(
            own.private_bytes(
                _PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
            + certificate.public_bytes(_PEM)
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file)
        self._server = http.server.ThreadingHTTPServer(
            (address, 0), self._handler()
        )
        self._server.socket = context.wrap_socket(
            self._server.socket, server_side=True
        )
        self.url = f"https://{address}:{self._server.server_port}"
        #: Paths that were asked for.
        self.asked: list[str] = []
        threading.Thread(
            target=self._server.serve_forever, daemon=True
        ).start()

    def close(self) -> None:
        """Serve no more."""
        self._server.shutdown()
        self._server.server_close()

    def token(self, key: rsa.RSAPrivateKey | None = None, **more: Any) -> str:
        """Return a token that is valid for ten minutes.

        :param key: another one than the issuer's
        :param more: claims beside, or in the place of, the usual ones
        """
        now = int(time.time())
        claims = {"iss": self.url, "iat": now, "exp": now + 600, **more}
        return jwt.encode(
            claims,
            key or self._key,
            algorithm="RS256",
            headers={"kid": _KEY_ID},
        )

    def _documents(self) -> dict[str, dict[str, Any]]:
        public = algorithms.RSAAlgorithm.to_jwk(
            self._key.public_key(), as_dict=True
        )
        return {
            _DISCOVERY: {
                "issuer": self.url,
                "jwks_uri": f"{self.url}{_KEYS}",
                "response_types_supported": ["id_token"],
                "subject_types_supported": ["public"],
                "id_token_signing_alg_values_supported": ["RS256"],
            },
            _KEYS: {
                "keys": [
                    {**public, "kid": _KEY_ID, "alg": "RS256", "use": "sig"}
                ]
            },
        }

    def _handler(self) -> type[http.server.BaseHTTPRequestHandler]:
        issuer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:  # http.server wants this name
                issuer.asked.append(self.path)
                found = issuer._documents().get(self.path)
                body = json.dumps(found).encode()
                self.send_response(200 if found else 404)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                pass

        return Handler


def rsa_key() -> rsa.RSAPrivateKey:
    """Return a new key that tokens can be signed with."""
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def _certificate(
    name: str,
    key: ec.EllipticCurvePrivateKey,
    signer: ec.EllipticCurvePrivateKey,
    address: str = "",
) -> x509.Certificate:
    """Return a certificate; a CA's if it is for no address."""
    now = datetime.datetime.now(datetime.timezone.utc)
    builder = (
        x509.CertificateBuilder()
        .subject_name(_name(name))
        .issuer_name(_name("issuer-ca"))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _DAY)
        .not_valid_after(now + _DAY)
        .add_extension(x509.BasicConstraints(not address, None), True)
    )
    if address:
        names = [x509.IPAddress(ipaddress.ip_address(address))]
        builder = builder.add_extension(
            x509.SubjectAlternativeName(names), False
        )
    return builder.sign(signer, hashes.SHA256())


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(oid.NameOID.COMMON_NAME, text)])
