# SPDX-License-Identifier: Apache-2.0

"""The health that Magnum shows: a word, and a map with the parts.

The map has the keys of Magnum's own monitor: ``api``, and ``<node>.Ready`` for
each node. It is a view of the tree: each part has written its entries.

A part that is new, being deleted or being replaced is not unhealthy: an
ordinary create, resize or upgrade is never UNHEALTHY.
"""

from __future__ import annotations

import dataclasses

from magnum_capi_helm.model import requested_groups
from magnum_capi_helm.status import cluster
from magnum_capi_helm.status import conditions
from magnum_capi_helm.status import machine
from magnum_capi_helm.status import nodegroup
from magnum_capi_helm.status import tree
from magnum_capi_helm.status import view

HEALTHY, UNKNOWN, UNHEALTHY = tree.HEALTHS

MOST_NODES = 100


@dataclasses.dataclass(frozen=True)
class Health:
    """Magnum's health_status and health_status_reason."""

    status: str
    reason: dict[str, str]


def health(objects: view.View) -> Health:
    """Return the health of a cluster by Cluster API's reports."""
    rows = requested_groups.Rows("", objects.release, ())
    root = cluster.grow(objects, cluster.Expected(rows))
    return judge(root, objects)


def judge(root: tree.Branch, objects: view.View) -> Health:
    """Return the health that a tree of the objects shows."""
    if objects.cluster is None:
        text = (
            f"the Cluster object {objects.release} is not on the management "
            "cluster"
        )
        return Health(UNKNOWN, {"cluster": text})
    if view.deleting(objects.cluster):
        return Health(UNKNOWN, {"cluster": "being deleted"})
    entries = _shortened([e for part in tree.walk(root) for e in part.entries])
    worst = max((each.health for each in entries), key=tree.HEALTHS.index)
    if conditions.paused(objects.cluster):
        # No controller keeps the conditions up to date.
        entries.append(tree.Entry("cluster", "paused", UNKNOWN))
        worst = UNKNOWN
    reason = {each.key: each.value for each in entries}
    return Health(worst, reason)


def _shortened(entries: list[tree.Entry]) -> list[tree.Entry]:
    """Return the entries; of very many nodes, well ones are counted."""
    nodes = [each for each in entries if each.key.endswith(".Ready")]
    if len(nodes) <= MOST_NODES:
        return entries
    nodes.sort(key=lambda each: (-tree.HEALTHS.index(each.health), each.key))
    rest = nodes[MOST_NODES:]
    well = sum(1 for each in rest if each.health == HEALTHY)
    value = f"{well} of {len(rest)} well"
    more = tree.Entry("more nodes", value, rest[0].health)
    return [*(each for each in entries if each not in rest), more]


# Reasons why a nodegroup does not grow. The autoscaler runs on the management
# cluster. It writes its own account into the user's cluster, which the driver
# does not connect to.


def stopped_reason(deployment: view.Object | None) -> str:
    """Return why the autoscaler does not run, or an empty string."""
    if deployment is None:
        return "its Deployment does not exist"
    condition = conditions.merged(deployment)["Available"]
    if condition.well:
        return ""
    message = condition.message if condition else "it has no replica yet"
    return message or "no replica is available"


def of_autoscaler(objects: view.View, stopped: str | None) -> dict[str, str]:
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
    wanted, _, _, ready = nodegroup.replicas(deployment)
    _, maximum = view.autoscaler_bounds(deployment)
    parts = machine.branches(objects.machines_of(group), objects)
    title = f"{ready} of {wanted} nodes ready"
    fault = tree.told(tree.Branch("", children=tuple(parts), title=title))
    if fault and ready < wanted:
        return fault
    return f"at its maximum of {maximum} nodes" if wanted >= maximum else ""
