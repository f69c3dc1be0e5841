# SPDX-License-Identifier: Apache-2.0

"""The commands of helm that are about charts alone."""

from __future__ import annotations

import json
import pathlib

from magnum_capi_helm.helm import packages
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.fakes import chart as fake_chart


class FakeRepository:
    """A repository that has any chart, with a few default values."""

    def __init__(self) -> None:
        self.pulls: list[str] = []
        #: Chart versions that it has; None: all.
        self.published: set[str] | None = None
        #: What its builds of charts do otherwise (``chart.render``).
        self.build: dict[str, str] = {}

    def pull(
        self, chart: str, version: str, repository: str, directory: str
    ) -> None:
        """As the real one."""
        self.pulls.append(version)
        if self.published is not None and version not in self.published:
            raise errors.ChartUnavailable(
                f"helm pull: chart {chart} version {version} not found"
            )
        name = chart.rsplit("/", 1)[-1]
        packed = fake_chart.package(
            name,
            version,
            {"build": self.build},
            {"addons": fake_chart.ADDONS},
        )
        pathlib.Path(directory, f"{name}-{version}.tgz").write_bytes(packed)

    def package(self, source: str, directory: str) -> None:
        """As the real one."""
        name, version = packages.of_directory(source)
        self.pull(name, version, "", directory)

    def index(self, directory: str) -> None:
        """As the real one."""
        packed = pathlib.Path(directory).glob("*.tgz")
        found = packages.read
        entries = {found(each).name: found(each).version for each in packed}
        pathlib.Path(directory, "index.yaml").write_text(json.dumps(entries))
