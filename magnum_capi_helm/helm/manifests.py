# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""The text of a manifest, as helm keeps it in a release's record.

It is changed in place and not written anew: YAML that was read and written
again is not always the same to helm, which reads it by other rules than
Python does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import yaml

from magnum_capi_helm import stranded


def apis(text: str) -> frozenset[stranded.Api]:
    """Which APIs the objects of a manifest are of.

    :raises yaml.YAMLError: it is none
    """
    return frozenset(api for api, _ in _objects(text))


def moved(text: str, moves: Mapping[stranded.Api, str]) -> str:
    """The manifest with objects named in other versions of their groups.

    References from one object to another stay: helm writes what differs
    between this manifest and the next one, and has to write the new ones.

    :param moves: the new version of each API
    :raises yaml.YAMLError: it is none
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


def _objects(text: str) -> Iterator[tuple[stranded.Api, yaml.Node]]:
    """What each object is of, and where its ``apiVersion`` stands."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    for document in yaml.compose_all(text, Loader=loader):
        if not isinstance(document, yaml.MappingNode):
            continue
        fields = {key.value: value for key, value in document.value}
        if "apiVersion" in fields and "kind" in fields:
            version = fields["apiVersion"]
            yield stranded.api(version.value, fields["kind"].value), version
