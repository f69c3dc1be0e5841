# SPDX-License-Identifier: Apache-2.0

"""The names of the images in Kubernetes objects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
import re
from typing import Any

_PATH = r"[a-z0-9]+(?:[._-]+[a-z0-9]+)*"
_TAG = r"(?::[A-Za-z0-9_][A-Za-z0-9_.-]*)?(?:@sha256:[0-9a-f]{64})?"
_NAME = re.compile(
    rf"(?:[A-Za-z0-9.-]+(?::[0-9]+)?/)?{_PATH}(?:/{_PATH})*{_TAG}"
)
#: An argument or an environment variable says nothing about what it is: a
#: host, a path and a tag are asked for.
_ARGUMENT = re.compile(
    rf"(?:--?[\w.-]+=)?((?:[a-z0-9-]+\.)+[a-z]+(?::[0-9]+)?(?:/{_PATH})+"
    r"(?::[A-Za-z0-9_][A-Za-z0-9_.-]*|@sha256:[0-9a-f]{64})+)"
)
#: Taints look alike (node-role.kubernetes.io/control-plane:NoSchedule).
_NO_REGISTRY = ".kubernetes.io"


def find(objects: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Full names of all images: registry, path, and tag or digest.

    Fields named ``image``; the parts ``repository``, ``image`` and
    ``version`` by which custom resources name one; and what looks like an
    image among the arguments and the environment of containers.
    """
    for each in objects:
        yield from _in_node(each)


def full(name: str) -> str:
    """The name of an image as containerd completes it."""
    first, slash, _ = name.partition("/")
    if not slash:
        name = f"docker.io/library/{name}"
    elif not ("." in first or ":" in first or first == "localhost"):
        name = f"docker.io/{name}"
    last = name.rpartition("/")[2]
    return name if ":" in last or "@" in last else f"{name}:latest"


def _in_node(node: Any) -> Iterator[str]:
    if isinstance(node, list):
        for each in node:
            yield from _in_node(each)
    elif isinstance(node, Mapping):
        yield from _in_fields(node)
        for key, value in node.items():
            if key in ("args", "command"):
                yield from _in_arguments(value)
            elif key == "env" and isinstance(value, list):
                yield from _in_arguments(
                    each.get("value")
                    for each in value
                    if isinstance(each, Mapping)
                )
            yield from _in_node(value)


def _in_fields(node: Mapping[str, Any]) -> Iterator[str]:
    image = node.get("image")
    if not isinstance(image, str) or not image:
        return
    repository, version = node.get("repository"), node.get("version")
    if repository and version:
        digest = str(version).startswith("sha256:")
        image = f"{repository}/{image}{'@' if digest else ':'}{version}"
    if _NAME.fullmatch(image):
        yield full(image)


def _in_arguments(values: Any) -> Iterator[str]:
    for each in values or ():
        found = _ARGUMENT.fullmatch(each) if isinstance(each, str) else None
        if found and _NO_REGISTRY not in found[1].partition("/")[0]:
            yield found[1]
