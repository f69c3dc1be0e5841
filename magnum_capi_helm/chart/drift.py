# SPDX-License-Identifier: Apache-2.0

"""Where live objects differ from the manifest that they were made from.

helm patches a custom resource by the difference of two manifests and never
looks at the live object. What a revision that failed half way has changed
stays changed, unless the next manifest happens to say something about it.

Only what a manifest says is compared. All else belongs to controllers, to
defaults, or to the autoscaler, whose groups have no count in the manifest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
import re
from typing import Any

Object = Mapping[str, Any]

#: Beside the spec, all that a chart says about an object.
_METADATA = ("annotations", "labels")

#: What controllers write into a spec, by kind.
_FOREIGN = {
    "Cluster": frozenset({"controlPlaneEndpoint"}),
    "OpenStackCluster": frozenset({"controlPlaneEndpoint"}),
}

#: Named by a hash of their content: they are there or not, and can't be
#: changed.
_IMMUTABLE = frozenset({"KubeadmConfigTemplate", "OpenStackMachineTemplate"})

_DURATION = re.compile(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?")


def custom(obj: Object) -> bool:
    """Whether helm leaves the live object out of account.

    Kubernetes' own kinds it compares in all three versions.
    """
    group = _group(obj.get("apiVersion", ""))
    # Kubernetes' own: core, apps and the like, rbac.authorization.k8s.io.
    return "." in group and group.split(".", 1)[1] != "authorization.k8s.io"


def change(manifest: Object, live: Object) -> dict[str, Any]:
    """The merge patch that makes the live object what the manifest says.

    :returns: nothing when it is so
    """
    kind = str(manifest["kind"])
    if not custom(manifest) or kind in _IMMUTABLE:
        return {}
    wanted = {
        key: value
        for key, value in manifest.items()
        if key not in ("apiVersion", "kind", "metadata", "status")
    }
    foreign = _FOREIGN.get(kind, frozenset())
    if foreign and "spec" in wanted:
        wanted["spec"] = {
            key: value
            for key, value in wanted["spec"].items()
            if key not in foreign
        }
    metadata = manifest.get("metadata") or {}
    wanted["metadata"] = {
        key: metadata[key] for key in _METADATA if metadata.get(key)
    }
    return _difference(wanted, live)


def paths(change: Object, path: str = "") -> Iterator[str]:
    """What a patch changes, dotted."""
    for key, value in change.items():
        if isinstance(value, Mapping) and value:
            yield from paths(value, f"{path}{key}.")
        else:
            yield f"{path}{key}"


def _difference(wanted: Object, live: Object) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in wanted.items():
        there = live.get(key)
        if isinstance(value, Mapping) and isinstance(there, Mapping):
            if inner := _difference(value, there):
                found[key] = inner
        elif key == "apiVersion" and _group(value) == _group(there):
            # Of a reference, of which Cluster API stores the group alone.
            continue
        elif not _same(value, there):
            found[key] = value
    return found


def _group(version: Any) -> str:
    return str(version).rpartition("/")[0]


def _same(wanted: Any, live: Any) -> bool:
    """Whether a live value is what was wanted, may be with defaults."""
    if isinstance(wanted, Mapping) and isinstance(live, Mapping):
        return not _difference(wanted, live)
    if isinstance(wanted, list) and isinstance(live, list):
        # A merge patch replaces lists: all or nothing.
        return len(wanted) == len(live) and all(map(_same, wanted, live))
    if live is None:
        return _empty(wanted)
    if wanted == live and isinstance(wanted, bool) == isinstance(live, bool):
        return True
    seconds = _seconds(wanted)
    return seconds is not None and seconds == _seconds(live)


def _empty(value: Any) -> bool:
    """Whether no API server keeps it: it is as good as not there."""
    if isinstance(value, Mapping):
        return all(map(_empty, value.values()))
    return not value


def _seconds(value: Any) -> int | None:
    """A duration such as 5m, which is read back as 5m0s; None: it is none."""
    found = _DURATION.fullmatch(value) if isinstance(value, str) else None
    if not found or not value:
        return None
    hours, minutes, seconds = (int(each or 0) for each in found.groups())
    return 3600 * hours + 60 * minutes + seconds
