# SPDX-License-Identifier: Apache-2.0
"""The chart store keeps what it has: of a path, and as it was recorded."""

from __future__ import annotations

import hashlib
import os
import pathlib
import shutil
import threading

import fixtures

from magnum_capi_helm.helm import charts
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.tests.fakes import chart as fake_chart
from magnum_capi_helm.tests.unit.helm import store


class PathTest(store.StoreTestCase):
    """``helm_chart_name`` is a path, ``helm_chart_repo`` is empty."""

    def setUp(self) -> None:
        super().setUp()
        self.place = self.home / store.NAME
        self.place.mkdir()
        self.set_version("0.27.0")

    def set_version(self, version: str) -> None:
        """The chart of the directory becomes another version."""
        about = f"name: {store.NAME}\nversion: {version}\n"
        (self.place / "Chart.yaml").write_text(about)

    def at(
        self, version: str, path: pathlib.Path | None = None
    ) -> cluster_spec.Chart:
        return cluster_spec.Chart(str(path or self.place), version, "")

    def test_a_directory_is_packaged_once_and_then_left_alone(self) -> None:
        self.assertEqual(str(self.file), self.store.ensure(self.at("0.27.0")))
        self.set_version("0.28.0")
        shutil.rmtree(self.place)
        self.assertEqual(str(self.file), self.store.ensure(self.at("0.27.0")))
        self.assertEqual([str(self.place)], self.helm.packaged)

    def test_an_archive_is_copied(self) -> None:
        archive = self.home / store.FILE
        archive.write_bytes(store.OTHER)
        self.store.ensure(self.at("0.27.0", archive))
        archive.unlink()
        self.assertEqual(store.OTHER, self.file.read_bytes())

    def test_a_cluster_keeps_its_version_when_the_path_gets_another(
        self,
    ) -> None:
        self.store.ensure(self.at("0.27.0"))
        self.set_version("0.28.0")
        new = self.store.ensure(self.at("0.28.0"))
        self.assertEqual(f"{self.place.name}-0.28.0.tgz", _name(new))
        self.assertEqual(
            store.FILE, _name(self.store.ensure(self.at("0.27.0")))
        )

    def test_an_archive_s_version_is_no_part_of_its_name(self) -> None:
        for version in ("0.27.0", "0.28.0"):
            archive = self.home / f"{store.NAME}-{version}.tgz"
            archive.write_bytes(fake_chart.package(store.NAME, version))
            found = self.store.ensure(self.at(version, archive))
            self.assertEqual(archive.name, _name(found))
        found = self.store.ensure(self.at("0.27.0", archive))
        self.assertEqual(store.FILE, _name(found))

    def test_a_path_with_another_version_is_refused_with_both(self) -> None:
        self.set_version("0.26.1")
        self.assertIn(
            f"The chart at {self.place} has version 0.26.1, not 0.27.0",
            self.unavailable(self.at("0.27.0")),
        )
        self.assertEqual([], self.files())

    def test_an_archive_that_can_t_be_read_names_its_options(self) -> None:
        archive = self.home / store.FILE
        archive.write_bytes(store.OTHER)
        refused = PermissionError(13, "Permission denied")
        self.useFixture(fixtures.MockPatch("shutil.copy", side_effect=refused))
        self.assertRegex(
            self.unavailable(self.at("0.27.0", archive)),
            "helm_chart_name and helm_chart_repo, .*; Permission denied$",
        )

    def test_a_path_without_a_chart_names_its_options(self) -> None:
        missing = self.home / "nowhere"
        self.assertRegex(
            self.unavailable(self.at("0.27.0", missing)),
            f"helm_chart_name and helm_chart_repo, .* {missing} 0.27.0 of "
            f"{missing}, file nowhere-0.27.0.tgz; No such file",
        )


class ChecksumTest(store.StoreTestCase):
    def test_a_fetched_chart_has_a_record_that_sha256sum_reads(self) -> None:
        self.store.ensure(store.CHART)
        digest = hashlib.sha256(store.PACKED).hexdigest()
        self.assertEqual(f"{digest}  {store.FILE}\n", self.record())

    def test_a_chart_put_there_by_hand_is_trusted_and_recorded(self) -> None:
        self.put(store.OTHER)
        self.store.ensure(store.CHART)
        digest = hashlib.sha256(store.OTHER).hexdigest()
        self.assertEqual(f"{digest}  {store.FILE}\n", self.record())

    def test_the_digest_is_that_of_the_file_that_is_there(self) -> None:
        self.assertEqual("", self.store.digest(store.CHART))
        self.store.ensure(store.CHART)
        digest = hashlib.sha256(store.PACKED).hexdigest()
        self.assertEqual(digest, self.store.digest(store.CHART))
        self.put(store.OTHER)
        self.assertEqual("", self.store.digest(store.CHART))

    def test_two_threads_never_write_one_file(self) -> None:
        self.put(store.OTHER)
        staged: list[str] = []
        together = threading.Barrier(2)
        replace = os.replace

        def spy(source: str, target: str) -> None:
            staged.append(str(source))
            together.wait(5)
            replace(source, target)

        self.useFixture(fixtures.MockPatch("os.replace", spy))
        threads = [
            threading.Thread(target=self.store.ensure, args=(store.CHART,))
            for _ in range(2)
        ]
        for each in threads:
            each.start()
        for each in threads:
            each.join(5)
        self.assertEqual(2, len(set(staged)))

    def test_a_damaged_chart_is_never_used_and_the_error_helps(self) -> None:
        self.store.ensure(store.CHART)
        self.put(store.PACKED[:-1])
        self.assertEqual(
            f"{self.file} is damaged or was replaced: it is not what "
            f"{store.FILE}.sha256 says. Remove both files and run "
            "'magnum-capi-helm chart fetch VERSION', or remove the .sha256 "
            "alone to use the chart as it is",
            self.unavailable(store.CHART),
        )
        self.assertEqual(1, len(self.helm.pulled))

    def test_a_chart_is_checked_each_time(self) -> None:
        self.store.ensure(store.CHART)
        before = self.file.stat()
        self.file.write_bytes(
            store.OTHER.ljust(before.st_size)[: before.st_size]
        )
        os.utime(self.file, ns=(before.st_atime_ns, before.st_mtime_ns))
        self.unavailable(store.CHART)

    def test_a_chart_that_is_fetched_anew_gets_a_new_record(self) -> None:
        self.store.ensure(store.CHART)
        self.file.unlink()
        self.helm.during = lambda directory: store.write(
            directory, store.OTHER
        )
        self.store.ensure(store.CHART)
        self.assertIn(hashlib.sha256(store.OTHER).hexdigest(), self.record())

    def test_an_empty_record_is_none_that_fits(self) -> None:
        self.put(store.OTHER)
        self.file.with_name(f"{store.FILE}.sha256").write_text("")
        self.unavailable(store.CHART)

    def test_a_store_that_is_read_only_gives_its_charts(self) -> None:
        self.put(store.OTHER)
        self.useFixture(
            fixtures.MockPatch("pathlib.Path.write_text", _read_only)
        )
        self.assertEqual(str(self.file), self.store.ensure(store.CHART))
        self.assertEqual([self.file], list(self.directory.iterdir()))

    def test_a_chart_that_can_t_be_read_names_the_option(self) -> None:
        self.file.mkdir(parents=True)
        self.assertIn(
            "see [capi_helm] chart_store", self.unavailable(store.CHART)
        )

    def record(self) -> str:
        return self.file.with_name(f"{store.FILE}.sha256").read_text()


class EntriesTest(store.StoreTestCase):
    def test_they_have_the_contents_of_the_files(self) -> None:
        self.put(store.OTHER)
        (self.directory / "notes.txt").write_text("no chart")
        (self.directory / "broken-1.0.0.tgz").write_text("no chart")
        broken, found = self.store.entries()
        self.assertEqual(
            charts.Stored(
                file=store.FILE,
                size=len(store.OTHER),
                name=store.NAME,
                version="0.27.0",
                checksum=hashlib.sha256(store.OTHER).hexdigest(),
            ),
            found,
        )
        self.assertEqual("broken-1.0.0.tgz", broken.file)
        self.assertIn("is no packaged helm chart", broken.problem)

    def test_an_empty_store_has_none(self) -> None:
        self.assertEqual([], list(self.store.entries()))

    def test_having_a_chart_is_having_its_file(self) -> None:
        self.assertFalse(self.store.has(store.CHART))
        self.put(store.OTHER)
        self.assertTrue(self.store.has(store.CHART))


def _name(path: str) -> str:
    return pathlib.Path(path).name


def _read_only(*_: object) -> None:
    raise PermissionError
