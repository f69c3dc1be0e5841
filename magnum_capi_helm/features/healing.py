# SPDX-License-Identifier: Apache-2.0

"""Replacement and removal of machines by Cluster API.

A MachineHealthCheck replaces unhealthy machines. Machines of the control plane
are also replaced before their certificates expire: kubeadm makes them for a
year and renews them only with an upgrade. ``patches.yaml`` sets
``KubeadmControlPlane.spec.rolloutBefore``, for which no chart up to 0.27.0
has a value.

Cluster API applies time-outs and surge of a nodegroup in place, without new
machines.
"""

from __future__ import annotations

from magnum_capi_helm.features import topic
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import label_types
from magnum_capi_helm.model import labels
from magnum_capi_helm.model import paths

TOPIC = topic.Topic("Auto-healing")

_CHECK = f"{paths.HEALTH_CHECK}.spec"
_CONTROL_PLANE_SPEC, _SPEC = (f"{each}.{_CHECK}" for each in topic.MACHINES)

ENABLED = TOPIC.switch(
    "auto_healing_enabled",
    default=True,
    help="Replace machines with a node that stays unhealthy.",
    becomes=tuple(f"{e}.{paths.HEALTH_CHECK}.enabled" for e in topic.MACHINES),
)
MAX_UNHEALTHY: labels.Label[str | int | None] = TOPIC.label(
    "auto_healing_max_unhealthy",
    label_types.CountOrPercentage(),
    help="Number or share of unhealthy workers in a group up to which Cluster "
    "API replaces them. More at once are probably an outage. Default: 100%, "
    "as in the chart. In the control plane, Cluster API always replaces one "
    "machine at a time.",
    scope=labels.Scope.NODEGROUP,
    becomes=(f"{_SPEC}.maxUnhealthy",),
)
STARTUP_TIMEOUT: labels.Label[str | None] = TOPIC.label(
    "auto_healing_node_startup_timeout",
    label_types.Duration("5m"),
    help="Time after which Cluster API replaces a machine without a node. "
    "Default: 30 minutes, as in the chart.",
    scope=labels.Scope.NODEGROUP,
    becomes=(
        f"{_SPEC}.nodeStartupTimeout",
        f"{_CONTROL_PLANE_SPEC}.nodeStartupTimeout",
    ),
)
UNHEALTHY_TIMEOUT: labels.Label[str | None] = TOPIC.label(
    "auto_healing_unhealthy_timeout",
    label_types.Duration("1m"),
    help="Time after which Cluster API replaces a machine with a node that is "
    "not ready. Default: 5 minutes, as in the chart.",
    scope=labels.Scope.NODEGROUP,
    becomes=(
        f"{_SPEC}.unhealthyConditions",
        f"{_CONTROL_PLANE_SPEC}.unhealthyConditions",
    ),
)


def _spec(settings: labels.Values, *, workers: bool) -> paths.Values:
    """Return the spec of a health check, or {} for the chart's."""
    unhealthy = settings[UNHEALTHY_TIMEOUT]
    # The whole list: helm would replace the chart's by a part of it.
    conditions = [
        {"type": "Ready", "status": status, "timeout": unhealthy}
        for status in ("Unknown", "False")
    ]
    return topic.nest(
        {
            "nodeStartupTimeout": settings[STARTUP_TIMEOUT],
            "unhealthyConditions": conditions if unhealthy else (),
            "maxUnhealthy": settings[MAX_UNHEALTHY] if workers else None,
        }
    )


def _leaves(cluster: cluster_spec.Cluster) -> topic.Leaves:
    settings = cluster.labels
    # Workers' at the defaults: the chart loses a false in a single group.
    return {
        **dict.fromkeys(ENABLED.becomes, settings[ENABLED]),
        _CONTROL_PLANE_SPEC: _spec(settings, workers=False),
        _SPEC: _spec(settings, workers=True),
    }


def _group_leaves(
    cluster: cluster_spec.Cluster, group: cluster_spec.NodeGroup
) -> topic.Leaves:
    """Return the health check of a group that differs from the cluster's."""
    wanted = _spec(group.labels, workers=True)
    same = wanted == _spec(cluster.labels, workers=True)
    return {_CHECK: {} if same else wanted}


TOPIC.leaves = _leaves
TOPIC.group_leaves = _group_leaves


CERTIFICATES = topic.Topic("Certificates")

#: The least number that Cluster API's webhook accepts.
_FEWEST = 7
#: Of a certificate's 365: more would replace machines all the time.
_MOST = 300


class _Days(label_types.Integer):
    """A number of days from _FEWEST to _MOST, or 0."""

    def __init__(self) -> None:
        super().__init__()
        self.allowed = (
            f"a number of days from {_FEWEST} to {_MOST}; 0 renews none"
        )

    def __call__(self, value: object) -> int:
        days = int(super().__call__(value))
        if days and not _FEWEST <= days <= _MOST:
            raise ValueError(f"{days} is neither 0 nor {_FEWEST} to {_MOST}")
        return days


DAYS = CERTIFICATES.label(
    "certificates_expiry_days",
    _Days(),
    0,
    help="Replace the machines of the control plane, one by one, this many "
    "days before their certificates expire. kubeadm's certificates are valid "
    "for a year; an upgrade also renews them.",
    former=("renew_certificates_days",),
    becomes=("controlPlane.certificatesExpiryDays",),
)
CERTIFICATES.leaves = lambda cluster: topic.changed(cluster.labels, DAYS)


REPLACEMENT = topic.Topic("Replacement")

#: The chart's key, which is the field of a Machine -> label.
TIMEOUTS: dict[str, labels.Label[str | None]] = {}


def _timeout(field: str, name: str, text: str) -> None:
    """Declare a time-out of the removal of a machine."""
    TIMEOUTS[field] = REPLACEMENT.label(
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
MAX_SURGE: labels.Label[str | int | None] = REPLACEMENT.label(
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


def _replacement_leaves(
    _: cluster_spec.Cluster, group: cluster_spec.NodeGroup
) -> topic.Leaves:
    leaves = dict(_timeouts(group))
    if surge := group.labels[MAX_SURGE]:
        # The chart would lose a 0 of a single group.
        rolling = {"maxSurge": surge, "maxUnavailable": "0%"}
        leaves[paths.ROLLING] = rolling
    return leaves


REPLACEMENT.leaves = lambda cluster: topic.below(
    paths.CONTROL_PLANE, _timeouts(cluster.control_plane)
)
REPLACEMENT.group_leaves = _replacement_leaves
