# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Magnum's certificates as Cluster API's Secrets."""

from __future__ import annotations

import base64

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from magnum import objects
from magnum.common import exception
from magnum.conductor.handlers.common import cert_manager

from magnum_capi_helm import certificates
from magnum_capi_helm import exceptions
from magnum_capi_helm.management import kinds
from magnum_capi_helm.tests.unit.flows import base


class CertificatesTest(base.FlowTestCase):
    """From Magnum's store to the management cluster and away again."""

    own_certificates = True

    def pair(self, purpose: str) -> tuple[bytes, bytes]:
        """Certificate, or public key, and private key of a Secret."""
        found = self.server.get(
            kinds.SECRET, base.NAMESPACE, f"{base.RELEASE}-{purpose}"
        )
        assert found is not None
        self.assertEqual("cluster.x-k8s.io/secret", found["type"])
        self.assertEqual(
            base.UUID,
            found["metadata"]["labels"]["magnum.openstack.org/cluster-uuid"],
        )
        data = found["data"]
        self.assertEqual({"tls.crt", "tls.key"}, set(data))
        return (
            base64.b64decode(data["tls.crt"]),
            base64.b64decode(data["tls.key"]),
        )

    def test_each_ca_is_magnums_with_its_decrypted_key(self) -> None:
        row = self.create()
        for purpose, kind in (
            ("ca", None),
            ("etcd", "etcd"),
            ("proxy", "front_proxy"),
        ):
            theirs = cert_manager.get_cluster_ca_certificate(
                row, context=self.context, ca_cert_type=kind
            )
            certificate, key = self.pair(purpose)
            expected = theirs.get_certificate()
            if isinstance(expected, str):
                expected = expected.encode()
            self.assertEqual(expected, certificate)
            private = serialization.load_pem_private_key(key, None)
            parsed = x509.load_pem_x509_certificate(certificate)
            self.assertEqual(parsed.public_key(), private.public_key())

    def test_the_service_account_has_a_key_pair_of_its_own(self) -> None:
        self.create()
        public, private = self.pair("sa")
        key = serialization.load_pem_private_key(private, None)
        self.assertEqual(
            serialization.load_pem_public_key(public), key.public_key()
        )
        self.assertNotIn(b"CERTIFICATE", public)

    def test_they_are_written_once(self) -> None:
        self.created()
        before = [self.pair(each) for each in ("ca", "etcd", "proxy", "sa")]
        self.resize(3)
        self.capi.settle()
        self.poll()
        after = [self.pair(each) for each in ("ca", "etcd", "proxy", "sa")]
        self.assertEqual(before, after)

    def test_a_store_that_has_none_refuses_the_create(self) -> None:
        row = self.saved()
        for each in objects.X509KeyPair.list(self.admin):
            each.destroy()
        error = self.assertRaises(
            exceptions.CloudError,
            certificates.fetch,
            self.context,
            row,
        )
        self.assertIn("no ca CA", str(error))

    def test_the_two_that_magnum_forgets_are_deleted(self) -> None:
        row = self.saved()
        certificates.delete_forgotten(self.admin, row)
        kept = {each.uuid for each in objects.X509KeyPair.list(self.admin)}
        self.assertEqual({row.ca_cert_ref, row.magnum_cert_ref}, kept)
        certificates.delete_forgotten(self.admin, row)

    def test_a_cluster_without_certificates_has_none_to_delete(self) -> None:
        row = self.cluster()
        row.create()
        certificates.delete_forgotten(self.admin, row)

    def test_restoring_for_a_cluster_that_is_gone_is_no_surprise(self) -> None:
        row = self.saved()
        row.destroy()
        self.assertRaises(
            exception.ClusterNotFound,
            certificates.restore_references,
            self.context,
            row,
        )
