# SPDX-License-Identifier: Apache-2.0

"""Objects of CAPO: kind, group, ``spec`` in v1beta1, ``spec`` in v1beta2."""

from __future__ import annotations

CAPO = "infrastructure.cluster.x-k8s.io"
_IDENTITY = {"cloudName": "openstack", "name": "web-cloud-credentials"}

OPENSTACK_CLUSTER = (
    "OpenStackCluster",
    CAPO,
    {
        "identityRef": _IDENTITY,
        "managedSubnets": [{"cidr": "10.0.0.0/24", "dnsNameservers": []}],
        "externalNetwork": {"id": "2"},
        "externalRouterIPs": [{"subnet": {"id": "3"}}],
        "networkMTU": 1450,
        "disablePortSecurity": True,
        "disableExternalNetwork": False,
        "apiServerLoadBalancer": {"enabled": True, "provider": "amphora"},
        "disableAPIServerFloatingIP": True,
        "apiServerFloatingIP": "203.0.113.1",
        "apiServerFixedIP": "10.0.0.2",
        "apiServerPort": 6443,
        "controlPlaneAvailabilityZones": ["az1"],
        "controlPlaneOmitAvailabilityZone": False,
        "managedSecurityGroups": {
            "allowAllInClusterTraffic": True,
            "allNodesSecurityGroupRules": [{"name": "a"}],
            "workerNodesSecurityGroupRules": [{"name": "b"}],
        },
        "tags": ["a"],
        "bastion": {"enabled": True, "spec": {"flavor": "m1.tiny"}},
    },
    {
        "identityRef": _IDENTITY,
        "managedSubnets": [{"cidr": "10.0.0.0/24"}],
        "externalNetwork": {"id": "2"},
        "managedRouter": {"externalIPs": [{"subnet": {"id": "3"}}]},
        "managedNetwork": {"mtu": 1450, "enablePortSecurity": False},
        "enableExternalNetwork": True,
        "apiServer": {
            "managedLoadBalancer": {"enabled": True, "provider": "amphora"},
            "enableFloatingIP": False,
            "floatingIP": "203.0.113.1",
            "fixedIP": "10.0.0.2",
            "port": 6443,
        },
        "controlPlaneAvailabilityZones": ["az1"],
        "controlPlaneOmitAvailabilityZone": False,
        "managedSecurityGroups": {
            "allowAllInClusterTraffic": True,
            "clusterNodesSecurityGroupRules": [{"name": "a"}],
            "workerNodesSecurityGroupRules": [{"name": "b"}],
        },
        "tags": ["a"],
        "bastion": {
            "enabled": True,
            "spec": {"flavor": {"filter": {"name": "m1.tiny"}}},
        },
    },
)

OPENSTACK_CLUSTER_OF_DEFAULTS = (
    "OpenStackCluster",
    CAPO,
    {
        "identityRef": _IDENTITY,
        "managedSecurityGroups": {
            "allNodesSecurityGroupRules": [],
            # Of chart 0.26.0; CAPO does not have it.
            "workerNodeSecurityGroupRules": [{"name": "c"}],
        },
        "subnets": [],
        "network": {"filter": {"name": "mine", "tags": []}},
    },
    {
        "identityRef": _IDENTITY,
        "managedSecurityGroups": {},
        "network": {"filter": {"name": "mine"}},
    },
)

MACHINE_TEMPLATE = (
    "OpenStackMachineTemplate",
    CAPO,
    {
        "template": {
            "spec": {
                "flavor": "m1.worker",
                "image": {"filter": {"name": "ubuntu"}},
                "identityRef": _IDENTITY,
                "ports": [
                    {},
                    {
                        "network": {"id": "3"},
                        "vnicType": "direct",
                        "disablePortSecurity": True,
                    },
                ],
                "rootVolume": {
                    "sizeGiB": 20,
                    "availabilityZone": {"from": "Machine"},
                },
                "configDrive": False,
            }
        }
    },
    {
        "template": {
            "spec": {
                "flavor": {"filter": {"name": "m1.worker"}},
                "image": {"filter": {"name": "ubuntu"}},
                "identityRef": _IDENTITY,
                "ports": [
                    {},
                    {
                        "network": {"id": "3"},
                        "vnicType": "direct",
                        "enablePortSecurity": False,
                    },
                ],
                "rootVolume": {
                    "sizeGiB": 20,
                    "availabilityZone": {"from": "Machine"},
                },
                "configDrive": False,
            }
        }
    },
)
