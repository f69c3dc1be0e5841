# SPDX-License-Identifier: Apache-2.0

"""The local chart store: the driver fetches each chart version once.

A chart is ``<store>/<name>-<version>.tgz`` with its checksum beside it. The
driver never fetches a stored version again, so a chart that changes in its
repository does not reach clusters that have the version already, and an
operator of an offline cloud can fill the store by hand.

Several processes may fetch the same chart at once. The first one puts its
archive in place with a hard link, and the others use that archive. No lock
file is needed, which a command run by root could take away from Magnum's user.
"""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import dataclasses
import hashlib
import os
import pathlib
import re
import shutil
import stat
import tempfile
import threading
import time
from typing import Protocol

from oslo_log import log

from magnum_capi_helm.helm import complaints
from magnum_capi_helm.helm import packages
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import errors

LOG = log.getLogger(__name__)

_STAGING = ".pull-"
#: Seconds after which a staging directory is one that a killed process left:
#: longer than any run of helm.
_STALE = 3600.0
_ARCHIVE = re.compile(r"(-v?\d+\.\d+\.\d+[^/]*)?\.tgz$")


class Helm(Protocol):
    """What gets charts from elsewhere: :class:`client.Helm`."""

    def pull(
        self, chart: str, version: str, repository: str, directory: str
    ) -> None: ...

    def package(self, source: str, directory: str) -> None: ...


@dataclasses.dataclass(frozen=True)
class Stored:
    """A chart in the store.

    :param size: bytes
    :param problem: why it can't be used; empty when it can
    """

    file: str
    size: int
    name: str = ""
    version: str = ""
    checksum: str = ""
    problem: str = ""


class Store:
    """Charts on this host.

    :param directory: made on first use
    :param temporary: use temporary space while the directory can't be
        written. Set it where the operator chose no directory: Magnum's
        default state_path is the directory of its Python package, which a
        service can seldom write.
    """

    def __init__(
        self, directory: str, helm: Helm, *, temporary: bool = False
    ) -> None:
        self._directory = pathlib.Path(directory)
        self._helm = helm
        self._temporary = temporary
        self._filling = threading.Lock()
        self._checksums = Checksums()

    def has(self, chart: cluster_spec.Chart) -> bool:
        """Return whether the chart is in the store itself."""
        return os.path.exists(self._directory / _file_name(chart))

    def find(self, chart: cluster_spec.Chart) -> str:
        """Return the path of a stored chart, or an empty string.

        It writes nothing, not even a missing checksum.

        :raises ChartUnavailable: the stored chart is damaged
        """
        if target := self._stored(chart):
            self._verified(target, record=False)
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
            found = self._fetched(chart, chart, pathlib.Path(directory))
            _check_version(found, chart.version, chart)

    def ensure(self, chart: cluster_spec.Chart) -> str:
        """Return the path of the chart; fetch the chart if it is missing.

        :raises ChartUnavailable: the chart is neither here nor at its
            source, or it is damaged; ChartUnstorable if the disk is full
        :raises NotConfigured: no directory can be written
        """
        target = self._stored(chart)
        if target is None:
            target = self.place(make=True) / _file_name(chart)
            if target.parent != self._directory:
                LOG.warning(
                    "[capi_helm] chart_store is not set and %s can't be "
                    "written: %s is kept until temporary space is cleaned",
                    self._directory,
                    target,
                )
        return self._ready(target, chart, chart)

    def keep(
        self,
        chart: cluster_spec.Chart,
        source: cluster_spec.Chart | None = None,
    ) -> str:
        """Put the chart into the store itself, never into temporary space.

        :param source: fetch the chart from there (default: where it belongs)
        :raises ChartUnavailable: as :meth:`ensure`
        :raises NotConfigured: the store can't be written
        """
        target = self._directory / _file_name(chart)
        if not os.path.exists(target):
            _check_writable(self._directory)
        return self._ready(target, chart, source or chart)

    def digest(self, chart: cluster_spec.Chart) -> str:
        """Return the SHA-256 of a stored chart, or an empty string."""
        target = self._stored(chart)
        if target is None or not self._usable(target):
            return ""
        return self._verified(target)

    def entries(self) -> list[Stored]:
        """All charts that are here, by file name."""
        return [
            self._entry(each) for each in sorted(self._directory.glob("*.tgz"))
        ]

    def _stored(self, chart: cluster_spec.Chart) -> pathlib.Path | None:
        """Return the path of a chart that is here, good or damaged."""
        target = self._directory / _file_name(chart)
        if self._temporary and not os.path.exists(target):
            target = self.place() / target.name
        return target if os.path.exists(target) else None

    def _ready(
        self,
        target: pathlib.Path,
        chart: cluster_spec.Chart,
        source: cluster_spec.Chart,
    ) -> str:
        """Fetch or repair the archive if necessary; return its path."""
        if not os.path.exists(target):
            self._fill(target, chart, source)
        elif not self._usable(target):
            self._mend(target, chart, source)
        self._verified(target)
        return str(target)

    def _entry(self, file: pathlib.Path) -> Stored:
        found = Stored(file.name, file.stat().st_size)
        try:
            checksum = self._verified(file)
            package = packages.read(file)
        except errors.ChartUnavailable as error:
            return dataclasses.replace(found, problem=str(error))
        return dataclasses.replace(
            found,
            name=package.name,
            version=package.version,
            checksum=checksum,
        )

    def _usable(self, file: pathlib.Path) -> bool:
        try:
            self._verified(file)
        except errors.ChartUnavailable:
            return False
        return True

    def _verified(self, file: pathlib.Path, *, record: bool = True) -> str:
        try:
            return self._checksums.verify(file, record=record)
        except DamagedError:
            raise errors.ChartUnavailable(
                f"{file} is damaged or was replaced: it is not what "
                f"{path_of(file).name} says. Remove both files to "
                "have the chart fetched anew, or the .sha256 alone to use "
                "the chart as it is"
            ) from None
        except OSError as error:
            raise errors.ChartUnavailable(
                f"{file} can't be read ({error.strerror}); see [capi_helm] "
                "chart_store"
            ) from error

    def _fill(
        self,
        target: pathlib.Path,
        chart: cluster_spec.Chart,
        source: cluster_spec.Chart,
    ) -> None:
        """Put a chart into the store, unless another thread just did."""
        with self._filling:
            if os.path.exists(target):
                return
            what = f"chart {name_of(chart)} {chart.version}"
            with complaints.told(what), _staging(target.parent) as staging:
                found = self._fetched(chart, source, staging)
                _check_version(found, chart.version, source)
                # It is the checksum of a chart that somebody removed.
                path_of(target).unlink(missing_ok=True)
                _put(found, target)

    def _mend(
        self,
        target: pathlib.Path,
        chart: cluster_spec.Chart,
        source: cluster_spec.Chart,
    ) -> None:
        """Replace a damaged archive if its source still has the same one.

        If the source has another one by now, an operator has to decide.
        """
        with (
            contextlib.suppress(errors.CapiHelmError, OSError),
            self._filling,
            _staging(target.parent) as staging,
        ):
            if self._usable(target):
                return
            found = self._fetched(chart, source, staging)
            if digest(found) == recorded(target):
                os.replace(found, target)
                LOG.warning("%s was damaged, and was fetched anew", target)

    def _fetched(
        self,
        chart: cluster_spec.Chart,
        source: cluster_spec.Chart,
        staging: pathlib.Path,
    ) -> pathlib.Path:
        """The chart from its source, as a file in ``staging``."""
        file = _file_name(chart)
        local = is_path(source)
        try:
            if not local:
                self._helm.pull(
                    source.name,
                    source.version,
                    source.repository,
                    str(staging),
                )
            elif os.path.isdir(source.name):
                self._helm.package(source.name, str(staging))
            else:
                shutil.copy(source.name, staging / file)
        except (errors.HelmError, OSError) as error:
            if complaints.is_meant(error):
                raise
            why = error.strerror if isinstance(error, OSError) else error
            hint = "check the label capi_helm_chart_version"
            if local:
                hint = "see [capi_helm] helm_chart_name and helm_chart_repo"
            elif source.name.startswith("oci://"):
                hint += " and 'helm registry login' of magnum-conductor's user"
            raise errors.ChartUnavailable(
                "the chart is not in the chart store and can't be fetched; "
                f"{hint}, or put its file into the store. It is {chart.name} "
                f"{chart.version} of {source.repository or source.name}, file "
                f"{file}; {why}"
            ) from error
        found = next(staging.glob("*.tgz"), None)
        if found is None:
            raise errors.ChartUnavailable(f"helm fetched no {file}")
        return found


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
        found = path.lstat()
        private = stat.S_ISDIR(found.st_mode) and not found.st_mode & 0o077
        if not private or found.st_uid != user:
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


@contextlib.contextmanager
def _staging(store: pathlib.Path) -> Iterator[pathlib.Path]:
    """Make a directory to fetch into, and remove it afterwards.

    It is in the store, because a link can't cross file systems.
    """
    _make(store)
    for each in store.glob(f"{_STAGING}*"):
        with contextlib.suppress(FileNotFoundError):
            if time.time() - each.stat().st_mtime > _STALE:
                shutil.rmtree(each, ignore_errors=True)
    with tempfile.TemporaryDirectory(dir=store, prefix=_STAGING) as staging:
        yield pathlib.Path(staging)


def _put(found: pathlib.Path, target: pathlib.Path) -> None:
    """Put an archive into the store, unless another process was faster."""
    try:
        os.link(found, target)
    except FileExistsError:
        LOG.info("another process has put %s into the store", target)
    except OSError:
        # The file system has no hard links.
        os.replace(found, target)


def is_path(chart: cluster_spec.Chart) -> bool:
    """Whether a chart is named by a path on this host."""
    return not chart.repository and "://" not in chart.name


def version_at(chart: cluster_spec.Chart) -> str | None:
    """The version of the chart at a path; None when there is none.

    :raises ChartUnavailable: what is there is no chart
    """
    if not is_path(chart) or not os.path.exists(chart.name):
        return None
    if os.path.isdir(chart.name):
        return packages.of_directory(chart.name)[1]
    return packages.read(chart.name).version


def _check_version(
    file: pathlib.Path, version: str, source: cluster_spec.Chart
) -> None:
    """Refuse a chart that has another version than the one asked for.

    :raises ChartUnavailable: it has
    """
    found = packages.read(file).version
    if found.removeprefix("v") == version.removeprefix("v"):
        return
    raise errors.ChartUnavailable(
        "the chart has another version than the one asked for; correct the "
        "label capi_helm_chart_version, or put the version asked for into "
        f"the chart store. The chart at {source.repository or source.name} "
        f"has version {found}, not {version}"
    )


def name_of(chart: cluster_spec.Chart) -> str:
    """A chart's name in the store: the last part of what names it."""
    return _ARCHIVE.sub("", chart.name.rstrip("/").rsplit("/", 1)[-1])


def _file_name(chart: cluster_spec.Chart) -> str:
    # Not every character is one for every file system and registry.
    name = f"{name_of(chart)}-{chart.version}.tgz"
    return re.sub(r"[^A-Za-z0-9._+-]", "_", name)


#: Size, time of the last change in ns, and inode: what tells, at the cost of
#: one system call, that a file is still the one that was read.
_Looks = tuple[int, int, int]


class DamagedError(Exception):
    """A file is not what its record says."""


class Checksums:
    """The checksums that this process knows to be right."""

    def __init__(self) -> None:
        self._known: dict[pathlib.Path, tuple[_Looks, str]] = {}

    def verify(self, file: pathlib.Path, *, record: bool = True) -> str:
        """Return the checksum; read the file once per process and change.

        :param record: write a record of a file that has none, which an
            operator put there by hand
        :raises DamagedError: the file is not what was recorded
        :raises OSError: the file can't be read
        """
        looks = _looks(file)
        known = self._known.get(file)
        if known is not None and known[0] == looks:
            return known[1]
        found = digest(file)
        if wanted := recorded(file):
            if wanted != found:
                raise DamagedError
        elif record:
            # A process that can't write it trusts the file as it is.
            with contextlib.suppress(OSError):
                write(file, found)
        else:
            return found
        self._known[file] = (looks, found)
        return found


def write(file: pathlib.Path, checksum: str) -> None:
    """Write the checksum of a file beside it, whole or not at all."""
    target = path_of(file)
    writer = f"{os.getpid()}-{threading.get_ident()}"
    staged = target.with_name(f".{target.name}.{writer}")
    staged.write_text(f"{checksum}  {file.name}\n")
    os.replace(staged, target)


def path_of(file: pathlib.Path) -> pathlib.Path:
    """Where the checksum of a file is recorded."""
    return file.with_name(f"{file.name}.sha256")


def digest(file: pathlib.Path) -> str:
    """The SHA-256 of a file, in hexadecimal digits."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def recorded(file: pathlib.Path) -> str:
    """What the record says; empty when there is none."""
    try:
        text = path_of(file).read_text()
    except FileNotFoundError:
        return ""
    return (text.split() or ["an empty record"])[0].lower()


def _looks(file: pathlib.Path) -> _Looks:
    found = file.stat()
    return found.st_size, found.st_mtime_ns, found.st_ino
