# SPDX-License-Identifier: Apache-2.0

"""The cluster autoscaler.

It runs on the management cluster, one for each cluster, so a user chooses
its version and when it removes nodes, and none of its other arguments.
"""

from __future__ import annotations

from magnum_capi_helm.features import topic
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import label_types
from magnum_capi_helm.model import labels
from magnum_capi_helm.model import versions

#: Charts up to 0.25.1 do not render a group whose minimum is 0.
_DOWN_TO_ZERO = (versions.Range(since="0.26.0"),)

#: Minor version of Kubernetes -> tag of the autoscaler, from the releases of
#: kubernetes/autoscaler. For 1.35 the one before it: with Cluster API's
#: v1beta2, 1.35.0 may ask for machine templates in a version that their
#: provider does not have, and never starts (kubernetes/autoscaler#9439).
#: 1.36.0 was released after the fix, #9458.
_TAGS = {
    29: "v1.29.5",
    30: "v1.30.7",
    31: "v1.31.5",
    32: "v1.32.7",
    33: "v1.33.6",
    34: "v1.34.5",
    35: "v1.34.5",
    36: "v1.36.1",
}

ENABLED = labels.Switch(
    name="auto_scaling_enabled",
    default=False,
    help="Let the cluster autoscaler choose the node count of each group "
    "whose maximum is above its minimum.",
    becomes=("nodeGroups[].autoscale",),
)
#: Twice what Kubernetes supports in one cluster.
_COUNT = label_types.Integer(min=0, max=10000)
_COUNT_ALLOWED = "a whole number from 0 to 10000"
MINIMUM: labels.Label[int | None] = labels.Label(
    name="min_node_count",
    type=_COUNT,
    default=None,
    allowed=_COUNT_ALLOWED,
    help="Lower bound of the default worker group; 0 with charts from 0.26.0 "
    "on. Default: its node count. Other groups have their own min_node_count.",
    becomes=("nodeGroups[].machineCountMin",),
)
MAXIMUM: labels.Label[int | None] = labels.Label(
    name="max_node_count",
    type=_COUNT,
    default=None,
    allowed=_COUNT_ALLOWED,
    help="Upper bound of the default worker group. Default: one more than its "
    "node count, or its node count if min_node_count is below that. Other "
    "groups have their own max_node_count.",
    becomes=("nodeGroups[].machineCountMax",),
)
TAG = label_types.text(
    "autoscaler_tag",
    "the tag of a cluster-autoscaler image",
    regex=r"\A([A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?\Z",
    details="an example is v1.34.5",
    help="Version of the cluster autoscaler. Default: the one that fits the "
    "Kubernetes version of the control plane.",
    becomes=("autoscaler.image.tag",),
)
UNNEEDED_TIME: labels.Label[str | None] = labels.Label(
    name="auto_scaling_unneeded_time",
    type=label_types.Duration("1m"),
    default=None,
    allowed="a duration such as 90s or 10m, from 1m",
    help="How long a node must be unneeded before it is removed. Default: "
    "the autoscaler's, 10 minutes.",
    becomes=("autoscaler.extraArgs.scale-down-unneeded-time",),
)
UTILIZATION: labels.Label[float | None] = labels.Label(
    name="auto_scaling_utilization_threshold",
    type=label_types.Share(),
    default=None,
    allowed="a number from 0 to 1",
    help="A node is unneeded when its pods request less than this share of "
    "it and fit elsewhere. Default: the autoscaler's, 0.5.",
    becomes=("autoscaler.extraArgs.scale-down-utilization-threshold",),
)


def _minimum(
    cluster: cluster_spec.Cluster, group: cluster_spec.NodeGroup
) -> int:
    """Return a minimum that the chart renders.

    Magnum saves 0 for a group whose user gave no minimum.
    """
    zero = versions.applies(_DOWN_TO_ZERO, cluster.chart.version)
    return group.minimum if zero else max(group.minimum, 1)


def scales(
    cluster: cluster_spec.Cluster, group: cluster_spec.NodeGroup
) -> bool:
    """Return whether the autoscaler chooses the count of the group."""
    return (
        cluster.labels[ENABLED]
        and group.maximum is not None
        and group.maximum > _minimum(cluster, group)
    )


def _tag(cluster: cluster_spec.Cluster) -> str | None:
    """Return the autoscaler's version; None leaves the chart's.

    It simulates the scheduler of its own Kubernetes version, hence one that
    is near: for a newer Kubernetes than is known here, the newest.
    """
    if tag := cluster.labels[TAG]:
        return tag
    number = versions.number(cluster.control_plane.image.kube_version)
    return _TAGS.get(min(number[1], max(_TAGS))) if number else None


def _leaves(cluster: cluster_spec.Cluster) -> topic.Leaves:
    """Return the values of the autoscaler itself.

    They do not depend on the groups, because groups may be added later.
    """
    settings = cluster.labels
    if not settings[ENABLED]:
        return {}
    arguments = topic.changed(settings, UNNEEDED_TIME, UTILIZATION)
    return {
        TAG.becomes[0]: _tag(cluster),
        **{path: str(value) for path, value in arguments.items()},
    }


def _group_leaves(
    cluster: cluster_spec.Cluster, group: cluster_spec.NodeGroup
) -> topic.Leaves:
    # Never autoscale false: the chart loses that in a single group.
    if not scales(cluster, group):
        return {}
    return {
        "autoscale": True,
        "machineCountMin": _minimum(cluster, group),
        "machineCountMax": group.maximum,
    }


def _check(cluster: cluster_spec.Cluster) -> None:
    """Refuse a minimum of 0 with a chart that does not scale to zero.

    Bounds and tag may wait for the autoscaler, as in Heat's templates.
    """
    settings = cluster.labels
    topic.check_dependents(settings, (UNNEEDED_TIME, UTILIZATION), ENABLED)
    version = cluster.chart.version
    if (
        settings[ENABLED]
        and settings[MINIMUM] == 0
        and not versions.applies(_DOWN_TO_ZERO, version)
    ):
        raise settings.refused(
            MINIMUM,
            "1 or more",
            "charts before 0.26.0 do not scale to zero, and this is "
            f"{version}",
        )


TOPIC = topic.Topic(
    name="Autoscaling",
    labels=(ENABLED, MINIMUM, MAXIMUM, TAG, UNNEEDED_TIME, UTILIZATION),
    leaves=_leaves,
    group_leaves=_group_leaves,
    check=_check,
)
