# SPDX-License-Identifier: Apache-2.0

"""What of a kubeconfig a connection takes, and for how long it is good."""

from __future__ import annotations

import base64
import pathlib
import tempfile

from cryptography import x509
import yaml

from magnum_capi_helm.kubernetes import connection
from magnum_capi_helm.kubernetes import kubeconfig
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.unit.delivery import pki
from magnum_capi_helm.tests.unit.kubernetes import server

SHORT = (0.2, 0.2)


class KubeconfigTest(server.ServerTest):
    def test_a_kubeconfig_that_names_no_cluster_to_use_is_refused(
        self,
    ) -> None:
        path = self.kubeconfig()
        document = yaml.safe_load(pathlib.Path(path).read_text())
        for context in (None, "other"):
            document["current-context"] = context
            pathlib.Path(path).write_text(yaml.safe_dump(document))
            self.assertRaises(
                errors.NotConfigured, connection.Connection, path, SHORT
            )
        nowhere = [{"name": "x", "context": None}]
        document.update({"current-context": "x", "contexts": nowhere})
        pathlib.Path(path).write_text(yaml.safe_dump(document))
        self.assertRaises(
            errors.NotConfigured, connection.Connection, path, SHORT
        )

    def test_keys_are_in_no_directory_and_go_with_the_connection(self) -> None:
        key = {"client-key-data": "aHVudGVyMg==", "token": "t"}
        temporary = pathlib.Path(tempfile.gettempdir())
        before = set(temporary.rglob("*"))
        connected = self.connect(user=key)
        [made] = self.clients
        path = pathlib.Path(made.config.user["client-key"].filename())
        self.assertEqual("hunter2", path.read_text())
        new = set(temporary.rglob("*")) - before
        self.assertNotIn("hunter2", [each.read_text() for each in new])
        del connected, made
        self.clients.clear()
        self.assertFalse(path.exists())

    def test_the_end_of_a_client_certificate_inline_and_in_a_file(
        self,
    ) -> None:
        pem, key = pki.trusted().signed("admin", days=2.0)
        (self.home / "admin.crt").write_text(pem)
        (self.home / "admin.key").write_text(key)
        rows: dict[str, dict[str, str]] = {
            "inline": {
                "client-certificate-data": _base64(pem),
                "client-key-data": _base64(key),
            },
            "a file": {
                "client-certificate": "admin.crt",
                "client-key": str(self.home / "admin.key"),
            },
        }
        found = x509.load_pem_x509_certificate(pem.encode())
        ends = found.not_valid_after_utc.timestamp()
        for name, user in rows.items():
            with self.subTest(name):
                connected = self.connect(user=user)
                self.assertEqual(
                    (kubeconfig.Expiry(kubeconfig.CERTIFICATE, ends),),
                    connected.expiries(),
                )


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
