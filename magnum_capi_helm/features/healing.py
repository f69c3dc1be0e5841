# SPDX-License-Identifier: Apache-2.0

"""Replacement of unhealthy machines: Cluster API's MachineHealthCheck."""

from __future__ import annotations

from magnum_capi_helm.features import topic
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import labels
from magnum_capi_helm.model import option_types

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
    type=option_types.CountOrPercentage(),
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
    type=option_types.Duration("5m"),
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
    type=option_types.Duration("1m"),
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


def _timeouts(found: labels.Values) -> topic.Values:
    wanted: topic.Values = {}
    if startup := found[STARTUP_TIMEOUT]:
        wanted["nodeStartupTimeout"] = startup
    if unhealthy := found[UNHEALTHY_TIMEOUT]:
        # The whole list: helm would replace the chart's by a part of it.
        wanted["unhealthyConditions"] = [
            {"type": "Ready", "status": status, "timeout": unhealthy}
            for status in ("Unknown", "False")
        ]
    return wanted


def _workers(found: labels.Values) -> topic.Values:
    """The spec of a health check; empty: as in the chart."""
    wanted = _timeouts(found)
    if found[MAX_UNHEALTHY]:
        wanted["maxUnhealthy"] = found[MAX_UNHEALTHY]
    return wanted


def _values(cluster: cluster_spec.Cluster) -> topic.Values:
    switch = {"enabled": cluster.labels[ENABLED]}

    def check(wanted: topic.Values) -> topic.Values:
        return {**switch, "spec": wanted} if wanted else dict(switch)

    return {
        "controlPlane": {"healthCheck": check(_timeouts(cluster.labels))},
        # At the defaults: the chart loses a false in a single group.
        "nodeGroupDefaults": {"healthCheck": check(_workers(cluster.labels))},
    }


def _group(
    cluster: cluster_spec.Cluster, group: cluster_spec.NodeGroup
) -> topic.Values:
    """What the group has of its own: its labels include the cluster's."""
    wanted = _workers(group.labels)
    if not wanted or wanted == _workers(cluster.labels):
        return {}
    return {"healthCheck": {"spec": wanted}}


TOPIC = topic.Topic(
    name="Auto-healing",
    labels=(ENABLED, MAX_UNHEALTHY, STARTUP_TIMEOUT, UNHEALTHY_TIMEOUT),
    cluster=_values,
    group=_group,
)
