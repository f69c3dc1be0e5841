# SPDX-License-Identifier: Apache-2.0

"""Deletions and rotations where Magnum's certificate store is broken."""

from __future__ import annotations

from typing import Any

import fixtures
from keystoneauth1 import exceptions as ka_exceptions
from magnum.common import cert_manager as backends
from magnum.common import exception
from magnum.conductor.handlers import ca_conductor
from openstack import exceptions as openstack_exceptions

from magnum_capi_helm.cloud import certificates
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.lifecycle import rows


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
        """Break the store."""
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

    def test_another_answer_would_be_the_same(self) -> None:
        row = self.saved()
        for error, logged in (
            (
                openstack_exceptions.ForbiddenException(
                    "not yours", http_status=403
                ),
                True,
            ),
            (KeyError("certificate"), True),
            (
                openstack_exceptions.NotFoundException(
                    "none", http_status=404
                ),
                False,
            ),
            (exception.X509KeyPairNotFound(x509keypair="x"), False),
        ):
            self.broken(error)
            before = self.log.output.count("stays in Magnum's store")
            certificates.delete_forgotten(self.admin, row)
            after = self.log.output.count("stays in Magnum's store")
            self.assertEqual(2 if logged else 0, after - before, repr(error))

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

    def test_nor_is_one_forgotten_that_was_never_made(self) -> None:
        self.saved()
        store = self.broken(ka_exceptions.ConnectFailure("no route"))
        self.delete()
        self.poll()
        self.assertIn("did not answer", self.row().status_reason)
        store.error = None
        self.poll()
        self.assertRaises(exception.ClusterNotFound, self.row)

    def test_a_refused_rotation_keeps_the_references(self) -> None:
        self.created()
        old = rows.references(self.row())
        self.broken(openstack_exceptions.HttpException("no", http_status=500))
        self.assertRaises(
            exception.NotSupported,
            ca_conductor.Handler().rotate_ca_certificate,
            self.context,
            self.row(),
        )
        self.assertEqual(old, rows.references(self.row()))
        self.assertEqual(
            4, self.log.output.count("made for a refused rotation")
        )
