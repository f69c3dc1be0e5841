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

"""Items of a LIST, decoded no further than somebody looks.

A third of an object's JSON says which client owns which of its fields, and
from one poll to the next hardly any object changes. So only the head of each
item is decoded. What is kept of it is its JSON without the owners' list.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypedDict

import msgspec

from magnum_capi_helm import exceptions
from magnum_capi_helm.management import kinds

#: An item of a page, not decoded yet.
Raw = msgspec.Raw


class Item(NamedTuple):
    """An object as it was at one moment.

    :param version: ``resourceVersion``: another one for each change
    :param body: JSON of the object, without ``metadata.managedFields``
    """

    name: str
    version: str
    body: bytes

    def decode(self, kind: kinds.Kind) -> dict[str, Any]:
        """The object; LISTs leave its kind to the list."""
        found: dict[str, Any] = msgspec.json.decode(self.body)
        return {"kind": kind.name, **found}


class _HeadMeta(msgspec.Struct, rename="camel"):
    name: str
    resource_version: str
    namespace: str = ""
    labels: dict[str, str] | None = None


class Head(msgspec.Struct):
    """What tells one object, and one state of it, from another."""

    metadata: _HeadMeta


class _Meta(TypedDict, total=False):
    name: str
    namespace: str
    uid: str
    resourceVersion: str
    generation: int
    creationTimestamp: str
    deletionTimestamp: str
    labels: dict[str, str] | None
    annotations: dict[str, str] | None
    ownerReferences: list[Any]
    finalizers: list[str]


class _Kept(msgspec.Struct, rename="camel", omit_defaults=True):
    """All that anybody reads of an object, without decoding most of it."""

    metadata: _Meta
    api_version: str = ""
    spec: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    status: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


class _PageMeta(msgspec.Struct):
    token: str = msgspec.field(name="continue", default="")


class Page(msgspec.Struct, rename="camel"):
    """A page of a LIST; its items share its memory."""

    api_version: str = ""
    metadata: _PageMeta = msgspec.field(default_factory=_PageMeta)
    items: list[msgspec.Raw] | None = None

    @property
    def token(self) -> str:
        """What asks for the next page; empty for the last one."""
        return self.metadata.token


_head = msgspec.json.Decoder(Head).decode
_kept = msgspec.json.Decoder(_Kept).decode
_page = msgspec.json.Decoder(Page).decode
_encode = msgspec.json.Encoder().encode


def page(content: bytes) -> Page:
    """Split a page into its items.

    :raises ManagementUnreachable: the answer was cut short
    """
    found: Page = _understood(_page, content)
    return found


def head(raw: Raw) -> Head:
    """The head of an item.

    :raises ManagementUnreachable: it is not an object
    """
    found: Head = _understood(_head, raw)
    return found


def item(raw: Raw, found: Head, api_version: str) -> Item:
    """What is kept of an item.

    :param api_version: of the page; LISTs of built-in kinds leave it away
    """
    kept = _understood(_kept, raw)
    kept.api_version = kept.api_version or api_version
    meta = found.metadata
    return Item(meta.name, meta.resource_version, _encode(kept))


def _understood(
    decode: Callable[[Any], Any], content: bytes | msgspec.Raw
) -> Any:
    try:
        return decode(content)
    except msgspec.MsgspecError as error:
        # The message of the decoder may show a part of the content.
        raise exceptions.ManagementUnreachable(
            "the management cluster's answer can't be understood "
            f"({type(error).__name__})"
        ) from None
