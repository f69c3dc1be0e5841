# SPDX-License-Identifier: Apache-2.0

"""Certificates of a receiver, and of clusters, made when they are needed."""

from __future__ import annotations

from collections.abc import Callable
import datetime
import functools
import ipaddress

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509 import oid

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
