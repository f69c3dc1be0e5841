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

"""The cluster autoscaler."""

from __future__ import annotations

from oslo_config import types

from magnum_capi_helm import labels
from magnum_capi_helm import spec
from magnum_capi_helm.features import topic

ENABLED = labels.Label(
    name="auto_scaling_enabled",
    type=types.Boolean(),
    default=False,
    allowed="true or false",
    help="Let the cluster autoscaler choose the node count of each group "
    "whose maximum is above its minimum.",
)
MINIMUM: labels.Label[int | None] = labels.Label(
    name="min_node_count",
    type=types.Integer(min=0),
    default=None,
    allowed="a whole number from 0",
    help="Lower bound of the default worker group.",
)
MAXIMUM: labels.Label[int | None] = labels.Label(
    name="max_node_count",
    type=types.Integer(min=0),
    default=None,
    allowed="a whole number from 0",
    help="Upper bound of the default worker group.",
)


def scales(cluster: spec.Cluster, group: spec.NodeGroup) -> bool:
    """Whether the autoscaler, and not the user, owns the group's count."""
    return (
        cluster.labels[ENABLED]
        and group.maximum is not None
        and group.maximum > group.minimum
    )


def _group(cluster: spec.Cluster, group: spec.NodeGroup) -> topic.Values:
    if not scales(cluster, group):
        return {}
    return {
        "autoscale": True,
        "machineCountMin": group.minimum,
        "machineCountMax": group.maximum,
    }


TOPIC = topic.Topic(
    name="Autoscaling",
    labels=(ENABLED, MINIMUM, MAXIMUM),
    group=_group,
)
