# SPDX-License-Identifier: Apache-2.0

"""Objects of a chart in v1beta1, and the same ones in v1beta2."""

from __future__ import annotations

import copy
from typing import Any

from oslotest import base
import yaml

from magnum_capi_helm.chart import conversion
from magnum_capi_helm.model import errors

CAPO = "infrastructure.cluster.x-k8s.io"
_CAPI = "cluster.x-k8s.io"
_METADATA = {
    "name": "web",
    "namespace": "magnum-p",
    "labels": {"helm.sh/chart": "openstack-cluster-0.27.0"},
    "annotations": {"helm.sh/resource-policy": "keep", "empty": ""},
}


def pair(text: str) -> tuple[Any, Any]:
    """Return the two documents of a YAML text."""
    old, new = yaml.safe_load_all(text)
    return old, new


#: Kind, group, ``spec`` in v1beta1 and in v1beta2, as all objects below.
CLUSTER = (
    "Cluster",
    _CAPI,
    *pair("""
paused: false
clusterNetwork:
  apiServerPort: 6443
  pods: {cidrBlocks: [172.16.0.0/13]}
  services: {cidrBlocks: []}
  serviceDomain: cluster.local
controlPlaneRef:
  apiVersion: controlplane.cluster.x-k8s.io/v1beta1
  kind: KubeadmControlPlane
  name: web-control-plane
  namespace: magnum-p
infrastructureRef:
  apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
  kind: OpenStackCluster
  name: web
  namespace: magnum-p
---
clusterNetwork:
  apiServerPort: 6443
  pods: {cidrBlocks: [172.16.0.0/13]}
  serviceDomain: cluster.local
controlPlaneRef:
  apiGroup: controlplane.cluster.x-k8s.io
  kind: KubeadmControlPlane
  name: web-control-plane
infrastructureRef:
  apiGroup: infrastructure.cluster.x-k8s.io
  kind: OpenStackCluster
  name: web
"""),
)

DEPLOYMENT = (
    "MachineDeployment",
    _CAPI,
    *pair("""
clusterName: web
replicas: 0
minReadySeconds: 0
revisionHistoryLimit: 1
progressDeadlineSeconds: 600
rolloutAfter: '2026-11-26T07:00:00Z'
selector: {matchLabels: {group: workers}}
strategy:
  type: RollingUpdate
  rollingUpdate: {maxSurge: 0, maxUnavailable: 40%, deletePolicy: Random}
  remediation: {maxInFlight: 1}
machineNamingStrategy: {template: '{{ .cluster.name }}'}
template:
  metadata: {labels: {group: workers, empty: ''}}
  spec:
    clusterName: web
    version: v1.34.2
    failureDomain: ''
    bootstrap:
      configRef:
        apiVersion: bootstrap.cluster.x-k8s.io/v1beta1
        kind: KubeadmConfigTemplate
        name: web-workers-11111111
        namespace: magnum-p
    infrastructureRef:
      apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
      kind: OpenStackMachineTemplate
      name: web-workers-22222222
      namespace: magnum-p
    nodeDrainTimeout: 5m0s
    nodeVolumeDetachTimeout: 0s
    nodeDeletionTimeout: null
---
clusterName: web
replicas: 0
selector: {matchLabels: {group: workers}}
rollout:
  after: '2026-11-26T07:00:00Z'
  strategy:
    type: RollingUpdate
    rollingUpdate: {maxSurge: 0, maxUnavailable: 40%}
deletion: {order: Random}
remediation: {maxInFlight: 1}
machineNaming: {template: '{{ .cluster.name }}'}
template:
  metadata: {labels: {group: workers, empty: ''}}
  spec:
    clusterName: web
    version: v1.34.2
    minReadySeconds: 0
    bootstrap:
      configRef:
        apiGroup: bootstrap.cluster.x-k8s.io
        kind: KubeadmConfigTemplate
        name: web-workers-11111111
    infrastructureRef:
      apiGroup: infrastructure.cluster.x-k8s.io
      kind: OpenStackMachineTemplate
      name: web-workers-22222222
    deletion:
      nodeDrainTimeoutSeconds: 300
      nodeVolumeDetachTimeoutSeconds: 0
"""),
)

HEALTH_CHECK = (
    "MachineHealthCheck",
    _CAPI,
    *pair("""
clusterName: web
selector: {matchLabels: {group: workers}}
maxUnhealthy: 0
unhealthyRange: '[1-3]'
nodeStartupTimeout: 30m
unhealthyConditions:
- {type: Ready, status: Unknown, timeout: 5m0s}
- {type: Ready, status: 'False', timeout: 0s}
unhealthyMachineConditions:
- {type: InfrastructureReady, status: 'False', timeout: 1h}
remediationTemplate:
  apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
  kind: Remediation
  name: reboot
  namespace: magnum-p
---
clusterName: web
selector: {matchLabels: {group: workers}}
checks:
  nodeStartupTimeoutSeconds: 1800
  unhealthyNodeConditions:
  - {type: Ready, status: Unknown, timeoutSeconds: 300}
  - {type: Ready, status: 'False', timeoutSeconds: 0}
  unhealthyMachineConditions:
  - {type: InfrastructureReady, status: 'False', timeoutSeconds: 3600}
remediation:
  triggerIf: {unhealthyLessThanOrEqualTo: 0, unhealthyInRange: '[1-3]'}
  templateRef:
    apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
    kind: Remediation
    name: reboot
"""),
)

#: What a control plane and a template of workers have alike.
KUBEADM_OLD: dict[str, Any] = yaml.safe_load("""
clusterConfiguration:
  kind: ClusterConfiguration
  clusterName: web
  kubernetesVersion: v1.34.2
  networking: {dnsDomain: cluster.local}
  apiServer:
    extraArgs: {v: '2', cloud-provider: external, b: ''}
    extraVolumes:
    - name: audit
      hostPath: /etc/audit
      mountPath: /etc/audit
      readOnly: true
    - {name: log, hostPath: /var/log, mountPath: /var/log, readOnly: false}
    timeoutForControlPlane: 20m0s
  controllerManager: {extraArgs: {}, extraEnvs: []}
  etcd: {local: {dataDir: /var/lib/etcd, extraArgs: {}}}
  featureGates: {A: false}
initConfiguration:
  nodeRegistration:
    name: '{{ local_hostname }}'
    imagePullSerial: false
    taints: []
    kubeletExtraArgs: {node-labels: a=b, B: c}
  patches: {directory: /etc/kubernetes/patches}
  bootstrapTokens: [{token: abcdef.0123456789abcdef, ttl: 24h0m0s}]
joinConfiguration:
  controlPlane: {localAPIEndpoint: {bindPort: 0}}
  discovery:
    timeout: 5m0s
    bootstrapToken:
      token: abcdef.0123456789abcdef
      unsafeSkipCAVerification: false
files:
- {path: /etc/one, content: 'a: 1

    ', owner: '', append: false}
- path: /etc/two
  contentFrom: {secret: {name: web, key: two}}
  append: true
users: [{name: core, sudo: '', lockPassword: false}]
diskSetup:
  partitions: [{device: /dev/vdb, layout: false, overwrite: false}]
  filesystems: [{device: /dev/vdb, filesystem: ext4, partition: ''}]
mounts: [[LABEL=etcd_disk, /var/lib/etcd]]
ntp: {enabled: false}
preKubeadmCommands: []
postKubeadmCommands: ['true']
format: ignition
verbosity: 0
ignition: {containerLinuxConfig: {additionalConfig: 'a: 1'}}
useExperimentalRetryJoin: true
""")
KUBEADM_NEW: dict[str, Any] = yaml.safe_load("""
clusterConfiguration:
  apiServer:
    extraArgs:
    - {name: b, value: ''}
    - {name: cloud-provider, value: external}
    - {name: v, value: '2'}
    extraVolumes:
    - name: audit
      hostPath: /etc/audit
      mountPath: /etc/audit
      readOnly: true
    - {name: log, hostPath: /var/log, mountPath: /var/log}
  controllerManager: {extraEnvs: []}
  etcd: {local: {dataDir: /var/lib/etcd}}
  featureGates: {A: false}
initConfiguration:
  nodeRegistration:
    name: '{{ local_hostname }}'
    imagePullSerial: false
    taints: []
    kubeletExtraArgs: [{name: B, value: c}, {name: node-labels, value: a=b}]
  patches: {directory: /etc/kubernetes/patches}
  bootstrapTokens: [{token: abcdef.0123456789abcdef, ttlSeconds: 86400}]
  timeouts: {controlPlaneComponentHealthCheckSeconds: 1200}
joinConfiguration:
  controlPlane: {}
  discovery: {bootstrapToken: {token: abcdef.0123456789abcdef}}
  timeouts:
    controlPlaneComponentHealthCheckSeconds: 1200
    tlsBootstrapSeconds: 300
files:
- {path: /etc/one, content: 'a: 1

    '}
- path: /etc/two
  contentFrom: {secret: {name: web, key: two}}
  append: true
users: [{name: core, lockPassword: false}]
diskSetup:
  partitions: [{device: /dev/vdb, layout: false, overwrite: false}]
  filesystems: [{device: /dev/vdb, filesystem: ext4}]
mounts: [[LABEL=etcd_disk, /var/lib/etcd]]
ntp: {enabled: false}
postKubeadmCommands: ['true']
format: ignition
verbosity: 0
ignition: {containerLinuxConfig: {additionalConfig: 'a: 1'}}
""")

CONFIG_TEMPLATE = (
    "KubeadmConfigTemplate",
    "bootstrap.cluster.x-k8s.io",
    {"template": {"metadata": {"labels": {"a": "b"}}, "spec": KUBEADM_OLD}},
    {"template": {"metadata": {"labels": {"a": "b"}}, "spec": KUBEADM_NEW}},
)

_PLANE_OLD, _PLANE_NEW = pair("""
replicas: 3
version: v1.34.2
machineTemplate:
  metadata: {labels: {group: control-plane}}
  infrastructureRef:
    apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
    kind: OpenStackMachineTemplate
    name: web-control-plane-11111111
    namespace: magnum-p
  readinessGates: [{conditionType: A}]
  nodeDrainTimeout: 5m
  nodeVolumeDetachTimeout: 5m
  nodeDeletionTimeout: 5m
remediationStrategy: {maxRetry: 0, retryPeriod: 0s, minHealthyPeriod: 0s}
rolloutBefore: {certificatesExpiryDays: 30}
rolloutStrategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 0}}
---
replicas: 3
version: v1.34.2
machineTemplate:
  metadata: {labels: {group: control-plane}}
  spec:
    infrastructureRef:
      apiGroup: infrastructure.cluster.x-k8s.io
      kind: OpenStackMachineTemplate
      name: web-control-plane-11111111
    readinessGates: [{conditionType: A}]
    deletion:
      nodeDrainTimeoutSeconds: 300
      nodeVolumeDetachTimeoutSeconds: 300
      nodeDeletionTimeoutSeconds: 300
remediation: {maxRetry: 0, minHealthyPeriodSeconds: 0}
rollout:
  before: {certificatesExpiryDays: 30}
  strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 0}}
""")
CONTROL_PLANE = (
    *("KubeadmControlPlane", "controlplane.cluster.x-k8s.io"),
    {**_PLANE_OLD, "kubeadmConfigSpec": KUBEADM_OLD},
    {**_PLANE_NEW, "kubeadmConfigSpec": KUBEADM_NEW},
)

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

_UNKNOWN = (
    "is no field that the driver knows of v1beta1: remove it from the values"
)

#: Duration in v1beta1 -> seconds in v1beta2.
SECONDS = {
    "0": 0,
    "0s": 0,
    "300ms": 0,
    "1m30.7s": 90,
    "4.1h": 14760,
    "7m0s": 420,
    "1h2m3s": 3723,
    ".5h": 1800,
    "1000000h": 2147483647,
}

#: Kind, its spec, and the end of the refusal.
REFUSED: tuple[tuple[tuple[Any, ...], str, str], ...] = (
    (CLUSTER, "topology: {class: a}", f"spec.topology {_UNKNOWN}"),
    (
        DEPLOYMENT,
        "template: {spec: {password: secret}}",
        f"spec.template.spec.password {_UNKNOWN}",
    ),
    (
        CONFIG_TEMPLATE,
        "template: {spec: {files: [{path: /a}, {mode: 1}]}}",
        f"spec.template.spec.files[1].mode {_UNKNOWN}",
    ),
    (
        DEPLOYMENT,
        "template: {spec: {nodeDrainTimeout: 300}}",
        "spec.template.spec.nodeDrainTimeout has to be a duration such as "
        "5m0s, not 300",
    ),
    (
        HEALTH_CHECK,
        "nodeStartupTimeout: 5 minutes",
        "spec.nodeStartupTimeout has to be a duration such as 5m0s, not "
        "'5 minutes'",
    ),
    (
        CONFIG_TEMPLATE,
        "template: {spec: {clusterConfiguration: "
        "{scheduler: {extraArgs: {v: 2}}}}}",
        "spec.template.spec.clusterConfiguration.scheduler.extraArgs has to "
        "be a map of strings",
    ),
    (
        CLUSTER,
        "infrastructureRef: web",
        "spec.infrastructureRef has to be a reference to an object",
    ),
    (
        CLUSTER,
        "clusterNetwork: []",
        "spec.clusterNetwork has to be a map, not a list",
    ),
    (
        CONFIG_TEMPLATE,
        "template: {spec: {users: core}}",
        "spec.template.spec.users has to be a list, not a str",
    ),
    (
        OPENSTACK_CLUSTER,
        "disableExternalNetwork: 'no'",
        "spec.disableExternalNetwork has to be true or false, not 'no'",
    ),
    (
        CONFIG_TEMPLATE,
        "template: {spec: {users: [core]}}",
        "spec.template.spec.users[0] has to be a map, not a str",
    ),
)


def _object(kind: str, group: str, version: str, spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": f"{group}/{version}",
        "kind": kind,
        "metadata": copy.deepcopy(_METADATA),
        "spec": copy.deepcopy(spec),
    }


class ConversionTestCase(base.BaseTestCase):
    def test_each_kind_is_what_cluster_api_stores(self) -> None:
        for kind, group, old, new in (
            CLUSTER,
            DEPLOYMENT,
            HEALTH_CHECK,
            CONFIG_TEMPLATE,
            CONTROL_PLANE,
            OPENSTACK_CLUSTER,
            OPENSTACK_CLUSTER_OF_DEFAULTS,
            MACHINE_TEMPLATE,
        ):
            with self.subTest(kind):
                given = _object(kind, group, "v1beta1", old)
                self.assertEqual(
                    _object(kind, group, "v1beta2", new),
                    conversion.convert(given),
                )
                self.assertEqual(
                    _object(kind, group, "v1beta1", old), given, "changed"
                )

    def test_durations_are_seconds(self) -> None:
        kind, group = HEALTH_CHECK[:2]
        for text, wanted in SECONDS.items():
            with self.subTest(text):
                spec = {"nodeStartupTimeout": text}
                given = _object(kind, group, "v1beta1", spec)
                self.assertEqual(
                    {"checks": {"nodeStartupTimeoutSeconds": wanted}},
                    conversion.convert(given)["spec"],
                )

    def test_a_field_that_cannot_be_kept_is_refused(self) -> None:
        for (kind, group, *_), spec, end in REFUSED:
            with self.subTest(end):
                error = self.assertRaises(
                    errors.Unconvertible,
                    conversion.convert,
                    _object(kind, group, "v1beta1", yaml.safe_load(spec)),
                )
                self.assertEqual(
                    f"{kind} web can't be written as {group}/v1beta2: {end}",
                    str(error),
                )

    def test_known_kinds_are_converted_to_v1beta2_only(self) -> None:
        cluster = conversion.Api(_CAPI, "v1beta1", "Cluster")
        infrastructure = cluster._replace(group=CAPO, kind="OpenStackCluster")
        server = infrastructure._replace(kind="OpenStackServer")
        cases = {
            (cluster, "v1beta2"): True,
            (cluster, "v1beta1"): False,
            (cluster, "v1"): False,
            (cluster._replace(version="v1alpha4"), "v1beta2"): False,
            (infrastructure, "v1beta2"): True,
            (server, "v1beta2"): False,
        }
        for (api, version), wanted in cases.items():
            with self.subTest(f"{api} to {version}"):
                self.assertEqual(wanted, conversion.converts(api, version))
