# SPDX-License-Identifier: Apache-2.0

"""What a process of a conductor measures."""

from __future__ import annotations

import threading

from magnum_capi_helm import metrics
from magnum_capi_helm.helm import turns
from magnum_capi_helm.kubernetes import shared_reads
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


class MeasuresTest(meter_case.MeterCase):
    def measured(self) -> None:
        """One of everything."""
        self.poll("status", 1.0)
        self.poll("status", 3.0)
        with self.meter.polling("health") as poll:
            self.now += 0.5
            poll.outcome = metrics.FAILED
        with self.meter.helm("upgrade"):
            self.now += 3.0
        with self.meter.delivering():
            self.now += 0.25
        with self.assertRaises(KeyError), self.meter.delivering():
            self.now += 2.0
            raise KeyError
        self.meter.gauge(metrics.DELIVERIES_PENDING, ("a",), lambda: 3)
        line = turns.Turns(1, self.begun.append)
        for key in ("one", "two", "three"):
            line.later(key, lambda: None)
        self.meter.turns(line)
        self.readings()
        self.now = 0.0

    def readings(self) -> None:
        """One that was good at 5 and failed at 700; one nobody asked."""
        clock = [0.0]
        answers: list[Exception | None] = [
            None,
            errors.ManagementUnreachable("away"),
        ]

        def read(
            scopes: object, fresh: bool, known: object
        ) -> dict[tuple[str, str], str]:
            if error := answers.pop(0):
                raise error
            return {("n", "r"): "look"}

        health: shared_reads.SharedReads[str] = shared_reads.SharedReads(
            read, lambda: clock[0], max_age=0
        )
        status: shared_reads.SharedReads[str] = shared_reads.SharedReads(
            read, lambda: clock[0]
        )
        self.meter.reads("a", status=status, health=health)
        clock[0] = 5.0
        health.get(("n", "r"))
        clock[0] = 700.0
        self.assertRaises(errors.ManagementUnreachable, health.get, ("n", "r"))

    def test_one_of_everything(self) -> None:
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

    def test_how_helm_ends(self) -> None:
        for error, word in (
            (errors.HelmBusy("x"), "busy"),
            (errors.HelmUnreachable("x"), "unreachable"),
            (errors.ReleaseAbsent("x"), "absent"),
            (errors.HelmError("x"), "refused"),
            (errors.ChartUnavailable("x"), "refused"),
            (errors.NotConfigured("x"), "stopped"),
        ):
            self.meter = self.made(str(self.directory))
            with (
                self.assertRaises(type(error)),
                self.meter.helm("upgrade"),
            ):
                raise error
            self.assertEqual([f"upgrade {word}"], self.outcomes())

    def test_a_poll_that_breaks_off_has_failed(self) -> None:
        with self.assertRaises(KeyError), self.meter.polling("status"):
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
