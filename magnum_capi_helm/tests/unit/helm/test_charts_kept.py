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
from magnum_capi_helm.model import errors
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
        replace = os.replace

        def spy(source: str, target: str) -> None:
            staged.append(str(source))
            replace(source, target)

        self.useFixture(fixtures.MockPatch("os.replace", spy))
        file = self.home / store.FILE
        together = threading.Barrier(2)

        def write() -> None:
            together.wait(5)
            charts.write(file, "0" * 64)
            together.wait(5)

        threads = [threading.Thread(target=write) for _ in range(2)]
        for each in threads:
            each.start()
        for each in threads:
            each.join(5)
        self.assertEqual(2, len(set(staged)))

    def test_a_damaged_chart_is_fetched_anew_if_it_is_still_the_same(
        self,
    ) -> None:
        self.store.ensure(store.CHART)
        before = self.record()
        self.put(store.PACKED[:-1])
        self.store.ensure(store.CHART)
        self.assertEqual(store.PACKED, self.file.read_bytes())
        self.assertEqual(before, self.record())

    def test_a_damaged_chart_is_never_used_and_the_error_helps(self) -> None:
        self.store.ensure(store.CHART)
        self.put(store.PACKED[:-1])
        other, away = store.Helm(), store.Helm()
        other.during = lambda folder: store.write(folder, store.OTHER)
        away.during = self._no_route
        for helm in (other, away):
            self.store = charts.Store(str(self.directory), helm)
            self.assertRegex(
                self.unavailable(store.CHART),
                f"^{self.file} is damaged .* {store.FILE}.sha256 says. Remove",
            )

    def test_a_damaged_chart_in_a_read_only_store_is_refused(self) -> None:
        self.store.ensure(store.CHART)
        self.put(store.PACKED[:-1])
        self.useFixture(
            fixtures.MockPatch(
                "tempfile.TemporaryDirectory", side_effect=PermissionError
            )
        )
        self.assertIn("is damaged", self.unavailable(store.CHART))

    def _no_route(self, folder: pathlib.Path) -> None:
        raise errors.HelmUnreachable("no route to host")

    def test_a_chart_is_read_once_while_it_stays_the_same(self) -> None:
        self.store.ensure(store.CHART)
        before = self.file.stat()
        self.file.write_bytes(
            store.OTHER.ljust(before.st_size)[: before.st_size]
        )
        os.utime(self.file, ns=(before.st_atime_ns, before.st_mtime_ns))
        self.store.ensure(store.CHART)
        os.utime(self.file)
        self.helm.during = self._no_route
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
            fixtures.MonkeyPatch(
                "magnum_capi_helm.helm.charts.write", _read_only
            )
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
        self.assertEqual([], self.store.entries())

    def test_having_a_chart_is_having_its_file(self) -> None:
        self.assertFalse(self.store.has(store.CHART))
        self.put(store.OTHER)
        self.assertTrue(self.store.has(store.CHART))


def _name(path: str) -> str:
    return pathlib.Path(path).name


def _read_only(*_: object) -> None:
    raise PermissionError
