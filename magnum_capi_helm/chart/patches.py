# SPDX-License-Identifier: Apache-2.0

"""Set fields of rendered objects for which a chart has no value.

``patches.yaml`` has these fields. Their values are in the release's values
like all others, at a path that the chart ignores, so the desired state, an
upgrade to another chart and a rollback need to know nothing of patches.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
import functools
from importlib import resources
from typing import Any, NamedTuple

import yaml

from magnum_capi_helm.features import topic
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import versions


class Row(NamedTuple):
    """An entry of ``patches.yaml``, which explains the fields."""

    value: str
    charts: versions.Range
    kind: str
    field: str
    name: str = ""
    text: str = ""
    by: str = ""


class Patch(NamedTuple):
    """A field of objects of one kind.

    :param field: dotted path in the object
    :param name: end of the objects' names; empty: all of the kind
    :param text: the part of the field that the value replaces; empty: all
    """

    kind: str
    field: str
    value: Any
    name: str = ""
    text: str = ""

    def fits(self, kind: str, name: str) -> bool:
        """Return whether an object gets the field."""
        return kind == self.kind and name.endswith(self.name)


def identity(obj: Mapping[str, Any]) -> tuple[str, str]:
    """Return kind and name of an object, for ``check``."""
    name = topic.value_at(obj, "metadata.name")
    return str(obj.get("kind")), str(name or "")


@functools.cache
def table() -> tuple[Row, ...]:
    """Return the content of ``patches.yaml``."""
    file = resources.files("magnum_capi_helm") / "patches.yaml"
    return tuple(
        Row(**{**entry, "charts": versions.Range(**entry["charts"])})
        for entry in yaml.safe_load(file.read_text(encoding="utf-8"))
    )


def wanted(values: Mapping[str, Any], version: str) -> tuple[Patch, ...]:
    """Return the patches of a release.

    :param version: of its chart
    """
    return tuple(
        Patch(row.kind, row.field, row.by or value, row.name, row.text)
        for row in table()
        if version in row.charts
        and (value := topic.value_at(values, row.value))
    )


def applied(
    objects: Iterable[dict[str, Any]], patches: Sequence[Patch]
) -> tuple[dict[str, Any], ...]:
    """Return all objects that a chart renders, with their patches.

    :raises Unconvertible: there is nothing to patch
    """
    objects = tuple(objects)
    check(patches, {identity(each) for each in objects})
    return tuple(patched(each, patches) or each for each in objects)


def patched(
    obj: Mapping[str, Any], patches: Iterable[Patch]
) -> dict[str, Any] | None:
    """Return a copy of an object with its patches, or None without any.

    :raises Unconvertible: a field can't be there
    """
    own = [each for each in patches if each.fits(*identity(obj))]
    if not own:
        return None
    result: dict[str, Any] = topic.copied(obj)
    for patch in own:
        value, missing = patch.value, ""
        if patch.text:
            before = str(topic.value_at(result, patch.field))
            value = before.replace(patch.text, patch.value)
            missing = "" if patch.text in before else patch.text
        else:
            parent, _, _ = patch.field.rpartition(".")
            if not isinstance(topic.value_at(result, parent), dict):
                missing = parent
        if missing:
            raise errors.Unconvertible(
                f"{patch.kind} can't get {patch.field}: the chart renders no "
                f"{missing}"
            )
        topic.put(result, patch.field, value)
    return result


def check(
    patches: Iterable[Patch], objects: Collection[tuple[str, str]]
) -> None:
    """Refuse patches of an object that is not there.

    :param objects: identities of all objects that the chart renders
    :raises Unconvertible: naming kind and field
    """
    for each in patches:
        if not any(each.fits(*identity) for identity in objects):
            raise errors.Unconvertible(
                f"{each.kind} can't get {each.field}: the chart renders no "
                "such object"
            )
