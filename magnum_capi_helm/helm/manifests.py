# SPDX-License-Identifier: Apache-2.0

"""The text of a manifest, as helm keeps it in a release's record.

It is changed in place and not written anew: YAML that was read and written
again is not always the same to helm, which reads it by other rules than
Python does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import yaml

from magnum_capi_helm.model import api_versions
from magnum_capi_helm.model import errors


def apis(text: str) -> frozenset[api_versions.Api]:
    """Return the APIs of the objects of a manifest.

    :raises HelmError: it can't be read
    """
    return frozenset(api for api, _ in _objects(text))


def moved(text: str, moves: Mapping[api_versions.Api, str]) -> str:
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


def _objects(text: str) -> Iterator[tuple[api_versions.Api, yaml.Node]]:
    """Yield the API of each object, and the node of its ``apiVersion``."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        documents = list(yaml.compose_all(text, Loader=loader))
    except yaml.YAMLError as why:
        # Not chained: its text quotes the manifest, which has secrets.
        raise errors.HelmError(
            f"the release's manifest can't be read: {type(why).__name__}"
        ) from None
    for each in documents:
        if isinstance(each, yaml.MappingNode):
            fields = {
                key.value: value
                for key, value in each.value
                if isinstance(key, yaml.ScalarNode)
            }
            version, kind = fields.get("apiVersion"), fields.get("kind")
            if isinstance(version, yaml.ScalarNode) and kind is not None:
                yield api_versions.api(version.value, str(kind.value)), version
