# SPDX-License-Identifier: Apache-2.0

"""The Secret with the desired state has one writer at a time.

A state is written over the version of the Secret that it was read from.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import fixtures

from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import desired_state
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.fakes import held
from magnum_capi_helm.tests.unit.lifecycle import base

_SECRET = (kinds.SECRET, base.NAMESPACE, base.INTENT)
_REQUEST = "group-6f9d3c2a-0b7e-4a51-9c3d-5e8f7a6b4c2d"


class StoreTest(base.NodegroupTestCase):
    """A complete cluster, whose state gets another time."""

    def setUp(self) -> None:
        super().setUp()
        self.release = held.release(self.row())
        self.desired = dataclasses.replace(
            self.release.read_stored().accepted(), since=1.0
        )

    def data(self) -> dict[str, Any]:
        return dict(self.live(kinds.SECRET, base.INTENT)["data"])

    def lose_answer(self, verb: str) -> None:
        """Let the next request arrive, and its repetition be answered."""
        real = getattr(self.management, verb)

        def request(*args: Any, **options: Any) -> Any:
            lost.cleanUp()
            real(*args, **options)
            return real(*args, **options)

        lost = fixtures.MockPatchObject(self.management, verb, request)
        lost.setUp()

    def test_a_repeated_write_is_the_writers_own(self) -> None:
        self.lose_answer("patch")
        stored = self.release.store(self.desired)
        self.assertEqual(1.0, self.release.read_stored().accepted().since)
        # The next write goes on from there.
        self.release.store(dataclasses.replace(stored, since=2.0))
        self.assertEqual(2.0, self.release.read_stored().accepted().since)

    def test_a_repeated_creation_is_the_writers_own(self) -> None:
        self.server.delete(*_SECRET)
        self.lose_answer("create")
        self.release.store(dataclasses.replace(self.desired, version=""))
        self.assertEqual(1.0, self.release.read_stored().accepted().since)

    def test_another_writers_state_stays(self) -> None:
        newer = dataclasses.replace(self.desired, since=9.0)
        self.release.store(newer)
        for version in (self.desired.version, ""):
            late = dataclasses.replace(self.desired, version=version)
            self.assertRaises(errors.Conflict, self.release.store, late)
        self.assertEqual(9.0, self.release.read_stored().accepted().since)

    def test_the_first_state_joins_requests_that_came_before(self) -> None:
        self.server.delete(*_SECRET)
        self.release.patch_stored({_REQUEST: "e30="})
        self.release.store(dataclasses.replace(self.desired, version=""))
        self.assertIn(_REQUEST, self.data())
        self.assertTrue(desired_state.is_stored(self.data()))
