# SPDX-License-Identifier: Apache-2.0

"""A rotation that can't be done, is taken back, or has ended before."""

from __future__ import annotations

from collections.abc import Callable, Iterator
import contextlib
from typing import Any
from unittest import mock

from magnum.common import cert_manager as backends
from magnum.common import exception

from magnum_capi_helm.chart import ca_rotation
from magnum_capi_helm.database import rows as database_rows
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import errors
from magnum_capi_helm.status import replacement
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.fakes import cloud as fake_cloud
from magnum_capi_helm.tests.fakes import management
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.lifecycle import conductor
from magnum_capi_helm.tests.unit.lifecycle import test_rotate_ca
from magnum_capi_helm.tests.unit.operations import (
    test_template_guard_builds as builds,
)

#: The group that stops a rotation, and the step; none: before any poll.
_STOPS = (("", 0), ("control-plane", 1), ("default-worker", 2))
#: Writes of a rotation that is taken back.
_WRITES = (
    ("patch", kinds.CONTROL_PLANE, "-control-plane"),
    ("patch", kinds.SECRET, "-intent"),
    ("patch", kinds.SECRET, "-ca"),
    ("patch", kinds.SECRET, "-sa"),
)
_SA = f"{base.RELEASE}-sa"


class RotationBackTestCase(test_rotate_ca.RotationTestCase):
    def setUp(self) -> None:
        self.images_gone = False
        super().setUp()
        self.kept = self.stored()
        self.told = self.values()

    def catalogue(self, session: Any) -> fake_cloud.FakeCloud:
        found = super().catalogue(session)
        if self.images_gone:
            found.images.clear()
        return found

    def values(self) -> dict[str, Any]:
        spec: dict[str, Any] = self.helm.upgrades[-1].values["controlPlane"]
        return spec

    def assert_as_before(self) -> None:
        """Secrets, references and certificates are those of before."""
        for purpose, pair in self.before.items():
            self.assertEqual(pair, self.pair(purpose))
        self.assertEqual(self.references, conductor.references(self.row()))
        self.assertEqual(self.kept, self.stored())
        self.assertNotIn(ca_rotation.Rotation.KEY, self.intent_keys())


class RefusalTest(RotationBackTestCase):
    """Refused with nothing changed, or not at the same time."""

    def assert_refused(self, reason: str) -> None:
        self.assertIn(reason, self.error_of(self.rotate_ca))
        self.assert_as_before()
        # Magnum has noted that it failed.
        self.save(status="UPDATE_COMPLETE", health_status="HEALTHY")

    def test_a_cluster_that_is_not_healthy(self) -> None:
        self.save(health_status="UNHEALTHY")
        self.assert_refused("this one is not: UNHEALTHY")
        self.capi.fail_machine("default-worker")
        self.assert_refused("only a complete and healthy cluster")

    def test_a_cluster_whose_ca_is_elsewhere(self) -> None:
        key = self.live(kinds.SECRET, _SA)["data"]["tls.key"]
        where = (kinds.SECRET, base.NAMESPACE, _SA)
        self.server.patch(*where, {"data": {"tls.key": None}})
        text = self.error_of(self.rotate_ca)
        self.assertIn(f"the Secret {_SA} has no certificate and key", text)
        self.server.patch(*where, {"data": {"tls.key": key}})
        self.assert_as_before()

    def test_machines_that_can_not_be_made_or_nobody_wants(self) -> None:
        self.images_gone = True
        self.assert_refused("there is no such image")
        self.images_gone = False
        self.helm.refused = "additional properties are not allowed"
        self.assert_refused(self.helm.refused)
        self.helm.refused = ""
        error = errors.ManagementError("too many files")
        self.fails("dry-run", kinds.CONTROL_PLANE, error=error)
        self.assert_refused(f"rotation does not fit this cluster: {error}")
        self.management.recover()
        workers = builds.WORKERS
        builds.put_build(self.helm, workers)
        self.assert_refused("would replace machines")

    def test_other_changes_wait_for_its_end(self) -> None:
        self.rotate_ca()
        self.tick()
        self.save(status="UPDATE_FAILED")
        text = self.error_of(
            self.driver.upgrade_cluster,
            self.context,
            self.row(),
            self.template(image_id="ubuntu-1.35"),
            1,
            self.groups()["default-worker"],
        )
        self.assertIn("the CA rotation has not ended", text)
        # As a conductor with an older version of the driver leaves it.
        self.save(status="UPDATE_COMPLETE")
        kept, stored = conductor.references(self.row()), self.stored()
        text = self.error_of(self.rotate_ca)
        self.assertIn("a resize to the present count", text)
        self.assertEqual(kept, conductor.references(self.row()))
        self.assertEqual(stored, self.stored())
        self.resize(2)
        self.assert_rotated()


class UnansweredTest(RotationBackTestCase):
    """The management cluster does not say whether it is stored."""

    def test_a_rotation_that_may_be_stored_is_taken_back(self) -> None:
        self.fails("patch", kinds.SECRET, "-intent", times=1)
        self.assertRaises(Exception, self.rotate_ca)  # noqa: B017
        self.assertEqual(self.references, conductor.references(self.row()))
        self.assertNotIn(ca_rotation.Rotation.KEY, self.intent_keys())

    def test_a_rotation_that_cannot_be_taken_back_goes_on(self) -> None:
        """The management cluster stores it, and does not answer any more."""
        patch, lost = self.management.patch, errors.ManagementUnreachable("")

        def store(kind: kinds.Kind, *where: Any, **more: Any) -> Any:
            if where[1].endswith("-intent"):
                if ca_rotation.Rotation.KEY not in self.intent_keys():
                    patch(kind, *where, **more)
                raise lost
            return patch(kind, *where, **more)

        with mock.patch.object(self.management, "patch", store):
            self.assertRaises(Exception, self.rotate_ca)  # noqa: B017
        self.assertEqual("UPDATE_FAILED", self.row().status)
        self.assertEqual(self.references, conductor.references(self.row()))
        self.health_poll()
        self.until_complete()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)
        self.assertEqual(("new", "new"), (self.trusted(), self.signer()))
        used = set(conductor.references(self.row()).values())
        self.assertEqual(set(), used - self.stored())


class TakenBackTest(RotationBackTestCase):
    """``magnum-capi-helm cluster rollback``."""

    def renewals(self) -> list[float]:
        """Until when machines of control plane and workers are replaced."""
        return [
            replacement.renewal_time(each)
            for kind in (kinds.CONTROL_PLANE, kinds.MACHINE_DEPLOYMENT)
            for each in self.server.list(kind, base.NAMESPACE)
        ]

    def stop(self, group: str, step: int) -> None:
        """A rotation that a machine of the group stops."""
        self.rotate_ca()
        while self.rotation().step + 1 < step:
            self.tick()
        if not step:
            return
        for _ in range(3):
            self.poll()
            self.capi.settle()
        self.assertNotEqual([0.0, 0.0], self.renewals())
        self.capi.fail_machine(group)
        self.poll()
        reason = self.why()
        self.assertIn(f"CA rotation, step {step} of 6: ", reason)
        self.assertIn("No valid host", reason)

    def test_before_the_new_ca_signs(self) -> None:
        for stop in _STOPS:
            self.stop(*stop)
            self.roll_back()
            self.assertIsNone(self.why())
            self.assert_as_before()
            self.assertEqual([0.0, 0.0], self.renewals())
            self.settle()
            self.assertEqual(("UPDATE_COMPLETE", None), self.state())
            self.assertEqual(self.told, self.values())

    def test_once_the_new_ca_signs_it_goes_forward_alone(self) -> None:
        self.rotate_ca()
        while self.signer() == "old":
            self.tick()
        before = self.rotation()
        refused = self.assertRaises(errors.NotSupported, self.roll_back)
        self.assertIn("CA rotation, step 3 of 6: ", str(refused))
        self.assertIn("there is no way back", str(refused))
        self.assertEqual(before, self.rotation())

    def killed(self, *write: Any) -> None:
        self.stop("control-plane", 1)
        with self.dies(*write):
            self.roll_back()
            self.fail(f"{write} is not met")

    def test_killed_at_each_write_it_is_repeated(self) -> None:
        for write in _WRITES:
            self.killed(*write)
            self.roll_back()
            self.assert_as_before()
            self.assert_updated()
        # The next one ends.
        self.rotate_ca()
        self.assert_rotated()

    def test_killed_and_not_repeated_the_rotation_goes_on(self) -> None:
        self.killed("patch", kinds.SECRET, "-sa")
        self.capi.settle()
        groups = ["control-plane", "default-worker"] * 3
        self.assertEqual(groups, self.until_complete())
        self.assertEqual(("new", "new"), (self.trusted(), self.signer()))
        spec = self.values()["kubeadmConfigSpec"]
        self.assertIn("postKubeadmCommands", spec)

    def test_a_ca_that_is_not_newer_is_refused(self) -> None:
        noted = {"magnum.openstack.org/ca-rotation": "2099-01-01T00:00:00"}
        self.edit(
            kinds.CLUSTER, base.RELEASE, {"metadata": {"annotations": noted}}
        )
        refused = self.assertRaises(exception.NotSupported, self.rotate_ca)
        self.assertIn("not newer than that of the last", str(refused))
        self.assertEqual(self.kept, self.stored())


_INTENT = (kinds.SECRET, base.NAMESPACE, base.INTENT)
_REFUSED = errors.ManagementError("refused (403)")
#: Certificates that Magnum makes before it asks the driver.
_OF_MAGNUM = 4
_KEY = ca_rotation.Rotation.KEY


class CertificatesTest(test_rotate_ca.RotationTestCase):
    """No key of a CA stays in Magnum's store without an owner."""

    def assert_named(self) -> None:
        """The row or the rotation has each certificate in the store."""
        rotation = self.rotation()
        named = {
            *conductor.references(self.row()).values(),
            *rotation.references.values(),
            *rotation.certificates,
        }
        self.assertEqual(named, self.stored())

    def refuse(self) -> None:
        """The next change of a Secret is refused."""
        self.fails("patch", kinds.SECRET, error=_REFUSED, times=1)

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

    def test_a_rotation_that_is_not_stored_leaves_none(self) -> None:
        kept = self.stored()
        self.refuse()
        self.assertRaises(exception.MagnumException, self.rotate_ca)
        self.assertEqual(kept, self.stored())
        self.assertEqual(self.references, conductor.references(self.row()))
        self.save(status="UPDATE_COMPLETE")
        made: list[str] = []
        with self.storing(made), self.dies("patch", kinds.SECRET, "-intent"):
            self.rotate_ca()
        self.assertEqual(_OF_MAGNUM, len(made))
        self.tick()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)
        self.assertEqual(self.references, conductor.references(self.row()))
        self.assertEqual("old", self.trusted())

    def test_names_that_are_refused_leave_none(self) -> None:
        def refuse(number: int) -> None:
            if number == _OF_MAGNUM + 1:
                self.refuse()

        made: list[str] = []
        with self.storing(made, refuse):
            self.rotate_ca()
        self.assertEqual(_OF_MAGNUM + 2, len(made))
        self.assert_named()
        self.assert_rotated()

    def test_a_store_that_is_away_delays_the_first_step(self) -> None:
        def refuse(number: int) -> None:
            if number > _OF_MAGNUM:
                raise exception.MagnumException("no answer")

        with self.storing([], refuse):
            self.rotate_ca()
            self.assertEqual(self.references, conductor.references(self.row()))
            self.poll()
            self.assertEqual("old", self.trusted())
        self.assert_named()
        self.assertIn("Magnum's certificate store took no CA", self.log.output)
        self.poll()
        self.assertEqual("old new", self.trusted())
        self.assert_rotated()

    def test_a_conductor_dies_before_the_row_shows_both_cas(self) -> None:
        real = database_rows.save

        def save(row: Any) -> None:
            if "ca_cert_ref" in row.obj_what_changed():
                raise management.Killed
            real(row)

        with mock.patch.object(database_rows, "save", save), self.dies():
            self.rotate_ca()
        self.assertEqual(self.references, conductor.references(self.row()))
        self.poll()
        self.assertEqual("old new", self.trusted())
        self.assertEqual(2, self.shown().count(b"BEGIN CERTIFICATE"))
        self.assert_rotated()


class EndedTest(test_rotate_ca.RotationTestCase):
    """A backup of the Secret, or a late write, has a rotation that ended."""

    def copy(self) -> dict[str, str]:
        return {_KEY: self.live(kinds.SECRET, base.INTENT)["data"][_KEY]}

    def begun(self) -> dict[str, str]:
        """Return a rotation whose first step has begun."""
        self.rotate_ca()
        for _ in range(3):
            self.tick()
        return self.copy()

    def kept(self) -> tuple[object, ...]:
        pairs = self.pair("ca"), self.pair("sa")
        return *pairs, conductor.references(self.row()), self.stored()

    def assert_dropped(self, copy: dict[str, str], count: int = 3) -> None:
        """The copy replaces no machine and changes no CA."""
        before, seen = self.kept(), len(self.warnings())
        self.server.patch(*_INTENT, {"data": copy})
        self.resize(count)
        self.assertEqual([], self.until_complete())
        self.assertEqual("UPDATE_COMPLETE", self.row().status)
        self.assertNotIn(_KEY, self.intent_keys())
        self.assertEqual(before, self.kept())
        [warning] = self.warnings()[seen:]
        self.assertIn("has ended before", warning)
        self.assertIn(base.UUID, warning)

    def test_a_copy_of_a_complete_or_older_rotation_is_dropped(self) -> None:
        copy = self.begun()
        self.assert_rotated()
        # Nor is it taken back.
        before = self.pair("ca")
        self.server.patch(*_INTENT, {"data": copy})
        with contextlib.suppress(errors.CapiHelmError):
            self.roll_back()
        self.assertEqual(before, self.pair("ca"))
        self.assert_dropped(copy)
        self.rotate_ca()
        self.until_complete()
        self.assert_dropped(copy, 4)

    def test_a_copy_of_a_withdrawn_rotation_is_dropped(self) -> None:
        self.rotate_ca()
        copy = self.copy()
        self.roll_back()
        self.capi.settle()
        self.until_complete()
        self.assert_dropped(copy)

    def test_a_killed_end_is_repeated(self) -> None:
        self.rotate_ca()
        while self.rotation().step < 5 or self.rotation().machines is None:
            self.tick()
        self.tick()
        with self.dies("patch", kinds.SECRET, "-intent"):
            self.tick()
            self.fail("the end is not met")
        self.assertIn(
            "magnum.openstack.org/ca-rotation",
            view.annotations_of(self.live(kinds.CLUSTER)),
        )
        self.assert_rotated()
