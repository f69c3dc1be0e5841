# SPDX-License-Identifier: Apache-2.0
"""Before a management cluster: newer versions of its groups are not there.

What is served to others as v1beta1 has the fields that Cluster API 1.9 and
1.10 gave it, which serve nothing else: the API server converts it.
"""

from __future__ import annotations

from collections.abc import Callable
import dataclasses
import gzip
import json
import re
from typing import Any

from lab.chaos import faults
from lab.chaos import proxy

_FOREVER = 1_000_000


def hide(between: proxy.Proxy, suffix: str, version: str) -> None:
    """From now on nobody is told of a version, or can ask for it.

    :param suffix: how the names of the groups end
    """
    hidden = re.compile(rf"/apis/[^/]*{re.escape(suffix)}/{version}(?:[/?]|$)")
    lists = re.compile(r"/apis(?:/[^/?]*)?/?(?:\?|$)")
    between.when(
        lambda request: bool(hidden.match(request.path)),
        _absent,
        times=_FOREVER,
    )
    between.when(
        lambda request: bool(lists.match(request.path)),
        _without(suffix, version),
        times=_FOREVER,
    )


def _absent(_: faults.Request, __: faults.Forward) -> faults.Answer:
    """As the API server says that it has no such path."""
    kind = (("Content-Type", "text/plain; charset=utf-8"),)
    return faults.Answer(404, kind, b"404 page not found\n")


def _without(
    suffix: str, version: str
) -> Callable[[faults.Request, faults.Forward], faults.Answer]:
    def fault(_: faults.Request, forward: faults.Forward) -> faults.Answer:
        answer = forward()
        headers = {name.lower(): value for name, value in answer.headers}
        zipped = headers.pop("content-encoding", "") == "gzip"
        body = gzip.decompress(answer.body) if zipped else answer.body
        found = json.loads(body)
        for group in found.get("groups") or found.get("items") or [found]:
            _take_out(group, suffix, version)
        return dataclasses.replace(
            answer,
            headers=tuple(headers.items()),
            body=json.dumps(found).encode(),
        )

    return fault


def _take_out(group: dict[str, Any], suffix: str, version: str) -> None:
    """Of a group in either form of discovery, the newer one included."""
    name = group.get("name") or group.get("metadata", {}).get("name", "")
    if not name.endswith(suffix):
        return
    group["versions"] = [
        each for each in group["versions"] if each["version"] != version
    ]
    if group.get("preferredVersion", {}).get("version") == version:
        group["preferredVersion"] = group["versions"][0]
