# SPDX-License-Identifier: Apache-2.0
"""The chart store: each version is fetched once, whole or not at all."""

from __future__ import annotations

import errno
import multiprocessing
import os
import pathlib
import threading
from typing import Any
import unittest

from magnum_capi_helm.helm import charts
from magnum_capi_helm.helm import complaints
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.unit.helm import store


class FetchTest(store.StoreTestCase):
    def test_a_missing_chart_is_fetched_into_the_store(self) -> None:
        path = self.store.ensure(store.CHART)
        self.assertEqual(str(self.file), path)
        self.assertEqual(store.PACKED, self.file.read_bytes())
        self.assertEqual(
            [("openstack-cluster", "0.27.0", "https://charts.example.org")],
            self.helm.pulled,
        )
        self.assertEqual([store.FILE], self.files())

    def test_a_chart_in_the_store_is_never_fetched(self) -> None:
        self.put(store.OTHER)
        self.store.ensure(store.CHART)
        self.assertEqual(store.OTHER, self.file.read_bytes())
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
                target=lambda: found.append(self.store.ensure(store.CHART)),
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
        self.assertEqual([str(self.file)] * 8, found)
        self.assertEqual(1, len(self.helm.pulled))

    def test_a_process_that_fetches_at_the_same_time_delays_nobody(
        self,
    ) -> None:
        context = multiprocessing.get_context("fork")
        fetching, may_end = context.Event(), context.Event()

        def other() -> None:
            def slow(directory: pathlib.Path) -> None:
                fetching.set()
                assert may_end.wait(10)
                (directory / store.FILE).write_bytes(store.OTHER)

            helm = store.Helm()
            helm.during = slow
            charts.Store(str(self.directory), helm).ensure(store.CHART)
            os._exit(0)

        process = context.Process(target=other, daemon=True)
        process.start()
        self.assertTrue(fetching.wait(10))
        self.store.ensure(store.CHART)
        self.assertEqual(store.PACKED, self.file.read_bytes())
        may_end.set()
        process.join(10)
        # The last archive stays, and is whole.
        self.assertEqual(store.OTHER, self.file.read_bytes())
        self.assertEqual([store.FILE], self.files())

    @unittest.skipUnless(os.geteuid() == 0, "root alone gives files away")
    def test_a_directory_that_root_makes_belongs_to_the_owner_of_the_parent(
        self,
    ) -> None:
        os.chown(self.home, 65534, 65533)
        self.store.ensure(store.CHART)
        for each in (self.directory.parent, self.directory):
            found = each.stat()
            self.assertEqual((65534, 65533), (found.st_uid, found.st_gid))

    def test_half_a_chart_is_never_in_the_store(self) -> None:
        def look(directory: pathlib.Path) -> None:
            (directory / "part").write_text("a ch")
            self.assertFalse(self.file.exists())
            self.helm.fetch(directory)

        self.helm.during = look
        self.store.ensure(store.CHART)
        self.assertEqual(store.PACKED, self.file.read_bytes())

    def test_a_fetch_that_fails_leaves_nothing_and_is_tried_again(
        self,
    ) -> None:
        def fail(directory: pathlib.Path) -> None:
            (directory / store.FILE).write_text("a ch")
            raise errors.ChartUnavailable("helm pull: not found")

        self.helm.during = fail
        self.assertRegex(
            self.unavailable(store.CHART),
            "^the chart is not in .* openstack-cluster 0.27.0 of https://"
            "charts.example.org, file openstack-cluster-0.27.0.tgz; .*found$",
        )
        self.assertEqual([], self.files())
        self.helm.during = self.helm.fetch
        self.store.ensure(store.CHART)
        self.assertEqual([store.FILE], self.files())

    def test_a_full_disk_is_no_matter_of_the_chart(self) -> None:
        full = complaints.translated(
            "pull",
            b"Error: write /var/lib/magnum/charts/.pull-1/c.tgz: no space "
            b"left on device",
        )
        for error, why in (
            (full, "helm pull: no space left on device"),
            (OSError(errno.ENOSPC, "No space left"), "No space left"),
        ):

            def fail(directory: pathlib.Path, error: Exception = error) -> Any:
                raise error

            self.helm.during = fail
            self.assertIn(
                f"0.27.0 can't be put into the conductor's chart store ({why}",
                self.unavailable(store.CHART),
            )

    def test_a_fetch_that_brings_nothing_is_an_error(self) -> None:
        self.helm.during = lambda directory: None
        self.unavailable(store.CHART)

    def test_a_fetch_that_brings_no_chart_is_an_error(self) -> None:
        self.helm.during = lambda directory: store.write(directory, b"<html>")
        self.assertIn(
            "is no packaged helm chart", self.unavailable(store.CHART)
        )
        self.assertEqual([], self.files())

    def test_a_missing_helm_is_reported_as_that(self) -> None:
        def missing(directory: pathlib.Path) -> None:
            raise errors.NotConfigured("helm can't be started")

        self.helm.during = missing
        self.assertRaises(errors.NotConfigured, self.store.ensure, store.CHART)
        self.assertEqual([], self.files())

    def test_a_store_that_can_t_be_written_names_its_option(self) -> None:
        self.directory.parent.write_text("a file in the way")
        error = self.assertRaises(
            errors.NotConfigured, self.store.ensure, store.CHART
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
            self.store.ensure(
                cluster_spec.Chart(name, version, "https://charts")
            )
        charts_here = [each for each in self.files() if each.endswith("tgz")]
        self.assertEqual(sorted(files.values()), charts_here)

    def test_a_chart_of_a_registry_needs_no_repository(self) -> None:
        chart = cluster_spec.Chart("oci://registry/c", "1.0.0", "")
        self.store.ensure(chart)
        self.assertEqual([("oci://registry/c", "1.0.0", "")], self.helm.pulled)

    def test_another_source_fills_the_same_place(self) -> None:
        source = cluster_spec.Chart("oci://elsewhere/copy", "0.27.0", "")
        self.helm.during = lambda directory: store.write(
            directory, store.OTHER
        )
        path = self.store.keep(store.CHART, source)
        self.assertEqual(str(self.file), path)
        self.assertEqual(path, self.store.ensure(store.CHART))
        self.assertEqual(
            [("oci://elsewhere/copy", "0.27.0", "")], self.helm.pulled
        )
