# SPDX-License-Identifier: Apache-2.0

"""How a process tells what it measures: a file, and who writes it when."""

from __future__ import annotations

from collections.abc import Callable
import os
import pathlib
import socket
import threading
import time

import fixtures
from oslotest import base

from magnum_capi_helm import metrics
from magnum_capi_helm.tests.unit.metrics import meter_case


class FileTest(meter_case.MeterCase):
    def test_the_first_poll_begins_to_write_and_no_other(self) -> None:
        with self.meter.measure(metrics.HELM, "template"):
            pass
        self.assertEqual([], self.begun)
        self.poll("health", 1.0)
        self.poll("health", 1.0)
        (write,) = self.begun
        write()
        (path,) = self.directory.iterdir()
        self.assertEqual("magnum_capi_helm_c1_7.prom", path.name)
        self.assertEqual(self.text(), path.read_text())

    def test_without_a_directory_nothing_is_measured(self) -> None:
        self.meter = self.made("")
        self.poll("health", 1.0)
        with self.meter.measure(metrics.HELM, "upgrade"):
            pass
        self.assertEqual(([], []), (self.begun, self.outcomes()))

    def test_a_missing_directory_is_logged_once_and_fails_no_poll(
        self,
    ) -> None:
        self.poll("health", 1.0)
        (write,) = self.begun
        self.directory.rmdir()
        write()
        write()
        self.poll("health", 1.0)
        self.assertEqual(
            1, self.log.output.count("can't be written"), self.log.output
        )
        self.assertIn("No such file or directory", self.log.output)
        self.directory.mkdir()
        write()
        self.assertEqual(1, len(list(self.directory.iterdir())))

    def test_a_host_without_threads_is_no_reason_to_fail(self) -> None:
        def refuse(work: Callable[[], None]) -> None:
            raise RuntimeError("can't start new thread")

        self.meter = metrics.Meter(str(self.directory), begin=refuse)
        self.poll("health", 1.0)
        self.assertEqual(["health ok"], self.outcomes())

    def test_an_error_of_a_gauge_ends_no_writer(self) -> None:
        def broken() -> float:
            raise KeyError

        self.meter.gauge(metrics.HELM_RUNNING, (), broken)
        self.poll("health", 1.0)
        (write,) = self.begun
        write()
        self.assertIn("Metrics could not be written", self.log.output)


class ThreadTest(base.BaseTestCase):
    def test_a_thread_of_its_own_writes(self) -> None:
        # The thread outlives the test, and may not write again.
        self.useFixture(
            fixtures.MonkeyPatch("magnum_capi_helm.metrics.INTERVAL", 1e6)
        )
        directory = self.useFixture(fixtures.TempDir()).path
        written = threading.Event()
        made = metrics.Meter(directory)

        def told() -> float:
            written.set()
            return 1.0

        made.gauge(metrics.HELM_TURNS, (), told)
        with made.measure(metrics.POLL, "health"):
            pass
        self.assertTrue(written.wait(20))
        while not any(pathlib.Path(directory).iterdir()):
            time.sleep(0.01)
        host, pid = socket.gethostname(), os.getpid()
        self.assertIn(f'process="{host}/{pid}"', metrics.text(made))
