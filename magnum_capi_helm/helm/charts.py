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

"""The local chart store: each chart version is downloaded once.

``<store>/<name>-<version>.tgz``, put there whole or not at all. The store
is trusted as it is: an operator without a way out fills it by hand.
"""

from __future__ import annotations

import os
import pathlib
import re
import tempfile
import threading
from typing import Protocol

from magnum_capi_helm import exceptions
from magnum_capi_helm import spec


class Puller(Protocol):
    """What downloads a chart: :class:`client.Helm`."""

    def pull(
        self, chart: str, version: str, repository: str, directory: str
    ) -> None: ...


class Store:
    """Charts on this host.

    :param directory: made on first use
    """

    def __init__(self, directory: str, helm: Puller) -> None:
        self._directory = pathlib.Path(directory)
        self._helm = helm
        self._lock = threading.Lock()

    def ensure(self, chart: spec.Chart) -> str:
        """Path of the chart on this host, downloaded when it is missing.

        :raises ChartUnavailable: neither here nor in the repository
        :raises NotConfigured: the store can't be written
        """
        if not chart.repository and not chart.name.startswith("oci://"):
            return _local(chart)
        target = self._directory / _file_name(chart)
        with self._lock:  # pull once, however many threads ask
            if not target.exists():
                self._pull(chart, target)
        return str(target)

    def _pull(self, chart: spec.Chart, target: pathlib.Path) -> None:
        try:
            self._directory.mkdir(parents=True, exist_ok=True)
            # In the store itself: a rename must not cross file systems.
            staging = tempfile.TemporaryDirectory(
                dir=self._directory, prefix=".pull-"
            )
        except OSError as error:
            raise exceptions.NotConfigured(
                f"the chart store {self._directory} can't be written "
                f"({error.strerror}); see [capi_helm] chart_store"
            ) from error
        with staging as directory:
            try:
                self._helm.pull(
                    chart.name, chart.version, chart.repository, directory
                )
            except exceptions.HelmError as error:
                raise exceptions.ChartUnavailable(
                    f"chart {chart.name} {chart.version} is not in the "
                    f"chart store and can't be fetched from "
                    f"{chart.repository or chart.name} ({error}); check "
                    "the label capi_helm_chart_version, or put "
                    f"{target.name} into the store"
                ) from error
            found = next(pathlib.Path(directory).glob("*.tgz"), None)
            if found is None:
                raise exceptions.ChartUnavailable(
                    f"helm fetched no {target.name}"
                )
            os.replace(found, target)


def _file_name(chart: spec.Chart) -> str:
    name = chart.name.rsplit("/", 1)[-1]
    # "+" of a version is no character for every file system and registry.
    return re.sub(r"[^A-Za-z0-9._+-]", "_", f"{name}-{chart.version}.tgz")


def _local(chart: spec.Chart) -> str:
    """A chart that the operator named by its path."""
    if not os.path.exists(chart.name):
        raise exceptions.ChartUnavailable(
            f"there is no chart at {chart.name}; see [capi_helm] "
            "helm_chart_name and helm_chart_repo"
        )
    return chart.name
