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
"""The chart store: each version is fetched once, whole or not at all."""

from __future__ import annotations

from collections.abc import Callable
import pathlib
import threading

import fixtures
from oslotest import base

from magnum_capi_helm import exceptions
from magnum_capi_helm import spec
from magnum_capi_helm.helm import charts

CHART = spec.Chart("openstack-cluster", "0.27.0", "https://charts.example.org")
FILE = "openstack-cluster-0.27.0.tgz"


class Puller:
    """Fetches charts as a test tells it."""

    def __init__(self) -> None:
        self.pulled: list[tuple[str, str, str]] = []
        self.during: Callable[[pathlib.Path], None] = self.fetch

    def pull(
        self, chart: str, version: str, repository: str, directory: str
    ) -> None:
        self.pulled.append((chart, version, repository))
        self.during(pathlib.Path(directory))

    def fetch(self, directory: pathlib.Path) -> None:
        (directory / FILE).write_text("a chart")


class StoreTest(base.BaseTestCase):
    def setUp(self) -> None:
        super().setUp()
        home = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.directory = home / "deep" / "charts"
        self.helm = Puller()
        self.store = charts.Store(str(self.directory), self.helm)

    def _files(self) -> list[str]:
        return sorted(each.name for each in self.directory.iterdir())

    def test_a_missing_chart_is_fetched_into_the_store(self) -> None:
        path = self.store.ensure(CHART)
        self.assertEqual(str(self.directory / FILE), path)
        self.assertEqual("a chart", pathlib.Path(path).read_text())
        self.assertEqual(
            [("openstack-cluster", "0.27.0", "https://charts.example.org")],
            self.helm.pulled,
        )
        self.assertEqual([FILE], self._files())

    def test_a_chart_in_the_store_is_never_fetched(self) -> None:
        self.directory.mkdir(parents=True)
        (self.directory / FILE).write_text("put here by hand")
        path = pathlib.Path(self.store.ensure(CHART))
        self.assertEqual("put here by hand", path.read_text())
        self.assertEqual([], self.helm.pulled)

    def test_many_threads_fetch_once(self) -> None:
        begun, go_on = threading.Event(), threading.Event()

        def slow(directory: pathlib.Path) -> None:
            begun.set()
            assert go_on.wait(5)
            self.helm.fetch(directory)

        self.helm.during = slow
        found: list[str] = []
        threads = [
            threading.Thread(
                target=lambda: found.append(self.store.ensure(CHART)),
                daemon=True,
            )
            for _ in range(8)
        ]
        for each in threads:
            each.start()
        self.assertTrue(begun.wait(5))
        go_on.set()
        for each in threads:
            each.join(5)
        self.assertEqual([str(self.directory / FILE)] * 8, found)
        self.assertEqual(1, len(self.helm.pulled))

    def test_nobody_sees_half_a_chart(self) -> None:
        def look(directory: pathlib.Path) -> None:
            (directory / FILE).write_text("a ch")
            self.assertFalse((self.directory / FILE).exists())
            self.helm.fetch(directory)

        self.helm.during = look
        path = pathlib.Path(self.store.ensure(CHART))
        self.assertEqual("a chart", path.read_text())

    def test_a_fetch_that_fails_leaves_nothing_and_is_tried_again(
        self,
    ) -> None:
        def fail(directory: pathlib.Path) -> None:
            (directory / FILE).write_text("a ch")
            raise exceptions.ChartUnavailable("helm pull: not found")

        self.helm.during = fail
        error = self.assertRaises(
            exceptions.ChartUnavailable, self.store.ensure, CHART
        )
        self.assertEqual(
            "chart openstack-cluster 0.27.0 is not in the chart store and "
            "can't be fetched from https://charts.example.org (helm pull: "
            "not found); check the label capi_helm_chart_version, or put "
            "openstack-cluster-0.27.0.tgz into the store",
            str(error),
        )
        self.assertEqual([], self._files())
        self.helm.during = self.helm.fetch
        self.store.ensure(CHART)
        self.assertEqual([FILE], self._files())

    def test_a_fetch_that_brings_nothing_is_an_error(self) -> None:
        self.helm.during = lambda directory: None
        self.assertRaises(
            exceptions.ChartUnavailable, self.store.ensure, CHART
        )

    def test_a_missing_helm_is_reported_as_that(self) -> None:
        def missing(directory: pathlib.Path) -> None:
            raise exceptions.NotConfigured("helm can't be started")

        self.helm.during = missing
        self.assertRaises(exceptions.NotConfigured, self.store.ensure, CHART)
        self.assertEqual([], self._files())

    def test_a_store_that_can_t_be_written_names_its_option(self) -> None:
        self.directory.parent.write_text("a file in the way")
        error = self.assertRaises(
            exceptions.NotConfigured, self.store.ensure, CHART
        )
        self.assertIn("see [capi_helm] chart_store", str(error))

    def test_each_version_and_name_has_a_file_of_its_own(self) -> None:
        files = {
            ("c", "1.0.0"): "c-1.0.0.tgz",
            ("oci://registry/path/c", "1.0.1"): "c-1.0.1.tgz",
            ("c", "1.0.0-dev.0+a1"): "c-1.0.0-dev.0+a1.tgz",
            ("c", "../../evil"): "c-.._.._evil.tgz",
        }
        for name, version in files:
            self.store.ensure(spec.Chart(name, version, "https://charts"))
        self.assertEqual(sorted(files.values()), self._files())

    def test_a_chart_of_a_registry_needs_no_repository(self) -> None:
        chart = spec.Chart("oci://registry/c", "1.0.0", "")
        self.store.ensure(chart)
        self.assertEqual([("oci://registry/c", "1.0.0", "")], self.helm.pulled)

    def test_a_chart_that_is_a_path_is_used_where_it_is(self) -> None:
        here = self.useFixture(fixtures.TempDir()).path
        self.assertEqual(
            here, self.store.ensure(spec.Chart(here, "0.27.0", ""))
        )
        self.assertFalse(self.directory.exists())

    def test_a_path_without_a_chart_names_its_options(self) -> None:
        error = self.assertRaises(
            exceptions.ChartUnavailable,
            self.store.ensure,
            spec.Chart("/nowhere/chart", "0.27.0", ""),
        )
        self.assertEqual(
            "there is no chart at /nowhere/chart; see [capi_helm] "
            "helm_chart_name and helm_chart_repo",
            str(error),
        )
