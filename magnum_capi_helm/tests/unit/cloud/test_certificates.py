# SPDX-License-Identifier: Apache-2.0

"""Magnum's certificates: as Cluster API's Secrets, and in a broken store."""

from __future__ import annotations

import base64
import pathlib
import traceback
from typing import Any
from unittest import mock
import uuid

from cryptography import x509
from cryptography.hazmat.primitives import serialization
import fixtures
from keystoneauth1 import exceptions as ka_exceptions
from magnum import objects
from magnum.common import cert_manager as backends
from magnum.common import exception
from magnum.conductor.handlers import ca_conductor
from magnum.conductor.handlers.common import cert_manager
import magnum.conf as magnum_conf
from openstack import exceptions as openstack_exceptions
from oslo_config import fixture as oslo_fixture
from oslo_db import exception as db_exception  # type: ignore[import-untyped]
from sqlalchemy import exc as sqlalchemy_exc

from magnum_capi_helm.cloud import certificates
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.lifecycle import conductor


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
            errors.CloudError,
            certificates.fetch,
            self.context,
            row,
        )
        self.assertIn("gave no ca CA. ", str(error))

    def test_a_store_that_fails_at_a_key_refuses_the_create(self) -> None:
        """Barbican's parts are read when they are asked for."""
        row = self.saved()
        manager = backends.get_backend().CertManager
        found = manager.get_cert(row.ca_cert_ref, context=self.context)
        error = openstack_exceptions.HttpException("no\nanswer")
        with (
            mock.patch.object(found, "get_private_key", side_effect=error),
            mock.patch.object(manager, "get_cert", return_value=found),
        ):
            refused = self.assertRaises(
                errors.CloudError, certificates.fetch, self.context, row
            )
        self.assertEqual(
            "Magnum's certificate store gave no ca CA. no answer",
            str(refused),
        )

    def test_an_error_of_the_database_shows_no_key(self) -> None:
        row = self.saved()
        authority = certificates.fetch(self.context, row)["ca"]
        lost = sqlalchemy_exc.OperationalError(
            "INSERT INTO x509keypair (private_key) VALUES (:key)",
            {"key": authority[1].decode()},
            Exception("(2013) Lost connection"),
        )
        manager = backends.get_backend().CertManager
        error = db_exception.DBError(lost)
        with mock.patch.object(manager, "store_cert", side_effect=error):
            refused = self.assertRaises(
                errors.CloudError,
                certificates.copy,
                self.context,
                row,
                row.ca_cert_ref,
                "both",
            )
        self.assertEqual(
            "Magnum's certificate store took no CA. (builtins.Exception) "
            "(2013) Lost connection",
            str(refused),
        )
        logged = "".join(traceback.format_exception(refused))
        self.assertNotIn("PRIVATE KEY", logged)

    def test_the_two_that_magnum_forgets_are_deleted(self) -> None:
        row = self.saved()
        for _ in range(2):
            certificates.delete_forgotten(self.admin, row)
            kept = {e.uuid for e in objects.X509KeyPair.list(self.admin)}
            self.assertEqual({row.ca_cert_ref, row.magnum_cert_ref}, kept)
        bare = self.cluster(uuid=str(uuid.uuid4()))
        bare.create()
        certificates.delete_forgotten(self.admin, bare)

    def test_the_cache_of_client_files_goes_with_the_cluster(self) -> None:
        cache = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.useFixture(oslo_fixture.Config(magnum_conf.CONF)).config(
            group="cluster", temp_cache_dir=str(cache)
        )
        row = self.saved()
        cert_manager.create_client_files(row, self.context)
        self.assertTrue((cache / row.uuid / "client.key").exists())
        certificates.delete_forgotten(self.admin, row)
        self.assertEqual([], list(cache.iterdir()))


class RotationTest(base.FlowTestCase):
    """A refused ``coe ca rotate``: Magnum has replaced the references."""

    def test_a_cluster_that_is_gone_is_no_surprise(self) -> None:
        row = self.saved()
        row.destroy()
        self.assertRaises(
            exception.ClusterNotFound,
            certificates.restore_references,
            self.context,
            row,
        )


class Broken:
    """A store that answers every deletion in the same way."""

    def __init__(self, error: Exception) -> None:
        self.error: Exception | None = error

    def delete_cert(self, ref: str, **_: Any) -> None:
        """Fail, until the store is mended."""
        if self.error is not None:
            raise self.error


class BrokenStoreTest(base.FlowTestCase):
    """A deletion waits for an answer, but not for another one."""

    def broken(self, error: Exception) -> Broken:
        store = Broken(error)
        manager = backends.get_backend().CertManager
        self.useFixture(
            fixtures.MockPatchObject(
                manager, "delete_cert", side_effect=store.delete_cert
            )
        )
        return store

    def test_no_answer_is_waited_for(self) -> None:
        row = self.saved()
        for error in (
            openstack_exceptions.HttpException("busy", http_status=503),
            openstack_exceptions.HttpException("later", http_status=429),
            openstack_exceptions.HttpException("token", http_status=401),
            ka_exceptions.ConnectFailure("no route"),
            exception.AuthorizationFailure("Keystone does not answer"),
            OSError("gone away"),
        ):
            self.broken(error)
            waiting = self.assertRaises(
                errors.CloudUnreachable,
                certificates.delete_forgotten,
                self.admin,
                row,
            )
            self.assertIn("store did not answer. ", str(waiting))

    def test_a_deletion_does_not_wait_after_a_final_answer(self) -> None:
        row = self.saved()
        forbidden = openstack_exceptions.ForbiddenException(
            "not yours", http_status=403
        )
        absent = openstack_exceptions.NotFoundException(
            "none", http_status=404
        )
        for error, logged in (
            (forbidden, 2),
            (KeyError("certificate"), 2),
            (absent, 0),
            (exception.X509KeyPairNotFound(x509keypair="x"), 0),
        ):
            self.broken(error)
            before = self.log.output.count("stays in Magnum's store")
            certificates.delete_forgotten(self.admin, row)
            after = self.log.output.count("stays in Magnum's store")
            self.assertEqual(logged, after - before, repr(error))

    def test_a_deletion_goes_on_when_the_store_is_back(self) -> None:
        self.created()
        store = self.broken(ka_exceptions.ConnectFailure("no route"))
        self.delete()
        self.capi.finish()
        self.poll()
        row = self.row()
        self.assertEqual("DELETE_IN_PROGRESS", row.status)
        self.assertEqual(
            "deletion waits: Magnum's certificate store did not answer. "
            "no route",
            row.status_reason,
        )
        store.error = None
        self.poll()
        self.assertRaises(exception.ClusterNotFound, self.row)

    def test_a_refused_rotation_keeps_references_and_status(self) -> None:
        """Magnum has replaced the references, and set the status."""
        self.created()
        old = conductor.references(self.row())
        self.broken(openstack_exceptions.HttpException("no", http_status=500))
        with self.busy():
            self.assertRaises(
                exception.OperationInProgress,
                ca_conductor.Handler().rotate_ca_certificate,
                self.context,
                self.row(),
            )
        self.assertEqual(old, conductor.references(self.row()))
        self.assertEqual(4, self.log.output.count("stays in Magnum's store"))
        self.assertEqual("UPDATE_FAILED", self.row().status)
        row = self.health_poll()
        self.assertEqual(
            ("UPDATE_COMPLETE", None), (row.status, row.status_reason)
        )
