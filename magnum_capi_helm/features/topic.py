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

"""What a topic is: its labels and its share of the values."""

from __future__ import annotations

from collections.abc import Callable
import dataclasses
from typing import Any, TypeAlias

from magnum_capi_helm import labels
from magnum_capi_helm import spec

#: Chart values, or a part of them.
Values: TypeAlias = dict[str, Any]


def _no_cluster_values(_: spec.Cluster) -> Values:
    return {}


def _no_group_values(_: spec.Cluster, __: spec.NodeGroup) -> Values:
    return {}


@dataclasses.dataclass(frozen=True)
class Topic:
    """One feature of a cluster, declared in one file.

    :param name: the heading of its labels in the documentation
    :param labels: labels that belong to this topic
    :param cluster: the topic's values for the whole cluster
    :param group: the topic's keys in one item of ``nodeGroups``
    """

    name: str
    labels: tuple[labels.Label[Any], ...] = ()
    cluster: Callable[[spec.Cluster], Values] = _no_cluster_values
    group: Callable[[spec.Cluster, spec.NodeGroup], Values] = _no_group_values
