# SPDX-License-Identifier: Apache-2.0

"""The operator's own values on top of those that the driver makes.

Dictionaries merge; a single setting or a list of the overlay wins. Files and
commands of machines are the exception: they are added to the driver's, for
without those a machine has no proxy and trusts no CA. A ``null`` stays what
it is, because helm takes away the chart's default where it finds one.

An overlay can't set the values of Magnum's rows (names, counts, flavors,
images), nor those of one cluster alone (credentials, addresses). A profile of
one nodegroup is an overlay of its item of ``nodeGroups``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
import copy
import json
import re
from typing import Any

from magnum_capi_helm.chart import values as driver_values
from magnum_capi_helm.features import healing
from magnum_capi_helm.features import template
from magnum_capi_helm.features import topic
from magnum_capi_helm.model import desired_state
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import paths
from magnum_capi_helm.model import requested_groups

#: Returns a list of the values with the overlay's list.
_Join = Callable[[Sequence[Any], Sequence[Any]], list[Any]]


def _below(above: str, key: str) -> str:
    """Return the path of a key as helm writes it, dots in the key quoted."""
    quoted = f'"{key}"' if "." in key else key
    return f"{above}.{quoted}" if above else quoted


_IMAGE = (paths.KUBERNETES, paths.IMAGE, paths.IMAGE_ID)
_MACHINE = (*_IMAGE, paths.COUNT, paths.FLAVOR)
_RESERVED_IN = {
    paths.ADDONS: ("clusterName", "global"),
    paths.ANNOTATIONS: (
        requested_groups.FINGERPRINT_ANNOTATION,
        requested_groups.HIBERNATED_ANNOTATION,
        driver_values.UPGRADE_ANNOTATION,
        template.PROFILES_ANNOTATION,
    ),
    paths.CONTROL_PLANE: _MACHINE,
    paths.GROUP_DEFAULTS: (*_MACHINE, *paths.AUTOSCALED, "name"),
}
#: Paths that no overlay may set, nor anything below them.
_RESERVED = frozenset(
    {
        *_IMAGE,
        *(_below(above, k) for above, e in _RESERVED_IN.items() for k in e),
        paths.API_FLOATING_IP,
        paths.CREDENTIALS,
        paths.DISTRO,
        paths.ENDPOINT,
        paths.GROUPS,
        paths.KEYPAIR,
        paths.PROJECT_PREFIX,
        paths.REGISTRY_AUTH,
        "cloudCACert",
        "cloudName",
        "clouds",
        "global",
    }
)

#: Keys that a profile of one nodegroup may have. Labels and fields of the
#: nodegroup set the others; the chart mixes up ``machineMetadata`` of groups.
_MAPPINGS_OF_GROUP = (
    paths.DEVICES,
    paths.HEALTH_CHECK,
    paths.KUBEADM,
    paths.NETWORKING,
    paths.ROOT_VOLUME,
    paths.NODE_LABELS,
)
_OF_GROUP = (
    *_MAPPINGS_OF_GROUP,
    "machineConfigDrive",
    *sorted(healing.TIMEOUTS),
)

#: Lists of one nodegroup to which those of all are added.
_LISTS_OF_GROUP = [
    each.removeprefix(f"{paths.GROUP_DEFAULTS}.")
    for each in sorted(topic.JOINED)
    if each.startswith(paths.GROUP_DEFAULTS)
]

#: Paths above those: another value would take them all away.
_MAPPINGS = frozenset(
    path[: dot.start()]
    for path in topic.JOINED | _RESERVED
    for dot in re.finditer(r"\.", path)
)


def apply(
    values: paths.Values,
    overlay: paths.Values,
    origin: str,
    *,
    again: bool = False,
) -> paths.Values:
    """Return a copy of ``values`` with ``overlay`` on top.

    :param origin: the file or profile of the overlay, for the message
    :param again: the values may contain an earlier version of the overlay.
        Its settings that are missing now stay, because values do not tell
        their origin. Only missing files and commands are added; a file
        replaces the one with the same path
    :raises NotConfigured: it reaches for something that it can't have
    """
    overlay = paths.named(overlay)
    _check(overlay, "", origin)
    result = copy.deepcopy(values)
    _lay(result, overlay, "", _completed if again else _appended)
    return result


def apply_to_group(
    item: paths.Values,
    overlay: paths.Values,
    origin: str,
    *,
    again: bool = False,
) -> paths.Values:
    """Return a copy of an item of ``nodeGroups`` with a profile on top.

    :param again: as for :func:`apply`
    :raises NotConfigured: the profile has what no nodegroup can have
    """
    [overlay] = paths.named({paths.GROUPS: [overlay]})[paths.GROUPS]
    for key in overlay:
        if key not in _OF_GROUP:
            raise errors.NotConfigured(
                f"{origin}: {key} is not a nodegroup's to set: give "
                f"{errors.one_of(_OF_GROUP)}"
            )
    _check_group(overlay, "", origin)
    result = copy.deepcopy(item)
    _lay(
        result,
        overlay,
        paths.GROUP_DEFAULTS,
        _completed if again else _appended,
    )
    return result


def _check_group(overlay: Mapping[str, Any], above: str, origin: str) -> None:
    for key, value in overlay.items():
        path = _below(above, key)
        wrong = ""
        # mustMerge in the chart takes these for missing.
        if value in (None, False, "", [], {}):
            wrong = (
                f"is {json.dumps(value)}, which one nodegroup can't have: "
                f"set it for all in {paths.GROUP_DEFAULTS} of a values profile"
            )
        elif path in _MAPPINGS_OF_GROUP and not isinstance(value, Mapping):
            wrong = "must be a mapping"
        elif path in _LISTS_OF_GROUP and not isinstance(value, list):
            wrong = "must be a list"
        if wrong:
            raise errors.NotConfigured(f"{origin}: {path} {wrong}")
        if isinstance(value, Mapping):
            _check_group(value, path, origin)


def for_helm(desired: desired_state.DesiredState) -> paths.Values:
    """Return the values of a desired state as helm gets them.

    The chart replaces files and commands of all nodegroups by those of one
    nodegroup, so each nodegroup with own ones gets those of all, too.
    """
    values = driver_values.in_effect(desired.values)
    result = copy.deepcopy(driver_values.stamped(values, desired.fingerprint))
    defaults = result.get(paths.GROUP_DEFAULTS)
    for item in result.get(paths.GROUPS) or ():
        for path in _LISTS_OF_GROUP:
            if own := paths.value_at(item, path):
                shared = paths.value_at(defaults, path) or ()
                paths.put(item, path, _completed(shared, own))
    return paths.spelled(result, desired.chart.version)


def _appended(items: Sequence[Any], more: Sequence[Any]) -> list[Any]:
    """Return all items, and then all of ``more``."""
    return [*items, *copy.deepcopy(more)]


def _completed(items: Sequence[Any], wanted: Sequence[Any]) -> list[Any]:
    """Return the items, and then those of ``wanted`` that they lack.

    An item that occurs twice in ``wanted`` occurs twice in the result. A file
    takes the place of the one with the same path.
    """
    result, unmatched = list(items), list(items)
    for each in copy.deepcopy(wanted):
        former = [old for old in unmatched if _same(old, each)]
        if not former:
            result.append(each)
            continue
        unmatched.remove(former[0])
        result[result.index(former[0])] = each
    return result


def _same(one: Any, other: Any) -> bool:
    """Compare; files of one path are equal: kubeadm takes a path once."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one == other or one.get("path", one) == other.get("path", other)
    return bool(one == other)


def _check(overlay: Mapping[str, Any], above: str, origin: str) -> None:
    for key, value in overlay.items():
        path = _below(above, key)
        wrong = ""
        if path in _RESERVED:
            wrong = "is not theirs to set: take it out"
        elif path in _MAPPINGS and not isinstance(value, Mapping):
            wrong = "must be a mapping"
        elif path in topic.JOINED and not isinstance(value, list):
            wrong = "must be a list"
        if wrong:
            raise errors.NotConfigured(f"{origin}: {path} {wrong}")
        if isinstance(value, Mapping):
            _check(value, path, origin)


def _lay(
    target: paths.Values, overlay: Mapping[str, Any], above: str, join: _Join
) -> None:
    for key, value in overlay.items():
        path = _below(above, key)
        if isinstance(value, Mapping) and isinstance(target.get(key), dict):
            _lay(target[key], value, path, join)
        elif path in topic.JOINED:
            target[key] = join(target.get(key) or (), value)
        else:
            target[key] = copy.deepcopy(value)


#: Addons that the management cluster fetches from git, which no helm
#: repository can mirror. Below ``addons``.
_FROM_GIT = ("intelDevicePlugin.xpuManagerMonitoring",)


def with_repository(
    values: Mapping[str, Any], defaults: Mapping[str, Any], url: str
) -> dict[str, Any]:
    """Return values whose addons come from one helm repository.

    The mirror takes the place of the chart's defaults alone: repositories in
    the values stay. Addons from git are switched off.

    :param values: of a release
    :param defaults: of its chart, with those of the sub-charts
    :param url: of the repository
    """
    result = copy.deepcopy(dict(values))
    addons = defaults.get(paths.ADDONS) or {}
    for path in _repositories(addons):
        _set_default(result, f"{paths.ADDONS}.{path}.chart.repo", url)
    for path in _FROM_GIT:
        own = paths.value_at(result, f"{paths.ADDONS}.{path}.repo.url")
        if paths.value_at(addons, path) and not own:
            _set_default(result, f"{paths.ADDONS}.{path}.enabled", False)
    return result


def _repositories(node: Mapping[str, Any], path: str = "") -> Iterator[str]:
    """Yield paths of all addons whose chart has a repository."""
    for key, value in node.items():
        if not isinstance(value, Mapping):
            continue
        if key == "chart" and "repo" in value:
            yield path
        else:
            yield from _repositories(value, f"{path}.{key}" if path else key)


def _set_default(node: dict[str, Any], path: str, value: Any) -> None:
    """Set a value at a path where there is none yet.

    A null on the way removes the whole, as the operator or user asked.
    """
    *above, last = path.split(".")
    for key in above:
        inner = node.setdefault(key, {})
        if not isinstance(inner, dict):
            return
        node = inner
    node.setdefault(last, value)
