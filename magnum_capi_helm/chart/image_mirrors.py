# SPDX-License-Identifier: Apache-2.0

"""Values that send a cluster to the mirrors of the operator."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
import copy
from typing import Any

#: What the management cluster fetches from git: no helm repository can mirror
#: that. Below ``addons``.
_FROM_GIT = (("intelDevicePlugin", "xpuManagerMonitoring"),)


def with_repository(
    values: Mapping[str, Any], defaults: Mapping[str, Any], url: str | None
) -> dict[str, Any]:
    """Values whose addons come from one helm repository.

    What the values themselves say stays: the mirror takes the place of the
    chart's defaults alone. What comes from git is switched off.

    :param values: of a release
    :param defaults: of its chart, with those of the sub-charts
    :param url: of the repository; None or empty: the values stay as they are
    """
    result = copy.deepcopy(dict(values))
    if not url:
        return result
    addons = defaults.get("addons") or {}
    for path in _repositories(addons):
        _default(result, ("addons", *path, "chart", "repo"), url)
    for path in _FROM_GIT:
        own = _get(result, ("addons", *path)) or {}
        if _get(addons, path) and not (own.get("repo") or {}).get("url"):
            _default(result, ("addons", *path, "enabled"), False)
    return result


def _repositories(
    node: Mapping[str, Any], path: tuple[str, ...] = ()
) -> Iterator[tuple[str, ...]]:
    """Paths of all addons whose chart has a repository."""
    for key, value in node.items():
        if not isinstance(value, Mapping):
            continue
        if key == "chart" and "repo" in value:
            yield path
        else:
            yield from _repositories(value, (*path, key))


def _get(node: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    """What is at a path, or None."""
    found: Any = node
    for key in path:
        found = found.get(key) if isinstance(found, Mapping) else None
    return found


def _default(node: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    """Set a value at a path where there is none yet.

    A null on the way is somebody's wish to remove the whole, so it stays.
    """
    *above, last = path
    for key in above:
        inner = node.setdefault(key, {})
        if not isinstance(inner, dict):
            return
        node = inner
    node.setdefault(last, value)
