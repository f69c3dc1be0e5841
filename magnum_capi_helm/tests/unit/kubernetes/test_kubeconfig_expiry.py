# SPDX-License-Identifier: Apache-2.0

"""What of a kubeconfig ends, and when."""

from __future__ import annotations

import base64
import json
from typing import Any

from oslotest import base

from magnum_capi_helm.kubernetes import kubeconfig
from magnum_capi_helm.tests.unit.delivery import pki

_DAY = 86400.0


def token(claims: object) -> str:
    """Such a token as the API server gives, signed by nobody."""
    parts = ({"alg": "RS256"}, claims)
    coded = [
        base64.urlsafe_b64encode(json.dumps(each).encode()).rstrip(b"=")
        for each in parts
    ]
    return b".".join([*coded, b"signature"]).decode()


class EndingsTest(base.BaseTestCase):
    def test_each_kind_of_credential_has_its_expiry(self) -> None:
        claims = {"exp": 1763870400, "sub": "system:serviceaccount:a:b"}
        [path] = self.create_tempfiles([("token", f"{token(claims)}\n")])
        rows: list[tuple[str, dict[str, Any], list[tuple[str, float]]]] = [
            ("a token", {"token": token(claims)}, [("token", 1763870400.0)]),
            ("in a file", {"tokenFile": path}, [("token", 1763870400.0)]),
            ("one without an end", {"token": token({"sub": "x"})}, []),
            ("an end that is none", {"token": token({"exp": "soon"})}, []),
            ("claims that are none", {"token": token(["exp"])}, []),
            ("one of another kind", {"token": "abcdef.0123456789"}, []),
            ("three parts of nothing", {"token": "!.!.!"}, []),
            ("a file that is gone", {"tokenFile": "/nonexistent"}, []),
            ("a certificate gone", {"client-certificate": "/none"}, []),
            ("a plugin", {"exec": {"command": "login"}}, []),
            ("nothing", {}, []),
        ]
        for name, user, expected in rows:
            with self.subTest(name):
                found = [
                    (e.credential, e.time) for e in kubeconfig.expiries(user)
                ]
                self.assertEqual(expected, found)

    def test_a_client_certificate_has_its_expiry(self) -> None:
        pem, _ = pki.trusted().signed("admin", days=2.0)
        [path] = self.create_tempfiles([("admin", pem)])
        (found,) = kubeconfig.expiries({"client-certificate": path})
        self.assertEqual("client certificate", found.credential)
        # In whole seconds, as certificates have it.
        self.assertEqual(0.0, found.time % 1)
