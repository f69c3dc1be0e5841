# SPDX-License-Identifier: Apache-2.0

"""Certificates in a text: what is taken out, and how bundles are joined."""

from __future__ import annotations

import certifi
from oslotest import base

from magnum_capi_helm.model import encoding


def _pem(body: str) -> str:
    return f"-----BEGIN CERTIFICATE-----\n{body}\n-----END CERTIFICATE-----\n"


#: Begin as every certificate does, and mean nothing.
A, B, C = _pem("MAAB"), _pem("MAAC"), _pem("MAAD")


class PemTest(base.BaseTestCase):
    def test_each_one_comes_out_in_the_same_form(self) -> None:
        loose = A.replace("MAAB", "MA\r\n AB")
        self.assertEqual(
            [A, B], encoding.pem_certificates(f"# CA of x\n{loose}\n{B}")
        )

    def test_long_lines_are_folded_as_openssl_does(self) -> None:
        [first, *_] = encoding.pem_certificates(certifi.contents())
        body = first.splitlines()[1:-1]
        self.assertEqual({64}, {len(each) for each in body[:-1]})
        self.assertIn(first, certifi.contents())

    def test_an_invalid_certificate_is_refused_or_left_out(self) -> None:
        for text, left in (
            ("", []),
            ("no certificate", []),
            (A + _pem("M*AB"), [A]),
            (_pem("AAAA") + B, [B]),
        ):
            self.assertRaises(ValueError, encoding.pem_certificates, text)
            self.assertEqual(
                left, encoding.readable_pem_certificates(text), text
            )

    def test_bundles_are_joined_with_each_once(self) -> None:
        for first, second, expected in (
            (A, [], A),
            (A, [A], A),
            (A, [B, A, B, C], A + B + C),
            (f"{A}# the end", [B], f"{A}# the end\n{B}"),
        ):
            self.assertEqual(
                expected, encoding.join_pem_bundles(first, second)
            )
