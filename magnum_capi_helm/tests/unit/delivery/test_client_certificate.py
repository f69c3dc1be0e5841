# SPDX-License-Identifier: Apache-2.0

"""Certificates of a limited user."""

from __future__ import annotations

import base64
import time
from typing import Any

from cryptography import x509
from cryptography.x509 import oid
from oslotest import base

from magnum_capi_helm.delivery import client_certificate
from magnum_capi_helm.delivery import settings
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.unit.delivery import pki

DAY = 86400.0
USER = settings.User("limited", "portal", ("view",), 30 * DAY)


def secret(certificate: str, key: str) -> dict[str, Any]:
    """The Secret of a CA."""
    data = {"tls.crt": certificate, "tls.key": key}
    return {
        "metadata": {"name": "web-ca"},
        "data": {
            name: base64.b64encode(text.encode()).decode()
            for name, text in data.items()
        },
    }


def authority(made: pki.Authority) -> client_certificate.Authority:
    """As it is read."""
    return client_certificate.Authority(secret(made.pem, made.key))


class CertificateTest(base.BaseTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.now = time.time()
        self.made = pki.Authority("cluster")
        self.ca = authority(self.made)

    def test_it_is_for_clients_alone_and_no_ca(self) -> None:
        issued = self.ca.issue(USER, self.now)
        found = x509.load_pem_x509_certificate(issued.certificate.encode())
        extensions = found.extensions
        usage = extensions.get_extension_for_class(x509.ExtendedKeyUsage)
        self.assertEqual(
            [oid.ExtendedKeyUsageOID.CLIENT_AUTH], list(usage.value)
        )
        basic = extensions.get_extension_for_class(x509.BasicConstraints)
        self.assertFalse(basic.value.ca)
        self.assertEqual(self.made.pem, issued.ca)
        self.assertEqual("CN=portal,O=view", found.subject.rfc4514_string())
        ends = found.not_valid_after_utc.timestamp()
        self.assertAlmostEqual(self.now + 30 * DAY, ends, delta=1.0)

    def test_it_says_which_key_signed_it(self) -> None:
        named = pki.Authority(
            identifier=lambda key: x509.SubjectKeyIdentifier(b"the third")
        )
        nameless = pki.Authority(identifier=lambda key: None)
        public: Any = x509.load_pem_x509_certificate(
            nameless.pem.encode()
        ).public_key()
        counted = x509.SubjectKeyIdentifier.from_public_key(public).digest
        for made, expected in ((named, b"the third"), (nameless, counted)):
            issued = authority(made).issue(USER, self.now).certificate
            found = x509.load_pem_x509_certificate(issued.encode())
            says = found.extensions.get_extension_for_class(
                x509.AuthorityKeyIdentifier
            )
            self.assertEqual(expected, says.value.key_identifier)

    def test_how_long_it_is_good(self) -> None:
        issued = self.ca.issue(USER, self.now).certificate
        for days, good in ((0, True), (19, True), (21, False), (31, False)):
            self.assertIs(
                good, self.ca.good(issued, USER, self.now + days * DAY)
            )

    def test_what_is_not_good(self) -> None:
        issued = self.ca.issue(USER, self.now).certificate
        other = settings.User("limited", "portal", (), 30 * DAY)
        self.assertFalse(self.ca.good(issued, other, self.now))
        # Of the same name, and another key.
        imposter = authority(pki.Authority("cluster"))
        self.assertFalse(imposter.good(issued, USER, self.now))
        self.assertFalse(self.ca.good("", USER, self.now))

    def test_one_that_ends_with_its_ca_is_good_until_then(self) -> None:
        ca = authority(pki.Authority("old", days=10))
        issued = ca.issue(USER, self.now).certificate
        for days, good in ((9.9, True), (10.1, False)):
            self.assertIs(good, ca.good(issued, USER, self.now + days * DAY))
        error = self.assertRaises(
            errors.ManagementError, ca.issue, USER, self.now + 11 * DAY
        )
        self.assertEqual(
            "no certificate can be signed: the Secret web-ca has a CA that "
            "has expired",
            str(error),
        )

    def test_of_several_cas_the_one_of_the_key_signs(self) -> None:
        both = pki.Authority("former").pem + self.made.pem
        found = client_certificate.Authority(secret(both, self.made.key))
        issued = found.issue(USER, self.now)
        self.assertTrue(self.ca.good(issued.certificate, USER, self.now))
        self.assertEqual(both, issued.ca)

    def test_cas_are_delivered_as_every_program_reads_them(self) -> None:
        # As where two files were put into one, the first without an end.
        former = pki.Authority("former").pem
        joined = self.made.pem.rstrip("\n") + former
        found = client_certificate.Authority(secret(joined, self.made.key))
        self.assertEqual(self.made.pem + former, found.pem)

    def test_secrets_that_can_not_sign(self) -> None:
        other = pki.Authority("other")
        for found, why in (
            ({"metadata": {"name": "web-ca"}}, "has no CA with a key in PEM"),
            (secret(self.made.pem, ""), "has no CA with a key in PEM"),
            (secret("canary", self.made.key), "has no CA with a key in PEM"),
            (secret(self.made.pem, "canary"), "has no CA with a key in PEM"),
            (
                secret(self.made.pem, other.key),
                "has a CA and a key of another one",
            ),
        ):
            error = self.assertRaises(
                errors.ManagementError,
                client_certificate.Authority,
                found,
            )
            self.assertIn(f"the Secret web-ca {why}", str(error))
            self.assertNotIn("canary", str(error))
            self.assertIsNone(error.__cause__)
