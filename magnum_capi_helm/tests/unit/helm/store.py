# SPDX-License-Identifier: Apache-2.0
"""A chart store and a stand-in for helm."""

from __future__ import annotations

from collections.abc import Callable
import pathlib

import fixtures
from oslotest import base

from magnum_capi_helm.helm import charts
from magnum_capi_helm.helm import client
from magnum_capi_helm.helm import packages
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.fakes import chart as fake_chart

NAME = "openstack-cluster"
CHART = cluster_spec.Chart(NAME, "0.27.0", "https://charts.example.org")
FILE = "openstack-cluster-0.27.0.tgz"
PACKED = fake_chart.package(NAME, "0.27.0", {"from": "the repository"})
OTHER = fake_chart.package(NAME, "0.27.0", {"from": "somewhere else"})


class Helm(client.Helm):
    """Fetches and packages charts as a test tells it."""

    def __init__(self) -> None:
        super().__init__("", 0)
        self.pulled: list[tuple[str, str, str]] = []
        self.packaged: list[str] = []
        self.during: Callable[[pathlib.Path], None] = self.fetch

    def pull(
        self, chart: str, version: str, repository: str, directory: str
    ) -> None:
        self.pulled.append((chart, version, repository))
        self.during(pathlib.Path(directory))

    def package(self, source: str, directory: str) -> None:
        self.packaged.append(source)
        name, version = packages.of_directory(source)
        made = fake_chart.package(name, version, {"from": source})
        pathlib.Path(directory, f"{name}-{version}.tgz").write_bytes(made)

    def fetch(self, directory: pathlib.Path) -> None:
        name, version, _ = self.pulled[-1]
        made = PACKED
        if (name, version) != (NAME, "0.27.0"):
            made = fake_chart.package("c", version)
        (directory / "fetched.tgz").write_bytes(made)


class StoreTestCase(base.BaseTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.home = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.directory = self.home / "deep" / "charts"
        self.file = self.directory / FILE
        self.helm = Helm()
        self.store = charts.Store(str(self.directory), self.helm)

    def files(self) -> list[str]:
        """Return the names of all files in the store."""
        return sorted(each.name for each in self.directory.iterdir())

    def put(self, content: bytes) -> None:
        """Put a file into the store by hand."""
        self.directory.mkdir(parents=True, exist_ok=True)
        self.file.write_bytes(content)

    def unavailable(self, chart: cluster_spec.Chart) -> str:
        """Why the store can't give a chart."""
        return str(
            self.assertRaises(
                errors.ChartUnavailable, self.store.ensure, chart
            )
        )


def write(directory: pathlib.Path, content: bytes) -> None:
    """Write a chart as a fetch does."""
    (directory / "fetched.tgz").write_bytes(content)
