# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""The values of a release, from the spec of a cluster.

Each topic writes its own leaves. Dictionaries merge; a second writer of one
leaf, or of a list, is an error of the program and raises at once: the last
one never wins silently.
"""

from __future__ import annotations

from collections.abc import Mapping
import copy
from typing import Any

from magnum_capi_helm import features
from magnum_capi_helm import labels
from magnum_capi_helm import spec
from magnum_capi_helm.features import topic

#: Annotation of the Cluster that says which intent it was made from.
INTENT_ANNOTATION = "magnum.openstack.org/intent"


class TwoWritersError(Exception):
    """Two topics write the same leaf: a programming error."""


def check(cluster: spec.Cluster) -> None:
    """Refuse what contradicts itself, or what the chart would ignore.

    :raises InvalidInput: the user can correct it
    """
    version = cluster.chart.version
    labels.check_chart(features.LABELS, cluster.labels, version)
    for group in cluster.node_groups:
        labels.check_chart(features.LABELS, group.labels, version)
    for each in features.TOPICS:
        each.check(cluster)


def build(cluster: spec.Cluster) -> topic.Values:
    """All values for ``cluster``, ready for helm."""
    values: topic.Values = {}
    for each in features.TOPICS:
        merge(values, each.cluster(cluster))
    for key, nodes in _SETUPS.items():
        if setup := _setup(cluster, nodes):
            merge(values, {key: {"kubeadmConfigSpec": setup}})
    values["nodeGroups"] = [
        node_group(cluster, group) for group in cluster.node_groups
    ]
    return values


def node_group(cluster: spec.Cluster, group: spec.NodeGroup) -> topic.Values:
    """One item of ``nodeGroups``."""
    item: topic.Values = {}
    for each in features.TOPICS:
        merge(item, each.group(cluster, group))
    return item


#: Where the setup of machines belongs. A list in one group would replace the
#: list of the defaults, so workers have theirs in the defaults alone.
_SETUPS = {
    "controlPlane": topic.Nodes.CONTROL_PLANE,
    "nodeGroupDefaults": topic.Nodes.WORKERS,
}


def _setup(cluster: spec.Cluster, nodes: topic.Nodes) -> topic.Values:
    """The topics' files and commands, joined; without empty lists."""
    parts = [each.setup(cluster, nodes) for each in features.TOPICS]
    joined = {
        "files": [item for part in parts for item in part.files],
        "preKubeadmCommands": [item for part in parts for item in part.before],
        "postKubeadmCommands": [item for part in parts for item in part.after],
    }
    return {key: items for key, items in joined.items() if items}


def merge(target: topic.Values, source: Mapping[str, object]) -> None:
    """Add ``source`` to ``target`` in place.

    :raises TwoWritersError: when both hold a value at the same path
    """
    _merge(target, source, ())


def _merge(
    target: topic.Values, source: Mapping[str, object], path: tuple[str, ...]
) -> None:
    for key, value in source.items():
        here = (*path, key)
        if key not in target:
            target[key] = copy.deepcopy(value)
        elif isinstance(target[key], dict) and isinstance(value, Mapping):
            _merge(target[key], value, here)
        else:
            raise TwoWritersError(".".join(here))


def stamped(values: topic.Values, fingerprint: str) -> topic.Values:
    """A copy that makes the live Cluster show which intent it has."""
    result = copy.deepcopy(values)
    annotations = result.setdefault("clusterAnnotations", {})
    annotations[INTENT_ANNOTATION] = fingerprint
    return result


def with_counts(
    values: topic.Values, counts: Mapping[str, int]
) -> topic.Values:
    """A copy with other machine counts for the node groups named.

    A group that the autoscaler owns has no ``machineCount`` and keeps that.
    """
    result = copy.deepcopy(values)
    for group in result.get("nodeGroups") or []:
        if "machineCount" in group and group["name"] in counts:
            group["machineCount"] = counts[group["name"]]
    return result


def group_names(values: Mapping[str, Any]) -> frozenset[str]:
    """The chart's names of the node groups that values hold."""
    return frozenset(
        str(group["name"]) for group in values.get("nodeGroups") or []
    )
