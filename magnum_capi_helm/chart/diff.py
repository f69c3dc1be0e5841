# SPDX-License-Identifier: Apache-2.0

"""Differences between manifests of a release, and with live objects.

Cluster API replaces machines when, and only when, what they are made from
changes. For a MachineDeployment that is ``spec.template.spec`` but for the
time-outs, which are changed in place; for a KubeadmControlPlane the version,
the infrastructure template and the kubeadm configuration (Cluster API book,
"In-place propagation of changes" and "Control plane rollouts").
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
import dataclasses
from typing import Any

from magnum_capi_helm.chart import conversion
from magnum_capi_helm.model import errors

Object = Mapping[str, Any]

_DEPLOYMENT = "MachineDeployment"
_CONTROL_PLANE = "KubeadmControlPlane"

#: Changed in place, without a new machine.
_IN_PLACE = frozenset(
    {
        "deletion",  # all of them in v1beta2
        "minReadySeconds",
        "nodeDeletionTimeout",
        "nodeDrainTimeout",
        "nodeVolumeDetachTimeout",
    }
)

#: Differs between any two renderings and means nothing to a machine.
_VOLATILE = frozenset(
    {
        "helm.sh/chart",
        "magnum.openstack.org/intent",
        "magnum.openstack.org/upgrade",
    }
)


@dataclasses.dataclass(frozen=True)
class Change:
    """One object that changes.

    :param what: ``added``, ``removed`` or ``changed``
    :param paths: the dotted paths of the changes
    :param replaced: machines that Cluster API would replace; the wanted
        count of the group, at most
    """

    kind: str
    name: str
    what: str
    paths: tuple[str, ...] = ()
    replaced: int = 0


def changes(
    before: Iterable[Object], after: Iterable[Object]
) -> tuple[Change, ...]:
    """Return all changes, those that replace machines first."""
    old, new = _by_name(before), _by_name(after)
    all_changes = [
        change
        for key in sorted(old.keys() | new.keys())
        if (change := _change(key, old.get(key), new.get(key)))
    ]
    return tuple(sorted(all_changes, key=lambda each: -bool(each.replaced)))


def remade(
    before: Iterable[Object], after: Iterable[Object]
) -> tuple[str, ...]:
    """Return the names of objects that make other machines than before.

    These are MachineDeployments and the KubeadmControlPlane, if their machines
    are made from something else, or if they are not there any more.
    Unlike in :class:`Change`, one that has no machines counts as well.
    """
    new = _by_name(after)
    return tuple(
        name
        for (kind, name), old in _by_name(before).items()
        if _makes_others(kind, old, new.get((kind, name)))
    )


def _makes_others(kind: str, old: Object, new: Object | None) -> bool:
    """Return whether an object makes other machines than before."""
    made_from = _MADE_FROM.get(kind)
    if made_from is None:
        return False
    if new is None:
        return True
    old, new = _in_one_version(old, new)
    return bool(made_from(old) != made_from(new))


def _in_one_version(old: Object, new: Object) -> tuple[Object, Object]:
    """Return two manifests of an object in the newer version of the two.

    One that can't be converted stays as it is: it is another one.
    """
    if old.get("apiVersion") == new.get("apiVersion"):
        return old, new
    return _newer(old), _newer(new)


def _newer(obj: Object) -> Object:
    if not conversion.converts(conversion.api_of(obj), conversion.NEW):
        return obj
    try:
        return conversion.convert(obj)
    except errors.Unconvertible:
        return obj


def _by_name(objects: Iterable[Object]) -> dict[tuple[str, str], Object]:
    return {
        (str(each["kind"]), str(each["metadata"]["name"])): each
        for each in objects
    }


def _change(
    key: tuple[str, str], old: Object | None, new: Object | None
) -> Change | None:
    kind, name = key
    if old is None:
        return Change(kind, name, "added")
    if new is None:
        # A machine template that is in use is kept when its release drops
        # it; the group that drops it says whether machines go.
        gone = _count(old) if kind == _DEPLOYMENT else 0
        return Change(kind, name, "removed", replaced=gone)
    paths = tuple(_paths(*_in_one_version(old, new)))
    if not paths:
        return None
    replaced = 0
    if _makes_others(kind, old, new):
        # Machines that are there before and after; others are not replaced.
        replaced = min(_count(old), _count(new))
    return Change(kind, name, "changed", paths, replaced)


def _count(item: Object) -> int:
    # An autoscaled group has no count of its own: at least its lower bound.
    replicas = item["spec"].get("replicas")
    return 1 if replicas is None else int(replicas)


def _deployment_machine(item: Object) -> Any:
    template = item["spec"]["template"]["spec"]
    bootstrap = template.get("bootstrap") or {}
    return {
        **_without(template, _IN_PLACE),
        "bootstrap": {
            **bootstrap,
            "configRef": _referenced(bootstrap.get("configRef")),
        },
        "infrastructureRef": _referenced(template.get("infrastructureRef")),
    }


def _without(fields: Object, keys: Collection[str]) -> dict[str, Any]:
    return {key: fields[key] for key in fields if key not in keys}


def _control_plane_machine(item: Object) -> Any:
    spec = item["spec"]
    template = spec["machineTemplate"]
    machine = template.get("spec", template)  # of v1beta2, or of v1beta1
    return (
        spec.get("version"),
        _referenced(machine.get("infrastructureRef")),
        spec.get("kubeadmConfigSpec"),
    )


def _referenced(reference: Object | None) -> Object | None:
    """Return a reference without its API version.

    Cluster API compares group, kind and name alone: v1beta2 keeps no version
    (``ContractVersionedObjectReference``), and a control plane is compared by
    the annotation ``cluster.x-k8s.io/cloned-from-groupkind``.
    """
    if reference is None:
        return None
    fields = dict(reference)
    version = str(fields.pop("apiVersion", ""))
    return {"apiGroup": version.rpartition("/")[0], **fields}


#: Kind -> function that returns all that its machines are made from.
_MADE_FROM: dict[str, Callable[[Object], Any]] = {
    _DEPLOYMENT: _deployment_machine,
    _CONTROL_PLANE: _control_plane_machine,
}


def _paths(old: Any, new: Any, path: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield the dotted paths that differ, as deep as dictionaries go."""
    # A map that is not there is like an empty one.
    if isinstance(old, Mapping) and new is None:
        new = {}
    elif isinstance(new, Mapping) and old is None:
        old = {}
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in sorted(old.keys() | new.keys()):
            if key not in _VOLATILE:
                yield from _paths(old.get(key), new.get(key), (*path, key))
    elif old != new:
        yield ".".join(path)


#: Beside the spec, all that a chart says about an object.
_METADATA = ("annotations", "labels")

#: Fields of a spec that controllers write, by kind.
_FOREIGN = {
    "Cluster": ("controlPlaneEndpoint",),
    "OpenStackCluster": ("controlPlaneEndpoint",),
}

#: Annotation of a MachineDeployment that the autoscaler scales.
_SCALED = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size"

#: Named by a hash of their content: they are there or not, and can't be
#: changed.
_IMMUTABLE_KINDS = frozenset(
    {"KubeadmConfigTemplate", "OpenStackMachineTemplate"}
)


def restoring_patch(manifest: Object) -> dict[str, Any]:
    """Return the merge patch that makes a live object match its manifest.

    helm patches a custom resource by the difference of two manifests and
    never reads the live object: a change of a revision that failed half way
    would stay. The patch has all fields of the manifest; the others belong to
    controllers, to defaults, or to the autoscaler. An API server writes
    nothing if nothing differs.

    :returns: empty for the kinds that helm compares, and for those that can't
        be changed
    """
    kind = str(manifest["kind"])
    if not _is_custom(manifest) or kind in _IMMUTABLE_KINDS:
        return {}
    patch = _without(manifest, ("apiVersion", "kind", "metadata", "status"))
    metadata = manifest.get("metadata") or {}
    foreign = _FOREIGN.get(kind, ())
    if _SCALED in (metadata.get("annotations") or {}):
        foreign = ("replicas",)  # with which the group began
    if foreign and "spec" in patch:
        patch["spec"] = _without(patch["spec"], foreign)
    patch["metadata"] = {
        key: metadata[key] for key in _METADATA if metadata.get(key)
    }
    return patch


def _is_custom(obj: Object) -> bool:
    """Return whether helm ignores the live object.

    helm does so for custom resources, not for Kubernetes' own kinds: core,
    apps and the like, rbac.authorization.k8s.io.
    """
    group = str(obj.get("apiVersion", "")).rpartition("/")[0]
    return "." in group and group.split(".", 1)[1] != "authorization.k8s.io"
