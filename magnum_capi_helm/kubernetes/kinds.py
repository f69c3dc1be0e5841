# SPDX-License-Identifier: Apache-2.0

"""Kinds of objects that the driver reads and writes.

The driver understands the listed versions and prefers the first one. The
client discovers which of them a management cluster serves.
"""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
from typing import Any


@dataclasses.dataclass(frozen=True)
class Kind:
    """A kind of Kubernetes object.

    :param group: API group; empty for the core group
    :param versions: versions that the driver understands, best first
    :param fixed: there is one version only; needs no discovery
    :param optional: a management cluster may not serve it, and then has no
        objects of it; an unserved kind that is not optional is an error
    """

    name: str
    group: str
    plural: str
    versions: tuple[str, ...]
    fixed: bool = False
    optional: bool = False


_CAPI = ("v1beta2", "v1beta1")

CLUSTER = Kind("Cluster", "cluster.x-k8s.io", "clusters", _CAPI)
MACHINE_DEPLOYMENT = Kind(
    "MachineDeployment", "cluster.x-k8s.io", "machinedeployments", _CAPI
)
MACHINE = Kind("Machine", "cluster.x-k8s.io", "machines", _CAPI)
CONTROL_PLANE = Kind(
    "KubeadmControlPlane",
    "controlplane.cluster.x-k8s.io",
    "kubeadmcontrolplanes",
    _CAPI,
)
CONFIG_TEMPLATE = Kind(
    "KubeadmConfigTemplate",
    "bootstrap.cluster.x-k8s.io",
    "kubeadmconfigtemplates",
    _CAPI,
)
OPENSTACK_CLUSTER = Kind(
    "OpenStackCluster",
    "infrastructure.cluster.x-k8s.io",
    "openstackclusters",
    ("v1beta1",),
)
OPENSTACK_MACHINE = Kind(
    "OpenStackMachine",
    "infrastructure.cluster.x-k8s.io",
    "openstackmachines",
    ("v1beta1",),
)
#: CAPO 0.11 and later make the servers of machines from them.
OPENSTACK_SERVER = Kind(
    "OpenStackServer",
    "infrastructure.cluster.x-k8s.io",
    "openstackservers",
    ("v1alpha1",),
    optional=True,
)
OPENSTACK_MACHINE_TEMPLATE = Kind(
    "OpenStackMachineTemplate",
    "infrastructure.cluster.x-k8s.io",
    "openstackmachinetemplates",
    ("v1beta1",),
)
HELM_RELEASE = Kind(
    "HelmRelease",
    "addons.stackhpc.com",
    "helmreleases",
    ("v1alpha1",),
    optional=True,
)
MANIFESTS = Kind(
    "Manifests",
    "addons.stackhpc.com",
    "manifests",
    ("v1alpha1",),
    optional=True,
)
NAMESPACE = Kind("Namespace", "", "namespaces", ("v1",), fixed=True)
SECRET = Kind("Secret", "", "secrets", ("v1",), fixed=True)
LEASE = Kind("Lease", "coordination.k8s.io", "leases", ("v1",), fixed=True)
DEPLOYMENT = Kind("Deployment", "apps", "deployments", ("v1",), fixed=True)

ALL = (
    CLUSTER,
    MACHINE_DEPLOYMENT,
    MACHINE,
    CONTROL_PLANE,
    CONFIG_TEMPLATE,
    OPENSTACK_CLUSTER,
    OPENSTACK_MACHINE,
    OPENSTACK_SERVER,
    OPENSTACK_MACHINE_TEMPLATE,
    HELM_RELEASE,
    MANIFESTS,
    NAMESPACE,
    SECRET,
    LEASE,
)

#: Spelling of a kind in ``[capi_helm] api_resources`` of 1.4.0.
LEGACY_NAMES = {
    "OpenstackCluster": OPENSTACK_CLUSTER,
    "K8sControlPlane": CONTROL_PLANE,
    **{kind.name: kind for kind in ALL},
}

#: Kinds that a chart keeps when its release is deleted; owner references or
#: the driver remove them.
KEPT = (
    OPENSTACK_CLUSTER,
    CONTROL_PLANE,
    OPENSTACK_MACHINE_TEMPLATE,
    CONFIG_TEMPLATE,
)

#: Objects of a chart for programs on the management cluster, such as the
#: autoscaler. Only helm removes them.
PLAIN = tuple(
    Kind(name, group, plural, ("v1",), fixed=True)
    for name, group, plural in (
        ("ConfigMap", "", "configmaps"),
        ("Deployment", "apps", "deployments"),
        ("Role", "rbac.authorization.k8s.io", "roles"),
        ("RoleBinding", "rbac.authorization.k8s.io", "rolebindings"),
        ("ServiceAccount", "", "serviceaccounts"),
    )
)

#: The other kinds that charts render, by group and plural.
_OTHERS = {
    "MachineHealthCheck": ("cluster.x-k8s.io", "machinehealthchecks"),
}
_PLURALS = _OTHERS | {
    kind.name: (kind.group, kind.plural) for kind in (*ALL, *PLAIN)
}


def rendered(obj: Mapping[str, Any]) -> Kind | None:
    """Return the kind of a manifest's object, in the manifest's version.

    A live object that is read in this version can be compared with the
    manifest: other versions have other fields.

    :returns: None for a kind that no known chart renders
    """
    group, _, version = str(obj.get("apiVersion", "")).rpartition("/")
    name = str(obj.get("kind", ""))
    own_group, plural = _PLURALS.get(name, (None, ""))
    if own_group != group:
        return None
    return Kind(name, group, plural, (version,), fixed=True)
