# SPDX-License-Identifier: Apache-2.0

"""Fields that webhooks of Cluster API set when an object is written."""

from __future__ import annotations

from typing import Any

from magnum_capi_helm.status import view


def set_defaults(old: dict[str, Any] | None, new: dict[str, Any]) -> None:
    """Give a MachineDeployment the count that it does not say.

    ``calculateMachineDeploymentReplicas`` in ``machinedeployment.go``.
    """
    if new.get("kind") != "MachineDeployment" or "spec" not in new:
        return
    if new["spec"].get("replicas") is not None:
        return
    notes = new["metadata"].get("annotations") or {}
    least, most = (
        notes.get(each)
        for each in (view.AUTOSCALER_MINIMUM, view.AUTOSCALER_ANNOTATION)
    )
    count = 1
    if least is not None and most is not None:
        before = (old or new)["spec"].get("replicas")
        count = int(least)
        if before is not None:
            count = min(max(before, count), int(most))
    new["spec"]["replicas"] = count
