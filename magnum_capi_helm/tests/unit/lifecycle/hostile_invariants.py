# SPDX-License-Identifier: Apache-2.0

"""What no request may do to the values of a release."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
import re
from typing import Any

import yaml

from magnum_capi_helm.tests.unit.lifecycle import hostile_inputs

Path = tuple[str, ...]

#: Kubernetes' DNS label, RFC 1123.
_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
#: What a template of the addon provider begins with.
_TEMPLATE = re.compile(r"\{\{|\{%|\{#")
#: Maps whose keys a tenant may choose, by the last part of their path.
_FREE_KEYS = frozenset({"nodeLabels"})
#: And those whose keys labels called ``*_options`` give: they are flags.
_FLAGS = frozenset({"extraArgs", "kubeletExtraArgs"})
#: Made from the UUID, which a request's file makes from the name.
_DERIVED = frozenset({"magnum_cluster_uuid"})


def leaves(values: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Everything that is neither a map nor a list, by its path."""
    if isinstance(values, Mapping):
        for key, item in values.items():
            yield from leaves(item, (*path, str(key)))
        if not values:
            yield path, {}
    elif isinstance(values, list):
        for number, item in enumerate(values):
            yield from leaves(item, (*path, str(number)))
        if not values:
            yield path, []
    else:
        yield path, values


def problems(
    release: str,
    values: dict[str, Any],
    harmless: dict[str, Any],
    where: Collection[str] = (),
) -> Iterator[str]:
    """What is wrong with the values of a hostile request.

    :param harmless: the values of the same request without what is hostile
    :param where: the fields that are hostile
    """
    flags = any(each.endswith("_options") for each in where)
    named, taints = "nodegroup name" in where, "node_taints" in where
    free = _FREE_KEYS | _FLAGS if flags else _FREE_KEYS
    if not _NAME.fullmatch(release):
        yield f"the release is called {release!r}"
    if yaml.safe_load(yaml.safe_dump(values)) != values:
        yield "YAML makes something else of the values"
    for group in values.get("nodeGroups") or ():
        if not _NAME.fullmatch(group["name"]):
            yield f"a group is called {group['name']!r}"
    found, before = dict(leaves(values)), dict(leaves(harmless))
    for path, item in found.items():
        yield from _of_leaf(path, item, free)
        own = _own(path, item, release) or (
            (flags and _is_flag(path))
            or (named and _is_group_name(path))
            # The label gives key, value and effect; one of them has the mark.
            or (taints and "taints" in path)
        )
        if (path not in before or before[path] != item) and not own:
            yield f"{'.'.join(path)} became {item!r:.60}"
    for path in before.keys() - found.keys():
        # A label's other flags take the place of those that it had.
        if not (flags and _is_flag(path)):
            yield f"{'.'.join(path)} is gone"


def _of_leaf(path: Path, item: Any, free: Collection[str]) -> Iterator[str]:
    for number, key in enumerate(path):
        if _hostile(key) and path[number - 1] not in free:
            yield f"{key!r:.60} is a key of {'.'.join(path[:number])}"
    if path[0] == "addons" and _TEMPLATE.search(str(item)):
        yield f"{'.'.join(path)} is a template: {item!r:.60}"


def _own(path: Path, item: Any, release: str) -> bool:
    # What a name becomes may have lost the mark.
    if path[-1] in _DERIVED or str(item).startswith(f"{release}-"):
        return True
    return _hostile(item) or any(map(_hostile, path))


def _is_flag(path: Path) -> bool:
    return not _FLAGS.isdisjoint(path[-2:-1])


def _is_group_name(path: Path) -> bool:
    """What becomes of a long name is cut, and may have lost the mark."""
    return path[0] == "nodeGroups" and path[2:] == ("name",)


def _hostile(item: Any) -> bool:
    return hostile_inputs.MARK in str(item).lower()
