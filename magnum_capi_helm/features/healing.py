# SPDX-License-Identifier: Apache-2.0

"""Replacement of machines by Cluster API.

A MachineHealthCheck replaces unhealthy machines. Machines of the control plane
are also replaced before their certificates expire: kubeadm makes them for a
year and renews them only with an upgrade. No chart up to 0.27.0 has a value
for ``KubeadmControlPlane.spec.rolloutBefore``; for those charts there is
:mod:`magnum_capi_helm.lifecycle.renew`.
"""

from __future__ import annotations

from magnum_capi_helm.features import topic
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import label_types
from magnum_capi_helm.model import labels
from magnum_capi_helm.model import versions

_SPEC = "nodeGroupDefaults.healthCheck.spec"
_CONTROL_PLANE_SPEC = "controlPlane.healthCheck.spec"

ENABLED = labels.Switch(
    name="auto_healing_enabled",
    default=True,
    help="Replace machines whose node stays unhealthy.",
    becomes=(
        "controlPlane.healthCheck.enabled",
        "nodeGroupDefaults.healthCheck.enabled",
    ),
)
MAX_UNHEALTHY: labels.Label[str | int | None] = labels.Label(
    name="auto_healing_max_unhealthy",
    type=label_types.CountOrPercentage(),
    default=None,
    allowed="a number of machines from 1, or a percentage such as 40%",
    help="Replace workers only while no more than these of their group are "
    "unhealthy: more at once is rather an outage. Default: the chart's, "
    "100%. The control plane is always repaired one machine at a time.",
    scope=labels.Scope.NODEGROUP,
    becomes=(f"{_SPEC}.maxUnhealthy",),
)
STARTUP_TIMEOUT: labels.Label[str | None] = labels.Label(
    name="auto_healing_node_startup_timeout",
    type=label_types.Duration("5m"),
    default=None,
    allowed="a duration such as 20m or 1h30m, from 5m",
    help="Replace a machine that has no node after this time. Default: the "
    "chart's, 30 minutes.",
    scope=labels.Scope.NODEGROUP,
    becomes=(
        f"{_SPEC}.nodeStartupTimeout",
        f"{_CONTROL_PLANE_SPEC}.nodeStartupTimeout",
    ),
)
UNHEALTHY_TIMEOUT: labels.Label[str | None] = labels.Label(
    name="auto_healing_unhealthy_timeout",
    type=label_types.Duration("1m"),
    default=None,
    allowed="a duration such as 90s or 10m, from 1m",
    help="Replace a machine whose node was not ready for this long. "
    "Default: the chart's, 5 minutes.",
    scope=labels.Scope.NODEGROUP,
    becomes=(
        f"{_SPEC}.unhealthyConditions",
        f"{_CONTROL_PLANE_SPEC}.unhealthyConditions",
    ),
)


def _spec(settings: labels.Values, *, workers: bool) -> topic.Values:
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
    return {"healthCheck.spec": {} if same else wanted}


TOPIC = topic.Topic(
    name="Auto-healing",
    labels=(ENABLED, MAX_UNHEALTHY, STARTUP_TIMEOUT, UNHEALTHY_TIMEOUT),
    leaves=_leaves,
    group_leaves=_group_leaves,
)


#: The least number that Cluster API's webhook accepts.
_FEWEST = 7
#: Of a certificate's 365: more would replace machines all the time.
_MOST = 300


class _Days(label_types.Integer):
    """A number of days from _FEWEST to _MOST, or 0."""

    def __call__(self, value: object) -> int:
        days = int(super().__call__(value))
        if days and not _FEWEST <= days <= _MOST:
            raise ValueError(f"{days} is neither 0 nor {_FEWEST} to {_MOST}")
        return days


DAYS = labels.Label(
    name="certificates_expiry_days",
    type=_Days(),
    default=0,
    allowed=f"a number of days from {_FEWEST} to {_MOST}; 0 renews none",
    help="Replace the control plane's machines, one by one, when their "
    "certificates expire within so many days. kubeadm's are for a year. "
    "0: never; an upgrade renews them, too.",
    becomes=("controlPlane.certificatesExpiryDays",),
    charts=(versions.Range(since="0.28.0"),),
)


def _renewal_leaves(cluster: cluster_spec.Cluster) -> topic.Leaves:
    applies = versions.applies(DAYS.charts, cluster.chart.version)
    return topic.changed(cluster.labels, DAYS) if applies else {}


CERTIFICATES = topic.Topic(
    name="Certificates", labels=(DAYS,), leaves=_renewal_leaves
)
