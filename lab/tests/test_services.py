# SPDX-License-Identifier: Apache-2.0

import pathlib
import shutil
import tempfile
import unittest
from unittest import mock

from lab import clocks
from lab import errors
from lab import helms
from lab import layout
from lab import predecessor
from lab import registry
from lab.cloud import services
from lab.commands import services as commands
from lab.ha import magnum

_FOLDER = pathlib.Path(services.__file__).parent


class InputsTest(unittest.TestCase):
    def test_a_service_is_outdated_when_its_own_program_changes(self) -> None:
        found = services.services()
        found.append(services.with_predecessor(found[-1]))
        self.assertEqual(10, len(found))
        for one in found:
            scripts = [
                pathlib.Path(word)
                for word in one.argv
                if word.startswith(f"{_FOLDER}/")
            ]
            self.assertEqual(1, len(scripts), one.name)
            self.assertTrue(scripts[0].is_file(), scripts[0])
            self.assertIn(scripts[0], one.inputs(), one.name)


class DriverTest(unittest.TestCase):
    def setUp(self) -> None:
        patch = mock.patch.object(predecessor, "install")
        patch.start()
        self.addCleanup(patch.stop)

    def test_each_conductor_can_run_another_one(self) -> None:
        checkout = layout.CHECKOUT
        for name in ("magnum", *magnum.CONDUCTORS):
            ours = registry.get(name)
            older = commands.with_driver(ours, predecessor.VERSION)
            other = commands.with_driver(ours, str(checkout))
            self.assertEqual((name, name), (older.name, other.name))
            self.assertEqual(ours.argv, older.argv[:-2])
            self.assertEqual(ours.argv, other.argv)
            self.assertEqual(
                {**ours.env, "PYTHONPATH": str(predecessor.FOLDER)}, older.env
            )
            self.assertEqual(
                {**ours.env, "PYTHONPATH": str(checkout)}, other.env
            )

    def test_refusals(self) -> None:
        for name, driver, reason in (
            ("keystone", "1.4.0", "has no driver"),
            (magnum.API, "1.4.0", "has no driver"),
            ("magnum", "/nonexistent", "/nonexistent has no magnum_capi_helm"),
        ):
            with self.assertRaises(errors.LabError) as caught:
                commands.with_driver(registry.get(name), driver)
            self.assertIn(reason, caught.exception.message)


class HelmTest(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        patch = mock.patch.object(helms, "FOLDER", self.folder / "other")
        patch.start()
        self.addCleanup(patch.stop)

    def test_it_is_the_first_that_magnum_finds(self) -> None:
        for name in ("helm-3.16", "helm4"):
            program = self.folder / name
            program.write_text("#!/bin/sh\n")
            program.chmod(0o755)
            found = commands._with_helm(registry.get("magnum"), str(program))
            seen = shutil.which("helm", path=found.env["PATH"])
            self.assertEqual(program, pathlib.Path(str(seen)).resolve())

    def test_what_is_no_program_is_refused(self) -> None:
        for given in ("no-such-helm", str(self.folder)):
            with self.assertRaises(errors.LabError) as caught:
                commands._with_helm(registry.get("magnum"), given)
            self.assertIn(given, caught.exception.message)

    def test_nothing_but_magnum_takes_it(self) -> None:
        with self.assertRaises(errors.LabError) as caught:
            commands._with_helm(registry.get("keystone"), "sh")
        self.assertIn("--helm", str(caught.exception.hint))


class ClockTest(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        patch = mock.patch.object(clocks, "_LIBRARIES", self.folder)
        patch.start()
        self.addCleanup(patch.stop)

    def test_it_is_ahead_or_behind(self) -> None:
        library = self.folder / "x86_64-linux-gnu/faketime/libfaketime.so.1"
        library.parent.mkdir(parents=True)
        library.touch()
        for seconds, told in ((300, "+300s"), (-60, "-60s")):
            self.assertEqual(
                {"LD_PRELOAD": str(library), "FAKETIME": told},
                clocks.ahead(seconds),
            )

    def test_without_faketime_it_is_said_what_to_install(self) -> None:
        with self.assertRaises(errors.LabError) as caught:
            clocks.ahead(300)
        self.assertIn("faketime", str(caught.exception.hint))
