# SPDX-License-Identifier: Apache-2.0

"""Which values a version of the public chart knows.

``data/value_paths.json`` has the paths of each version. What a chart reads
of a map that is free in form, or reads without a default of its own, is
listed here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
import functools
import json
import pathlib
import re
from typing import Any

from magnum_capi_helm.chart import patches
from magnum_capi_helm.model import versions

DATA = pathlib.Path(__file__).with_name("data") / "value_paths.json"

#: Read by templates, missing in values.yaml: path -> versions.
READ: dict[str, tuple[versions.Range, ...]] = {
    "apiServer.allowedCIDRs": (versions.Range(since="0.24.0"),),
    # Later ones write a field that CAPO does not have.
    "apiServer.allowedCidrs": (versions.Range(until="0.10.1"),),
    "etcd.blockDevice": versions.ALL,
    "nodeGroups.name": versions.ALL,
    "nodeGroups.machineCount": versions.ALL,
    "nodeGroups.machineCountMin": versions.ALL,
    "nodeGroups.machineCountMax": versions.ALL,
    "addons.openstack.k8sKeystoneAuth.values": versions.ALL,
}
#: Whatever is below is handed on, or is a map that users fill.
_OPEN = re.compile(
    r"(.*\.)?(kubeadmConfigSpec|registryMirrors|trustedCAs|registryAuth"
    r"|clusterAnnotations|machineMetadata|nodeLabels|additionalBlockDevices"
    r"|values|cloudConfig|admissionConfiguration|networkFilter|subnetFilter"
    r"|machineRootVolume|ports|extraArgs|blockDevice|defaultStorageClass"
    r"|additionalStorageClasses|rolloutStrategy|custom|loadBalancerNetwork"
    r"|loadBalancerMonitor|healthCheck\.spec"
    # The driver puts it into annotations (chart/patches.py).
    r"|nodeGroups\.capacity)(\..*)?"
)


@functools.cache
def table() -> dict[str, Any]:
    """The content of the file."""
    content: dict[str, Any] = json.loads(DATA.read_text())
    return content


def extended(version: str, paths: Collection[str]) -> dict[str, Any]:
    """Return the content of the file with a newer version.

    :param paths: all that are in its values
    """
    content = table()
    before = set(content["paths"])
    difference = {
        "absent": sorted(set(paths) - before),
        "also": sorted(before.difference(paths)),
    }
    older = {content["newest"]: difference, **content["older"]}
    new = {"newest": version, "paths": sorted(paths), "older": older}
    return {**content, **new}


def chart_versions() -> tuple[str, ...]:
    """All versions, the newest first."""
    return (table()["newest"], *table()["older"])


def changed(version: str) -> bool:
    """Whether values came or went with the version after this one."""
    difference = table()["older"].get(version, {})
    return bool(difference.get("absent") or difference.get("also"))


@functools.cache
def known(version: str) -> frozenset[str]:
    """Paths of a version, dotted."""
    content = table()
    paths = set(content["paths"])
    for older, difference in content["older"].items():
        if version == content["newest"]:
            break
        paths -= set(difference["absent"])
        paths |= set(difference["also"])
        if older == version:
            break
    paths |= {
        path
        for path, ranges in READ.items()
        if versions.applies(ranges, version)
    }
    # The driver applies these itself.
    paths |= {row.value for row in patches.table() if version in row.charts}
    return frozenset(paths)


def unknown(values: Mapping[str, Any], version: str) -> list[str]:
    """Paths that helm would be given and no template would read."""
    return sorted(
        path for path in set(_leaves(values)) if not is_known(path, version)
    )


@functools.cache
def is_known(path: str, version: str) -> bool:
    """Whether templates of a version read a path."""
    paths = known(version)
    # A node group has the keys of the defaults.
    default = re.sub(r"^nodeGroups\.", "nodeGroupDefaults.", path)
    return (
        path in paths
        or default in paths
        or any(each.startswith(f"{path}.") for each in paths)
        or bool(_OPEN.fullmatch(path))
    )


def _leaves(values: Any, path: str = "") -> Iterator[str]:
    if isinstance(values, Mapping) and values:
        for key, item in values.items():
            yield from _leaves(item, f"{path}.{key}" if path else str(key))
    elif path == "nodeGroups":
        for item in values:
            yield from _leaves(item, path)
    else:
        yield path
