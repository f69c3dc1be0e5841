# SPDX-License-Identifier: Apache-2.0

"""Objects of CAPO: kind, group, ``spec`` in v1beta1, ``spec`` in v1beta2."""

from __future__ import annotations

from typing import Any

import yaml

CAPO = "infrastructure.cluster.x-k8s.io"
_IDENTITY = {"cloudName": "openstack", "name": "web-cloud-credentials"}


def pair(text: str) -> tuple[Any, Any]:
    """Return the two documents of a YAML text."""
    old, new = yaml.safe_load_all(text)
    return old, new


OPENSTACK_CLUSTER = (
    "OpenStackCluster",
    CAPO,
    *pair("""
identityRef: {cloudName: openstack, name: web-cloud-credentials}
managedSubnets: [{cidr: 10.0.0.0/24, dnsNameservers: []}]
externalNetwork: {id: '2'}
externalRouterIPs: [{subnet: {id: '3'}}]
networkMTU: 1450
disablePortSecurity: true
disableExternalNetwork: false
apiServerLoadBalancer: {enabled: true, provider: amphora}
disableAPIServerFloatingIP: true
apiServerFloatingIP: 203.0.113.1
apiServerFixedIP: 10.0.0.2
apiServerPort: 6443
controlPlaneAvailabilityZones: [az1]
controlPlaneOmitAvailabilityZone: false
managedSecurityGroups:
  allowAllInClusterTraffic: true
  allNodesSecurityGroupRules: [{name: a}]
  workerNodesSecurityGroupRules: [{name: b}]
tags: [a]
bastion: {enabled: true, spec: {flavor: m1.tiny}}
---
identityRef: {cloudName: openstack, name: web-cloud-credentials}
managedSubnets: [{cidr: 10.0.0.0/24}]
externalNetwork: {id: '2'}
managedRouter: {externalIPs: [{subnet: {id: '3'}}]}
managedNetwork: {mtu: 1450, enablePortSecurity: false}
enableExternalNetwork: true
apiServer:
  managedLoadBalancer: {enabled: true, provider: amphora}
  enableFloatingIP: false
  floatingIP: 203.0.113.1
  fixedIP: 10.0.0.2
  port: 6443
controlPlaneAvailabilityZones: [az1]
controlPlaneOmitAvailabilityZone: false
managedSecurityGroups:
  allowAllInClusterTraffic: true
  clusterNodesSecurityGroupRules: [{name: a}]
  workerNodesSecurityGroupRules: [{name: b}]
tags: [a]
bastion: {enabled: true, spec: {flavor: {filter: {name: m1.tiny}}}}
"""),
)

OPENSTACK_CLUSTER_OF_DEFAULTS = (
    "OpenStackCluster",
    CAPO,
    *pair("""
identityRef: {cloudName: openstack, name: web-cloud-credentials}
managedSecurityGroups:
  allNodesSecurityGroupRules: []
  workerNodeSecurityGroupRules: [{name: c}]
subnets: []
network: {filter: {name: mine, tags: []}}
---
identityRef: {cloudName: openstack, name: web-cloud-credentials}
managedSecurityGroups: {}
network: {filter: {name: mine}}
"""),
)

MACHINE_TEMPLATE = (
    "OpenStackMachineTemplate",
    CAPO,
    *pair("""
template:
  spec:
    flavor: m1.worker
    image: {filter: {name: ubuntu}}
    identityRef: {cloudName: openstack, name: web-cloud-credentials}
    ports:
    - {}
    - {network: {id: '3'}, vnicType: direct, disablePortSecurity: true}
    rootVolume: {sizeGiB: 20, availabilityZone: {from: Machine}}
    configDrive: false
---
template:
  spec:
    flavor: {filter: {name: m1.worker}}
    image: {filter: {name: ubuntu}}
    identityRef: {cloudName: openstack, name: web-cloud-credentials}
    ports:
    - {}
    - {network: {id: '3'}, vnicType: direct, enablePortSecurity: false}
    rootVolume: {sizeGiB: 20, availabilityZone: {from: Machine}}
    configDrive: false
"""),
)
