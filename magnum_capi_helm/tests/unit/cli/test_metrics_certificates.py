# SPDX-License-Identifier: Apache-2.0

"""``metrics``: when a cluster's certificates expire."""

from __future__ import annotations

import base64
import datetime
import json
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509 import oid

from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import names
from magnum_capi_helm.tests.unit.cli import measured
from magnum_capi_helm.tests.unit.lifecycle import base


def certificate(ends: datetime.datetime) -> str:
    """A certificate, in base64."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(oid.NameOID.COMMON_NAME, "x")])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(ends - datetime.timedelta(days=1))
        .not_valid_after(ends)
        .sign(key, hashes.SHA256())
    )
    pem = made.public_bytes(serialization.Encoding.PEM)
    return base64.b64encode(pem).decode()


def kubeconfig(release: str, document: Any) -> dict[str, Any]:
    """The Secret that Cluster API makes."""
    text = json.dumps(document).encode()
    return {
        "metadata": {
            "name": names.kubeconfig(release),
            "namespace": base.NAMESPACE,
        },
        "data": {"value": base64.b64encode(text).decode()},
    }


class CertificatesTest(measured.MetricsTestCase):
    def test_each_certificate_has_its_time_of_expiry(self) -> None:
        first = datetime.datetime(2031, 1, 1, tzinfo=datetime.timezone.utc)
        second = first - datetime.timedelta(days=400)
        document = {
            "clusters": [
                {"cluster": {"certificate-authority-data": certificate(first)}}
            ],
            "users": [
                {
                    "user": {
                        "client-certificate-data": certificate(second),
                        "client-key-data": "",
                    }
                }
            ],
        }
        self.server.create(kinds.SECRET, kubeconfig(base.RELEASE, document))
        (machine,) = self.server.list(
            kinds.MACHINE, base.NAMESPACE, "cluster.x-k8s.io/control-plane"
        )
        status = {
            **machine["status"],
            "certificatesExpiryDate": "2027-01-01T00:00:00Z",
        }
        name = machine["metadata"]["name"]
        self.server.set_status(kinds.MACHINE, base.NAMESPACE, name, status)
        third = datetime.datetime(2027, 1, 1, tzinfo=datetime.timezone.utc)
        family = "cluster_certificate_expiry_timestamp_seconds"
        self.assertEqual(
            [
                f"{{'certificate': '{name}', 'uuid': '{self.uuid}'}} "
                f"{moment.timestamp()}"
                for name, moment in (
                    ("control-plane", third),
                    ("ca", first),
                    ("kubeconfig", second),
                )
            ],
            measured.printed()[family],
        )

    def test_a_kubeconfig_that_is_none_hides_nothing_else(self) -> None:
        documents: tuple[Any, ...] = ("x", {}, {"clusters": [], "users": []})
        for document in documents:
            made = kubeconfig(base.RELEASE, document)
            self.server.apply(kinds.SECRET, made)
            code, text, errors = measured.run()
            self.assertEqual(1, code)
            self.assertRegex(
                errors,
                rf"\Akubeconfigs: the Secret {measured.SECRET} has no "
                r"kubeconfig with certificates \(\w+\)\n\Z",
            )
            self.assertIn(
                'read_success{management_cluster="",part="kubeconfigs"} 0.0',
                text,
            )
            self.assertIn('state="ok"', text)
