# SPDX-License-Identifier: Apache-2.0

"""Files that a collector reads at any moment."""

from __future__ import annotations

from collections.abc import Iterator
import os
import pathlib
import subprocess
import sys
from typing import Any

import fixtures
from oslotest import base

from magnum_capi_helm import metrics


class Text(metrics.Collector):
    """A metric whose help is a text."""

    def __init__(self, text: str) -> None:
        self._metric = metrics.Metric("m", text).gauge()

    def collect(self) -> Iterator[Any]:
        """Yield the metric."""
        yield self._metric


class WriteTest(base.BaseTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.directory = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.path = self.directory / "x.prom"

    def test_everybody_may_read_it_whatever_the_umask(self) -> None:
        self.addCleanup(os.umask, os.umask(0o077))
        metrics.write(self.path, Text("one"))
        self.assertEqual(0o644, self.path.stat().st_mode & 0o777)

    def test_a_reader_of_the_old_file_reads_all_of_it(self) -> None:
        metrics.write(self.path, Text("old"))
        with self.path.open() as stream:
            metrics.write(self.path, Text("new"))
            self.assertIn("HELP m old\n", stream.read())
        self.assertIn("HELP m new\n", self.path.read_text())
        self.assertEqual([self.path], list(self.directory.iterdir()))

    def test_a_write_that_fails_leaves_the_old_one_and_nothing_else(
        self,
    ) -> None:
        metrics.write(self.path, Text("old"))
        self.assertRaises(
            UnicodeEncodeError, metrics.write, self.path, Text("\ud800")
        )
        self.assertIn("HELP m old\n", self.path.read_text())
        self.assertEqual([self.path], list(self.directory.iterdir()))


class DeadTest(base.BaseTestCase):
    """A host with a process that lives and one that does not."""

    def setUp(self) -> None:
        super().setUp()
        self.directory = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        with subprocess.Popen([sys.executable, "-c", ""]) as process:
            process.wait()
        self.dead = process.pid

    def file(self, host: str, pid: int, age: float) -> pathlib.Path:
        """A file of a process that was written that long ago."""
        path = metrics.process_file(self.directory, host, pid)
        path.write_text("")
        then = path.stat().st_mtime - age
        os.utime(path, (then, then))
        return path

    def left(self) -> set[pathlib.Path]:
        """What is left of all files."""
        metrics.remove_files_of_ended(self.directory, "c1")
        return set(self.directory.iterdir())

    def test_the_file_of_a_dead_process_goes(self) -> None:
        self.file("c1", self.dead, 61)
        broken_off = (
            self.directory / f"magnum_capi_helm_c1_{self.dead}.prom.1.2"
        )
        broken_off.write_text("")
        os.utime(broken_off, (0, 0))
        alive = self.file("c1", os.getpid(), 61)
        self.assertEqual({alive}, self.left())

    def test_a_fresh_file_of_a_dead_process_stays(self) -> None:
        # Of a container, whose processes have numbers of their own.
        young = self.file("c1", self.dead, 30)
        self.assertEqual({young}, self.left())

    def test_files_of_others_stay(self) -> None:
        others = {
            self.file("c10", self.dead, 61),
            self.file("c1_2", self.dead, 61),
            self.directory / "magnum_capi_helm_c1_all.prom",
            self.directory / "node.prom",
        }
        for path in others:
            path.touch()
            os.utime(path, (0, 0))
        self.assertEqual(others, self.left())
