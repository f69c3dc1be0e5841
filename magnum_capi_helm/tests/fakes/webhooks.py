# SPDX-License-Identifier: Apache-2.0

"""Webhooks of Cluster API: fields that they set, changes that they refuse."""

from __future__ import annotations

from typing import Any

from magnum_capi_helm.model import errors
from magnum_capi_helm.model import versions
from magnum_capi_helm.status import view


def check_version(old: dict[str, Any], new: dict[str, Any]) -> None:
    """Refuse a KubeadmControlPlane that skips a minor version.

    ``validateVersion`` in ``kubeadm_control_plane.go``.
    """
    if old.get("kind") != "KubeadmControlPlane":
        return
    before, after = (
        versions.number(str((each.get("spec") or {}).get("version")))
        for each in (old, new)
    )
    if before and after and after[:2] > (before[0], before[1] + 1):
        raise errors.ManagementError("cannot update Kubernetes version")


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
