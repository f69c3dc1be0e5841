# SPDX-License-Identifier: Apache-2.0

"""Replacement of machines by Cluster API.

A MachineHealthCheck replaces unhealthy machines. Machines of the control plane
are also replaced before their certificates expire: kubeadm makes them for a
year and renews them only with an upgrade. ``patches.yaml`` sets
``KubeadmControlPlane.spec.rolloutBefore``, for which no chart up to 0.27.0
has a value.
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
