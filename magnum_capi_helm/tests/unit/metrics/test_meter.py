# SPDX-License-Identifier: Apache-2.0

"""What a process of a conductor measures."""

from __future__ import annotations

import threading

from magnum_capi_helm.helm import turns
from magnum_capi_helm.management import snapshot
from magnum_capi_helm.metrics import families
from magnum_capi_helm.metrics import meter
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.unit.metrics import meter_case
from magnum_capi_helm.tests.unit.metrics import promtool

TEXT = """\
# HELP magnum_capi_helm_poll_seconds Polls of clusters, status or health, and \
whether they came to a verdict (ok) or not (failed).
# TYPE magnum_capi_helm_poll_seconds summary
magnum_capi_helm_poll_seconds_count\
{outcome="failed",poll="health",process="c1/7"} 1.0
magnum_capi_helm_poll_seconds_sum\
{outcome="failed",poll="health",process="c1/7"} 0.5
magnum_capi_helm_poll_seconds_count\
{outcome="ok",poll="status",process="c1/7"} 2.0
magnum_capi_helm_poll_seconds_sum\
{outcome="ok",poll="status",process="c1/7"} 4.0
# HELP magnum_capi_helm_helm_seconds Runs of helm, and how they ended: ok, \
busy, unreachable, refused; stopped, before it began; absent, with nothing to \
uninstall.
# TYPE magnum_capi_helm_helm_seconds summary
magnum_capi_helm_helm_seconds_count\
{command="upgrade",outcome="ok",process="c1/7"} 1.0
magnum_capi_helm_helm_seconds_sum\
{command="upgrade",outcome="ok",process="c1/7"} 3.0
# HELP magnum_capi_helm_helm_running How many turns with helm are taken.
# TYPE magnum_capi_helm_helm_running gauge
magnum_capi_helm_helm_running{process="c1/7"} 1.0
# HELP magnum_capi_helm_helm_turns How many turns with helm there are.
# TYPE magnum_capi_helm_helm_turns gauge
magnum_capi_helm_helm_turns{process="c1/7"} 1.0
# HELP magnum_capi_helm_helm_waiting How many clusters are in line for helm.
# TYPE magnum_capi_helm_helm_waiting gauge
magnum_capi_helm_helm_waiting{process="c1/7"} 2.0
# HELP magnum_capi_helm_snapshot_timestamp_seconds When the last reading of a \
management cluster began that did not fail; until the first one, when the \
process began to use it.
# TYPE magnum_capi_helm_snapshot_timestamp_seconds gauge
magnum_capi_helm_snapshot_timestamp_seconds\
{management_cluster="a",poll="health",process="c1/7"} 1005.0
# HELP magnum_capi_helm_snapshot_attempt_timestamp_seconds When the last \
reading of a management cluster began, failed or not.
# TYPE magnum_capi_helm_snapshot_attempt_timestamp_seconds gauge
magnum_capi_helm_snapshot_attempt_timestamp_seconds\
{management_cluster="a",poll="health",process="c1/7"} 1700.0
# HELP magnum_capi_helm_delivery_seconds Kubeconfigs that were sent, and \
whether the receiver accepted them (ok) or not (failed).
# TYPE magnum_capi_helm_delivery_seconds summary
magnum_capi_helm_delivery_seconds_count\
{outcome="failed",process="c1/7"} 1.0
magnum_capi_helm_delivery_seconds_sum\
{outcome="failed",process="c1/7"} 2.0
magnum_capi_helm_delivery_seconds_count\
{outcome="ok",process="c1/7"} 1.0
magnum_capi_helm_delivery_seconds_sum\
{outcome="ok",process="c1/7"} 0.25
# HELP magnum_capi_helm_deliveries_pending How many clusters have a \
kubeconfig that is still to be delivered, as far as the process knows; \
missing where none is delivered.
# TYPE magnum_capi_helm_deliveries_pending gauge
magnum_capi_helm_deliveries_pending\
{management_cluster="a",process="c1/7"} 3.0
"""


class MeasuresTest(meter_case.MeterCase):
    def measured(self) -> None:
        """One of everything."""
        self.poll("status", 1.0)
        self.poll("status", 3.0)
        with self.meter.polling("health") as poll:
            self.now += 0.5
            poll.outcome = meter.FAILED
        with self.meter.helm("upgrade"):
            self.now += 3.0
        with self.meter.delivering():
            self.now += 0.25
        with self.assertRaises(KeyError), self.meter.delivering():
            self.now += 2.0
            raise KeyError
        self.meter.gauge(families.DELIVERIES_PENDING, ("a",), lambda: 3)
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

        health: snapshot.Snapshots[str] = snapshot.Snapshots(
            read, lambda: clock[0], max_age=0, gathering=0
        )
        status: snapshot.Snapshots[str] = snapshot.Snapshots(
            read, lambda: clock[0]
        )
        self.meter.readings("a", status=status, health=health)
        clock[0] = 5.0
        health.get(("n", "r"))
        clock[0] = 700.0
        self.assertRaises(errors.ManagementUnreachable, health.get, ("n", "r"))

    def test_one_of_everything(self) -> None:
        self.measured()
        self.assertEqual(TEXT, self.text())

    def test_promtool_has_nothing_to_say(self) -> None:
        self.assertEqual("", promtool.run(self, "check", "metrics", text=TEXT))

    def test_prometheus_parser_understands_it(self) -> None:
        self.assertEqual(
            [each.name for each in families.OF_PROCESS],
            list(promtool.parsed(TEXT)),
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
        (found,) = self.meter.samples()
        self.assertEqual(4000, found.count)
