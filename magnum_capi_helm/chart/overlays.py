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
from magnum_capi_helm.features import profiles
from magnum_capi_helm.features import topic
from magnum_capi_helm.model import errors

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
        ("clusterAnnotations", driver_values.INTENT_ANNOTATION),
        ("clusterAnnotations", driver_values.UPGRADE_ANNOTATION),
        ("clusterAnnotations", profiles.ANNOTATION),
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
    """A copy of ``values`` with ``overlay`` on top.

    :param origin: whose values they are, for the message
    :raises NotConfigured: it reaches for something that it can't have
    """
    return _applied(values, overlay, origin, _both)


def again(
    values: topic.Values, overlay: Mapping[str, Any], origin: str
) -> topic.Values:
    """As :func:`apply`, on values that may have it, or a former one, already.

    What a former one said and this one does not mention, stays: values don't
    say where they come from. Of files and commands only those are added that
    are not there; a file takes the place of one with its path.

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
    """The list with what it does not have yet, each as often as it comes."""
    result, known = list(there), list(there)
    for each in copy.deepcopy(more):
        former = [old for old in known if _same(old, each)]
        if not former:
            result.append(each)
            continue
        known.remove(former[0])
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
    """Each key of the overlay, with those in its dictionaries."""
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
    """The path as helm writes one; a key with dots is quoted."""
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
