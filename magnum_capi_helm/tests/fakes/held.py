# SPDX-License-Identifier: Apache-2.0

"""A Lease for tests of writers, which are below the operation that has it."""

from __future__ import annotations

from typing import Any

import fixtures

from magnum_capi_helm import runtime
from magnum_capi_helm.database import rows
from magnum_capi_helm.model import call
from magnum_capi_helm.operations import cluster_release
from magnum_capi_helm.operations import holding


class Lease(fixtures.Fixture):
    """A Lease for a whole test; calls of the driver take their own."""

    def setUp(self) -> None:
        super().setUp()
        guard = call.lease_guard(lambda: None)
        guard.__enter__()
        self.addCleanup(guard.__exit__, None, None, None)


class _Hold:
    marked_deleted = orphaned = False


def release(row: Any, rt: runtime.Runtime | None = None) -> holding.Held:
    """Return the release of a row, as if its Lease were held."""
    free = cluster_release.Release(rows.everywhere(), row, rt or runtime.get())
    hold: Any = _Hold()
    return holding.Held(free, hold)
