# SPDX-License-Identifier: Apache-2.0

"""The operator's own values on top of those that the driver makes.

Dictionaries merge; a single setting or a list of the overlay wins. Files and
commands of machines are the exception: they are added to the driver's, for
without those a machine has no proxy and trusts no CA. A ``null`` stays what
it is, because helm takes away the chart's default where it finds one.

What Magnum's rows say (names, counts, flavors, images) and what belongs to
one cluster alone (credentials, addresses) is out of reach.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
import copy
from typing import Any

from magnum_capi_helm.chart import values as driver_values
from magnum_capi_helm.features import template
from magnum_capi_helm.features import topic
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import requested_groups

Path = tuple[str, ...]
#: What becomes of one list when another one is laid on it.
_Join = Callable[[Sequence[Any], Sequence[Any]], list[Any]]

_MACHINES = ("controlPlane", "nodeGroupDefaults")

#: Lists of which the overlay's part follows the driver's.
_JOINED: frozenset[Path] = frozenset(
    (machines, "kubeadmConfigSpec", key)
    for machines in _MACHINES
    for key in ("files", "preKubeadmCommands", "postKubeadmCommands")
)

_OF_A_MACHINE = ("kubernetesVersion", "machineImage", "machineImageId")

#: What no overlay may say anything about, nor about anything below.
_RESERVED: frozenset[Path] = frozenset(
    {
        *(
            (key,)
            for key in (
                *_OF_A_MACHINE,
                "cloudCACert",
                "cloudCredentialsSecretName",
                "cloudName",
                "clouds",
                "controlPlaneEndpoint",
                "global",
                "machineSSHKeyName",
                "nodeGroups",
                "osDistro",
                "projectPrefix",
                "registryAuth",
            )
        ),
        *(
            (machines, key)
            for machines in _MACHINES
            for key in (*_OF_A_MACHINE, "machineCount", "machineFlavor")
        ),
        *(
            ("nodeGroupDefaults", key)
            for key in (
                "autoscale",
                "machineCountMax",
                "machineCountMin",
                "name",
            )
        ),
        ("addons", "clusterName"),
        ("addons", "global"),
        ("apiServer", "floatingIP"),
        ("clusterAnnotations", requested_groups.FINGERPRINT_ANNOTATION),
        ("clusterAnnotations", driver_values.UPGRADE_ANNOTATION),
        ("clusterAnnotations", template.PROFILES_ANNOTATION),
    }
)

#: What holds something of the above: another value would take it all away.
_MAPPINGS: frozenset[Path] = frozenset(
    path[:length]
    for path in _JOINED | _RESERVED
    for length in range(1, len(path))
)


def apply(
    values: topic.Values, overlay: Mapping[str, Any], origin: str
) -> topic.Values:
    """Return a copy of ``values`` with ``overlay`` on top.

    :param origin: whose values they are, for the message
    :raises NotConfigured: it reaches for something that it can't have
    """
    return _applied(values, overlay, origin, _both)


def again(
    values: topic.Values, overlay: Mapping[str, Any], origin: str
) -> topic.Values:
    """Lay an overlay on values that may contain an earlier version of it.

    Settings of the earlier version that are missing now stay, because values
    do not tell their origin. Only missing files and commands are added; a
    file replaces the one with the same path.

    :raises NotConfigured: as :func:`apply`
    """
    return _applied(values, overlay, origin, _missing)


def _applied(
    values: topic.Values,
    overlay: Mapping[str, Any],
    origin: str,
    join: _Join,
) -> topic.Values:
    for path, value in _walk(overlay, ()):
        _check(path, value, origin)
    result = copy.deepcopy(values)
    _lay(result, overlay, (), join)
    return result


def _both(there: Sequence[Any], more: Sequence[Any]) -> list[Any]:
    return [*there, *copy.deepcopy(more)]


def _missing(there: Sequence[Any], more: Sequence[Any]) -> list[Any]:
    """Return the list with the missing items, each as often as it occurs."""
    result, unmatched = list(there), list(there)
    for each in copy.deepcopy(more):
        former = [old for old in unmatched if _same(old, each)]
        if not former:
            result.append(each)
            continue
        unmatched.remove(former[0])
        result[result.index(former[0])] = each
    return result


def _same(one: Any, other: Any) -> bool:
    """Equal, or files of one path: kubeadm's provider takes a path once."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one == other or one.get("path", one) == other.get("path", other)
    return bool(one == other)


def _walk(
    overlay: Mapping[str, Any], above: Path
) -> Iterator[tuple[Path, Any]]:
    """Yield each key of the overlay, with those in its dictionaries."""
    for key, value in overlay.items():
        here = (*above, key)
        yield here, value
        if isinstance(value, Mapping):
            yield from _walk(value, here)


def _check(path: Path, value: object, origin: str) -> None:
    if path in _RESERVED:
        wrong = "is not theirs to set: take it out"
    elif path in _MAPPINGS and not isinstance(value, Mapping):
        wrong = "must be a mapping"
    elif path in _JOINED and not isinstance(value, list):
        wrong = "must be a list"
    else:
        return
    raise errors.NotConfigured(f"{origin}: {_dotted(path)} {wrong}")


def _dotted(path: Path) -> str:
    """Return the path as helm writes one; a key with dots is quoted."""
    return ".".join(f'"{key}"' if "." in key else key for key in path)


def _lay(
    target: topic.Values, overlay: Mapping[str, Any], above: Path, join: _Join
) -> None:
    for key, value in overlay.items():
        here = (*above, key)
        if isinstance(value, Mapping) and isinstance(target.get(key), dict):
            _lay(target[key], value, here, join)
        elif here in _JOINED:
            target[key] = join(target.get(key) or (), value)
        else:
            target[key] = copy.deepcopy(value)


#: What the management cluster fetches from git: no helm repository can mirror
#: that. Below ``addons``.
_FROM_GIT = (("intelDevicePlugin", "xpuManagerMonitoring"),)


def with_repository(
    values: Mapping[str, Any], defaults: Mapping[str, Any], url: str | None
) -> dict[str, Any]:
    """Return values whose addons come from one helm repository.

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
        _set_default(result, ("addons", *path, "chart", "repo"), url)
    for path in _FROM_GIT:
        own = _value_at(result, ("addons", *path)) or {}
        if _value_at(addons, path) and not (own.get("repo") or {}).get("url"):
            _set_default(result, ("addons", *path, "enabled"), False)
    return result


def _repositories(
    node: Mapping[str, Any], path: tuple[str, ...] = ()
) -> Iterator[tuple[str, ...]]:
    """Yield paths of all addons whose chart has a repository."""
    for key, value in node.items():
        if not isinstance(value, Mapping):
            continue
        if key == "chart" and "repo" in value:
            yield path
        else:
            yield from _repositories(value, (*path, key))


def _value_at(node: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    """Return the value at a path, or None."""
    value: Any = node
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _set_default(
    node: dict[str, Any], path: tuple[str, ...], value: Any
) -> None:
    """Set a value at a path where there is none yet.

    A null on the way removes the whole, as the operator or user asked.
    """
    *above, last = path
    for key in above:
        inner = node.setdefault(key, {})
        if not isinstance(inner, dict):
            return
        node = inner
    node.setdefault(last, value)
