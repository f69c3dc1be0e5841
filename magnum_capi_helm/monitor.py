# SPDX-License-Identifier: Apache-2.0

"""The health poll: the one hook that Magnum calls for every cluster.

It reports health, keeps addresses up to date, and lifts a ``*_FAILED`` when
Cluster API got there after all, which no status poll would notice.
"""

from __future__ import annotations

from typing import Any

from magnum.conductor import monitors
from oslo_log import log

from magnum_capi_helm.model import audit
from magnum_capi_helm.model import errors

LOG = log.getLogger(__name__)


class Monitor(monitors.MonitorBase):  # type: ignore[misc]
    """One health poll of one cluster; no state beyond it."""

    def __init__(self, context: Any, cluster: Any) -> None:
        super().__init__(context, cluster)
        self.data: dict[str, Any] = {}

    @property
    def metrics_spec(self) -> dict[str, Any]:
        """None: Magnum has no task that asks for metrics any more."""
        return {}

    def pull_data(self) -> None:
        """Nothing to pull; Magnum's base class wants the method."""

    def poll_health_status(self) -> None:
        """Fill ``data`` with what Magnum saves."""
        from magnum_capi_helm import runtime
        from magnum_capi_helm.lifecycle import poll_health
        from magnum_capi_helm.metrics import meter
        from magnum_capi_helm.planes import places

        if not self.cluster.stack_id:
            return
        uuid = self.cluster.uuid
        problem = ""
        with (
            audit.acting(audit.Actor("health poll")),
            runtime.meter().polling("health") as measured,
        ):
            try:
                rt = places.of(self.cluster)
                found = poll_health.poll(rt, self.context, self.cluster)
            except errors.CapiHelmError as error:
                problem = str(error)
                found = poll_health.unknown(problem)
                measured.outcome = meter.FAILED
        if problem:
            # Not inside "except": oslo.log would append the exception again.
            LOG.warning("No health of cluster %s: %s", uuid, problem)
        if self._is_known(found.status, found.reason):
            # Magnum would ask its database to write nothing.
            return
        self.data = {
            "health_status": found.status,
            "health_status_reason": found.reason,
        }

    def _is_known(self, status: str, reason: dict[str, str]) -> bool:
        cluster = self.cluster
        known = cluster.health_status, cluster.health_status_reason
        return bool(known == (status, reason))
