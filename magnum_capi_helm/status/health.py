# SPDX-License-Identifier: Apache-2.0

"""The health that Magnum shows: a word, and a map with the parts.

The map has the keys of Magnum's own monitor: ``api``, and ``<node>.Ready`` for
each node. It is a view of the tree: each part has written its entries.

A part that is new, being deleted or being replaced is not unhealthy: an
ordinary create, resize or upgrade is never UNHEALTHY.
"""

from __future__ import annotations

import dataclasses
import math

from magnum_capi_helm.model import requested_groups
from magnum_capi_helm.status import cluster
from magnum_capi_helm.status import conditions
from magnum_capi_helm.status import tree
from magnum_capi_helm.status import view

HEALTHY, UNKNOWN, UNHEALTHY = tree.HEALTHS

MOST_NODES = 100


@dataclasses.dataclass(frozen=True)
class Health:
    """Magnum's health_status and health_status_reason.

    :param valid_until: without a change of an object; seconds since 1970
    """

    status: str
    reason: dict[str, str]
    valid_until: float = dataclasses.field(default=math.inf, compare=False)


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
    return Health(worst, reason, objects.clock.valid_until)


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
