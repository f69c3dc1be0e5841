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

"""Addons that are either on or off."""

from __future__ import annotations

from oslo_config import types

from magnum_capi_helm import labels
from magnum_capi_helm import spec
from magnum_capi_helm.features import topic

MONITORING = labels.Label(
    name="monitoring_enabled",
    type=types.Boolean(),
    default=False,
    allowed="true or false",
    help="Install Prometheus, Grafana and Loki.",
)
DASHBOARD = labels.Label(
    name="kube_dashboard_enabled",
    type=types.Boolean(),
    default=True,
    allowed="true or false",
    help="Install the Kubernetes dashboard. Charts from 0.20.0 on no longer "
    "have it: no effect there.",
)


def _values(cluster: spec.Cluster) -> topic.Values:
    return {
        "addons": {
            "monitoring": {"enabled": cluster.labels[MONITORING]},
            "kubernetesDashboard": {"enabled": cluster.labels[DASHBOARD]},
            "ingress": {"enabled": False},
        }
    }


TOPIC = topic.Topic(
    name="Addons", labels=(MONITORING, DASHBOARD), cluster=_values
)
