# SPDX-License-Identifier: Apache-2.0

"""A Kubernetes API server as a dictionary.

It does what the driver relies on: resource versions, generations, conflicts,
label selectors, server-side apply, merge patches, finalizers, garbage
collection by owner reference, and what webhooks of Cluster API set or refuse.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
import re
import threading
import time
from typing import Any, TypeAlias, TypeVar, cast
import uuid

from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import versions
from magnum_capi_helm.status import view

Object: TypeAlias = dict[str, Any]
Names: TypeAlias = list[str]
Key: TypeAlias = tuple[str, str, str]
T = TypeVar("T")

_STAMP = "2026-01-01T00:00:00Z"
#: A comma of a selector that is not within parentheses.
_BETWEEN = re.compile(r",(?![^(]*\))")
_SET = re.compile(r"(\S+) in \((.*)\)")


def _copied(value: T) -> T:
    """A deep copy of what JSON can hold: much faster than deepcopy."""
    copy: Any = value
    if isinstance(value, dict):
        copy = {key: _copied(item) for key, item in value.items()}
    elif isinstance(value, list):
        copy = [_copied(item) for item in value]
    return cast("T", copy)


class ApiServer:
    """Objects by kind, namespace and name; copies go in and out."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._objects: dict[Key, Object] = {}
        self._applied: dict[Key, Object] = {}
        self._revision = 0
        #: When what is made from now on was made.
        self.stamp = _STAMP
        self.create(kinds.NAMESPACE, {"metadata": {"name": "kube-system"}})

    def get(
        self, kind: kinds.Kind, namespace: str, name: str
    ) -> Object | None:
        """The object, or None."""
        with self._lock:
            return _copied(self._objects.get((kind.name, namespace, name)))

    def list(
        self, kind: kinds.Kind, namespace: str | None, selector: str = ""
    ) -> list[Object]:
        """Objects that match, by name."""
        with self._lock:
            return [
                _copied(obj)
                for key, obj in sorted(self._objects.items())
                if key[0] == kind.name
                and namespace in (None, key[1])
                and matches(selector, _labels(obj))
            ]

    def names(self, kind: kinds.Kind) -> Names:
        """Names of all objects of a kind, in any namespace."""
        return [each["metadata"]["name"] for each in self.list(kind, None)]

    def create(self, kind: kinds.Kind, obj: Object) -> Object:
        """A new object; an existing one is a conflict."""
        with self._lock:
            key = _key(kind, obj)
            self._need_namespace(kind, key[1])
            if key in self._objects:
                raise errors.Conflict(f"{kind.name} {key[2]} exists (409)")
            new = _copied(obj)
            new.update(apiVersion=_version(kind), kind=kind.name)
            new["metadata"].update(
                uid=str(uuid.uuid4()),
                generation=1,
                creationTimestamp=self.stamp,
            )
            set_defaults(None, new)
            return self._keep(key, new)

    def replace(self, kind: kinds.Kind, obj: Object) -> Object:
        """The object as a whole; a stale resource version is a conflict."""
        with self._lock:
            key = _key(kind, obj)
            old = self._objects.get(key)
            if old is None:
                known = obj["metadata"].get("uid")
                raise (
                    errors.Conflict("another UID (409)")
                    if known
                    else errors.ManagementError(
                        f"{kind.name} {key[2]} not found (404)"
                    )
                )
            self._check_version(kind, obj, old)
            return self._change(key, old, _copied(obj))

    def apply(self, kind: kinds.Kind, obj: Object) -> Object:
        """Server-side apply by one manager: what it leaves out, goes."""
        with self._lock:
            key = _key(kind, obj)
            before = self._applied.get(key, {})
            self._applied[key] = _copied(obj)
            old = self._objects.get(key)
            if old is None:
                return self.create(kind, obj)
            if "type" in obj and old.get("type") != obj["type"]:
                raise errors.ManagementError("type is immutable (422)")
            new = _copied(old)
            prune(new, before, obj)
            merge(new, obj)
            return self._change(key, old, new)

    def patch(
        self, kind: kinds.Kind, namespace: str, name: str, change: Object
    ) -> Object | None:
        """JSON merge patch; None when there is no such object.

        A stale resource version in the patch is a conflict.
        """
        with self._lock:
            key = (kind.name, namespace, name)
            old = self._objects.get(key)
            if old is None:
                return None
            self._check_version(kind, change, old)
            new = _copied(old)
            merge(new, change)
            return self._change(key, old, new)

    def set_status(
        self, kind: kinds.Kind, namespace: str, name: str, status: Object
    ) -> None:
        """What a controller does: the status alone."""
        self.patch(kind, namespace, name, {"status": None})
        self.patch(kind, namespace, name, {"status": status})

    def delete(self, kind: kinds.Kind, namespace: str, name: str) -> None:
        """Gone, or, with finalizers, marked to go."""
        with self._lock:
            key = (kind.name, namespace, name)
            found = self._objects.get(key)
            if found is None:
                return
            meta = found["metadata"]
            if meta.get("finalizers"):
                now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
                meta["deletionTimestamp"] = now
                meta["resourceVersion"] = self._next_version()
            else:
                self._remove(key)

    def release(self, kind: kinds.Kind, namespace: str, name: str) -> None:
        """Take the finalizers off; what was marked goes."""
        self.patch(kind, namespace, name, {"metadata": {"finalizers": None}})

    def _check_version(
        self, kind: kinds.Kind, given: Object, old: Object
    ) -> None:
        meta = old["metadata"]
        version = (given.get("metadata") or {}).get("resourceVersion")
        if version not in (None, meta["resourceVersion"]):
            raise errors.Conflict(
                f"{kind.name} {meta['name']} has been modified (409)"
            )

    def _change(self, key: Key, old: Object, new: Object) -> Object:
        kept = ("uid", "generation", "creationTimestamp", "deletionTimestamp")
        for field in kept:
            if field in old["metadata"]:
                new["metadata"][field] = old["metadata"][field]
        new.update(apiVersion=old["apiVersion"], kind=old["kind"])
        set_defaults(old, new)
        check_version(old, new)
        new["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"]
        if new == old:
            return _copied(old)
        if new.get("spec") != old.get("spec"):
            new["metadata"]["generation"] += 1
        return self._keep(key, new)

    def _keep(self, key: Key, new: Object) -> Object:
        new["metadata"]["resourceVersion"] = self._next_version()
        self._objects[key] = new
        result = _copied(new)
        meta = new["metadata"]
        if meta.get("deletionTimestamp") and not meta.get("finalizers"):
            self._remove(key)
        return result

    def _next_version(self) -> str:
        self._revision += 1
        return str(self._revision)

    def _remove(self, key: Key) -> None:
        gone = self._objects.pop(key)
        self._applied.pop(key, None)
        for kind, namespace, name in list(self._owned(gone["metadata"])):
            self.delete(BY_NAME[kind], namespace, name)

    def _owned(self, owner: Object) -> Iterator[Key]:
        for key, obj in self._objects.items():
            owners = obj["metadata"].get("ownerReferences") or []
            if any(each["uid"] == owner["uid"] for each in owners):
                yield key

    def _need_namespace(self, kind: kinds.Kind, namespace: str) -> None:
        if kind.name in ("Namespace", "ValidatingAdmissionPolicy"):
            return
        if (kinds.NAMESPACE.name, "", namespace) not in self._objects:
            raise errors.ManagementError(
                f"the management cluster has no namespace {namespace}"
            )


BY_NAME = {kind.name: kind for kind in (*kinds.ALL, *kinds.PLAIN)}


def merge(target: Object, change: Object) -> None:
    """Merge patch: dictionaries merge, None removes, the rest replaces."""
    for key, value in change.items():
        if value is None:
            target.pop(key, None)
        elif isinstance(value, dict):
            if not isinstance(target.get(key), dict):
                target[key] = {}
            merge(target[key], value)
        else:
            target[key] = _copied(value)


def prune(target: Object, before: Object, now: Object) -> None:
    """Remove from ``target`` the leaves of ``before`` not in ``now``."""
    for key, value in before.items():
        if key not in now:
            target.pop(key, None)
        elif isinstance(value, dict) and isinstance(now[key], dict):
            prune(target.get(key) or {}, value, now[key])


def difference(old: Object, new: Object) -> Object:
    """The merge patch that makes ``new`` of ``old``."""
    change: Object = {key: None for key in old if key not in new}
    for key, value in new.items():
        if key not in old:
            change[key] = value
        elif isinstance(value, dict) and isinstance(old[key], dict):
            if inner := difference(old[key], value):
                change[key] = inner
        elif value != old[key]:
            change[key] = value
    return change


def matches(selector: str, labels: Mapping[str, str]) -> bool:
    """Whether labels match all requirements of a selector."""
    requirements = filter(None, _BETWEEN.split(selector))
    return all(_matches(each, labels) for each in requirements)


def _matches(requirement: str, labels: Mapping[str, str]) -> bool:
    if found := _SET.fullmatch(requirement):
        return labels.get(found[1]) in found[2].split(",")
    if "!=" in requirement:
        key, value = requirement.split("!=")
        return labels.get(key) != value
    if "=" in requirement:
        key, value = requirement.split("=")
        return labels.get(key) == value
    if requirement.startswith("!"):
        return requirement[1:] not in labels
    return requirement in labels


def check_version(old: Object, new: Object) -> None:
    """Refuse a KubeadmControlPlane that skips a minor version.

    ``validateVersion`` in ``kubeadm_control_plane.go``.
    """
    if old.get("kind") != "KubeadmControlPlane":
        return
    before, after = (
        versions.number(str((each.get("spec") or {}).get("version")))
        for each in (old, new)
    )
    if before and after and after[:2] > (before[0], before[1] + 1):
        raise errors.ManagementError("cannot update Kubernetes version")


def set_defaults(old: Object | None, new: Object) -> None:
    """Give a MachineDeployment the count that it does not say.

    ``calculateMachineDeploymentReplicas`` in ``machinedeployment.go``.
    """
    if new.get("kind") != "MachineDeployment" or "spec" not in new:
        return
    if new["spec"].get("replicas") is not None:
        return
    notes = new["metadata"].get("annotations") or {}
    least, most = (
        notes.get(each)
        for each in (view.AUTOSCALER_MINIMUM, view.AUTOSCALER_ANNOTATION)
    )
    count = 1
    if least is not None and most is not None:
        before = (old or new)["spec"].get("replicas")
        count = int(least)
        if before is not None:
            count = min(max(before, count), int(most))
    new["spec"]["replicas"] = count


def _key(kind: kinds.Kind, obj: Object) -> Key:
    meta = obj["metadata"]
    return kind.name, meta.get("namespace", ""), meta["name"]


def _labels(obj: Object) -> dict[str, str]:
    return obj["metadata"].get("labels") or {}


def _version(kind: kinds.Kind) -> str:
    return "/".join(filter(None, (kind.group, kind.versions[0])))
