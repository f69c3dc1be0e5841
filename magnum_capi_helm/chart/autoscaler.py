# SPDX-License-Identifier: Apache-2.0

"""Fields of rendered objects that let the autoscaler start from no node.

The autoscaler plans with a node of the group. Without one it reads annotations
of the MachineDeployment, and then the group's machine template. The chart
gives it no permission for the template: it waits for ever, and scales no group
any more. Source: ``InstanceCapacity``, ``Labels`` and ``Taints`` in
``clusterapi_unstructured.go``, ``getInfrastructureResource`` in
``clusterapi_controller.go`` of kubernetes/autoscaler.

Cluster API copies these annotations to MachineSets and replaces no machine for
them: they are no part of the template of machines.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from magnum_capi_helm.features import autoscaling
from magnum_capi_helm.features import nodes
from magnum_capi_helm.features import topic

_PREFIX = "capacity.cluster-autoscaler.kubernetes.io/"

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
    groups = values.get("nodeGroups") or ()
    return [each for each in groups if each.get("autoscale")]


def capacity(group: Mapping[str, Any]) -> dict[str, str]:
    """Return the annotations that describe an empty node of a group.

    :param group: an item of ``nodeGroups``
    :returns: nothing for a group of an older driver, without its capacity
    """
    own = group.get(autoscaling.CAPACITY)
    if not own:
        return {}
    registration = topic.value_at(group, nodes.REGISTRATION) or {}
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
        "capi.stackhpc.com/node-group": group["name"],
        **(group.get("nodeLabels") or {}),
        "node.kubernetes.io/instance-type": group.get("machineFlavor"),
        "topology.kubernetes.io/zone": group.get("failureDomain"),
    }
    for key, text in labels.items():
        if text is not None:
            yield f"{key}={text}"


def _taints(taints: Iterable[Mapping[str, str]]) -> Iterator[str]:
    for each in taints:
        value = f"={each['value']}" if each.get("value") else ""
        yield f"{each['key']}{value}:{each['effect']}"
