# SPDX-License-Identifier: Apache-2.0

"""From nothing to a cluster, and back to nothing."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import tempfile
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509 import oid

from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.tests.functional import base
from magnum_capi_helm.tests.functional import database
from magnum_capi_helm.tests.functional import programs


class LifeTest(base.LabCase):
    """One cluster's life."""

    def test_create_resize_delete_leaves_nothing(self) -> None:
        cluster = self.cluster(self.template(), node_count=2)
        made = self.until_status(cluster, ("CREATE_COMPLETE", "CREATE_FAILED"))
        self.assertEqual("CREATE_COMPLETE", made["status"])
        self.assertIsNone(made["status_reason"])
        self.assertEqual("v1.34.2", made["coe_version"])
        self.assertEqual(2, len(made["node_addresses"]))
        self.assertEqual(1, len(made["master_addresses"]))
        self.assertEqual(3, len(self._ready_nodes(made)))
        self._assert_no_more_rights_than_the_user(cluster)
        self._assert_own_service_account_key(made["stack_id"])
        certificates = database.references(cluster)
        self.assertEqual(4, len(database.stored(certificates)))

        self.assertEqual(3, self.resize(cluster, 3)["node_count"])
        self.assertEqual(4, len(self._ready_nodes(made)))
        groups = self.magnum.nodegroups(cluster)
        self.assertEqual(
            {
                "default-master": ("CREATE_COMPLETE", 1),
                "default-worker": ("UPDATE_COMPLETE", 3),
            },
            {
                name: (group["status"], len(group["node_addresses"]))
                for name, group in groups.items()
            },
        )
        self.resize(cluster, 1)
        self.assertEqual(2, len(self._ready_nodes(made)))

        self.delete(cluster)
        self.assert_all_gone(made["stack_id"])
        self.assertEqual([], self.credentials_of(cluster))
        self.assertEqual([], database.stored(certificates))

    def _assert_no_more_rights_than_the_user(self, cluster: str) -> None:
        (credential,) = self.credentials_of(cluster)
        self.assertEqual(
            ["member", "reader"],
            sorted(role["name"] for role in credential["roles"]),
        )
        self.assertFalse(credential["unrestricted"])

    def _assert_own_service_account_key(self, release: str) -> None:
        keys = [
            self.plane.get(kinds.SECRET, self.namespace, f"{release}-{each}")
            for each in ("ca", "etcd", "proxy", "sa")
        ]
        self.assertEqual(
            4, len({each["data"]["tls.key"] for each in keys if each})
        )

    def _ready_nodes(self, cluster: dict[str, Any]) -> list[str]:
        """Names of Ready nodes, by the user's kubeconfig."""
        with tempfile.TemporaryDirectory() as directory:
            config = self._kubeconfig(cluster, pathlib.Path(directory))
            done = subprocess.run(
                ["kubectl", "get", "nodes", "-o", "json"],
                env={
                    "HOME": directory,
                    "KUBECONFIG": str(config),
                    "PATH": f"{programs.LAB / 'bin'}:{os.environ['PATH']}",
                },
                capture_output=True,
                text=True,
                timeout=30,
                check=True,
            )
        return [
            node["metadata"]["name"]
            for node in json.loads(done.stdout)["items"]
            if {"type": "Ready", "status": "True"}.items()
            <= _condition(node, "Ready").items()
        ]

    def _kubeconfig(
        self, cluster: dict[str, Any], directory: pathlib.Path
    ) -> pathlib.Path:
        """As ``openstack coe cluster config`` makes it."""
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        request = _request(key)
        pem = serialization.Encoding.PEM
        signed = self.magnum.call(
            "POST",
            "/certificates",
            {
                "cluster_uuid": cluster["uuid"],
                "csr": request.public_bytes(pem).decode(),
            },
        )["pem"]
        authority = self.magnum.call(
            "GET", f"/certificates/{cluster['uuid']}"
        )["pem"]
        (directory / "ca.pem").write_text(authority)
        (directory / "cert.pem").write_text(signed)
        (directory / "key.pem").write_bytes(
            key.private_bytes(
                pem,
                serialization.PrivateFormat.TraditionalOpenSSL,
                serialization.NoEncryption(),
            )
        )
        config = directory / "config"
        config.write_text(
            json.dumps(_document(cluster["api_address"], directory))
        )
        return config


def _request(key: rsa.RSAPrivateKey) -> x509.CertificateSigningRequest:
    """For a certificate of an administrator of the cluster."""
    subject = x509.Name(
        [
            x509.NameAttribute(oid.NameOID.COMMON_NAME, "admin"),
            x509.NameAttribute(
                oid.NameOID.ORGANIZATION_NAME, "system:masters"
            ),
        ]
    )
    return (
        x509.CertificateSigningRequestBuilder()
        .subject_name(subject)
        .sign(key, hashes.SHA256())
    )


def _document(server: str, directory: pathlib.Path) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [
            {
                "name": "c",
                "cluster": {
                    "server": server,
                    "certificate-authority": str(directory / "ca.pem"),
                },
            }
        ],
        "users": [
            {
                "name": "u",
                "user": {
                    "client-certificate": str(directory / "cert.pem"),
                    "client-key": str(directory / "key.pem"),
                },
            }
        ],
    }


def _condition(node: dict[str, Any], kind: str) -> dict[str, Any]:
    for each in node["status"]["conditions"]:
        if each["type"] == kind:
            return dict(each)
    return {}
