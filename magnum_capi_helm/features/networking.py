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

"""Networks of the nodes and of the pods."""

from __future__ import annotations

from magnum_capi_helm import labels
from magnum_capi_helm import option_types
from magnum_capi_helm import spec
from magnum_capi_helm.features import topic

FIXED_SUBNET_CIDR = labels.Label(
    name="fixed_subnet_cidr",
    type=option_types.IPv4Network(),
    default="10.0.0.0/24",
    allowed="an IPv4 network such as 10.0.0.0/24",
    help="Network of the nodes when the driver makes it, that is when "
    "neither fixed_network nor fixed_subnet is given.",
)
EXTRA_NETWORKS: labels.Label[tuple[str, ...]] = labels.Label(
    name="extra_network_names",
    type=option_types.Words(),
    default=(),
    allowed="network names separated by spaces",
    help="Networks in which each worker gets one more port.",
    aliases=("extra_network_name",),
    former=("extra_network_name",),
)


def _values(cluster: spec.Cluster) -> topic.Values:
    network = cluster.network
    internal: topic.Values = {}
    if network.fixed_id:
        internal["networkFilter"] = {"id": network.fixed_id}
    if network.fixed_subnet_id:
        internal["subnetFilter"] = {"id": network.fixed_subnet_id}
    if not internal:
        internal["nodeCidr"] = cluster.labels[FIXED_SUBNET_CIDR]
        if network.dns_nameservers:
            # Only a subnet that the provider makes takes name servers.
            internal["dnsNameservers"] = list(network.dns_nameservers)
    networking: topic.Values = {"internalNetwork": internal}
    if network.external_id:
        networking["externalNetworkId"] = network.external_id
    values: topic.Values = {
        "clusterNetworking": networking,
        "addons": {"cni": {"type": cluster.cni}},
    }
    if extra := cluster.labels[EXTRA_NETWORKS]:
        ports = [{"network": {"name": name}} for name in extra]
        values["nodeGroupDefaults"] = {
            # The first, empty port is the one in the cluster's own network.
            "machineNetworking": {"ports": [{}, *ports]}
        }
    return values


TOPIC = topic.Topic(
    name="Networks",
    labels=(FIXED_SUBNET_CIDR, EXTRA_NETWORKS),
    cluster=_values,
)
