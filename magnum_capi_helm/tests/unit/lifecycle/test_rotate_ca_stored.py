# SPDX-License-Identifier: Apache-2.0

"""The stored rotation: it names all certificates, and ends once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
import contextlib
from typing import Any
from unittest import mock

from magnum.common import cert_manager as backends
from magnum.common import exception

from magnum_capi_helm import runtime
from magnum_capi_helm.chart import ca_rotation
from magnum_capi_helm.database import rows as database_rows
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.lifecycle import rollback
from magnum_capi_helm.model import errors
from magnum_capi_helm.operations import cluster_operation
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.fakes import management
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.lifecycle import rows
from magnum_capi_helm.tests.unit.lifecycle import test_rotate_ca

_INTENT = (kinds.SECRET, base.NAMESPACE, base.INTENT)
_CLUSTER = (kinds.CLUSTER, base.NAMESPACE, base.RELEASE)
_REFUSED = errors.ManagementError("refused (403)")
#: Certificates that Magnum makes before it asks the driver.
_OF_MAGNUM = 4
_NO_STORE = "Magnum's certificate store took no CA"

_KEY = ca_rotation.Rotation.KEY


class StoredTestCase(test_rotate_ca.RotationTestCase):
    """A rotation that is accepted, or not."""

    def setUp(self) -> None:
        super().setUp()
        self.kept = self.stored()

    def named(self) -> set[str]:
        """References that the row or the rotation has."""
        rotation = self.rotation()
        return {
            *rows.references(self.row()).values(),
            *rotation.references.values(),
            *rotation.certificates,
        }

    def assert_ends(self) -> None:
        """The rotation ends, and nothing is left in Magnum's store."""
        self.until_complete()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)
        self.assertEqual(("new", "new"), (self.trusted(), self.signer()))
        used = set(rows.references(self.row()).values())
        self.assertEqual(used, self.stored())


class CertificatesTest(StoredTestCase):
    """No key of a CA stays in Magnum's store without an owner."""

    def test_a_refused_rotation_leaves_none(self) -> None:
        self.management.fail(
            _REFUSED, verbs=("patch",), kind=kinds.SECRET, times=1
        )
        self.assertRaises(exception.MagnumException, self.rotate_ca)
        self.assertEqual(self.kept, self.stored())
        self.assertEqual(self.references, rows.references(self.row()))

    def test_a_dead_conductor_leaves_none(self) -> None:
        self.management.kill_before("patch", kinds.SECRET, "-intent")
        made: list[str] = []
        with self.storing(made), contextlib.suppress(management.Killed):
            self.rotate_ca()
        self.assertEqual(_OF_MAGNUM, len(made))

    @contextlib.contextmanager
    def storing(
        self, made: list[str], do: Callable[[int], None] = lambda number: None
    ) -> Iterator[None]:
        """Note what Magnum's store gets; ``do`` something before that."""
        manager = backends.get_backend().CertManager
        real = manager.store_cert

        def store(**options: Any) -> str:
            do(len(made))
            made.append(str(real(**options)))
            return made[-1]

        with mock.patch.object(manager, "store_cert", store):
            yield

    def test_names_that_are_refused_leave_none(self) -> None:
        def refuse(number: int) -> None:
            if number == _OF_MAGNUM + 1:
                self.management.fail(
                    _REFUSED, verbs=("patch",), kind=kinds.SECRET, times=1
                )

        made: list[str] = []
        with self.storing(made, refuse):
            self.rotate_ca()
        self.assertEqual(_OF_MAGNUM + 2, len(made))
        self.assertEqual(self.named(), self.stored())
        self.assert_ends()

    def test_a_store_that_is_away_delays_the_first_step(self) -> None:
        def refuse(number: int) -> None:
            if number > _OF_MAGNUM:
                raise exception.MagnumException("no answer")

        with self.storing([], refuse):
            self.rotate_ca()
            self.assertEqual(self.references, rows.references(self.row()))
            self.poll()
            self.assertEqual("old", self.trusted())
        self.assertEqual(self.named(), self.stored())
        self.assertIn(_NO_STORE, self.log.output)
        self.poll()
        self.assertEqual("old new", self.trusted())
        self.assert_ends()

    def test_a_conductor_dies_before_the_row_shows_both_cas(self) -> None:
        real = database_rows.save

        def save(row: Any) -> None:
            if "ca_cert_ref" in row.obj_what_changed():
                raise management.Killed
            real(row)

        with (
            mock.patch.object(database_rows, "save", save),
            contextlib.suppress(management.Killed),
        ):
            self.rotate_ca()
        self.assertEqual(self.references, rows.references(self.row()))
        self.free_lease()
        self.poll()
        self.assertEqual("old new", self.trusted())
        self.assertEqual(2, self.shown().count(b"BEGIN CERTIFICATE"))
        self.assert_ends()


class EndedTest(StoredTestCase):
    """A backup of the Secret, or a late write, has a rotation that ended."""

    def copy(self) -> dict[str, str]:
        """Return the stored rotation, after its first step has begun."""
        self.rotate_ca()
        for _ in range(3):
            self.tick()
        secret = self.server.get(*_INTENT)
        assert secret is not None
        return {_KEY: secret["data"][_KEY]}

    def assert_dropped(self, copy: dict[str, str]) -> None:
        """The copy replaces no machine and changes no CA."""
        before = (
            self.pair("ca"),
            self.pair("sa"),
            rows.references(self.row()),
            self.stored(),
        )
        self.server.patch(*_INTENT, {"data": copy})
        self.resize(3)
        self.assertEqual([], self.until_complete())
        self.assertEqual("UPDATE_COMPLETE", self.row().status)
        self.assertNotIn(_KEY, self.intent_keys())
        after = (
            self.pair("ca"),
            self.pair("sa"),
            rows.references(self.row()),
            self.stored(),
        )
        self.assertEqual(before, after)
        [warning] = [e for e in self.warnings() if "has ended before" in e]
        self.assertIn(base.UUID, warning)

    def take_back(self) -> None:
        """The operator's command."""
        operation = cluster_operation.Operation(
            self.admin, self.row(), runtime.get()
        )
        rollback.rollback(operation)

    def test_a_copy_of_a_complete_rotation_is_dropped(self) -> None:
        copy = self.copy()
        self.assert_ends()
        self.assert_dropped(copy)

    def test_a_copy_of_an_older_rotation_is_dropped(self) -> None:
        copy = self.copy()
        self.assert_ends()
        self.rotate_ca()
        self.until_complete()
        self.assert_dropped(copy)

    def test_a_copy_of_a_withdrawn_rotation_is_dropped(self) -> None:
        self.rotate_ca()
        secret = self.server.get(*_INTENT)
        assert secret is not None
        copy = {_KEY: secret["data"][_KEY]}
        self.take_back()
        self.capi.settle()
        self.until_complete()
        self.assert_dropped(copy)

    def test_a_copy_is_not_taken_back(self) -> None:
        copy = self.copy()
        self.assert_ends()
        before = self.pair("ca")
        self.server.patch(*_INTENT, {"data": copy})
        with contextlib.suppress(errors.CapiHelmError):
            self.take_back()
        self.assertEqual(before, self.pair("ca"))

    def test_a_ca_that_is_not_newer_is_refused(self) -> None:
        noted = {"magnum.openstack.org/ca-rotation": "2099-01-01T00:00:00"}
        self.server.patch(*_CLUSTER, {"metadata": {"annotations": noted}})
        refused = self.assertRaises(exception.NotSupported, self.rotate_ca)
        self.assertIn("not newer than that of the last", str(refused))
        self.assertEqual(self.kept, self.stored())

    def test_a_killed_end_is_repeated(self) -> None:
        self.rotate_ca()
        while self.rotation().step < 5 or self.rotation().machines is None:
            self.tick()
        self.tick()
        self.management.kill_before("patch", kinds.SECRET, "-intent")
        with contextlib.suppress(management.Killed):
            self.tick()
        self.assertTrue(self.management.dead)
        self.management.recover()
        self.free_lease()
        live = self.server.get(*_CLUSTER)
        self.assertIn(
            "magnum.openstack.org/ca-rotation", view.annotations_of(live)
        )
        self.assert_ends()
