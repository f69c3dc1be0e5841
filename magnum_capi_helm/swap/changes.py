# SPDX-License-Identifier: Apache-2.0

"""What other values of a release would mean to its machines and objects.

Two values are compared as the chart reads them: a node group with the
defaults below it, and every group with an image and a version. What nobody
gives is the chart's default.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
import dataclasses
from typing import Any, TypeAlias

from magnum_capi_helm.chart import immutable_fields

#: Dotted path -> value.
Leaves: TypeAlias = dict[str, Any]

#: In the place of a node group's name, which has no space.
CONTROL_PLANE = "control plane"
#: Of each group, where it has none itself.
_MACHINE = ("kubernetesVersion", "machineImageId", "machineImage")
#: Changed in place, or not by values at all: no machine goes for it.
_IN_PLACE = (
    "autoscale",
    "healthCheck",
    "machineCount",
    "machineCountMax",
    "machineCountMin",
    "name",
    "nodeDeletionTimeout",
    "nodeDrainTimeout",
    "nodeVolumeDetachTimeout",
    "remediationStrategy",
    "rolloutStrategy",
)
#: Looked up in OpenStack, named alike, or of no effect on anything.
_UNKNOWN = (
    "addons.kubernetesDashboard",
    "addons.openstack.csiCinder",
    "addons.openstack.k8sKeystoneAuth.values",
    "cloudCredentialsSecretName",
    "clusterAnnotations",
    "clusterNetworking.dnsNameservers",
    "clusterNetworking.externalNetworkId",
    "clusterNetworking.internalNetwork.dnsNameservers",
    "clusterNetworking.internalNetwork.networkFilter",
    "clusterNetworking.internalNetwork.subnetFilter",
)
#: Of every machine.
_EVERYWHERE = (
    "additionalPackages",
    "machineMetadata",
    "machineSSHKeyName",
    "osDistro",
    "registryAuth",
    "registryMirrors",
    "trustedCAs",
)
#: Of the machines of the control plane.
_OF_CONTROL_PLANE = (
    "apiServer.admissionConfiguration",
    "apiServer.logLevel",
    "authWebhook",
    "azimuthAuthorizationWebhook",
    "etcd",
    "oidc",
)
#: What has findings of its own.
_APART = (
    "addons.cni.type",
    "apiServer.allowedCIDRs",
    "apiServer.allowedCidrs",
)
#: Without effect in a network that is the user's own.
_CIDR = "clusterNetworking.internalNetwork.nodeCidr"
#: The chart's, where values say nothing.
_CHART_DEFAULTS: Leaves = {
    "addons.cni.type": "calico",
    "addons.ingress.enabled": False,
    "addons.monitoring.enabled": False,
    "addons.openstack.k8sKeystoneAuth.enabled": False,
    "apiServer.associateFloatingIP": True,
    "apiServer.enableLoadBalancer": True,
    "authWebhook": "none",
    "osDistro": "ubuntu",
}


@dataclasses.dataclass(frozen=True)
class Changes:
    """What differs, by what it does. Paths are dotted.

    :param groups: the chart's name of a node group that is there before and
        after, or of the control plane, and the paths that differ in it
    :param gone: node groups that are not there afterwards
    :param new: those that were not there before
    :param fixed: what a living cluster can't change
    :param addons: what is installed into the cluster, and how
    :param other: all else
    """

    groups: Mapping[str, tuple[str, ...]] = dataclasses.field(
        default_factory=dict
    )
    gone: tuple[str, ...] = ()
    new: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()
    addons: tuple[str, ...] = ()
    other: tuple[str, ...] = ()


def between(before: Mapping[str, Any], after: Mapping[str, Any]) -> Changes:
    """What differs between two values of one release."""
    old, new = _groups(before), _groups(after)
    wide = _differing(_wide(before), _wide(after))
    if _CIDR not in _wide(before):
        wide = [each for each in wide if each != _CIDR]
    everywhere = [each for each in wide if _under(each, _EVERYWHERE)]
    planes = [each for each in wide if _under(each, _OF_CONTROL_PLANE)]
    groups = {}
    for name in sorted(old.keys() & new.keys()):
        paths = _differing(old[name], new[name]) + everywhere
        if name == CONTROL_PLANE:
            paths += planes
        if paths:
            groups[name] = tuple(paths)
    left = [
        each for each in wide if each not in (*everywhere, *planes, *_APART)
    ]
    fixed = tuple(each for each in left if _under(each, _FIXED))
    addons = tuple(
        each for each in left if _under(each, ("addons", "autoscaler"))
    )
    return Changes(
        groups=groups,
        gone=tuple(sorted(old.keys() - new.keys())),
        new=tuple(sorted(new.keys() - old.keys())),
        fixed=tuple(each for each in fixed if each not in addons),
        addons=addons,
        other=tuple(e for e in left if e not in (*fixed, *addons)),
    )


#: What an upgrade of this driver keeps, for the same reasons.
_FIXED = tuple(".".join(path) for path in immutable_fields.PATHS)


def group(values: Mapping[str, Any], name: str) -> Leaves:
    """What a node group is made of; empty: there is none."""
    return _groups(values).get(name, {})


def _groups(values: Mapping[str, Any]) -> dict[str, Leaves]:
    """The control plane and all node groups, as the chart reads them."""
    image = {key: values[key] for key in _MACHINE if values.get(key)}
    defaults = values.get("nodeGroupDefaults") or {}
    found = {CONTROL_PLANE: _over(image, values.get("controlPlane") or {})}
    for item in values.get("nodeGroups") or []:
        own = _over(_over(image, defaults), item)
        found[str(item.get("name"))] = own
    return {
        name: {
            path: value
            for path, value in _leaves(own)
            if not _under(path, _IN_PLACE)
        }
        for name, own in found.items()
    }


def _wide(values: Mapping[str, Any]) -> Leaves:
    """All that is not of one group."""
    groups = ("controlPlane", "nodeGroupDefaults", "nodeGroups", *_MACHINE)
    rest = {key: each for key, each in values.items() if key not in groups}
    return {
        path: value
        for path, value in _leaves(rest)
        if not _under(path, _UNKNOWN)
    }


def _over(below: Mapping[str, Any], above: Mapping[str, Any]) -> Leaves:
    """As the chart merges a group over the defaults."""
    found = dict(below)
    for key, value in above.items():
        there = found.get(key)
        if isinstance(value, Mapping) and isinstance(there, Mapping):
            found[key] = _over(there, value)
        elif value not in (None, "", 0, False) or key not in found:
            # Helm's mustMerge takes no notice of what is empty.
            found[key] = value
    return found


def _leaves(
    values: Mapping[str, Any], path: tuple[str, ...] = ()
) -> Iterator[tuple[str, Any]]:
    """Dotted paths of what is set; a list is one value."""
    for key, value in values.items():
        here = (*path, str(key))
        if isinstance(value, Mapping):
            yield from _leaves(value, here)
        elif value not in (None, "", [], 0) or isinstance(value, bool):
            yield ".".join(here), value


def _differing(old: Leaves, new: Leaves) -> list[str]:
    return [
        path
        for path in sorted(old.keys() | new.keys())
        if _seen(old, path) != _seen(new, path)
    ]


def _seen(leaves: Leaves, path: str) -> Any:
    return leaves.get(path, _CHART_DEFAULTS.get(path))


def _under(path: str, prefixes: tuple[str, ...]) -> bool:
    return any(
        path == each or path.startswith(f"{each}.") for each in prefixes
    )
