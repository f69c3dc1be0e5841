# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""The local chart store: each chart version is fetched once.

``<store>/<name>-<version>.tgz``, put there whole or not at all, and its
checksum beside it. What is in the store is never fetched again, so a chart
that changes in its repository, or in its directory, does not reach a cluster
that has the version already; and an operator without a way out fills the
store by hand.
"""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import dataclasses
import os
import pathlib
import re
import shutil
import tempfile
from typing import Protocol

from oslo_log import log

from magnum_capi_helm import exceptions
from magnum_capi_helm import spec
from magnum_capi_helm.helm import checksums
from magnum_capi_helm.helm import full_disk
from magnum_capi_helm.helm import packages
from magnum_capi_helm.helm import store_lock

LOG = log.getLogger(__name__)

_STAGING = ".pull-"
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
    """

    def __init__(self, directory: str, helm: Helm) -> None:
        self._directory = pathlib.Path(directory)
        self._helm = helm
        self._lock = store_lock.StoreLock(self._directory)
        self._checksums = checksums.Checksums()

    def has(self, chart: spec.Chart) -> bool:
        """Whether the chart is here already."""
        return self._target(chart).exists()

    def ensure(
        self, chart: spec.Chart, source: spec.Chart | None = None
    ) -> str:
        """Path of the chart on this host, fetched when it is missing.

        :param source: where to fetch it from; by default, where it belongs
        :raises ChartUnavailable: neither here nor at its source, or damaged;
            of a disk that does not take it: ChartUnstorable
        :raises NotConfigured: the store can't be written
        """
        target = self._target(chart)
        if not target.exists():
            self._fill(target, chart, source or chart)
        elif not self._usable(target):
            self._mend(target, chart, source or chart)
        self._verified(target)
        return str(target)

    def entries(self) -> list[Stored]:
        """All charts that are here, by file name."""
        return [
            self._entry(each) for each in sorted(self._directory.glob("*.tgz"))
        ]

    def _target(self, chart: spec.Chart) -> pathlib.Path:
        return self._directory / _file_name(chart)

    def _entry(self, file: pathlib.Path) -> Stored:
        found = Stored(file.name, file.stat().st_size)
        try:
            checksum = self._verified(file)
            package = packages.read(file)
        except exceptions.ChartUnavailable as error:
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
        except exceptions.ChartUnavailable:
            return False
        return True

    def _verified(self, file: pathlib.Path) -> str:
        try:
            return self._checksums.verify(file)
        except checksums.DamagedError:
            raise exceptions.ChartUnavailable(
                f"{file} is damaged or was replaced: it is not what "
                f"{checksums.path_of(file).name} says. Remove both files to "
                "have the chart fetched anew, or the .sha256 alone to use "
                "the chart as it is"
            ) from None
        except OSError as error:
            raise exceptions.ChartUnavailable(
                f"{file} can't be read ({error.strerror}); see [capi_helm] "
                "chart_store"
            ) from error

    def _fill(
        self, target: pathlib.Path, chart: spec.Chart, source: spec.Chart
    ) -> None:
        """Put a chart into the store, unless somebody else just did."""
        with self._lock.held():
            if target.exists():
                return
            what = f"chart {name_of(chart)} {chart.version}"
            with full_disk.told(what), self._staging() as staging:
                found = self._fetched(chart, source, staging)
                _check_version(found, chart.version, source)
                # What is recorded for a chart that somebody removed is over.
                checksums.path_of(target).unlink(missing_ok=True)
                os.replace(found, target)

    def _mend(
        self, target: pathlib.Path, chart: spec.Chart, source: spec.Chart
    ) -> None:
        """Replace a damaged chart by what its record says, if it is to be had.

        What is another chart by now is left alone: somebody has to look.
        """
        with (
            contextlib.suppress(exceptions.CapiHelmError, OSError),
            self._lock.held(),
            self._staging() as staging,
        ):
            if self._usable(target):
                return
            found = self._fetched(chart, source, staging)
            if checksums.digest(found) == checksums.recorded(target):
                os.replace(found, target)
                LOG.warning("%s was damaged, and was fetched anew", target)

    @contextlib.contextmanager
    def _staging(self) -> Iterator[pathlib.Path]:
        """A directory to fetch into; under the lock, so it is the only one."""
        for stale in self._directory.glob(f"{_STAGING}*"):
            shutil.rmtree(stale, ignore_errors=True)
        # In the store itself: a rename must not cross file systems.
        with tempfile.TemporaryDirectory(
            dir=self._directory, prefix=_STAGING
        ) as staging:
            yield pathlib.Path(staging)

    def _fetched(
        self, chart: spec.Chart, source: spec.Chart, staging: pathlib.Path
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
        except (exceptions.HelmError, OSError) as error:
            if full_disk.is_meant(error):
                raise
            why = error.strerror if isinstance(error, OSError) else error
            hint = "check the label capi_helm_chart_version"
            if local:
                hint = "see [capi_helm] helm_chart_name and helm_chart_repo"
            elif source.name.startswith("oci://"):
                hint += " and 'helm registry login' of magnum-conductor's user"
            raise exceptions.ChartUnavailable(
                f"chart {chart.name} {chart.version} is not in the chart "
                "store and can't be fetched from "
                f"{source.repository or source.name} ({why}); {hint}, or put "
                f"{file} into the store"
            ) from error
        found = next(staging.glob("*.tgz"), None)
        if found is None:
            raise exceptions.ChartUnavailable(f"helm fetched no {file}")
        return found


def is_path(chart: spec.Chart) -> bool:
    """Whether a chart is named by a path on this host."""
    return not chart.repository and "://" not in chart.name


def version_at(chart: spec.Chart) -> str | None:
    """The version of the chart at a path; None when there is none.

    :raises ChartUnavailable: what is there is no chart
    """
    if not is_path(chart) or not os.path.exists(chart.name):
        return None
    if os.path.isdir(chart.name):
        return packages.of_directory(chart.name)[1]
    return packages.read(chart.name).version


def _check_version(
    file: pathlib.Path, version: str, source: spec.Chart
) -> None:
    """Refuse a chart that has another version than the one asked for.

    :raises ChartUnavailable: it has
    """
    found = packages.read(file).version
    if found.removeprefix("v") == version.removeprefix("v"):
        return
    raise exceptions.ChartUnavailable(
        f"the chart at {source.repository or source.name} has version "
        f"{found}, not {version}, which is asked for; give the label "
        f"capi_helm_chart_version={found}, or put version {version} into "
        "the chart store"
    )


def name_of(chart: spec.Chart) -> str:
    """A chart's name in the store: the last part of what names it."""
    return _ARCHIVE.sub("", chart.name.rstrip("/").rsplit("/", 1)[-1])


def _file_name(chart: spec.Chart) -> str:
    # Not every character is one for every file system and registry.
    name = f"{name_of(chart)}-{chart.version}.tgz"
    return re.sub(r"[^A-Za-z0-9._+-]", "_", name)
