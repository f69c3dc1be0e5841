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

"""Load balancers for Services of type LoadBalancer and for the API."""

from __future__ import annotations

from oslo_config import types

from magnum_capi_helm import labels
from magnum_capi_helm import spec
from magnum_capi_helm.features import topic

PROVIDER = labels.Label(
    name="octavia_provider",
    type=types.String(regex=r".+"),
    default="amphora",
    allowed="the name of an Octavia provider, such as amphora or ovn",
    help="Octavia provider of all load balancers of the cluster.",
)
ALGORITHM = labels.Label(
    name="octavia_lb_algorithm",
    type=types.String(
        choices=[
            "",
            "ROUND_ROBIN",
            "LEAST_CONNECTIONS",
            "SOURCE_IP",
            "SOURCE_IP_PORT",
        ],
    ),
    default="",
    allowed="ROUND_ROBIN, LEAST_CONNECTIONS, SOURCE_IP or SOURCE_IP_PORT",
    help="Octavia algorithm. Empty: SOURCE_IP_PORT for the provider ovn, "
    "which knows no other, else ROUND_ROBIN.",
)
HEALTH_CHECK = labels.Label(
    name="octavia_lb_healthcheck",
    type=types.Boolean(),
    default=True,
    allowed="true or false",
    help="Create a health monitor for each load balancer of a Service.",
)


def _values(cluster: spec.Cluster) -> topic.Values:
    provider = cluster.labels[PROVIDER]
    natural = "SOURCE_IP_PORT" if provider == "ovn" else "ROUND_ROBIN"
    section = {
        "lb-provider": provider,
        "lb-method": cluster.labels[ALGORITHM] or natural,
        "create-monitor": cluster.labels[HEALTH_CHECK],
    }
    return {
        "addons": {"openstack": {"cloudConfig": {"LoadBalancer": section}}}
    }


TOPIC = topic.Topic(
    name="Load balancers",
    labels=(PROVIDER, ALGORITHM, HEALTH_CHECK),
    cluster=_values,
)
