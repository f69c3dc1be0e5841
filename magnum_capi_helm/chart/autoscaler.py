# SPDX-License-Identifier: Apache-2.0

"""Fields of rendered objects for the autoscaler: nodes and counts of groups.

The autoscaler plans with a node of the group. Without one it reads annotations
of the MachineDeployment, and then the group's machine template. The chart
gives it no permission for the template: it waits for ever, and scales no group
any more. Source: ``InstanceCapacity``, ``Labels`` and ``Taints`` in
``clusterapi_unstructured.go``, ``getInfrastructureResource`` in
``clusterapi_controller.go`` of kubernetes/autoscaler.

Cluster API copies these annotations to MachineSets and replaces no machine for
them: they are no part of the template of machines.

The chart leaves the count out, and Cluster API then starts a group with its
minimum. It keeps the count that a group has when helm takes the field away
again (``calculateMachineDeploymentReplicas`` in its webhook).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from magnum_capi_helm.features import autoscaling
from magnum_capi_helm.model import paths

_PREFIX = "capacity.cluster-autoscaler.kubernetes.io/"

#: Label of a MachineDeployment: the chart's name of its group.
GROUP_LABEL = "capi.stackhpc.com/node-group"

#: What the autoscaler's Role lacks.
RULES = (
    {
        "apiGroups": ["infrastructure.cluster.x-k8s.io"],
        "resources": ["openstackmachinetemplates"],
        "verbs": ["get", "list", "watch"],
    },
)


def scaled(values: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the items of ``nodeGroups`` whose count the autoscaler owns."""
    groups = values.get(paths.GROUPS) or ()
    return [each for each in groups if each.get(paths.AUTOSCALE)]


def set_count(
    group: Mapping[str, Any], asked: int | None, live: int | None
) -> int | None:
    """Return the count that helm has to set; None: the autoscaler decides.

    The autoscaler leaves a group alone whose count is outside its bounds.

    :param group: an item of ``nodeGroups`` that is scaled
    :param asked: the count that the user asked for; None: it is refused
    :param live: the count of its MachineDeployment; None: there is none
    """
    count = asked if live is None else live
    if count is None:
        return None
    least, most = group[paths.MINIMUM], group[paths.MAXIMUM]
    within = min(max(int(least), count), int(most))
    return None if within == live else within


def capacity(group: Mapping[str, Any]) -> dict[str, str]:
    """Return the annotations that describe an empty node of a group.

    :param group: an item of ``nodeGroups``
    :returns: nothing for a group of an older driver, without its capacity
    """
    own = group.get(autoscaling.CAPACITY)
    if not own:
        return {}
    registration = paths.value_at(group, paths.REGISTRATION) or {}
    arguments = registration.get("kubeletExtraArgs") or {}
    texts = {
        **own,
        "maxPods": arguments.get("max-pods"),
        "labels": ",".join(sorted(_labels(group))),
        "taints": ",".join(_taints(registration.get("taints") or ())),
    }
    return {_PREFIX + key: text for key, text in texts.items() if text}


def _labels(group: Mapping[str, Any]) -> Iterator[str]:
    """Yield the labels of a node; the last two are the cloud provider's."""
    labels = {
        GROUP_LABEL: group["name"],
        **(group.get(paths.NODE_LABELS) or {}),
        "node.kubernetes.io/instance-type": group.get(paths.FLAVOR),
        "topology.kubernetes.io/zone": group.get(paths.ZONE),
    }
    for key, text in labels.items():
        if text is not None:
            yield f"{key}={text}"


def _taints(taints: Iterable[Mapping[str, str]]) -> Iterator[str]:
    for each in taints:
        value = f"={each['value']}" if each.get("value") else ""
        yield f"{each['key']}{value}:{each['effect']}"
