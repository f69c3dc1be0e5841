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

"""The way to the Kubernetes API: load balancer, floating IP, allow list."""

from __future__ import annotations

from oslo_config import types

from magnum_capi_helm import labels
from magnum_capi_helm import option_types
from magnum_capi_helm import spec
from magnum_capi_helm.features import load_balancing
from magnum_capi_helm.features import topic

FLOATING_IP = labels.Label(
    name="master_lb_floating_ip_enabled",
    type=types.Boolean(),
    default=True,
    allowed="true or false",
    help="Give the Kubernetes API a floating IP.",
)
ALLOWED_CIDRS: labels.Label[tuple[str, ...]] = labels.Label(
    name="api_master_lb_allowed_cidrs",
    type=option_types.IPv4Networks(),
    default=(),
    allowed="a comma separated list of IPv4 networks such as 192.0.2.0/24",
    help="Networks that may reach the Kubernetes API; empty for all.",
    aliases=("master_lb_allowed_cidrs",),
)


def _values(cluster: spec.Cluster) -> topic.Values:
    server: topic.Values = {
        "enableLoadBalancer": True,
        "loadBalancerProvider": cluster.labels[load_balancing.PROVIDER],
        "associateFloatingIP": cluster.labels[FLOATING_IP],
    }
    if cidrs := cluster.labels[ALLOWED_CIDRS]:
        # Charts up to 0.23.0 read the first spelling, later ones the second.
        server["allowedCidrs"] = list(cidrs)
        server["allowedCIDRs"] = list(cidrs)
    return {"apiServer": server}


TOPIC = topic.Topic(
    name="Kubernetes API",
    labels=(FLOATING_IP, ALLOWED_CIDRS),
    cluster=_values,
)
