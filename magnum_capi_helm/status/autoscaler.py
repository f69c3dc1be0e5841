# SPDX-License-Identifier: Apache-2.0

"""Reasons why a nodegroup does not grow.

The autoscaler runs on the management cluster. It writes its own account into
the user's cluster, which the driver does not connect to.
"""

from __future__ import annotations

from magnum_capi_helm.status import conditions
from magnum_capi_helm.status import machine
from magnum_capi_helm.status import nodegroup
from magnum_capi_helm.status import tree
from magnum_capi_helm.status import view


def stopped_reason(deployment: view.Object | None) -> str:
    """Return why the autoscaler does not run, or an empty string."""
    if deployment is None:
        return "its Deployment does not exist"
    condition = conditions.merged(deployment)["Available"]
    if condition.well:
        return ""
    message = condition.message if condition else "it has no replica yet"
    return message or "no replica is available"


def health(objects: view.View, stopped: str | None) -> dict[str, str]:
    """Return entries for the health of a cluster with the autoscaler.

    :param stopped: why it does not run; empty: it does; None: unknown
    """
    entries = {"autoscaler": f"not running: {stopped}" if stopped else "ok"}
    if stopped is None:
        entries["autoscaler"] = "unknown"
    for group in sorted(objects.autoscaled()):
        if reason := _limit(objects, group):
            entries[f"autoscaler.{group}"] = reason
    return entries


def _limit(objects: view.View, group: str) -> str:
    """Return what keeps the autoscaler from more nodes in a group."""
    deployment = objects.deployment(group)
    if deployment is None:
        return ""
    numbers = nodegroup.replicas(deployment)
    ready, wanted = numbers.ready, numbers.wanted
    _, maximum = view.autoscaler_bounds(deployment)
    machines = objects.machines_of(group)
    parts = machine.branches(machines, objects)
    title = f"{ready} of {wanted} nodes ready"
    fault = tree.told(tree.Branch("", children=tuple(parts), title=title))
    if fault and ready < wanted:
        return fault
    return f"at its maximum of {maximum} nodes" if wanted >= maximum else ""
