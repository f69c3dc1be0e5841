# SPDX-License-Identifier: Apache-2.0
"""Charts in temporary space, where no chart store is set or can be written."""

from __future__ import annotations

from collections.abc import Callable
import errno
import os
import pathlib
import stat
import unittest

import fixtures

from magnum_capi_helm.helm import charts
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.unit.helm import store

_NAME = f"magnum-capi-helm-{os.geteuid()}"


class TemporaryTest(store.StoreTestCase):
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
        """A store in the default directory: chart_store is not set."""
        return charts.Store(str(directory), self.helm, temporary=True)

    def not_configured(self, call: Callable[[], object]) -> str:
        """Why a store refuses a call; it fetches nothing."""
        error = self.assertRaises(errors.NotConfigured, call)
        self.assertEqual([], self.helm.pulled)
        return str(error)

    def test_charts_are_in_a_directory_of_the_user_alone(self) -> None:
        path = self.store.ensure(store.CHART)
        self.assertEqual(str(self.own / store.FILE), path)
        self.assertEqual(store.PACKED, pathlib.Path(path).read_bytes())
        found = self.own.stat()
        self.assertEqual(os.geteuid(), found.st_uid)
        self.assertEqual(0o700, stat.S_IMODE(found.st_mode))

    def test_every_process_of_the_user_finds_them(self) -> None:
        self.store.ensure(store.CHART)
        other = self.unset(self.directory)
        self.assertEqual(self.own, other.place())
        self.assertEqual(str(self.own / store.FILE), other.find(store.CHART))
        other.ensure(store.CHART)
        self.assertEqual(1, len(self.helm.pulled))

    def test_they_are_fetched_again_after_temporary_space_was_cleaned(
        self,
    ) -> None:
        path = self.store.ensure(store.CHART)
        (self.own / store.FILE).unlink()
        self.own.rmdir()
        self.assertEqual(path, self.store.ensure(store.CHART))
        self.assertEqual(self.own / store.FILE, pathlib.Path(path))

    def test_a_directory_of_uncertain_origin_is_refused(
        self,
    ) -> None:
        elsewhere = self.home / "elsewhere"
        elsewhere.mkdir(mode=0o700)

        def open_to_all() -> None:
            self.own.mkdir()
            self.own.chmod(0o777)

        rows: dict[str, Callable[[], object]] = {
            "open to all": open_to_all,
            "a link": lambda: self.own.symlink_to(elsewhere),
            "a broken link": lambda: self.own.symlink_to(self.home / "none"),
            "a file": lambda: self.own.write_text(""),
        }
        for what, plant in rows.items():
            with self.subTest(what):
                plant()
                for call in (
                    lambda: self.store.ensure(store.CHART),
                    lambda: self.store.find(store.CHART),
                    self.store.place,
                ):
                    said = self.not_configured(call)
                    self.assertIn(str(self.own), said)
                    self.assertIn("[capi_helm] chart_store", said)
                if self.own.is_dir() and not self.own.is_symlink():
                    self.own.rmdir()
                else:
                    self.own.unlink()

    @unittest.skipUnless(os.geteuid() == 0, "root alone gives files away")
    def test_a_directory_of_another_user_is_refused(self) -> None:
        self.own.mkdir(mode=0o700)
        os.chown(self.own, 65534, 65534)
        self.assertIn(
            "is not a directory of user",
            self.not_configured(lambda: self.store.ensure(store.CHART)),
        )

    def test_without_temporary_space_the_option_is_named(self) -> None:
        full = OSError(errno.ENOSPC, "No space left on device")
        for call, error in (
            ("tempfile.gettempdir", FileNotFoundError(2, "No usable one")),
            ("pathlib.Path.mkdir", full),
        ):
            with (
                self.subTest(call),
                fixtures.MockPatch(call, side_effect=error),
            ):
                said = self.not_configured(
                    lambda: self.store.ensure(store.CHART)
                )
                self.assertIn(str(error.strerror), said)
                self.assertIn("set [capi_helm] chart_store", said)

    def test_a_default_that_can_be_written_is_the_store(self) -> None:
        # A planted directory matters to nobody then.
        self.own.write_text("")
        directory = self.home / "state" / "charts"
        self.store = self.unset(directory)
        self.assertEqual(
            str(directory / store.FILE), self.store.ensure(store.CHART)
        )

    def test_charts_in_a_default_that_is_read_only_are_found(self) -> None:
        directory = self.home / "state" / "charts"
        self.unset(directory).ensure(store.CHART)
        self.useFixture(fixtures.MockPatch("os.access", return_value=False))
        self.store = self.unset(directory)
        self.assertEqual(
            str(directory / store.FILE), self.store.ensure(store.CHART)
        )
        self.assertEqual([], list(self.temporary.iterdir()))

    def test_a_directory_that_the_operator_chose_has_no_substitute(
        self,
    ) -> None:
        self.store = charts.Store(str(self.directory), self.helm)
        for call in (
            lambda: self.store.ensure(store.CHART),
            self.store.place,
        ):
            said = self.not_configured(call)
            self.assertIn(f"{self.directory} can't be written", said)
            self.assertIn("[capi_helm] chart_store", said)

    def test_a_chart_that_is_to_stay_never_goes_there(self) -> None:
        self.assertIn(
            "can't be written",
            self.not_configured(lambda: self.store.keep(store.CHART)),
        )
        self.assertEqual([], list(self.temporary.iterdir()))

    def test_looking_writes_nothing(self) -> None:
        self.assertEqual(self.own, self.store.place())
        self.assertEqual("", self.store.find(store.CHART))
        self.store.check_source(store.CHART)
        self.assertEqual([], list(self.temporary.iterdir()))
