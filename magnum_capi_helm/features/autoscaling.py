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
from magnum_capi_helm.model import paths
from magnum_capi_helm.model import versions

TOPIC = topic.Topic("Autoscaling")

#: Key of an item of ``nodeGroups`` that no chart reads: what a node has, by
#: the names of the autoscaler's annotations.
CAPACITY = "capacity"

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

ENABLED = TOPIC.switch(
    "auto_scaling_enabled",
    help="Let the cluster autoscaler choose the node count of each group "
    "whose maximum is above its minimum.",
    becomes=(f"{paths.EACH_GROUP}.{paths.AUTOSCALE}",),
)
#: Twice what Kubernetes supports in one cluster.
_COUNT = label_types.Integer(0, 10000)
MINIMUM: labels.Label[int | None] = TOPIC.label(
    "min_node_count",
    _COUNT,
    help="Minimum node count of the default worker group. 0 needs a chart "
    "from 0.26.0 on. Default: its node count. Other groups have their own "
    "field min_node_count.",
    becomes=(f"{paths.EACH_GROUP}.{paths.MINIMUM}",),
)
MAXIMUM: labels.Label[int | None] = TOPIC.label(
    "max_node_count",
    _COUNT,
    help="Maximum node count of the default worker group. Default: its node "
    "count if min_node_count is below that, else one more than its node "
    "count. Other groups have their own field max_node_count.",
    becomes=(f"{paths.EACH_GROUP}.{paths.MAXIMUM}",),
)
TAG = TOPIC.text(
    "autoscaler_tag",
    "the tag of a cluster-autoscaler image",
    regex=r"\A([A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?\Z",
    details="an example is v1.34.5",
    help="Version of the cluster autoscaler. Default: the version that fits "
    "the Kubernetes version of the control plane.",
    becomes=("autoscaler.image.tag",),
)
GPUS = TOPIC.text(
    "auto_scaling_gpus",
    "the resource of a device plugin and its count on each node",
    regex=r"\A([a-z0-9.-]{1,200}/[A-Za-z0-9._-]{1,63}=[1-9][0-9]?)?\Z",
    details="an example is nvidia.com/gpu=1",
    help="GPUs of each node, which the autoscaler needs to scale a nodegroup "
    "up from 0 for a pod with a GPU. The flavor does not have their name in "
    "Kubernetes.",
    scope=labels.Scope.NODEGROUP,
    becomes=(f"{paths.EACH_GROUP}.{CAPACITY}",),
)
UNNEEDED_TIME: labels.Label[str | None] = TOPIC.label(
    "auto_scaling_unneeded_time",
    label_types.Duration("1m"),
    help="Time after which the autoscaler removes an unneeded node. Default: "
    "10 minutes, as in the autoscaler.",
    becomes=("autoscaler.extraArgs.scale-down-unneeded-time",),
)
UTILIZATION: labels.Label[float | None] = TOPIC.label(
    "auto_scaling_utilization_threshold",
    label_types.Share(),
    help="Share of a node's resources: a node is unneeded if its pods request "
    "less than this share and fit on other nodes. Default: 0.5, as in the "
    "autoscaler.",
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

    The autoscaler simulates the scheduler of its own Kubernetes version, so
    the two versions should be close. A Kubernetes version that is newer than
    the table gets the newest entry.
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


def _capacity(
    cluster: cluster_spec.Cluster, group: cluster_spec.NodeGroup
) -> dict[str, str]:
    """Return what an empty node of the group has.

    A group that is not scaled has it too: a later change of its bounds does
    not look up the flavor.
    """
    machine = group.machine
    if machine is None or not machine.vcpus or not cluster.labels[ENABLED]:
        return {}
    kind, _, count = group.labels[GPUS].partition("=")
    gpus = {"gpu-type": kind, "gpu-count": count} if kind else {}
    return {
        **gpus,
        "cpu": str(machine.vcpus),
        "memory": f"{machine.ram}Mi",
        "ephemeral-disk": f"{group.boot_disk.size or machine.disk}Gi",
    }


def _group_leaves(
    cluster: cluster_spec.Cluster, group: cluster_spec.NodeGroup
) -> topic.Leaves:
    capacity = {CAPACITY: _capacity(cluster, group)}
    # Never autoscale false: the chart loses that in a single group.
    if not scales(cluster, group):
        return capacity
    return {
        **capacity,
        paths.AUTOSCALE: True,
        paths.MINIMUM: _minimum(cluster, group),
        paths.MAXIMUM: group.maximum,
    }


def _check(cluster: cluster_spec.Cluster) -> None:
    """Refuse a minimum of 0 with a chart that does not scale to zero.

    Bounds and tag are allowed without the autoscaler, because templates of
    the Heat driver have them.
    """
    settings = cluster.labels
    topic.check_dependents(settings, (UNNEEDED_TIME, UTILIZATION), ENABLED)
    for each in cluster.node_groups:
        topic.check_dependents(each.labels, (GPUS,), ENABLED)
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


TOPIC.leaves = _leaves
TOPIC.group_leaves = _group_leaves
TOPIC.check = _check
