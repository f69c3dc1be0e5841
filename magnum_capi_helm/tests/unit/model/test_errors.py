# SPDX-License-Identifier: Apache-2.0

"""Why somebody did not answer, as libraries raise it."""

from __future__ import annotations

import errno
import logging
import pathlib
import socket
from typing import Any

import fixtures
import requests

from magnum_capi_helm.kubernetes import client
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.unit.delivery import pki
from magnum_capi_helm.tests.unit.kubernetes import server


class WordsTest(server.ServerTest):
    def raised(self, url: str) -> Exception:
        try:
            requests.post(url, data=b"body", timeout=5)
        except requests.RequestException as error:
            return error
        raise AssertionError(f"{url} answers")

    def test_a_refused_connection_is_the_reason(self) -> None:
        found = self.raised("https://127.0.0.1:9/secret-path")
        self.assertEqual("Connection refused", errors.reason(found))
        self.assertEqual("", errors.certificate_problem(found))

    def test_a_server_without_tls_has_a_reason(self) -> None:
        found = self.raised(self.server.url.replace("http:", "https:"))
        self.assertEqual("WRONG_VERSION_NUMBER", errors.reason(found))

    def test_the_words_are_the_same_under_eventlet(self) -> None:
        found = OSError(errno.ECONNREFUSED, "ECONNREFUSED")
        self.assertEqual("Connection refused", errors.reason(found))
        unknown = socket.gaierror(-2, "Name or service not known")
        self.assertEqual("Name or service not known", errors.reason(unknown))

    def test_a_name_of_the_class_where_nothing_else_is_known(self) -> None:
        found = requests.ConnectTimeout("https://example.org/secret-path")
        self.assertEqual("ConnectTimeout", errors.reason(found))


class TrustTest(server.ServerTest):
    """A management cluster whose certificate is another one's."""

    def asked(self, ca: str, host: str = "127.0.0.1") -> str:
        found = self.useFixture(pki.Endpoint())
        path = pathlib.Path(self.home) / "ca.pem"
        path.write_text(ca)
        changes: Any = {"certificate-authority": str(path)}
        connected = self.connect(
            server=f"https://{host}:{found.port}", **changes
        )
        management = client.Client(lambda: connected)
        logged = self.useFixture(fixtures.FakeLogger(level=logging.WARNING))
        error = self.assertRaises(
            errors.ManagementUnreachable,
            management.get,
            kinds.SECRET,
            "ns",
            "s",
        )
        self.assertEqual([], found.received)
        # Nor is it asked again: each time would be a line in the log.
        self.assertEqual("", logged.output)
        return errors.explained(error).replace(str(found.port), "PORT")

    def test_a_certificate_of_another_ca_is_named(self) -> None:
        self.assertRegex(
            self.asked(pki.Authority("another").pem),
            "^the certificate .* not trusted, .* certificate-authority-data "
            ".* https://127.0.0.1:PORT: unable to get local issuer",
        )

    def test_a_certificate_of_another_host_is_named(self) -> None:
        self.assertIn(
            "Hostname mismatch, certificate is not valid for 'localhost'",
            self.asked(pki.trusted().pem, host="localhost"),
        )
