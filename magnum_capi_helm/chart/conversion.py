# SPDX-License-Identifier: Apache-2.0

"""Convert a chart's objects from v1beta1 to v1beta2.

Released charts render v1beta1 of Cluster API and of its provider for
OpenStack (CAPO). Cluster API 1.16 does not serve it; CAPO 0.15 still does.
``conversion.yaml`` has all fields that v1beta1 has in a ``spec``, without
``topology`` and ``flavorID``, which no chart renders. The result is the object
that Cluster API stores when it gets the v1beta1 one: if a field differed,
Cluster API would replace machines. Hence a value that v1beta1 takes for absent
is left out.

Source: ``ConvertTo`` of Cluster API 1.13 in ``api/core/v1beta1``,
``api/bootstrap/kubeadm/v1beta1`` and ``api/controlplane/kubeadm/v1beta1``;
the fields of 1.14. CAPO: ``api/v1beta1/conversion.go`` and the types of
``api/v1beta2`` before the release of 0.15.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
import re
from typing import Any, NamedTuple, TypeAlias

from magnum_capi_helm.model import encoding
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import paths

#: The version that charts render, and the one that it is converted to.
OLD = "v1beta1"
NEW = "v1beta2"

Object: TypeAlias = Mapping[str, Any]


class Api(NamedTuple):
    """API group, version and kind of an object.

    :param group: empty for the core group
    """

    group: str
    version: str
    kind: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"

    @property
    def name(self) -> str:
        """Return the ``apiVersion`` of the object."""
        return f"{self.group}/{self.version}".lstrip("/")


def api_of(obj: Object) -> Api:
    """Return the API of an object, by its ``apiVersion`` and ``kind``."""
    group, _, version = str(obj.get("apiVersion")).rpartition("/")
    return Api(group, version, str(obj.get("kind")))


class Field(NamedTuple):
    """The place of a v1beta1 field in v1beta2.

    :ivar to: dotted paths; empty: v1beta2 does not have it
    :ivar how: a key of :data:`CONVERSIONS`
    :ivar rows: the fields of the object, or of each item of the list
    """

    to: tuple[str, ...]
    how: str
    rows: dict[str, Field] | None = None


#: Dotted path in v1beta1 -> field.
Rows: TypeAlias = dict[str, Field]


def _rows(part: Mapping[str, Any]) -> Rows:
    """Return the rows of a part of ``conversion.yaml``, which explains it."""
    rows: Rows = {}
    for fields, entry in part.items():
        row = entry if isinstance(entry, Mapping) else {"how": entry}
        how = row.get("how") or "filled"
        for old in fields.split():
            to = str(row.get("to", old))
            new = () if how == "dropped" else tuple(to.split())
            each = _rows(row["each"]) if "each" in row else None
            if "below" not in row:
                rows[old] = Field(new, how, each)
                continue
            for key, field in _rows(row["below"]).items():
                below = tuple(f"{to}.{path}" for path in field.to)
                rows[f"{old}.{key}"] = field._replace(to=below)
    return rows


#: Group and kind -> the fields of its ``spec``.
TABLES: Mapping[tuple[str, str], Rows] = {
    (group, kind): _rows(part)
    for group, parts in encoding.package_data("chart/conversion.yaml").items()
    for kind, part in parts.items()
}


# Conversions of a value; None: the field is left out.


class _UnfitError(Exception):
    """A value is not allowed; the text says which ones are."""


_DURATION = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(h|ms|m|s|us|µs|ns)")
_UNITS = {"h": 3600, "m": 60, "s": 1, "ms": 1e-3, "us": 1e-6, "µs": 1e-6}
_UNITS |= {"ns": 1e-9}
_LONGEST = 2**31 - 1


def _seconds(value: Any) -> int:
    parts = _DURATION.findall(value) if isinstance(value, str) else []
    if value == "0":
        return 0
    if not parts or "".join(map("".join, parts)) != value:
        raise _UnfitError(
            f"a duration such as 5m0s, not {errors.shown(value)}"
        )
    # Rounded, because 4.1 * 3600 is a little less than 14760.
    total = sum(float(number) * _UNITS[unit] for number, unit in parts)
    return min(int(round(total, 9)), _LONGEST)


def _arguments(value: Any) -> list[dict[str, str]] | None:
    if not isinstance(value, Mapping) or not all(
        isinstance(each, str) for each in value.values()
    ):
        raise _UnfitError("a map of strings")
    # Go compares the bytes of UTF-8, which have the order of code points.
    pairs = [{"name": each, "value": value[each]} for each in sorted(value)]
    return pairs or None


def _without_empty_lists(value: Any) -> Any:
    """Return a value as Go writes it, which leaves empty lists out."""
    if isinstance(value, list):
        return [_without_empty_lists(each) for each in value] or None
    if not isinstance(value, Mapping):
        return value
    fields = {key: _without_empty_lists(e) for key, e in value.items()}
    return {key: each for key, each in fields.items() if each is not None}


def _inverted(value: Any) -> bool:
    if not isinstance(value, bool):
        raise _UnfitError(f"true or false, not {errors.shown(value)}")
    return not value


def _reference(value: Any) -> dict[str, Any] | None:
    reference = _versioned_reference(value) or {}
    group, _, _ = reference.pop("apiVersion", "").rpartition("/")
    return {**reference, **({"apiGroup": group} if group else {})} or None


def _versioned_reference(value: Any) -> dict[str, Any] | None:
    if not isinstance(value, Mapping):
        raise _UnfitError("a reference to an object")
    names = ("apiVersion", "kind", "name")
    return {each: value[each] for each in names if value.get(each)} or None


#: Name of a conversion -> function and, for the documentation, its effect.
CONVERSIONS: Mapping[str, tuple[Callable[[Any], Any], str]] = {
    "filled": (lambda value: value or None, "left out if empty, 0 or false"),
    "kept": (lambda value: value, "unchanged"),
    "inverted": (_inverted, "true for false, false for true"),
    "lists": (_without_empty_lists, "unchanged, without empty lists"),
    "dropped": (lambda _: None, "not in v1beta2"),
    "seconds": (_seconds, "duration to seconds"),
    "positive seconds": (
        lambda value: _seconds(value) or None,
        "duration to seconds, left out if 0",
    ),
    "arguments": (
        _arguments,
        "map to a list of name and value, sorted by name",
    ),
    "reference": (_reference, "apiGroup for apiVersion, no namespace"),
    "versioned reference": (_versioned_reference, "no namespace"),
}


def converts(api: Api, version: str) -> bool:
    """Return whether objects of an API can be converted to a version."""
    has_table = (api.group, api.kind) in TABLES
    return has_table and (api.version, version) == (OLD, NEW)


def convert(obj: Object) -> dict[str, Any]:
    """Return an object of v1beta1 in v1beta2, with the same metadata.

    :param obj: rendered by a chart; :func:`converts` says whether it fits
    :raises Unconvertible: a field of it can't be kept
    """
    api = api_of(obj)
    rows = TABLES[api.group, api.kind]
    new = api._replace(version=NEW)
    try:
        spec = _converted(obj.get("spec") or {}, rows, "spec")
    except errors.Unconvertible as error:
        name = (obj.get("metadata") or {}).get("name")
        raise errors.Unconvertible(
            f"{api.kind} {name} can't be written as {new.name}: {error}"
        ) from None
    return {**obj, "apiVersion": new.name, "spec": spec}


def _converted(fields: Object, rows: Rows, path: str) -> dict[str, Any]:
    """Return the fields of v1beta2 of an object."""
    result: dict[str, Any] = {}
    for old, value in _leaves(fields, rows, path):
        field = rows[old]
        new = _value(value, field, f"{path}.{old}")
        if new is not None:
            for each in field.to:
                paths.put(result, each, new)
    return result


def _leaves(
    fields: Object, rows: Rows, path: str, prefix: str = ""
) -> Iterator[tuple[str, Any]]:
    """Yield the row and the value of each field of an object.

    :raises Unconvertible: there is no row for a field
    """
    for key, value in fields.items():
        name = f"{prefix}{key}"
        if value is None:
            continue
        if name in rows:
            yield name, value
        elif not any(each.startswith(f"{name}.") for each in rows):
            raise errors.Unconvertible(
                f"{path}.{name} is no field that the driver knows of {OLD}: "
                "remove it from the values"
            )
        elif isinstance(value, Mapping):
            yield from _leaves(value, rows, path, f"{name}.")
        else:
            raise _unfit(f"{path}.{name}", "a map", value)


def _value(value: Any, field: Field, path: str) -> Any:
    """Return the value of v1beta2, or None if it has none."""
    function, _ = CONVERSIONS[field.how]
    if field.rows is None:
        try:
            return function(value)
        except _UnfitError as error:
            raise errors.Unconvertible(f"{path} has to be {error}") from None
    if isinstance(value, Mapping):
        return function(_converted(value, field.rows, path))
    if not isinstance(value, list):
        raise _unfit(path, "a list", value)
    items = []
    for number, each in enumerate(value):
        where = f"{path}[{number}]"
        if not isinstance(each, Mapping):
            raise _unfit(where, "a map", each)
        items.append(_converted(each, field.rows, where))
    return function(items)


def _unfit(path: str, allowed: str, value: object) -> errors.Unconvertible:
    """Return the error for a value of a wrong type; it may be a secret."""
    return errors.Unconvertible(
        f"{path} has to be {allowed}, not a {type(value).__name__}"
    )
