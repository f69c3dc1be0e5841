# SPDX-License-Identifier: Apache-2.0

"""Whether CAPO trusts Keystone with the CAs of a cluster."""

from __future__ import annotations

import json
import ssl
from typing import Any
import urllib.error

import fixtures
from oslotest import base

from magnum_capi_helm.cloud import credential_secret
from magnum_capi_helm.cloud import faults

_CAS = "-----BEGIN CERTIFICATE-----"
_UNKNOWN = "x509: certificate signed by unknown authority"
_EXPIRED = "x509: certificate has expired or is not yet valid"
#: What OpenSSL says -> what CAPO says.
_REFUSED = {
    "self-signed certificate in certificate chain": _UNKNOWN,
    "unable to get local issuer certificate": _UNKNOWN,
    "certificate has expired": _EXPIRED,
    "": "",
}


def _secret(url: str, cas: str, **more: Any) -> dict[str, Any]:
    auth = {"application_credential_id": "a", "auth_url": url}
    clouds = json.dumps({"clouds": {"openstack": {"auth": auth, **more}}})
    return {
        "metadata": {"name": "login"},
        "data": credential_secret.data(clouds, cas),
    }


class UntrustedTest(base.BaseTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.asked: list[str] = []
        self.problem = "self-signed certificate"
        for name, fake in (
            ("urllib.request.urlopen", self._open),
            ("ssl.create_default_context", lambda cadata: cadata),
        ):
            self.useFixture(fixtures.MonkeyPatch(name, fake))

    def _open(self, url: str, *, timeout: float, context: str) -> None:
        self.assertEqual(_CAS, context)
        self.asked.append(url)
        error: OSError = ConnectionRefusedError()
        if self.problem:
            error = ssl.SSLCertVerificationError(1, "failed")
            error.verify_message = self.problem
        try:
            raise error
        except OSError as why:
            raise urllib.error.URLError(why) from why

    def test_openssls_words_become_those_of_capo(self) -> None:
        secret = _secret("https://keystone.test/v3", _CAS)
        for self.problem, expected in _REFUSED.items():
            self.assertEqual(expected, faults.untrusted(secret))

    def test_only_a_cluster_with_cas_of_its_own_is_asked_about(self) -> None:
        for secret in (
            None,
            {"metadata": {"name": "login"}},
            _secret("https://keystone.test/v3", ""),
            _secret("http://keystone.test/v3", _CAS),
            _secret("https://keystone.test/v3", _CAS, verify=False),
        ):
            self.assertEqual("", faults.untrusted(secret))
        self.assertEqual([], self.asked)
