# SPDX-License-Identifier: Apache-2.0

"""A Lease for tests of writers, which are below the operation that has it."""

from __future__ import annotations

import fixtures

from magnum_capi_helm.model import call


class Lease(fixtures.Fixture):
    """A Lease for a whole test; calls of the driver take their own."""

    def setUp(self) -> None:
        super().setUp()
        guard = call.lease_guard(lambda: None)
        guard.__enter__()
        self.addCleanup(guard.__exit__, None, None, None)
