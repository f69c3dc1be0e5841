# SPDX-License-Identifier: Apache-2.0

"""The text of a manifest, as helm keeps it in a release's record.

It is changed in place and not written anew: YAML that was read and written
again is not always the same to helm, which reads it by other rules than
Python does.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
import json
import re
from typing import Any, ClassVar

import yaml

from magnum_capi_helm.chart import conversion
from magnum_capi_helm.chart import patches
from magnum_capi_helm.model import encoding
from magnum_capi_helm.model import errors

_SEXAGESIMAL_LESS = {
    "tag:yaml.org,2002:int": re.compile(
        r"[-+]?(0b[0-1_]+|0[0-7_]+|0|[1-9][0-9_]*|0x[0-9a-fA-F_]+)$"
    ),
    "tag:yaml.org,2002:float": re.compile(
        r"([-+]?[0-9][0-9_]*\.[0-9_]*([eE][-+][0-9]+)?"
        r"|\.[0-9][0-9_]*([eE][-+][0-9]+)?"
        r"|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))$"
    ),
}
#: An escape of JSON; two together are one character in group 1.
_ESCAPE = re.compile(r"\\(?:u(d[89ab]..\\ud[c-f]..)|.)")


def apis(text: str) -> frozenset[conversion.Api]:
    """Return the APIs of the objects of a manifest.

    :raises HelmError: it can't be read
    """
    return frozenset(api for api, _ in _objects(text))


def moved(text: str, moves: Mapping[conversion.Api, str]) -> str:
    """Return the manifest with objects in other versions of their groups.

    References from one object to another stay: helm writes what differs
    between this manifest and the next one, and has to write the new ones.

    :param moves: the new version of each API
    :raises HelmError: it can't be read
    """
    parts = []
    end = 0
    for api, node in _objects(text):
        if api in moves:
            begin = node.start_mark.index
            new = api._replace(version=moves[api])
            parts += [text[end:begin], f'"{new.name}"']
            end = node.end_mark.index
    return "".join([*parts, text[end:]])


def converted(
    text: str,
    groups: Collection[str],
    convert: Callable[
        [conversion.Object], conversion.Object | None
    ] = conversion.convert,
    patch: Sequence[patches.Patch] = (),
) -> str:
    """Return the manifest with the objects of some API groups in v1beta2.

    The text of all other objects stays as it is.

    :param convert: returns None for an object whose text is to stay
    :param patch: applied before objects are converted
    :raises HelmError: it can't be read
    :raises Unconvertible: a field can't be kept, or a patch not applied
    """
    parts = []
    identities: set[tuple[str, frozenset[str]]] = set()
    end = 0
    loader = _Loader(text)
    try:
        while loader.check_node():
            node = loader.get_node()
            obj = loader.construct_document(node)
            new: Mapping[str, Any] | None = None
            if isinstance(obj, dict):
                identities.add(patches.identity(obj))
                new = patches.patched(obj, patch)
                if is_old(obj, groups):
                    new = convert(new or obj) or new
            if new is not None:
                parts += [text[end : node.start_mark.index], _json(new), "\n"]
                end = node.end_mark.index
    except yaml.YAMLError as why:
        raise _unreadable(why) from None
    finally:
        loader.dispose()
    patches.check(patch, identities)
    return "".join([*parts, text[end:]])


def is_old(obj: conversion.Object, groups: Collection[str]) -> bool:
    """Return whether an object of some API groups has to be converted."""
    api = conversion.api_of(obj)
    return api.group in groups and conversion.converts(api, conversion.NEW)


class _Loader(encoding.LOADER):  # type: ignore[misc]
    """Reads scalars as helm does, where Python's rules differ.

    For helm a time is text, and so is 1:30, which Python takes for 90.
    """

    yaml_implicit_resolvers: ClassVar = {
        first: [
            (tag, _SEXAGESIMAL_LESS.get(tag, pattern))
            for tag, pattern in resolvers
            if tag != "tag:yaml.org,2002:timestamp"
        ]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


def _json(obj: Mapping[str, Any]) -> str:
    """Return an object as JSON that is YAML as well."""
    return _ESCAPE.sub(_joined, json.dumps(obj))


def _joined(escape: re.Match[str]) -> str:
    """Return one escape for two that stand for one character in JSON."""
    if escape[1] is None:
        return escape[0]
    both = json.loads(f'"{escape[0]}"')
    return f"\\U{ord(both):08x}"


def _objects(text: str) -> Iterator[tuple[conversion.Api, yaml.Node]]:
    """Yield the API of each object, and the node of its ``apiVersion``."""
    try:
        documents = list(yaml.compose_all(text, encoding.LOADER))
    except yaml.YAMLError as why:
        raise _unreadable(why) from None
    for each in documents:
        if isinstance(each, yaml.MappingNode):
            fields = {
                key.value: value
                for key, value in each.value
                if isinstance(key, yaml.ScalarNode)
            }
            version, kind = fields.get("apiVersion"), fields.get("kind")
            if isinstance(version, yaml.ScalarNode) and kind is not None:
                obj = {"apiVersion": version.value, "kind": kind.value}
                yield conversion.api_of(obj), version


def _unreadable(why: yaml.YAMLError) -> errors.HelmError:
    # Not chained: its text quotes the manifest, which has secrets.
    return errors.HelmError(
        f"the release's manifest can't be read: {type(why).__name__}"
    )
