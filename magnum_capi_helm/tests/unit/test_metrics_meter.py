# SPDX-License-Identifier: Apache-2.0

"""What a process of a conductor measures."""

from __future__ import annotations

import functools
import threading

from magnum_capi_helm import metrics
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.unit.metrics import meter_case
from magnum_capi_helm.tests.unit.metrics import promtool

#: Values by name and labels, without prefix and process.
SAMPLES = {
    ("poll_seconds_count", "health", "failed"): 1.0,
    ("poll_seconds_sum", "health", "failed"): 0.5,
    ("poll_seconds_count", "status", "ok"): 2.0,
    ("poll_seconds_sum", "status", "ok"): 4.0,
    ("helm_seconds_count", "upgrade", "ok"): 1.0,
    ("helm_seconds_sum", "upgrade", "ok"): 3.0,
    ("helm_running",): 1.0,
    ("helm_turns",): 1.0,
    ("helm_waiting",): 2.0,
    ("snapshot_timestamp_seconds", "a", "health"): 1005.0,
    ("snapshot_attempt_timestamp_seconds", "a", "health"): 1700.0,
    ("delivery_seconds_count", "failed"): 1.0,
    ("delivery_seconds_sum", "failed"): 2.0,
    ("delivery_seconds_count", "ok"): 1.0,
    ("delivery_seconds_sum", "ok"): 0.25,
    ("deliveries_pending", "a"): 3.0,
}


def _same(value: float | None) -> float | None:
    return value


class MeasuresTest(meter_case.MeterCase):
    def measured(self) -> None:
        """One of everything."""
        self.poll("status", 1.0)
        self.poll("status", 3.0)
        with self.meter.measure(metrics.POLL, "health") as poll:
            self.now += 0.5
            poll.outcome = metrics.FAILED
        with self.meter.measure(metrics.HELM, "upgrade"):
            self.now += 3.0
        with self.meter.measure(metrics.DELIVERY):
            self.now += 0.25
        with self.assertRaises(KeyError), self.meter.measure(metrics.DELIVERY):
            self.now += 2.0
            raise KeyError
        self.meter.gauge(metrics.DELIVERIES_PENDING, ("a",), lambda: 3)
        values: tuple[
            tuple[metrics.Metric, tuple[str, ...], float | None], ...
        ] = (
            (metrics.HELM_RUNNING, (), 1),
            (metrics.HELM_TURNS, (), 1),
            (metrics.HELM_WAITING, (), 2),
            (metrics.SNAPSHOT, ("a", "health"), 1005.0),
            (metrics.ATTEMPT, ("a", "health"), 1700.0),
            (metrics.SNAPSHOT, ("a", "status"), None),
            (metrics.ATTEMPT, ("a", "status"), None),
        )
        for metric, labels, value in values:
            self.meter.gauge(metric, labels, functools.partial(_same, value))
        self.now = 0.0

    def test_each_event_has_its_sample(self) -> None:
        self.measured()
        self.assertEqual(SAMPLES, meter_case.samples(self.meter))

    def test_each_sample_names_the_process(self) -> None:
        self.measured()
        for family in self.meter.collect():
            for sample in family.samples:
                self.assertEqual("c1/7", sample.labels["process"])

    def test_promtool_has_nothing_to_say(self) -> None:
        self.measured()
        said = promtool.run(self, "check", "metrics", text=self.text())
        self.assertEqual("", said)

    def test_prometheus_parser_understands_it(self) -> None:
        self.measured()
        self.assertEqual(
            [each.name for each in metrics.OF_PROCESS],
            list(promtool.parsed(self.text())),
        )

    def test_each_error_of_helm_has_its_outcome(self) -> None:
        for error, word in (
            (errors.HelmBusy("x"), "busy"),
            (errors.HelmUnreachable("x"), "unreachable"),
            (errors.ReleaseAbsent("x"), "absent"),
            (errors.HelmError("x"), "refused"),
            (errors.ChartUnavailable("x"), "refused"),
            (errors.NotConfigured("x"), "stopped"),
            (KeyError("x"), "stopped"),
        ):
            self.meter = self.made(str(self.directory))
            with (
                self.assertRaises(type(error)),
                self.meter.measure(metrics.HELM, "upgrade"),
            ):
                raise error
            self.assertEqual([f"upgrade {word}"], self.outcomes())

    def test_a_poll_that_breaks_off_has_failed(self) -> None:
        with (
            self.assertRaises(KeyError),
            self.meter.measure(metrics.POLL, "status"),
        ):
            raise KeyError
        self.assertEqual(["status failed"], self.outcomes())

    def test_all_threads_count(self) -> None:
        def many() -> None:
            for _ in range(1000):
                self.poll("status", 0.0)

        threads = [threading.Thread(target=many) for _ in range(4)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        counts = meter_case.counts(self.meter)
        self.assertEqual({("status", "ok"): 4000}, counts)
