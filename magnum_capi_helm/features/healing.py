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

"""Replacement of unhealthy machines."""

from __future__ import annotations

from oslo_config import types

from magnum_capi_helm import labels
from magnum_capi_helm import spec
from magnum_capi_helm.features import topic

ENABLED = labels.Label(
    name="auto_healing_enabled",
    type=types.Boolean(),
    default=True,
    allowed="true or false",
    help="Replace machines whose node stays unhealthy "
    "(MachineHealthCheck of Cluster API).",
)


def _values(cluster: spec.Cluster) -> topic.Values:
    enabled = cluster.labels[ENABLED]
    return {
        "controlPlane": {"healthCheck": {"enabled": enabled}},
        # At the defaults: the chart loses a false in a single group.
        "nodeGroupDefaults": {"healthCheck": {"enabled": enabled}},
    }


TOPIC = topic.Topic(name="Auto-healing", labels=(ENABLED,), cluster=_values)
