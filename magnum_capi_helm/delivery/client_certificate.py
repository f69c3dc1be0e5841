# SPDX-License-Identifier: Apache-2.0

"""Client certificates of a limited user, signed by a cluster's CA.

The CA is the one that Cluster API reads, and so the one that the cluster
trusts. Polls have no user's token, with which to ask Magnum's store.
"""

from __future__ import annotations

import base64
import datetime

from cryptography import exceptions as crypto
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509 import oid

from magnum_capi_helm.delivery import change
from magnum_capi_helm.delivery import settings
from magnum_capi_helm.management import client
from magnum_capi_helm.model import errors
from magnum_capi_helm.status import view

#: Seconds by which a cluster's clock may be behind this host's.
_BEHIND = 300.0
#: Seconds by which a new certificate has to be good for longer.
_GAIN = 3600.0

_PEM = serialization.Encoding.PEM
_USAGE = x509.KeyUsage(
    digital_signature=True,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    key_cert_sign=False,
    crl_sign=False,
    encipher_only=False,
    decipher_only=False,
)


class Authority:
    """A cluster's CA, as its Secret has it.

    :param secret: of Cluster API's purpose ``ca``
    :raises ManagementError: it can't sign; nothing of it is quoted
    """

    def __init__(self, secret: client.Object) -> None:
        self._name = view.name_of(secret)
        data = secret.get("data") or {}
        try:
            pem = base64.b64decode(data["tls.crt"])
            self._key = serialization.load_pem_private_key(
                base64.b64decode(data["tls.key"]),
                None,
                # As cluster's certificates are read: it takes 70 ms.
                unsafe_skip_rsa_key_validation=True,
            )
            self._all = x509.load_pem_x509_certificates(pem)
            # As it was understood: others may not understand what was there.
            self.pem = "".join(
                each.public_bytes(_PEM).decode() for each in self._all
            )
        except (KeyError, TypeError, ValueError, crypto.UnsupportedAlgorithm):
            # Not chained: what can't be read may be a key.
            raise self._useless("no CA with a key in PEM") from None
        mine = [
            each
            for each in self._all
            if each.public_key() == self._key.public_key()
        ]
        if not mine:
            raise self._useless("a CA and a key of another one")
        self._certificate = mine[0]

    def _useless(self, why: str) -> errors.ManagementError:
        return errors.ManagementError(
            f"no certificate can be signed: the Secret {self._name} has {why}"
        )

    def good(self, pem: str, user: settings.User, now: float) -> bool:
        """Whether a certificate still is what :meth:`issue` would make.

        :param now: seconds since 1970
        """
        try:
            found = x509.load_pem_x509_certificate(pem.encode())
            found.verify_directly_issued_by(self._certificate)
        except (ValueError, TypeError, crypto.InvalidSignature):
            return False
        if found.subject != _subject(user):
            return False
        begins = found.not_valid_before_utc.timestamp()
        ends = found.not_valid_after_utc.timestamp()
        # What the CA's own end cut short, no new one makes longer.
        longer = self._ends() - ends > _GAIN
        lasts = ends - (ends - begins) / 3 if longer else ends
        return now < lasts

    def issue(self, user: settings.User, now: float) -> change.Credential:
        """A new key and a certificate for it.

        :raises ManagementError: the CA has expired
        """
        ends = min(now + user.seconds, self._ends())
        if ends <= now:
            raise self._useless("a CA that has expired")
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = (
            x509.CertificateBuilder()
            .subject_name(_subject(user))
            .issuer_name(self._certificate.subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(_moment(now - _BEHIND))
            .not_valid_after(_moment(ends))
            .add_extension(x509.BasicConstraints(False, None), True)
            .add_extension(_USAGE, True)
            .add_extension(
                x509.ExtendedKeyUsage([oid.ExtendedKeyUsageOID.CLIENT_AUTH]),
                False,
            )
            .add_extension(_issued_by(self._certificate), False)
            .sign(self._key, hashes.SHA256())  # type: ignore[arg-type]
        )
        return change.Credential(
            ca=self.pem,
            certificate=certificate.public_bytes(_PEM).decode(),
            key=key.private_bytes(
                _PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            ).decode(),
        )

    def _ends(self) -> float:
        return self._certificate.not_valid_after_utc.timestamp()


def _subject(user: settings.User) -> x509.Name:
    """Groups are organizations, each in a part of its own, as kubeadm's."""
    groups = [
        x509.NameAttribute(oid.NameOID.ORGANIZATION_NAME, each)
        for each in user.groups
    ]
    name = x509.NameAttribute(oid.NameOID.COMMON_NAME, user.name)
    return x509.Name([*groups, name])


def _issued_by(ca: x509.Certificate) -> x509.AuthorityKeyIdentifier:
    """Which of several CAs of one name it is (RFC 5280, 4.2.1.1)."""
    try:
        named = ca.extensions.get_extension_for_class(
            x509.SubjectKeyIdentifier
        ).value
    except x509.ExtensionNotFound:
        # Optional in a CA that signed itself.
        return x509.AuthorityKeyIdentifier.from_issuer_public_key(
            ca.public_key()  # type: ignore[arg-type]
        )
    return x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(
        named
    )


def _moment(seconds: float) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)
