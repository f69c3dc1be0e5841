# SPDX-License-Identifier: Apache-2.0

"""The local chart store: the driver fetches each chart version once.

A chart is ``<store>/<name>-<version>.tgz``. The driver never fetches a stored
version again, so a chart that changes in its repository does not reach
clusters that have the version already, and an operator of an offline cloud
can fill the store by hand. An archive that can't be read, or that has another
version than its name says, is refused: an operator has to decide what to do.

Several processes may fetch the same chart at once. Each puts a whole archive
in place, and the last one stays. No lock file is needed, which a command run
by root could take away from Magnum's user.

Name, version and default values of a packaged chart are read from the archive
itself, without helm and without unpacking it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
import contextlib
import copy
import dataclasses
import functools
import hashlib
import os
import pathlib
import re
import shutil
import stat
import tarfile
import tempfile
import threading
from typing import IO, Any, cast

from oslo_log import log
import yaml

from magnum_capi_helm.config import conf
from magnum_capi_helm.helm import client
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import encoding
from magnum_capi_helm.model import errors

LOG = log.getLogger(__name__)

_STAGING = ".pull-"
#: A path on this host can't be read; the directory beside it is the driver's.
_OF_SOURCE = (FileNotFoundError, PermissionError)
_ARCHIVE = re.compile(r"(-v?\d+\.\d+\.\d+[^/]*)?\.tgz$")


class Store:
    """Charts on this host.

    :param directory: made on first use
    :param temporary: use temporary space while the directory can't be
        written. Set it where the operator chose no directory: Magnum's
        default state_path is the directory of its Python package, which a
        service can seldom write.
    """

    def __init__(
        self, directory: str, helm: client.Helm, *, temporary: bool = False
    ) -> None:
        self._directory = pathlib.Path(directory)
        self._helm = helm
        self._temporary = temporary
        self._filling = threading.Lock()

    def find(self, chart: cluster_spec.Chart) -> str:
        """Return the path of a stored chart, or an empty string.

        :raises ChartUnavailable: the stored chart is damaged, or another one
        """
        target = self._stored(chart)
        if target is not None:
            _check_version(target, chart.version, str(target))
        return str(target or "")

    def place(self, *, make: bool = False) -> pathlib.Path:
        """Return the directory that a new chart goes to.

        :param make: make it, if it is in temporary space
        :raises NotConfigured: this process can't write it
        """
        if self._temporary and not _writable(self._directory):
            return _temporary_directory(make)
        _check_writable(self._directory)
        return self._directory

    def check_source(self, chart: cluster_spec.Chart) -> None:
        """Fetch a chart into temporary space and drop it.

        :raises ChartUnavailable: its source does not have it
        """
        with tempfile.TemporaryDirectory() as directory:
            self._fetch(chart, chart, pathlib.Path(directory))

    def ensure(self, chart: cluster_spec.Chart) -> str:
        """Return the path of the chart; fetch the chart if it is missing.

        :raises ChartUnavailable: the chart is neither here nor at its
            source, or it is damaged, or another one; ChartUnstorable if the
            disk is full
        :raises NotConfigured: no directory can be written
        """
        if path := self.find(chart):
            return path
        target = self.place(make=True) / _file_name(chart)
        if target.parent != self._directory:
            LOG.warning(
                "[capi_helm] chart_store is not set and %s can't be written: "
                "%s is stored until temporary space is cleaned",
                self._directory,
                target,
            )
        self._fill(target, chart, chart)
        return str(target)

    def keep(
        self,
        chart: cluster_spec.Chart,
        source: cluster_spec.Chart | None = None,
    ) -> str:
        """Put the chart into the store itself, never into temporary space.

        :param source: fetch the chart from there (default: where it belongs)
        :raises ChartUnavailable: as :meth:`ensure`
        :raises InvalidInput: the store has the chart, and not of that source
        :raises NotConfigured: the store can't be written
        """
        target = self._directory / _file_name(chart)
        if not os.path.exists(target):
            _check_writable(self._directory)
            self._fill(target, chart, source or chart)
        elif source is not None:
            raise errors.InvalidInput(
                f"{target} is in the chart store already: to take "
                f"{source.repository or source.name}, give it a version of "
                "its own, or remove this file"
            )
        _check_version(target, chart.version, str(target))
        return str(target)

    def digest(self, chart: cluster_spec.Chart) -> str:
        """Return the SHA-256 of a stored chart; empty: it can't be read."""
        with contextlib.suppress(OSError):
            if target := self._stored(chart):
                return hashlib.sha256(target.read_bytes()).hexdigest()
        return ""

    def files(self) -> list[pathlib.Path]:
        """Return the archives in the store itself, by name."""
        return sorted(self._directory.glob("*.tgz"))

    def _stored(self, chart: cluster_spec.Chart) -> pathlib.Path | None:
        """Return the path of a chart that is here, good or damaged."""
        target = self._directory / _file_name(chart)
        if self._temporary and not os.path.exists(target):
            target = self.place() / target.name
        return target if os.path.exists(target) else None

    def _fill(
        self,
        target: pathlib.Path,
        chart: cluster_spec.Chart,
        source: cluster_spec.Chart,
    ) -> None:
        """Put a chart into the store, unless another thread was faster.

        :raises ChartUnavailable: as :meth:`_fetch`
        :raises ChartUnstorable: the file can't be written
        """
        with self._filling:
            if os.path.exists(target):
                return
            try:
                _make(target.parent)
                # A file can't be moved to another file system at once.
                with tempfile.TemporaryDirectory(
                    dir=target.parent, prefix=_STAGING
                ) as staging:
                    fetched = self._fetch(chart, source, pathlib.Path(staging))
                    os.replace(fetched, target)
            except (errors.ChartUnstorable, OSError) as error:
                # Tenants read this: no path.
                raise errors.ChartUnstorable(
                    f"chart {name_of(chart)} {chart.version} can't be put "
                    f"into the conductor's chart store ({_reason(error)}); "
                    "make room there, or see [capi_helm] chart_store"
                ) from error

    def _fetch(
        self,
        chart: cluster_spec.Chart,
        source: cluster_spec.Chart,
        staging: pathlib.Path,
    ) -> pathlib.Path:
        """Fetch the chart from its source into ``staging``.

        :raises ChartUnavailable: the source does not have this version
        :raises ChartUnstorable: helm can't write the file
        """
        place = source.repository or source.name
        try:
            if not is_path(source):
                self._helm.pull(
                    source.name,
                    source.version,
                    source.repository,
                    str(staging),
                )
            elif os.path.isdir(source.name):
                self._helm.package(source.name, str(staging))
            else:
                shutil.copy(source.name, staging / _file_name(chart))
        except errors.ChartUnstorable:
            raise
        except (errors.HelmError, *_OF_SOURCE) as error:
            raise errors.ChartUnavailable(
                "the chart is not in the chart store and can't be fetched; "
                f"{_hint(source)}, or put its file into the store. It is "
                f"{chart.name} {chart.version} of {place}, file "
                f"{_file_name(chart)}; {_reason(error)}"
            ) from error
        fetched = next(staging.glob("*.tgz"), None)
        if fetched is None:
            raise errors.ChartUnavailable(
                f"helm fetched no {_file_name(chart)}"
            )
        _check_version(fetched, chart.version, place)
        return fetched


def _hint(source: cluster_spec.Chart) -> str:
    """Return what to check where a chart can't be fetched."""
    if is_path(source):
        return "see [capi_helm] helm_chart_name and helm_chart_repo"
    hint = f"check {_choice(source.version)}"
    if source.name.startswith("oci://"):
        hint += " and 'helm registry login' of magnum-conductor's user"
    return hint


def _check_version(file: pathlib.Path, wanted: str, place: str) -> None:
    """Refuse a chart of another version than the one asked for.

    :param place: where the file comes from
    """
    version = read(file).version
    if version.removeprefix("v") != wanted.removeprefix("v"):
        raise errors.ChartUnavailable(
            "the chart has another version than the one asked for; correct "
            f"{_choice(wanted)}, or put the version asked for into the chart "
            f"store. The chart at {place} has version {version}, not {wanted}"
        )


def _choice(version: str) -> str:
    """Return the option or the label that asks for a version."""
    if version == conf.CONF.capi_helm.default_helm_chart_version:
        return "[capi_helm] default_helm_chart_version"
    return "the label capi_helm_chart_version"


def _reason(error: Exception) -> str:
    """Return an error's text without a path."""
    return str(error.strerror if isinstance(error, OSError) else error)


def _writable(directory: pathlib.Path) -> bool:
    """Return whether this process can write a directory, or make it."""
    there = next(
        each
        for each in (directory.absolute(), *directory.absolute().parents)
        if os.path.exists(each)
    )
    mode = os.W_OK | os.X_OK
    return there.is_dir() and os.access(there, mode, effective_ids=True)


def _check_writable(directory: pathlib.Path) -> None:
    """Refuse a chart store that this process can't write.

    :raises NotConfigured: it can't
    """
    if not _writable(directory):
        raise errors.NotConfigured(
            f"the chart store {directory} can't be written by user "
            f"{os.geteuid()}; see [capi_helm] chart_store"
        )


def _temporary_directory(make: bool) -> pathlib.Path:
    """Return this user's directory of charts in temporary space.

    All processes of the user share it. Other users of the host can guess its
    name and make it first, so it has to belong to this user alone.

    :raises NotConfigured: it does not, or there is no temporary space
    """
    user = os.geteuid()
    try:
        path = pathlib.Path(tempfile.gettempdir(), f"magnum-capi-helm-{user}")
        if make:
            with contextlib.suppress(FileExistsError):
                path.mkdir(mode=0o700)
    except OSError as error:
        raise errors.NotConfigured(
            f"user {user} can write neither the default chart store nor "
            f"temporary space ({error.strerror}): set [capi_helm] chart_store "
            "to a directory that this user can write"
        ) from error
    if os.path.lexists(path):
        now = path.lstat()
        private = stat.S_ISDIR(now.st_mode) and not now.st_mode & 0o077
        if not private or now.st_uid != user:
            raise errors.NotConfigured(
                f"{path} is not a directory of user {user} alone, so charts "
                "in it can't be trusted: remove it, or set [capi_helm] "
                "chart_store"
            )
    return path


def _make(directory: pathlib.Path) -> None:
    """Make a directory and those above it.

    Directories that root makes get the owner of the directory above them:
    Magnum's user has to write to them later.
    """
    if os.path.exists(directory):
        return
    _make(directory.parent)
    directory.mkdir(exist_ok=True)
    if os.geteuid() == 0:
        above = directory.parent.stat()
        os.chown(directory, above.st_uid, above.st_gid, follow_symlinks=False)


def is_path(chart: cluster_spec.Chart) -> bool:
    """Return whether a chart is named by a path on this host."""
    return not chart.repository and "://" not in chart.name


def version_at(chart: cluster_spec.Chart) -> str | None:
    """Return the version of the chart at a path; None: there is no chart.

    :raises ChartUnavailable: what is there is no chart
    """
    if not is_path(chart) or not os.path.exists(chart.name):
        return None
    if os.path.isdir(chart.name):
        return of_directory(chart.name)[1]
    return read(chart.name).version


def name_of(chart: cluster_spec.Chart) -> str:
    """Return a chart's name in the store: the last part of its path."""
    return _ARCHIVE.sub("", chart.name.rstrip("/").rsplit("/", 1)[-1])


def _file_name(chart: cluster_spec.Chart) -> str:
    # File systems and registries do not take every character.
    name = f"{name_of(chart)}-{chart.version}.tgz"
    return re.sub(r"[^A-Za-z0-9._+-]", "_", name)


# Packaged charts

#: Bytes: a larger file is no chart's.
_LARGEST = 4 * 2**20
#: Such a file in the chart's own directory, or in a sub-chart.
_PATH = re.compile(
    r"(?:\./)?[^/]+((?:/charts/[^/]+)*)/(Chart\.yaml|values\.yaml)"
)

#: What reading an archive, or a file in it that is not as it should be, may
#: raise.
_DAMAGED = (*encoding.DAMAGED, tarfile.TarError, yaml.YAMLError)

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
