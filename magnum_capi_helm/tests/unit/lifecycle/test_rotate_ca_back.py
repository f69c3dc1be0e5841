# SPDX-License-Identifier: Apache-2.0

"""A rotation that can't be done: refused before it, or taken back."""

from __future__ import annotations

import contextlib
from typing import Any
from unittest import mock

from magnum.common import exception

from magnum_capi_helm import runtime
from magnum_capi_helm.chart import ca_rotation
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.lifecycle import rollback
from magnum_capi_helm.model import errors
from magnum_capi_helm.operations import cluster_operation
from magnum_capi_helm.status import replacement
from magnum_capi_helm.tests.fakes import cloud as fake_cloud
from magnum_capi_helm.tests.fakes import management
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.lifecycle import rows
from magnum_capi_helm.tests.unit.lifecycle import test_rotate_ca

#: The group that stops a rotation, and the step; none: before any poll.
_STOPS = (("", 0), ("control-plane", 1), ("default-worker", 2))
#: Writes of a rotation that is taken back.
_WRITES = (
    ("patch", kinds.CONTROL_PLANE, "-control-plane"),
    ("patch", kinds.SECRET, "-intent"),
    ("patch", kinds.SECRET, "-ca"),
    ("patch", kinds.SECRET, "-sa"),
)


class RotationBackTestCase(test_rotate_ca.RotationTestCase):
    """What is as it was before the request."""

    def setUp(self) -> None:
        self.gone = False
        super().setUp()
        self.kept = self.stored()
        self.told = self.values()

    def catalogue(self, session: Any) -> fake_cloud.FakeCloud:
        """With no image if they are gone."""
        found = super().catalogue(session)
        if self.gone:
            found.images.clear()
        return found

    def values(self) -> dict[str, Any]:
        """The values of the control plane that helm was last told."""
        spec: dict[str, Any] = self.helm.upgrades[-1].values["controlPlane"]
        return spec

    def assert_as_before(self) -> None:
        """Secrets, references and certificates are those of before."""
        for purpose, pair in self.before.items():
            self.assertEqual(pair, self.pair(purpose))
        self.assertEqual(self.references, rows.references(self.row()))
        self.assertEqual(self.kept, self.stored())
        self.assertNotIn(ca_rotation.Rotation.KEY, self.intent_keys())


class CheckedTest(RotationBackTestCase):
    """Machines that can't be made are found before the request is accepted."""

    def assert_refused(self, reason: str) -> None:
        """Nothing has changed."""
        refused = self.assertRaises(exception.MagnumException, self.rotate_ca)
        self.assertIn(reason, str(refused))
        self.assert_as_before()

    def test_an_image_that_is_gone(self) -> None:
        self.gone = True
        self.assert_refused("there is no such image")

    def test_values_that_the_chart_refuses(self) -> None:
        self.helm.refused = "additional properties are not allowed"
        self.assert_refused("additional properties are not allowed")

    def test_values_that_a_webhook_refuses(self) -> None:
        self.management.fail(
            errors.ManagementError("too many files"),
            verbs=("dry-run",),
            kind=kinds.CONTROL_PLANE,
        )
        self.assert_refused(
            "the CA rotation does not fit this cluster: too many files"
        )


class UnansweredTest(RotationBackTestCase):
    """The management cluster does not say whether it is stored."""

    def test_a_rotation_that_may_be_stored_is_taken_back(self) -> None:
        self.management.fail(
            errors.ManagementUnreachable("no answer"),
            verbs=("patch",),
            kind=kinds.SECRET,
            name="-intent",
            times=1,
        )
        self.assertRaises(Exception, self.rotate_ca)  # noqa: B017
        self.assertEqual(self.references, rows.references(self.row()))
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
        self.assertEqual(self.references, rows.references(self.row()))
        self.health_poll()
        self.until_complete()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)
        self.assertEqual(("new", "new"), (self.trusted(), self.signer()))
        used = set(rows.references(self.row()).values())
        self.assertEqual(set(), used - self.stored())


class TakenBackTest(RotationBackTestCase):
    """``magnum-capi-helm cluster rollback``."""

    def roll_back(self) -> None:
        """The operator's command."""
        operation = cluster_operation.Operation(
            self.admin, self.row(), runtime.get()
        )
        rollback.rollback(operation)

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
        reason = self.row().status_reason
        self.assertIn(f"CA rotation, step {step} of 6: ", reason)
        self.assertIn("No valid host", reason)

    def test_before_the_new_ca_signs(self) -> None:
        for stop in _STOPS:
            self.stop(*stop)
            self.roll_back()
            self.assertIsNone(self.row().status_reason)
            self.assert_as_before()
            self.assertEqual([0.0, 0.0], self.renewals())
            self.capi.settle()
            self.poll()
            self.assertEqual(
                ("UPDATE_COMPLETE", None),
                (self.row().status, self.row().status_reason),
            )
            self.assertEqual(self.told, self.values())

    def test_the_next_rotation_ends(self) -> None:
        self.stop("control-plane", 1)
        self.roll_back()
        self.capi.settle()
        self.poll()
        self.rotate_ca()
        self.until_complete()
        self.assertEqual(("new", "new"), (self.trusted(), self.signer()))

    def test_once_the_new_ca_signs_it_goes_forward_alone(self) -> None:
        self.rotate_ca()
        while self.signer() == "old":
            self.tick()
        before = self.rotation()
        refused = self.assertRaises(errors.NotSupported, self.roll_back)
        self.assertIn("CA rotation, step 3 of 6: ", str(refused))
        self.assertIn("there is no way back", str(refused))
        self.assertEqual(before, self.rotation())

    def killed(self, verb: str, kind: kinds.Kind, name: str) -> None:
        """A conductor that dies while it takes a rotation back."""
        self.stop("control-plane", 1)
        self.management.kill_before(verb, kind, name)
        with contextlib.suppress(management.Killed):
            self.roll_back()
        self.assertTrue(self.management.dead, name)
        self.management.recover()
        self.free_lease()

    def test_killed_at_each_write_it_is_repeated(self) -> None:
        for write in _WRITES:
            self.killed(*write)
            self.roll_back()
            self.assert_as_before()
            self.capi.settle()
            self.poll()
            self.assertEqual("UPDATE_COMPLETE", self.row().status)

    def test_killed_and_not_repeated_the_rotation_goes_on(self) -> None:
        self.killed("patch", kinds.SECRET, "-sa")
        self.capi.settle()
        groups = ["control-plane", "default-worker"] * 3
        self.assertEqual(groups, self.until_complete())
        self.assertEqual(("new", "new"), (self.trusted(), self.signer()))
        spec = self.values()["kubeadmConfigSpec"]
        self.assertIn("postKubeadmCommands", spec)
