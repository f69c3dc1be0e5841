# SPDX-License-Identifier: Apache-2.0

import pathlib
import shutil
import tempfile
import unittest
from unittest import mock

from lab import clocks
from lab import errors
from lab import helms
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


class PredecessorTest(unittest.TestCase):
    def setUp(self) -> None:
        patch = mock.patch.object(predecessor, "install")
        patch.start()
        self.addCleanup(patch.stop)

    def test_each_conductor_can_run_it(self) -> None:
        for name in ("magnum", *magnum.CONDUCTORS):
            ours = registry.get(name)
            found = commands._with_predecessor(ours)
            self.assertEqual(name, found.name)
            self.assertEqual(ours.argv, found.argv[:-2])
            self.assertLessEqual(ours.env.items(), found.env.items())
            self.assertEqual(str(predecessor.FOLDER), found.env["PYTHONPATH"])

    def test_nothing_else_can(self) -> None:
        for name in ("keystone", magnum.API):
            with self.assertRaises(errors.LabError) as caught:
                commands._with_predecessor(registry.get(name))
            self.assertIn("has no driver", caught.exception.message)


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
