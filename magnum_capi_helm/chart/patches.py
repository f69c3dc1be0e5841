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


class Patch(NamedTuple):
    """A field of all objects of one kind.

    :param field: dotted path in the object
    """

    kind: str
    field: str
    value: Any


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
        Patch(row.kind, row.field, value)
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
    check(patches, {str(each.get("kind")) for each in objects})
    return tuple(patched(each, patches) or each for each in objects)


def patched(
    obj: Mapping[str, Any], patches: Iterable[Patch]
) -> dict[str, Any] | None:
    """Return a copy of an object with its patches, or None without any.

    :raises Unconvertible: a field can't be there
    """
    own = [each for each in patches if each.kind == obj.get("kind")]
    if not own:
        return None
    result: dict[str, Any] = topic.copied(obj)
    for patch in own:
        parent, _, _ = patch.field.rpartition(".")
        if not isinstance(topic.value_at(result, parent), dict):
            raise errors.Unconvertible(
                f"{patch.kind} can't get {patch.field}: the chart renders no "
                f"{parent}"
            )
        topic.put(result, patch.field, patch.value)
    return result


def check(patches: Iterable[Patch], kinds: Collection[str]) -> None:
    """Refuse patches of an object that is not there.

    :param kinds: of all objects that the chart renders
    :raises Unconvertible: naming kind and field
    """
    for each in patches:
        if each.kind not in kinds:
            raise errors.Unconvertible(
                f"{each.kind} can't get {each.field}: the chart renders no "
                "such object"
            )
