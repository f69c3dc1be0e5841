# SPDX-License-Identifier: Apache-2.0

"""Items of a LIST, decoded no further than somebody looks.

A third of an object's JSON says which client owns which of its fields, and
from one poll to the next hardly any object changes. So only the head of each
item is decoded. What is kept of it is its JSON without that third, packed.
"""

from __future__ import annotations

from collections.abc import Callable
import functools
from typing import Any, NamedTuple, TypedDict
import zlib

import msgspec

from magnum_capi_helm.management import answers
from magnum_capi_helm.management import kinds
from magnum_capi_helm.model import errors

#: Conditions say the same things over and over: the fastest level of zlib
#: makes a tenth of an object.
_FAST = 1


class Item(NamedTuple):
    """An object as it was at one moment.

    :param version: ``resourceVersion``: another one for each change
    :param body: compressed JSON of it, without ``metadata.managedFields``
    """

    name: str
    version: str
    body: bytes

    def decode(self, kind: kinds.Kind) -> dict[str, Any]:
        """The object; LISTs leave its kind to the list."""
        found: dict[str, Any] = _decode(zlib.decompress(self.body))
        return {"kind": kind.name, **found}


class Head(msgspec.Struct, rename="camel"):
    """What tells one object, and one state of it, from another."""

    resource_version: str
    name: str = ""
    namespace: str = ""
    labels: dict[str, str] | None = None


class _Beheaded(msgspec.Struct):
    metadata: Head


class _PageMeta(msgspec.Struct, rename="camel"):
    resource_version: str = ""
    token: str = msgspec.field(name="continue", default="")


class _Heads(msgspec.Struct, rename="camel"):
    """A page, of which nothing is decoded but its items' heads."""

    api_version: str = ""
    metadata: _PageMeta = msgspec.field(default_factory=_PageMeta)
    items: list[_Beheaded] | None = None


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


class _Whole(msgspec.Struct):
    items: list[_Kept]


class _Event(msgspec.Struct):
    type: str
    object: msgspec.Raw


_event = msgspec.json.Decoder(_Event).decode
_beheaded = msgspec.json.Decoder(_Beheaded).decode
_kept = msgspec.json.Decoder(_Kept).decode
_heads = msgspec.json.Decoder(_Heads).decode
_whole = msgspec.json.Decoder(_Whole).decode
_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode


class Page:
    """A page of a LIST.

    :raises ManagementUnreachable: the answer was cut short
    """

    def __init__(self, content: bytes) -> None:
        self._content = content
        page: _Heads = _understood(_heads, content)
        self._api_version = page.api_version
        self.heads = [each.metadata for each in page.items or ()]
        #: What asks for the next page; empty for the last one.
        self.token = page.metadata.token
        #: Of the whole list: what a watch goes on from.
        self.version = page.metadata.resource_version

    @functools.cached_property
    def _items(self) -> list[_Kept]:
        found: _Whole = _understood(_whole, self._content)
        return found.items

    def item(self, index: int) -> Item:
        """What is kept of an item."""
        kept = self._items[index]
        # LISTs of built-in kinds leave it to the list.
        kept.api_version = kept.api_version or self._api_version
        return _packed(self.heads[index], kept)


#: Types of events.
BOOKMARK = "BOOKMARK"
DELETED = "DELETED"
_ERROR = "ERROR"


class Event:
    """A line of a watch.

    :raises ManagementUnreachable: it was cut short
    :raises ExpiredError: the API server does not know any more what changed
    """

    def __init__(self, line: bytes) -> None:
        found: _Event = _understood(_event, line)
        self.type = found.type
        self._object = found.object
        if found.type == _ERROR:
            # Whatever it is: a new LIST is the way out of all of them.
            raise answers.ExpiredError("the watch can't be gone on with")
        beheaded: _Beheaded = _understood(_beheaded, found.object)
        self.head = beheaded.metadata

    def item(self) -> Item:
        """What is kept of the object."""
        return _packed(self.head, _understood(_kept, self._object))


def _packed(head: Head, kept: _Kept) -> Item:
    body = zlib.compress(_encode(kept), _FAST)
    return Item(head.name, head.resource_version, body)


def _understood(
    decode: Callable[[Any], Any], content: bytes | msgspec.Raw
) -> Any:
    try:
        return decode(content)
    except msgspec.MsgspecError as error:
        # The message of the decoder may show a part of the content.
        raise errors.ManagementUnreachable(
            "the management cluster's answer can't be understood "
            f"({type(error).__name__})"
        ) from None
