# SPDX-License-Identifier: Apache-2.0

"""The health poll: the only hook that Magnum calls for every cluster.

It reports health, keeps addresses up to date, and ends a ``*_FAILED`` that
Cluster API has overcome, which no status poll would notice.
"""

from __future__ import annotations

from typing import Any

from magnum.conductor import monitors

from magnum_capi_helm.model import call


class Monitor(monitors.MonitorBase):  # type: ignore[misc]
    """One health poll of one cluster; no state beyond it."""

    def __init__(self, context: Any, cluster: Any) -> None:
        super().__init__(context, cluster)
        self.data: dict[str, Any] = {}

    @property
    def metrics_spec(self) -> dict[str, Any]:
        """Return nothing: Magnum asks no driver for metrics any more."""
        return {}

    def pull_data(self) -> None:
        """Do nothing; Magnum's base class requires the method."""

    def poll_health_status(self) -> None:
        """Fill ``data`` with the health that Magnum saves."""
        from magnum_capi_helm.lifecycle import poll_health

        cluster = self.cluster
        if not cluster.stack_id:
            return
        with call.acting(call.Actor("health poll")):
            result = poll_health.poll(self.context, cluster)
        before = (cluster.health_status, cluster.health_status_reason)
        # Without data Magnum does not ask its database to write nothing.
        if before != (result.status, result.reason):
            self.data = {
                "health_status": result.status,
                "health_status_reason": result.reason,
            }
