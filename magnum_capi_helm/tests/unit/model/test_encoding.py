# SPDX-License-Identifier: Apache-2.0

"""Certificates in a text, and what the command line shows without secrets."""

from __future__ import annotations

import copy

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


MASK = encoding.MASK


class PackedTest(base.BaseTestCase):
    def test_keys_decide_about_masked_values(self) -> None:
        for given, shown in (
            (
                {"registryAuth": {"r": {"username": "u", "password": "p"}}},
                {"registryAuth": {"r": {"username": "u", "password": MASK}}},
            ),
            ({"clouds": {"openstack": {"a": "b"}}}, {"clouds": MASK}),
            (
                {"grafana": {"adminPassword": "x"}},
                {"grafana": {"adminPassword": MASK}},
            ),
            ({"token": "x"}, {"token": MASK}),
            ({"items": [{"apiToken": "x"}]}, {"items": [{"apiToken": MASK}]}),
            # A password in an address, and a key in the text of a file.
            (
                {"content": "http_proxy=http://me:pw@proxy:3128 no=a@b"},
                {"content": f"http_proxy=http://{MASK}@proxy:3128 no=a@b"},
            ),
            (
                {"content": "keys:\n  - name: key1\n    secret: c2V\n"},
                {"content": f"keys:\n  - name: key1\n    secret: {MASK}\n"},
            ),
            *(
                (same, same)
                for same in (
                    {"cloudCredentialsSecretName": "web-cloud-credentials"},
                    {"password": None, "token": ""},
                    {"enabled": True, "count": 3},
                )
            ),
        ):
            before = copy.deepcopy(given)
            self.assertEqual(shown, encoding.mask_values(given))
            self.assertEqual(before, given)

    def test_a_masked_secret_keeps_its_keys_alone(self) -> None:
        same = {"kind": "Secret", "metadata": {"name": "a"}}
        shown = {"data": {"key": MASK}, "stringData": {"values": MASK}}
        given = {"data": {"key": "c2V"}, "stringData": {"values": "a: b"}}
        self.assertEqual(
            {**same, **shown}, encoding.mask_manifest({**same, **given})
        )
