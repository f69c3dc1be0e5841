# SPDX-License-Identifier: Apache-2.0
"""The chart store: each version is fetched once, whole or not at all."""

from __future__ import annotations

from collections.abc import Callable
import errno
import hashlib
import multiprocessing
import os
import pathlib
import shutil
import stat
import threading
from typing import Any
import unittest
from unittest import mock

import fixtures
from oslotest import base

from magnum_capi_helm.helm import charts
from magnum_capi_helm.helm import client
from magnum_capi_helm.helm import complaints
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.fakes import chart as fake_chart

NAME = "openstack-cluster"
CHART = cluster_spec.Chart(NAME, "0.27.0", "https://charts.example.org")
FILE = "openstack-cluster-0.27.0.tgz"
PACKED = fake_chart.package(NAME, "0.27.0", {"from": "the repository"})
OTHER = fake_chart.package(NAME, "0.27.0", {"from": "somewhere else"})


class Helm(client.Helm):
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
        name, version = charts.of_directory(source)
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
        return sorted(each.name for each in self.directory.iterdir())

    def put(self, content: bytes) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)
        self.file.write_bytes(content)

    def unavailable(self, chart: cluster_spec.Chart) -> str:
        return str(
            self.assertRaises(
                errors.ChartUnavailable, self.store.ensure, chart
            )
        )


def write(directory: pathlib.Path, content: bytes) -> None:
    (directory / "fetched.tgz").write_bytes(content)


class FetchTest(StoreTestCase):
    def test_a_missing_chart_is_fetched_into_the_store(self) -> None:
        path = self.store.ensure(CHART)
        self.assertEqual(str(self.file), path)
        self.assertEqual(PACKED, self.file.read_bytes())
        self.assertEqual(
            [("openstack-cluster", "0.27.0", "https://charts.example.org")],
            self.helm.pulled,
        )
        self.assertEqual([FILE], self.files())

    def test_a_chart_in_the_store_is_never_fetched(self) -> None:
        self.put(OTHER)
        self.store.ensure(CHART)
        self.assertEqual(OTHER, self.file.read_bytes())
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
        self.assertEqual([str(self.file)] * 8, found)
        self.assertEqual(1, len(self.helm.pulled))

    def test_another_process_that_fetches_delays_nobody(self) -> None:
        context = multiprocessing.get_context("fork")
        fetching, may_end = context.Event(), context.Event()

        def other() -> None:
            def slow(directory: pathlib.Path) -> None:
                fetching.set()
                assert may_end.wait(10)
                (directory / FILE).write_bytes(OTHER)

            helm = Helm()
            helm.during = slow
            charts.Store(str(self.directory), helm).ensure(CHART)
            os._exit(0)

        process = context.Process(target=other, daemon=True)
        process.start()
        self.assertTrue(fetching.wait(10))
        self.store.ensure(CHART)
        self.assertEqual(PACKED, self.file.read_bytes())
        may_end.set()
        process.join(10)
        # The last archive stays, and is whole.
        self.assertEqual(OTHER, self.file.read_bytes())
        self.assertEqual([FILE], self.files())

    @unittest.skipUnless(os.geteuid() == 0, "root alone gives files away")
    def test_a_directory_of_root_goes_to_the_parents_owner(self) -> None:
        os.chown(self.home, 65534, 65533)
        self.store.ensure(CHART)
        for each in (self.directory.parent, self.directory):
            found = each.stat()
            self.assertEqual((65534, 65533), (found.st_uid, found.st_gid))

    def test_a_failed_fetch_leaves_nothing_and_is_tried_again(self) -> None:
        def fail(directory: pathlib.Path) -> None:
            (directory / FILE).write_text("a ch")
            self.assertFalse(self.file.exists())
            raise errors.ChartUnavailable("helm pull: not found")

        self.helm.during = fail
        self.assertRegex(
            self.unavailable(CHART),
            "^the chart is not in .* openstack-cluster 0.27.0 of https://"
            "charts.example.org, file openstack-cluster-0.27.0.tgz; .*found$",
        )
        self.assertEqual([], self.files())
        self.helm.during = self.helm.fetch
        self.store.ensure(CHART)
        self.assertEqual([FILE], self.files())

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
                self.unavailable(CHART),
            )

    def test_a_fetch_that_brings_no_chart_is_an_error(self) -> None:
        self.helm.during = lambda directory: None
        self.unavailable(CHART)
        self.helm.during = lambda directory: write(directory, b"<html>")
        self.assertIn("is no packaged helm chart", self.unavailable(CHART))
        missing = errors.NotConfigured("helm can't be started")
        self.helm.during = mock.Mock(side_effect=missing)
        self.assertRaises(errors.NotConfigured, self.store.ensure, CHART)
        self.assertEqual([], self.files())

    def test_a_store_that_can_t_be_written_names_its_option(self) -> None:
        self.directory.parent.write_text("a file in the way")
        error = self.assertRaises(
            errors.NotConfigured, self.store.ensure, CHART
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

    def test_another_source_fills_the_same_place(self) -> None:
        source = cluster_spec.Chart("oci://elsewhere/copy", "0.27.0", "")
        self.helm.during = lambda directory: write(directory, OTHER)
        path = self.store.keep(CHART, source)
        self.assertEqual(str(self.file), path)
        self.assertEqual(path, self.store.ensure(CHART))
        self.assertEqual(
            [("oci://elsewhere/copy", "0.27.0", "")], self.helm.pulled
        )


class PathTest(StoreTestCase):
    """``helm_chart_name`` is a path, ``helm_chart_repo`` is empty."""

    def setUp(self) -> None:
        super().setUp()
        self.place = self.home / NAME
        self.place.mkdir()
        self.set_version("0.27.0")

    def set_version(self, version: str) -> None:
        about = f"name: {NAME}\nversion: {version}\n"
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

    def test_a_cluster_keeps_its_version_of_a_path(self) -> None:
        self.store.ensure(self.at("0.27.0"))
        self.set_version("0.28.0")
        new = self.store.ensure(self.at("0.28.0"))
        self.assertEqual(f"{self.place.name}-0.28.0.tgz", _name(new))
        self.assertEqual(FILE, _name(self.store.ensure(self.at("0.27.0"))))

    def test_an_archive_is_copied_under_the_version_in_it(self) -> None:
        for version in ("0.27.0", "0.28.0"):
            archive = self.home / f"{NAME}-{version}.tgz"
            archive.write_bytes(fake_chart.package(NAME, version))
            found = self.store.ensure(self.at(version, archive))
            self.assertEqual(archive.name, _name(found))
            archive.unlink()
        found = self.store.ensure(self.at("0.27.0", archive))
        self.assertEqual(FILE, _name(found))

    def test_another_version_than_wanted_is_refused_with_both(self) -> None:
        self.set_version("0.26.1")
        words = "has version 0.26.1, not 0.27.0"
        self.assertIn(
            f"The chart at {self.place} {words}",
            self.unavailable(self.at("0.27.0")),
        )
        self.assertEqual([], self.files())
        self.put(fake_chart.package(NAME, "0.26.1"))
        self.assertIn(
            "correct [capi_helm] default_helm_chart_version, or put the "
            "version asked for into the chart store. The chart at "
            f"{self.file} {words}",
            self.unavailable(CHART),
        )
        self.assertEqual([], self.helm.pulled)

    def test_an_archive_that_can_t_be_read_names_its_options(self) -> None:
        archive = self.home / FILE
        archive.write_bytes(OTHER)
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


class StoredTest(StoreTestCase):
    def test_the_digest_is_that_of_the_file_that_is_there(self) -> None:
        self.assertEqual("", self.store.digest(CHART))
        self.store.ensure(CHART)
        for content in (PACKED, OTHER):
            self.put(content)
            digest = hashlib.sha256(content).hexdigest()
            self.assertEqual(digest, self.store.digest(CHART))

    def test_a_damaged_chart_is_never_used_and_the_error_helps(self) -> None:
        self.store.ensure(CHART)
        self.put(PACKED[: len(PACKED) // 2])
        self.assertRegex(
            self.unavailable(CHART),
            f"^{self.file} is no packaged helm chart .*: remove or replace "
            "it$",
        )
        self.assertEqual(1, len(self.helm.pulled))

    def test_a_store_that_is_read_only_gives_its_charts(self) -> None:
        self.put(OTHER)
        self.useFixture(fixtures.MockPatch("os.access", return_value=False))
        self.assertEqual(str(self.file), self.store.ensure(CHART))
        self.assertEqual([self.file], list(self.directory.iterdir()))

    def test_files_are_the_archives_by_name(self) -> None:
        self.assertEqual([], self.store.files())
        self.put(OTHER)
        (self.directory / "notes.txt").write_text("no chart")
        (self.directory / "broken-1.0.0.tgz").write_text("no chart")
        self.assertEqual(
            ["broken-1.0.0.tgz", FILE],
            [each.name for each in self.store.files()],
        )


def _name(path: str) -> str:
    return pathlib.Path(path).name


_NAME = f"magnum-capi-helm-{os.geteuid()}"


class TemporaryTest(StoreTestCase):
    """Magnum's default state_path is a directory of root's."""

    def setUp(self) -> None:
        super().setUp()
        # Below a file nobody can make a directory, not even root.
        self.directory.parent.write_text("not a directory")
        self.temporary = self.home / "tmp"
        self.temporary.mkdir()
        self.useFixture(
            fixtures.MonkeyPatch("tempfile.tempdir", str(self.temporary))
        )
        self.own = self.temporary / _NAME
        self.store = self.unset(self.directory)

    def unset(self, directory: pathlib.Path) -> charts.Store:
        return charts.Store(str(directory), self.helm, temporary=True)

    def not_configured(self, call: Callable[[], object]) -> str:
        error = self.assertRaises(errors.NotConfigured, call)
        self.assertEqual([], self.helm.pulled)
        return str(error)

    def test_charts_are_in_a_directory_of_the_user_alone(self) -> None:
        """They are fetched again after temporary space was cleaned."""
        for _ in range(2):
            path = self.store.ensure(CHART)
            self.assertEqual(str(self.own / FILE), path)
            self.assertEqual(PACKED, pathlib.Path(path).read_bytes())
            found = self.own.stat()
            self.assertEqual(os.geteuid(), found.st_uid)
            self.assertEqual(0o700, stat.S_IMODE(found.st_mode))
            (self.own / FILE).unlink()
            self.own.rmdir()

    def test_every_process_of_the_user_finds_them(self) -> None:
        self.store.ensure(CHART)
        other = self.unset(self.directory)
        self.assertEqual(self.own, other.place())
        self.assertEqual(str(self.own / FILE), other.find(CHART))
        other.ensure(CHART)
        self.assertEqual(1, len(self.helm.pulled))

    def test_a_directory_of_uncertain_origin_is_refused(self) -> None:
        elsewhere = self.home / "elsewhere"
        elsewhere.mkdir(mode=0o700)

        def open_to_all() -> None:
            self.own.mkdir()
            self.own.chmod(0o777)

        def of_another() -> None:
            self.own.mkdir(mode=0o700)
            os.chown(self.own, 65534, 65534)

        rows: dict[str, Callable[[], object]] = {
            "open to all": open_to_all,
            "a link": lambda: self.own.symlink_to(elsewhere),
            "a broken link": lambda: self.own.symlink_to(self.home / "none"),
            "a file": lambda: self.own.write_text(""),
        }
        if os.geteuid() == 0:  # root alone gives files away
            rows["another user's"] = of_another
        for what, plant in rows.items():
            with self.subTest(what):
                plant()
                for call in (
                    lambda: self.store.ensure(CHART),
                    lambda: self.store.find(CHART),
                    self.store.place,
                ):
                    said = self.not_configured(call)
                    self.assertIn(str(self.own), said)
                    self.assertIn("[capi_helm] chart_store", said)
                if self.own.is_dir() and not self.own.is_symlink():
                    self.own.rmdir()
                else:
                    self.own.unlink()

    def test_without_temporary_space_the_option_is_named(self) -> None:
        full = OSError(errno.ENOSPC, "No space left on device")
        for call, error in (
            ("tempfile.gettempdir", FileNotFoundError(2, "No usable one")),
            ("pathlib.Path.mkdir", full),
        ):
            with fixtures.MockPatch(call, side_effect=error):
                said = self.not_configured(lambda: self.store.ensure(CHART))
            self.assertIn(str(error.strerror), said)
            self.assertIn("set [capi_helm] chart_store", said)

    def test_a_default_that_can_be_written_is_the_store(self) -> None:
        # A planted directory matters to nobody then.
        self.own.write_text("")
        directory = self.home / "state" / "charts"
        self.store = self.unset(directory)
        self.assertEqual(str(directory / FILE), self.store.ensure(CHART))

    def test_charts_in_a_default_that_is_read_only_are_found(self) -> None:
        directory = self.home / "state" / "charts"
        self.unset(directory).ensure(CHART)
        self.useFixture(fixtures.MockPatch("os.access", return_value=False))
        self.store = self.unset(directory)
        self.assertEqual(str(directory / FILE), self.store.ensure(CHART))
        self.assertEqual([], list(self.temporary.iterdir()))

    def test_a_chosen_directory_has_no_substitute(self) -> None:
        self.store = charts.Store(str(self.directory), self.helm)
        for call in (
            lambda: self.store.ensure(CHART),
            self.store.place,
        ):
            said = self.not_configured(call)
            self.assertIn(f"{self.directory} can't be written", said)
            self.assertIn("[capi_helm] chart_store", said)

    def test_a_chart_that_is_to_stay_never_goes_there(self) -> None:
        self.assertIn(
            "can't be written",
            self.not_configured(lambda: self.store.keep(CHART)),
        )
        self.assertEqual([], list(self.temporary.iterdir()))

    def test_looking_writes_nothing(self) -> None:
        self.assertEqual(self.own, self.store.place())
        self.assertEqual("", self.store.find(CHART))
        self.store.check_source(CHART)
        self.assertEqual([], list(self.temporary.iterdir()))
