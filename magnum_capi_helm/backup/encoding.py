# SPDX-License-Identifier: Apache-2.0

"""The content of the file that a cluster is exported to.

Two lines of JSON, gzipped: a header that says what the file is, whose, and
of when, and the objects, whose checksum is in the header. So ``zcat FILE |
head -1`` tells what it is, and shows no key.
"""

from __future__ import annotations

from collections.abc import Iterator
import dataclasses
import gzip
import hashlib
import json
from typing import Any
import zlib

from magnum_capi_helm.backup import bundle
from magnum_capi_helm.model import encoding
from magnum_capi_helm.model import errors
from magnum_capi_helm.status import view

#: What a file says that it is, and the version of it that is known.
_KIND = "magnum-capi-helm export"
_VERSION = 1


class UnreadableError(errors.InvalidInput):
    """A file is no export, is damaged, or is of a version not known."""


def written(found: bundle.Bundle) -> bytes:
    """The content of its file."""
    body = _line({"secrets": found.secrets, "objects": found.objects})
    head = {
        "format": _KIND,
        "version": _VERSION,
        **dataclasses.asdict(found.header),
        "sha256": hashlib.sha256(body).hexdigest(),
    }
    return gzip.compress(_line(head) + body, mtime=0)


def header(content: bytes) -> bundle.Header:
    """The header of a file alone, of which the beginning is enough.

    :raises UnreadableError: it is none, or of a version not known
    """
    stream = zlib.decompressobj(wbits=31)
    try:
        text = stream.decompress(content)
    except zlib.error as error:
        raise _damaged(error) from None
    return _header(text.partition(b"\n")[0])[0]


def read(content: bytes) -> bundle.Bundle:
    """What a file holds, whole.

    :raises UnreadableError: why it can't be used; nothing of it is quoted
    """
    try:
        head, _, body = gzip.decompress(content).partition(b"\n")
    except encoding.DAMAGED as error:
        raise _damaged(error) from None
    found, checksum = _header(head)
    if hashlib.sha256(body).hexdigest() != checksum:
        raise UnreadableError(
            "its objects are not those of its checksum: it was damaged or "
            "changed"
        )
    try:
        objects = json.loads(body)
        whole = bundle.Bundle(
            found, tuple(objects["secrets"]), tuple(objects["objects"])
        )
        strange = list(_strangers(whole))
    except encoding.DAMAGED as error:
        raise _damaged(error) from None
    if strange:
        raise UnreadableError(
            f"it has a Secret that is not of release {found.release} in "
            f"{found.namespace}: {errors.shown(strange[0])}"
        )
    return whole


def _header(line: bytes) -> tuple[bundle.Header, str]:
    """The header, and the checksum in it."""
    try:
        head = json.loads(line)
        if head["format"] != _KIND:
            raise ValueError
    except encoding.DAMAGED:
        raise UnreadableError(
            "it is no file that magnum-capi-helm export wrote"
        ) from None
    if head.get("version") != _VERSION:
        raise UnreadableError(
            f"it is of version {errors.shown(head.get('version'))} of "
            f"the format; this magnum-capi-helm knows version {_VERSION}"
        )
    fields = [each.name for each in dataclasses.fields(bundle.Header)]
    absent = [
        name
        for name in (*fields, "sha256")
        if not isinstance(head.get(name), str)
    ]
    if absent:
        raise UnreadableError(f"its header does not say {absent[0]}")
    found = bundle.Header(**{name: head[name] for name in fields})
    return found, head["sha256"]


def _strangers(found: bundle.Bundle) -> Iterator[str]:
    """Names of Secrets that have no place in such a file."""
    for each in found.secrets:
        name, namespace = view.name_of(each), each["metadata"]["namespace"]
        if namespace != found.header.namespace:
            yield f"{namespace}/{name}"
        elif not bundle.belongs(name, found.header.release):
            yield name


def _damaged(error: Exception) -> UnreadableError:
    return UnreadableError(
        f"it is damaged or was cut short ({type(error).__name__})"
    )


def _line(content: Any) -> bytes:
    return json.dumps(content, sort_keys=True).encode() + b"\n"
