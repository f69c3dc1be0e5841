# SPDX-License-Identifier: Apache-2.0

"""A resize to the count that a group has applies all once more."""

from __future__ import annotations

import fixtures

from magnum_capi_helm import runtime
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.lifecycle import resize
from magnum_capi_helm.operations import cluster_operation
from magnum_capi_helm.tests.unit.lifecycle import base

_WORKERS = (
    kinds.MACHINE_DEPLOYMENT,
    base.NAMESPACE,
    f"{base.RELEASE}-default-worker",
)


class SameCountTest(base.FlowTestCase):
    """Somebody has changed the workers' version by hand."""

    def setUp(self) -> None:
        super().setUp()
        self.complete()
        change = {"spec": {"template": {"spec": {"version": "v1.30.0"}}}}
        self.server.patch(*_WORKERS, change)

    def version(self) -> str:
        found = self.server.get(*_WORKERS)
        assert found is not None
        return str(found["spec"]["template"]["spec"]["version"])

    def test_a_poll_that_has_the_lease_is_waited_for(self) -> None:
        """To the next poll the same count is nothing to apply."""
        rt = runtime.get()
        rt.lease_wait = 60.0
        lease = (kinds.LEASE, base.NAMESPACE, base.RELEASE)
        held = {"holderIdentity": "other", "renewTime": "now"}
        self.server.patch(*lease, {"spec": held})

        def sleep(seconds: float) -> None:
            self.server.patch(*lease, {"spec": {"holderIdentity": ""}})

        self.useFixture(fixtures.MockPatch("time.sleep", sleep))
        row = self.row()
        workers = row.default_ng_worker
        current = cluster_operation.Operation(self.context, row, rt)
        resize.resize(current, workers, ())
        self.assertEqual("v1.34.2", self.version())
