# SPDX-License-Identifier: Apache-2.0

"""A recorded cluster, and clusters made of it: other names, other ids."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
import dataclasses
import gzip
import json
import pathlib
import re
from typing import Any
import uuid

_UID = re.compile(r'"uid": "([0-9a-f-]{36})"')
_FINGERPRINT = re.compile(
    r'"magnum.openstack.org/intent": "(v1-[0-9a-f]{24})"'
)
_CREDENTIAL_ID = re.compile(r"application_credential_id: ([0-9a-f]{32})")


@dataclasses.dataclass(frozen=True)
class Identity:
    """Names and ids that differ from the recorded cluster."""

    release: str
    cluster: str
    project: str
    user: str


class Template:
    """A recorded cluster.

    A value of a Secret is text, text that was packed, or the size of a filler.

    :param recorded: objects, rows and names of a cluster, as JSON
    """

    def __init__(self, recorded: bytes) -> None:
        content = json.loads(recorded)
        self.facts = Identity(**content["facts"])
        self._identity = str(content.get("identity") or "")
        self._machines = [
            each["metadata"]["name"]
            for each in content["objects"]
            if each["kind"] == "Machine"
        ]
        texts = [json.dumps(each) for each in content["objects"]]
        whole = "".join(texts)
        self._uids = sorted(set(_UID.findall(whole)) - {self.facts.cluster})
        self._fingerprint = _one(_FINGERPRINT, whole)
        self._credentials = set(_CREDENTIAL_ID.findall(whole))
        names = [
            *dataclasses.asdict(self.facts).values(),
            *filter(None, [self._identity, self._fingerprint]),
            *self._uids,
            *self._credentials,
        ]
        # Looked for once, and not for each cluster.
        pattern = re.compile(f"({'|'.join(map(re.escape, names))})")
        self._objects = [pattern.split(text) for text in texts]
        self._rows = pattern.split(json.dumps(content.get("rows") or {}))

    def objects(
        self,
        identity: Identity,
        fingerprint: str,
    ) -> Iterator[dict[str, Any]]:
        """The objects of another cluster.

        :param fingerprint: of that cluster's rows
        """
        new = self._names(identity)
        new[self._fingerprint] = fingerprint
        for each in (*self._uids, *self._credentials):
            new[each] = made(identity.cluster, each, plain="-" not in each)
        for pieces in self._objects:
            yield _packed_again(json.loads(_joined(pieces, new)))

    def rows(
        self, identity: Identity, own: str
    ) -> dict[str, list[dict[str, Any]]]:
        """The rows of another cluster, by table.

        :param own: identity of the management cluster
        """
        new = self._names(identity)
        new[self._identity] = own
        found: dict[str, list[dict[str, Any]]] = json.loads(
            _joined(self._rows, new)
        )
        for row in found["nodegroup"]:
            row["uuid"] = made(identity.cluster, row["uuid"])
        return found

    def nodes(self, identity: Identity) -> list[str]:
        """Names of the machines of another cluster, which are its nodes'."""
        return [
            each.replace(self.facts.release, identity.release)
            for each in self._machines
        ]

    def _names(self, identity: Identity) -> dict[str, str]:
        """Return the name for a recorded name."""
        new = dataclasses.asdict(identity)
        return {
            old: new[key]
            for key, old in dataclasses.asdict(self.facts).items()
        }


def recorded(state: str) -> Template:
    """Return the recorded cluster in a state."""
    path = pathlib.Path(__file__).parent / "recorded" / f"{state}.json.gz"
    return Template(gzip.decompress(path.read_bytes()))


def made(cluster: str, what: str, *, plain: bool = False) -> str:
    """A UUID that a cluster has for something, the same in each run."""
    found = uuid.uuid5(uuid.UUID(cluster), what)
    return found.hex if plain else str(found)


def _joined(pieces: list[str], new: Mapping[str, str]) -> str:
    """A text that was split at its names, with other names."""
    return "".join(
        new.get(piece, piece) if number % 2 else piece
        for number, piece in enumerate(pieces)
    )


def _one(pattern: re.Pattern[str], text: str) -> str:
    """The only thing of its kind in a text."""
    found = set(pattern.findall(text))
    if len(found) != 1:
        raise ValueError(f"{len(found)} different {pattern.pattern} found")
    return str(found.pop())


def _packed_again(obj: dict[str, Any]) -> dict[str, Any]:
    if obj["kind"] == "Secret":
        data = obj.get("data") or {}
        obj["data"] = {key: _value(each) for key, each in data.items()}
    return obj


def _value(recorded: Mapping[str, Any]) -> str:
    if "fill" in recorded:
        return "eHh4" * (int(recorded["fill"]) // 4)
    if "text" in recorded:
        return base64.b64encode(recorded["text"].encode()).decode()
    # As small as helm makes it, but for one per cent, in half the time.
    value = gzip.compress(recorded["packed"].encode(), 6, mtime=0)
    for _ in range(recorded["depth"]):
        value = base64.b64encode(value)
    return value.decode()
