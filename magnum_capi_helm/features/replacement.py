# SPDX-License-Identifier: Apache-2.0

"""Removal and replacement of the machines of a nodegroup.

Cluster API applies all of it in place, without new machines.
"""

from __future__ import annotations

from magnum_capi_helm.features import topic
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import label_types
from magnum_capi_helm.model import labels
from magnum_capi_helm.model import paths

TOPIC = topic.Topic("Replacement")

#: The chart's key, which is the field of a Machine -> label.
TIMEOUTS: dict[str, labels.Label[str | None]] = {}


def _timeout(field: str, name: str, text: str) -> None:
    """Declare a time-out of the removal of a machine."""
    TIMEOUTS[field] = TOPIC.label(
        name,
        label_types.Duration("0s"),
        details="0s waits without end",
        help=f"{text} Default: 5 minutes, as in the chart.",
        scope=labels.Scope.NODEGROUP,
        becomes=paths.of_machines(field),
    )


_timeout(
    "nodeDrainTimeout",
    "node_drain_timeout",
    "Time for the pods of a node to end before its machine is removed.",
)
_timeout(
    "nodeVolumeDetachTimeout",
    "node_volume_detach_timeout",
    "Time for the volumes of a drained node to be detached before its machine "
    "is removed.",
)
_timeout(
    "nodeDeletionTimeout",
    "node_deletion_timeout",
    "Time in which Cluster API tries to delete the Kubernetes node of a "
    "removed machine.",
)
MAX_SURGE: labels.Label[str | int | None] = TOPIC.label(
    "rollout_max_surge",
    label_types.CountOrPercentage(),
    help="Number or share of additional machines while the machines of a "
    "worker group are replaced. The group then never has fewer nodes, and "
    "--max-batch-size has no effect on it. Default: none; Cluster API removes "
    "a machine before it creates the next.",
    scope=labels.Scope.NODEGROUP,
    becomes=(f"{paths.EACH_GROUP}.{paths.ROLLOUT}",),
)


def _timeouts(group: cluster_spec.NodeGroup) -> topic.Leaves:
    return {key: group.labels[label] for key, label in TIMEOUTS.items()}


def _group_leaves(
    _: cluster_spec.Cluster, group: cluster_spec.NodeGroup
) -> topic.Leaves:
    leaves = dict(_timeouts(group))
    if surge := group.labels[MAX_SURGE]:
        # The chart would lose a 0 of a single group.
        rolling = {"maxSurge": surge, "maxUnavailable": "0%"}
        leaves[paths.ROLLING] = rolling
    return leaves


TOPIC.leaves = lambda cluster: topic.below(
    paths.CONTROL_PLANE, _timeouts(cluster.control_plane)
)
TOPIC.group_leaves = _group_leaves
