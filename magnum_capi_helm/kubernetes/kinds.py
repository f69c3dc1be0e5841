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
    :param shared: providers of other clouds have kinds in its group, in
        versions of their own
    """

    name: str
    group: str
    versions: tuple[str, ...]
    fixed: bool = False
    optional: bool = False
    shared: bool = False

    @property
    def plural(self) -> str:
        """Return the name of the kind in a path."""
        singular = self.name.lower().removesuffix("s")
        if singular.endswith("y"):
            return f"{singular[:-1]}ies"
        return f"{singular}s"


_BOTH = ("v1beta2", "v1beta1")
_CAPI = "cluster.x-k8s.io"
_CAPO = "infrastructure.cluster.x-k8s.io"
_ADDONS = "addons.stackhpc.com"

CLUSTER = Kind("Cluster", _CAPI, _BOTH)
MACHINE_DEPLOYMENT = Kind("MachineDeployment", _CAPI, _BOTH)
MACHINE = Kind("Machine", _CAPI, _BOTH)
HEALTH_CHECK = Kind("MachineHealthCheck", _CAPI, _BOTH)
CONTROL_PLANE = Kind("KubeadmControlPlane", f"controlplane.{_CAPI}", _BOTH)
CONFIG_TEMPLATE = Kind("KubeadmConfigTemplate", f"bootstrap.{_CAPI}", _BOTH)
OPENSTACK_CLUSTER = Kind("OpenStackCluster", _CAPO, _BOTH, shared=True)
OPENSTACK_MACHINE = Kind("OpenStackMachine", _CAPO, _BOTH, shared=True)
#: CAPO 0.11 and later make the servers of machines from them.
OPENSTACK_SERVER = Kind("OpenStackServer", _CAPO, ("v1alpha1",), optional=True)
OPENSTACK_MACHINE_TEMPLATE = Kind(
    "OpenStackMachineTemplate", _CAPO, _BOTH, shared=True
)
HELM_RELEASE = Kind("HelmRelease", _ADDONS, ("v1alpha1",), optional=True)
MANIFESTS = Kind("Manifests", _ADDONS, ("v1alpha1",), optional=True)
NAMESPACE = Kind("Namespace", "", ("v1",), fixed=True)
SECRET = Kind("Secret", "", ("v1",), fixed=True)
LEASE = Kind("Lease", "coordination.k8s.io", ("v1",), fixed=True)
DEPLOYMENT = Kind("Deployment", "apps", ("v1",), fixed=True)
EVENT = Kind("Event", "", ("v1",), fixed=True)

ALL = (
    CLUSTER,
    MACHINE_DEPLOYMENT,
    MACHINE,
    HEALTH_CHECK,
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

_RBAC = "rbac.authorization.k8s.io"
#: Objects of a chart for programs on the management cluster, such as the
#: autoscaler. Only helm removes them.
PLAIN = (
    Kind("ConfigMap", "", ("v1",), fixed=True),
    DEPLOYMENT,
    Kind("Role", _RBAC, ("v1",), fixed=True),
    Kind("RoleBinding", _RBAC, ("v1",), fixed=True),
    Kind("ServiceAccount", "", ("v1",), fixed=True),
)

#: The kinds that charts render, and their API groups.
_RENDERED = {(each.name, each.group) for each in (*ALL, *PLAIN)}


def rendered(obj: Mapping[str, Any]) -> Kind | None:
    """Return the kind of a manifest's object, in the manifest's version.

    A live object that is read in this version can be compared with the
    manifest: other versions have other fields.

    :returns: None for a kind that no known chart renders
    """
    group, _, version = str(obj.get("apiVersion", "")).rpartition("/")
    name = str(obj.get("kind", ""))
    if (name, group) not in _RENDERED:
        return None
    return Kind(name, group, (version,), fixed=True)
