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

"""The networks of a cluster, by UUID."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from magnum_capi_helm import spec

if TYPE_CHECKING:
    from magnum_capi_helm.cloud import catalogue


def network(cluster: Any, cloud: catalogue.Cloud) -> spec.Network:
    """The networks that template and cluster name.

    :raises InvalidInput: one is not there
    """
    template = cluster.cluster_template
    external = template.external_network_id
    fixed = cluster.fixed_network or template.fixed_network
    subnet = cluster.fixed_subnet or template.fixed_subnet
    servers = (template.dns_nameserver or "").split(",")
    return spec.Network(
        external_id=cloud.network(external) if external else None,
        fixed_id=cloud.network(fixed) if fixed else None,
        fixed_subnet_id=cloud.subnet(subnet) if subnet else None,
        dns_nameservers=tuple(
            each.strip() for each in servers if each.strip()
        ),
    )
