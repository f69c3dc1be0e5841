# SPDX-License-Identifier: Apache-2.0

"""Writes objects straight into etcd, through its JSON gateway.

So an object is stored as it was recorded: its own UID, status and managed
fields, which the API server would make anew. And it takes seconds.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable
import json
from typing import Any

import requests

from bench import places

_GROUPLESS = {"Namespace": "namespaces", "Secret": "secrets"}
_LEASE = "coordination.k8s.io/v1"
#: Fields that etcd's own bookkeeping fills in.
_NOT_STORED = ("resourceVersion", "selfLink")
#: Operations in one transaction: etcd takes 128.
_MOST = 100


class Store:
    """A connection to etcd, for one thread."""

    def __init__(self, plurals: dict[str, str]) -> None:
        self._session = requests.Session()
        self._session.trust_env = False
        self._plurals = plurals

    def key(self, obj: dict[str, Any]) -> str:
        """Return the key under which the API server stores an object."""
        metadata = obj["metadata"]
        group = obj["apiVersion"].rpartition("/")[0]
        folder = _GROUPLESS.get(obj["kind"]) or self._plurals[obj["kind"]]
        if group and obj["apiVersion"] != _LEASE:
            folder = f"{group}/{folder}"
        words = [folder, metadata.get("namespace"), metadata["name"]]
        return "/registry/" + "/".join(filter(None, words))

    def put(self, objects: Iterable[dict[str, Any]]) -> None:
        """Write objects, whatever was there."""
        self._change(
            [
                {
                    "requestPut": {
                        "key": _encode(self.key(each).encode()),
                        "value": _encode(_stored(each)),
                    }
                }
                for each in objects
            ]
        )

    def delete(self, keys: Iterable[str]) -> None:
        """Remove objects."""
        self._change(
            [
                {"requestDeleteRange": {"key": _encode(each.encode())}}
                for each in keys
            ]
        )

    def _change(self, changes: list[dict[str, Any]]) -> None:
        for start in range(0, len(changes), _MOST):
            answer = self._session.post(
                f"{places.ETCD}/v3/kv/txn",
                data=json.dumps({"success": changes[start : start + _MOST]}),
                timeout=60,
            )
            answer.raise_for_status()


def _stored(obj: dict[str, Any]) -> bytes:
    metadata = {
        key: value
        for key, value in obj["metadata"].items()
        if key not in _NOT_STORED
    }
    return json.dumps(
        {**obj, "metadata": metadata}, separators=(",", ":")
    ).encode()


def _encode(content: bytes) -> str:
    return base64.b64encode(content).decode()
