# SPDX-License-Identifier: Apache-2.0

"""Paths of the chart's values: a name for each that several places use.

A path is dotted; ``nodeGroups[]`` is each item of that list. A path that one
label alone changes is named by the label (``Label.becomes``).

Inside the driver, a value stands at its path here, whatever the chart. Charts
that read it elsewhere have a row in :data:`MOVED`. Values change their paths
where they come and go: helm and its records, the stored desired state, files
of the operator. So the values of a living cluster follow its chart. A name
keeps its path, because stored plans and requests contain paths, too.

Source: ``values.yaml`` and templates of azimuth-cloud/capi-helm-charts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from magnum_capi_helm.model import versions

#: Chart values, or a part of them.
Values: TypeAlias = dict[str, Any]

#: A null in the values: helm removes the chart's default.
NULL = object()

# Parts of a cluster.
ADDONS = "addons"
CONTROL_PLANE = "controlPlane"
GROUPS = "nodeGroups"
EACH_GROUP = f"{GROUPS}[]"
GROUP_DEFAULTS = "nodeGroupDefaults"


def of_machines(key: str) -> tuple[str, str]:
    """Return the paths of a key of the control plane, and of each group."""
    return f"{CONTROL_PLANE}.{key}", f"{EACH_GROUP}.{key}"


# Keys of one of these, or of all machines.
AUTOSCALE = "autoscale"
MINIMUM = "machineCountMin"
MAXIMUM = "machineCountMax"
#: Of groups that the autoscaler owns.
AUTOSCALED = (AUTOSCALE, MINIMUM, MAXIMUM)
COUNT = "machineCount"
DEVICES = "additionalBlockDevices"
FLAVOR = "machineFlavor"
HEALTH_CHECK = "healthCheck"
IMAGE = "machineImage"
IMAGE_ID = "machineImageId"
KUBEADM = "kubeadmConfigSpec"
KUBERNETES = "kubernetesVersion"
NETWORKING = "machineNetworking"
NODE_LABELS = "nodeLabels"
REGISTRATION = f"{KUBEADM}.joinConfiguration.nodeRegistration"
TAINTS = f"{REGISTRATION}.taints"
ROOT_VOLUME = "machineRootVolume"
ROLLOUT = "rolloutStrategy"
ROLLING = f"{ROLLOUT}.rollingUpdate"
SERVER_GROUP = "serverGroupId"
ZONE = "failureDomain"

PLANE_ZONES = f"{CONTROL_PLANE}.failureDomains"
PLANE_KUBEADM = f"{CONTROL_PLANE}.{KUBEADM}"

# Of the whole cluster.
ANNOTATIONS = "clusterAnnotations"
API_SERVER = f"{PLANE_KUBEADM}.clusterConfiguration.apiServer"
CREDENTIALS = "cloudCredentialsSecretName"
DISTRO = "osDistro"
ENDPOINT = "controlPlaneEndpoint"
ENCRYPTION = "etcd.encryption"
# Of all machines at once, with the name of the template: a change replaces
# those of groups that keep their image.
METADATA = "machineMetadata"
KEYPAIR = "machineSSHKeyName"
PROJECT_PREFIX = "projectPrefix"
REGISTRY_AUTH = "registryAuth"
TRUSTED_CAS = "trustedCAs"

API_BALANCER = "apiServer.enableLoadBalancer"
API_FIXED_IP = "apiServer.fixedIP"
API_FLOATING_IP = "apiServer.floatingIP"
API_HAS_FLOATING_IP = "apiServer.associateFloatingIP"
API_LB_FLAVOR = "apiServer.loadBalancerFlavor"
API_LB_NETWORK = "apiServer.loadBalancerNetwork"
API_LB_PROVIDER = "apiServer.loadBalancerProvider"
API_LB_ZONE = "apiServer.loadBalancerAvailabilityZone"
API_PORT = "apiServer.port"
# The port of the load balancer and that of the machines are one.
BIND_OF_FIRST, BIND_OF_OTHERS = (
    f"{PLANE_KUBEADM}.{each}.localAPIEndpoint"
    for each in ("initConfiguration", "joinConfiguration.controlPlane")
)

_NETWORK = "clusterNetworking.internalNetwork"
CNI = "addons.cni.type"
EXTERNAL_NETWORK = "clusterNetworking.externalNetworkId"
NAME_SERVERS = f"{_NETWORK}.dnsNameservers"
KUBE_NETWORK = "kubeNetwork"
NODE_CIDR = f"{_NETWORK}.nodeCidr"
NODE_NETWORK = f"{_NETWORK}.networkFilter"
NODE_SUBNET = f"{_NETWORK}.subnetFilter"

CINDER = "addons.openstack.csiCinder"
CINDER_CLASS = f"{CINDER}.defaultStorageClass"
CINDER_CLASSES = f"{CINDER}.additionalStorageClasses"
CINDER_ENABLED = f"{CINDER}.enabled"

#: Paths that keep their values with every version of the chart.
KEPT = (
    "clusterNetworking.allowAllInClusterTraffic",
    "clusterNetworking.disableExternalNetwork",
    "clusterNetworking.manageSecurityGroups",
    BIND_OF_FIRST,
    BIND_OF_OTHERS,
    ENDPOINT,
    METADATA,
    PROJECT_PREFIX,
    API_BALANCER,
    API_FIXED_IP,
    API_FLOATING_IP,
    API_HAS_FLOATING_IP,
    API_LB_FLAVOR,
    API_LB_NETWORK,
    API_LB_PROVIDER,
    API_LB_ZONE,
    API_PORT,
    CNI,
    EXTERNAL_NETWORK,
    KUBE_NETWORK,
    NODE_CIDR,
    NODE_NETWORK,
    NODE_SUBNET,
)

_UP_TO_0_10 = versions.Range(until="0.10.1")
#: The differences between generations of charts: path in this module, charts
#: that read the value at another one, and that path.
MOVED: tuple[tuple[str, versions.Range, str], ...] = (
    (NAME_SERVERS, _UP_TO_0_10, "clusterNetworking.dnsNameservers"),
)


def spelled(values: Values, version: str) -> Values:
    """Return values with the paths of a chart.

    :param version: of the chart
    """
    for path, charts, there in MOVED:
        if version in charts:
            values = moved(values, path, there)
    return values


def named(values: Values, version: str = "") -> Values:
    """Return values with the paths of this module.

    :param version: of the chart whose paths they have; empty: of any chart,
        as in files for all clusters
    """
    for path, charts, there in reversed(MOVED):
        if not version or version in charts:
            values = moved(values, there, path)
    return values


def moved(values: Values, old: str, new: str) -> Values:
    """Return values with the content of one path, if any, at another one."""
    if old.startswith(EACH_GROUP):
        old, new = (e.removeprefix(f"{EACH_GROUP}.") for e in (old, new))
        items = [moved(e, old, new) for e in values.get(GROUPS) or ()]
        return {**values, GROUPS: items} if items else values
    above, _, key = old.rpartition(".")
    holder = value_at(values, above)
    if not isinstance(holder, Mapping) or key not in holder:
        return values
    result: Values = copied(values)
    put(result, old, None)
    put(result, new, NULL if holder[key] is None else holder[key])
    return result


def value_at(values: Any, path: str) -> Any:
    """Return the value at a path, or None; all values for the empty path."""
    for key in filter(None, path.split(".")):
        values = values.get(key) if isinstance(values, Mapping) else None
    return values


def put(values: Values, path: str, value: Any) -> None:
    """Set a value in place; None removes it, and mappings left empty."""
    key, _, rest = path.partition(".")
    inner = values.get(key)
    if not rest:
        values.pop(key, None)
        if value is not None:
            values[key] = None if value is NULL else copied(value)
    elif isinstance(inner, dict) or value is not None:
        inner = inner if isinstance(inner, dict) else {}
        put(inner, rest, value)
        values[key] = inner
        if not inner:
            del values[key]


def copied(value: Any) -> Any:
    """Return a copy; deepcopy would keep references that are shared."""
    if isinstance(value, Mapping):
        return {key: copied(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [copied(item) for item in value]
    return value
