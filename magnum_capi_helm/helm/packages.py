# SPDX-License-Identifier: Apache-2.0

"""Read name, version and default values of a packaged chart.

Read from the archive itself, without helm and without unpacking it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
import copy
import dataclasses
import functools
import os
import pathlib
import re
import tarfile
from typing import IO, Any, cast
import zlib

import yaml

from magnum_capi_helm.model import encoding
from magnum_capi_helm.model import errors

#: Bytes: a larger file is no chart's.
_LARGEST = 4 * 2**20
#: Such a file in the chart's own directory, or in a sub-chart.
_PATH = re.compile(
    r"(?:\./)?[^/]+((?:/charts/[^/]+)*)/(Chart\.yaml|values\.yaml)"
)

#: What reading an archive, or a file in it that is not as it should be, may
#: raise.
_DAMAGED = (
    OSError,
    EOFError,
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
    """Read a chart that ``helm package`` made, once while it is the same.

    :raises ChartUnavailable: that is no chart
    """
    try:
        now = os.stat(path)
        return _read(os.fspath(path), now.st_size, now.st_mtime_ns)
    except _DAMAGED as why:
        raise errors.ChartUnavailable(
            f"{path} is no packaged helm chart ({type(why).__name__}: {why}): "
            "remove or replace it"
        ) from why


def of_directory(path: str | os.PathLike[str]) -> tuple[str, str]:
    """Return name and version of a chart that is a directory.

    :raises ChartUnavailable: that is no chart
    """
    try:
        about = _load(pathlib.Path(path, "Chart.yaml").read_bytes())
        return str(about["name"]), str(about["version"])
    except _DAMAGED as why:
        raise errors.ChartUnavailable(
            f"{path} is no directory of a helm chart "
            f"({type(why).__name__}: {why})"
        ) from why


@functools.lru_cache(maxsize=16)
def _read(path: str, size: int, modified: int) -> Package:
    with tarfile.open(path, "r:gz") as archive:
        files = dict(_files(archive))
    about = files[(), "Chart.yaml"]
    return Package(
        name=str(about["name"]),
        version=str(about["version"]),
        values=_values(files, ()),
    )


def _files(
    archive: tarfile.TarFile,
) -> Iterator[tuple[tuple[_Place, str], dict[str, Any]]]:
    """Yield the parsed files of the chart and its sub-charts.

    None of these is an archive: ``helm package`` unpacks them
    (``writeTarContents`` in ``pkg/chartutil/save.go`` of helm 3).
    """
    for member in archive:
        path = _PATH.fullmatch(member.name)
        if path and member.isreg() and member.size <= _LARGEST:
            content = cast("IO[bytes]", archive.extractfile(member))
            place = tuple(path[1].split("/charts/")[1:])
            yield (place, path[2]), _load(content.read())


def _load(text: bytes) -> dict[str, Any]:
    return dict(next(yaml.load_all(text, encoding.LOADER), None) or {})


def _values(
    files: Mapping[tuple[_Place, str], dict[str, Any]], place: _Place
) -> dict[str, Any]:
    """Return values; those of a sub-chart are below its name or alias."""
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
    """Return values laid over others, as helm does.

    :param keep_nulls: keep them for helm; else a null removes a value
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
