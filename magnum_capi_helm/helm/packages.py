# SPDX-License-Identifier: Apache-2.0

"""What is in a packaged chart: its name, its version, its default values.

Read from the archive itself, without helm and without unpacking it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
import copy
import dataclasses
import functools
import io
import os
import pathlib
import tarfile
from typing import IO, Any
import zlib

import yaml

from magnum_capi_helm.model import errors

#: The files that matter; larger ones are no chart's.
_FILES = ("Chart.yaml", "values.yaml")
_LARGEST = 4 * 2**20

#: What reading an archive, or a file in it that is not as it should be, may
#: raise.
_DAMAGED = (
    OSError,
    EOFError,
    UnicodeDecodeError,
    tarfile.TarError,
    zlib.error,
    yaml.YAMLError,
    KeyError,
    TypeError,
    AttributeError,
    ValueError,
)

#: A sub-chart as the names of the charts above it and its own; the chart
#: itself is the empty one.
_Place = tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Package:
    """A chart.

    :param values: its defaults with those of its sub-charts, as helm sees
        them; shared, so not to be changed
    """

    name: str
    version: str
    values: Mapping[str, Any]


def read(path: str | os.PathLike[str]) -> Package:
    """A chart that ``helm package`` made; kept while the file is the same.

    :raises ChartUnavailable: that is no chart
    """
    try:
        found = os.stat(path)
        return _read(os.fspath(path), found.st_size, found.st_mtime_ns)
    except _DAMAGED as why:
        raise errors.ChartUnavailable(
            f"{path} is no packaged helm chart ({type(why).__name__}: {why})"
        ) from why


def of_directory(path: str | os.PathLike[str]) -> tuple[str, str]:
    """Name and version of a chart that is a directory.

    :raises ChartUnavailable: that is no chart
    """
    try:
        text = pathlib.Path(path, "Chart.yaml").read_bytes()
        about = _load(text)
        return str(about["name"]), str(about["version"])
    except _DAMAGED as why:
        raise errors.ChartUnavailable(
            f"{path} is no directory of a helm chart "
            f"({type(why).__name__}: {why})"
        ) from why


@functools.lru_cache(maxsize=16)
def _read(path: str, size: int, modified: int) -> Package:
    with open(path, "rb") as file:
        files = dict(_files(file, ()))
    about = files[(), "Chart.yaml"]
    return Package(
        name=str(about["name"]),
        version=str(about["version"]),
        values=_values(files, ()),
    )


def _files(
    file: IO[bytes], above: _Place
) -> Iterator[tuple[tuple[_Place, str], dict[str, Any]]]:
    """The files that matter, parsed, those of sub-charts included."""
    with tarfile.open(fileobj=file, mode="r:gz") as archive:
        for member in archive:
            # The first part is the chart's own directory.
            parts = tuple(member.name.removeprefix("./").split("/"))[1:]
            content = _content(archive, member, parts)
            if content is None:
                continue
            place = above + parts[1:-1:2]
            if parts[-1] in _FILES:
                yield (place, parts[-1]), _load(content)
            else:
                inner = io.BytesIO(content)
                yield from _files(inner, above + parts[1::2])


def _content(
    archive: tarfile.TarFile, member: tarfile.TarInfo, parts: _Place
) -> bytes | None:
    """A member of the archive, when it matters."""
    *directories, name = parts or ("",)
    places = directories[::2]
    # Pairs of "charts" and a name; charts/NAME-VERSION.tgz may be there too.
    packed = name.endswith(".tgz") and len(directories) % 2 == 1
    plain = name in _FILES and len(directories) % 2 == 0
    if not (packed or plain) or any(each != "charts" for each in places):
        return None
    if not member.isreg() or member.size > _LARGEST:
        return None
    found = archive.extractfile(member)
    return found.read() if found else None


def _load(text: bytes) -> dict[str, Any]:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return dict(next(yaml.load_all(text, Loader=loader), None) or {})


def _values(
    files: Mapping[tuple[_Place, str], dict[str, Any]], place: _Place
) -> dict[str, Any]:
    """The values at a place; a sub-chart's lie below its name or alias."""
    own = copy.deepcopy(files.get((place, "values.yaml"), {}))
    about = files[place, "Chart.yaml"]
    keys = {
        each["name"]: each.get("alias") or each["name"]
        for each in about.get("dependencies") or []
    }
    for inner, name in files:
        if inner[:-1] != place or inner == place or name != "Chart.yaml":
            continue
        child = str(files[inner, name]["name"])
        key = keys.get(child, child)
        own[key] = merged(_values(files, inner), own.get(key) or {})
    return own


def merged(
    below: Mapping[str, Any],
    above: Mapping[str, Any],
    *,
    keep_nulls: bool = False,
) -> dict[str, Any]:
    """Values laid over values as helm does.

    :param keep_nulls: helm is to see them; else a null removes what is below
    """
    result = dict(below)
    for key, value in above.items():
        inner = result.get(key)
        if value is None and not keep_nulls:
            result.pop(key, None)
        elif isinstance(value, Mapping) and isinstance(inner, Mapping):
            result[key] = merged(inner, value, keep_nulls=keep_nulls)
        else:
            result[key] = copy.deepcopy(value)
    return result
