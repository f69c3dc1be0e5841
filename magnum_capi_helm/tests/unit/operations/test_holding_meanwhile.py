# SPDX-License-Identifier: Apache-2.0

"""What is asked for while an end is written is neither lost nor undone."""

from __future__ import annotations

from collections.abc import Callable
import contextvars
from typing import Any
from unittest import mock

from magnum.common import exception

from magnum_capi_helm.credentials import application_credential
from magnum_capi_helm.database import status_writer
from magnum_capi_helm.model import errors
from magnum_capi_helm.operations import holding
from magnum_capi_helm.tests.unit.credentials import rotating
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.lifecycle import upgrading


def amid(module: Any, name: str, request: Callable[[], Any]) -> Any:
    """Another conductor serves a request, right before a function runs."""
    real = getattr(module, name)
    left = [request]

    def wrapped(*words: Any, **named: Any) -> Any:
        if left:
            # Not in this conductor's context: it does not have its Lease.
            contextvars.Context().run(left.pop())
        return real(*words, **named)

    return mock.patch.object(module, name, wrapped)


class PollTest(base.FlowTestCase):
    """A poll has looked at the cluster, and writes how it ended."""

    def test_a_deletion_before_the_end_is_written_goes_on(self) -> None:
        self.create()
        self.capi.settle()
        with amid(status_writer, "save_complete", self.delete):
            self.poll()
        self.assertEqual({"DELETE_IN_PROGRESS"}, self.statuses())
        self.capi.finish()
        self.poll()
        self.create(create_timeout=20)
        self.capi.fail_machine("default-worker")
        self.backdate(minutes=21)
        with amid(status_writer, "save_failed", self.delete):
            self.poll()
        self.assertEqual({"DELETE_IN_PROGRESS"}, self.statuses())

    def test_an_unconfirmed_end_is_left_to_the_next_poll(self) -> None:
        self.create()
        self.capi.settle()
        real = status_writer.save_complete

        def away(*words: Any) -> None:
            real(*words)
            self.management.unreachable(times=1)

        with mock.patch.object(status_writer, "save_complete", away):
            self.poll()
        self.assertEqual("CREATE_IN_PROGRESS", self.row().status)
        self.poll()
        self.assertEqual({"CREATE_COMPLETE"}, self.statuses())


class RotationTest(rotating.RotationTestCase):
    """Keystone has made a credential, and its owner is written."""

    def test_a_resize_or_deletion_meanwhile_goes_on(self) -> None:
        with amid(application_credential, "prove", lambda: self.resize(5)):
            self.rotate()
        self.assertEqual("UPDATE_IN_PROGRESS", self.row().status)
        self.poll()
        self.assertEqual(5, self.replicas())
        self.assert_updated()
        with amid(application_credential, "prove", self.delete):
            self.rotate()
        self.assertEqual({"DELETE_IN_PROGRESS"}, self.statuses())


class UpgradeTest(upgrading.UpgradeTestCase):
    """An upgrade that can't be written down puts the old status back."""

    def refused_amid(self, request: Callable[[], Any]) -> None:
        def refuse(*_: Any) -> None:
            contextvars.Context().run(request)
            raise errors.InvalidInput("too large")

        template = self.template(image_id="ubuntu-1.35")
        with mock.patch.object(holding.Held, "store", refuse):
            self.assertRaises(exception.NotSupported, self.upgrade, template)

    def test_a_resize_or_deletion_meanwhile_goes_on(self) -> None:
        self.refused_amid(lambda: self.resize(5))
        self.assertEqual("UPDATE_IN_PROGRESS", self.row().status)
        self.poll()
        self.assert_updated()
        self.refused_amid(self.delete)
        self.assertEqual({"DELETE_IN_PROGRESS"}, self.statuses())
