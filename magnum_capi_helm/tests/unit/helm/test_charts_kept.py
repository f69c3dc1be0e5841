# SPDX-License-Identifier: Apache-2.0
"""The chart store keeps what it has: of a path, and as it is."""

from __future__ import annotations

import hashlib
import pathlib
import shutil

import fixtures

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


class StoredTest(store.StoreTestCase):
    def test_the_digest_is_that_of_the_file_that_is_there(self) -> None:
        self.assertEqual("", self.store.digest(store.CHART))
        self.store.ensure(store.CHART)
        digest = hashlib.sha256(store.PACKED).hexdigest()
        self.assertEqual(digest, self.store.digest(store.CHART))
        self.put(store.OTHER)
        digest = hashlib.sha256(store.OTHER).hexdigest()
        self.assertEqual(digest, self.store.digest(store.CHART))

    def test_a_damaged_chart_is_never_used_and_the_error_helps(self) -> None:
        self.store.ensure(store.CHART)
        self.put(store.PACKED[: len(store.PACKED) // 2])
        self.assertRegex(
            self.unavailable(store.CHART),
            f"^{self.file} is no packaged helm chart .*: remove or replace "
            "it$",
        )
        self.assertEqual(1, len(self.helm.pulled))

    def test_a_chart_of_another_version_is_never_used(self) -> None:
        self.put(fake_chart.package(store.NAME, "0.26.1"))
        self.assertIn(
            f"The chart at {self.file} has version 0.26.1, not 0.27.0",
            self.unavailable(store.CHART),
        )
        self.assertEqual([], self.helm.pulled)

    def test_a_store_that_is_read_only_gives_its_charts(self) -> None:
        self.put(store.OTHER)
        self.useFixture(fixtures.MockPatch("os.access", return_value=False))
        self.assertEqual(str(self.file), self.store.ensure(store.CHART))
        self.assertEqual([self.file], list(self.directory.iterdir()))

    def test_files_are_the_archives_by_name(self) -> None:
        self.assertEqual([], self.store.files())
        self.put(store.OTHER)
        (self.directory / "notes.txt").write_text("no chart")
        (self.directory / "broken-1.0.0.tgz").write_text("no chart")
        self.assertEqual(
            ["broken-1.0.0.tgz", store.FILE],
            [each.name for each in self.store.files()],
        )


def _name(path: str) -> str:
    return pathlib.Path(path).name
