# SPDX-License-Identifier: Apache-2.0

"""What a conductor's process measures, and the alerts on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
import functools
import os
import pathlib
import socket
import subprocess
import sys
import threading
import time
from typing import Any, cast

import fixtures
from oslotest import base as oslotest_base
import yaml

from magnum_capi_helm import metrics
from magnum_capi_helm import runtime
from magnum_capi_helm.config import options
from magnum_capi_helm.kubernetes import client
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.metrics import meter_case
from magnum_capi_helm.tests.unit.metrics import promtool

#: Values by name and labels, without prefix and process.
SAMPLES: dict[tuple[str, ...], float] = {
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


_BROKEN: dict[tuple[str, ...], float] = {
    ("poll_seconds_count", "x", "failed"): 1.0,
    ("poll_seconds_sum", "x", "failed"): 0.0,
}


def _same(value: float | None) -> float | None:
    return value


class MeasuresTest(meter_case.MeterCase):
    def measured(self) -> None:
        self.poll("status", 1.0)
        self.poll("status", 3.0)
        with (
            self.assertRaises(KeyError),
            self.meter.measure(metrics.POLL, "health"),
        ):
            self.now += 0.5
            raise KeyError
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

    def test_each_event_has_its_sample_with_the_process(self) -> None:
        self.measured()
        with (
            self.assertRaises(KeyError),
            self.meter.measure(metrics.POLL, "x"),
        ):
            raise KeyError
        self.now = 0.0
        self.assertEqual(
            {**SAMPLES, **_BROKEN}, meter_case.samples(self.meter)
        )
        for family in self.meter.collect():
            for sample in family.samples:
                self.assertEqual("c1/7", sample.labels["process"])

    def test_prometheus_understands_the_text_of_every_metric(self) -> None:
        self.measured()
        self.assertEqual(
            [each.name for each in metrics.OF_PROCESS],
            list(promtool.parsed(self.text())),
        )
        said = promtool.run(self, "check", "metrics", text=self.text())
        self.assertEqual("", said)

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

    def test_a_missing_directory_is_logged_and_fails_no_poll(self) -> None:
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


class ThreadTest(oslotest_base.BaseTestCase):
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


class Text(metrics.Collector):
    """A metric whose help is a text."""

    def __init__(self, text: str) -> None:
        self._metric = metrics.Metric("m", text).gauge()

    def collect(self) -> Iterator[Any]:
        yield self._metric


class WriteTest(oslotest_base.BaseTestCase):
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

    def test_a_failed_write_leaves_the_old_file_alone(self) -> None:
        metrics.write(self.path, Text("old"))
        self.assertRaises(
            UnicodeEncodeError, metrics.write, self.path, Text("\ud800")
        )
        self.assertIn("HELP m old\n", self.path.read_text())
        self.assertEqual([self.path], list(self.directory.iterdir()))


class DeadTest(oslotest_base.BaseTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.directory = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        with subprocess.Popen([sys.executable, "-c", ""]) as process:
            process.wait()
        self.dead = process.pid

    def file(self, host: str, pid: int, age: float) -> pathlib.Path:
        path = metrics.process_file(self.directory, host, pid)
        path.write_text("")
        then = path.stat().st_mtime - age
        os.utime(path, (then, then))
        return path

    def left(self) -> set[pathlib.Path]:
        metrics.remove_files_of_ended(self.directory, "c1")
        return set(self.directory.iterdir())

    def test_the_file_of_a_dead_process_goes_unless_it_is_fresh(self) -> None:
        # A container's processes have numbers of their own.
        self.assertEqual(
            {young := self.file("c1", self.dead, 30)}, self.left()
        )
        self.file("c1", self.dead, 61)
        broken_off = self.directory / f"{young.name}.1.2"
        broken_off.write_text("")
        os.utime(broken_off, (0, 0))
        alive = self.file("c1", os.getpid(), 61)
        self.assertEqual({alive}, self.left())

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


class ConductorTest(base.FlowTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.begun: list[Callable[[], None]] = []
        directory = self.useFixture(fixtures.TempDir()).path
        self.meter = metrics.Meter(directory, begin=self.begun.append)
        runtime.measure(self.meter)

    def counted(self) -> dict[str, float]:
        counts = meter_case.counts(self.meter)
        return {" ".join(labels): count for labels, count in counts.items()}

    def gauges(self) -> set[tuple[str, ...]]:
        return {
            key
            for key in meter_case.samples(self.meter)
            if not key[0].endswith(("_sum", "_count"))
        }

    def test_polls_that_come_to_a_verdict_and_polls_that_do_not(self) -> None:
        """One that waits for another conductor does."""
        self.create()
        self.capi.settle()
        with self.busy():
            self.poll()
        self.poll()
        self.health_poll()
        well = {"status ok": 2, "health ok": 1}
        self.assertEqual(well, self.counted())
        self.management.unreachable()
        self.resize(3)
        self.poll()
        self.health_poll()
        failed = {"status failed": 1, "health failed": 1}
        self.assertEqual({**well, **failed}, self.counted())
        self.assertEqual(1, len(self.begun))

    def test_a_cluster_without_a_release_is_not_looked_at(self) -> None:
        self.saved()
        self.health_poll()
        self.assertEqual({}, self.counted())

    def built(self) -> runtime.Runtime:
        """What a conductor has, but for the management cluster."""
        return runtime.build(
            cast("client.Client", self.management),
            options.ManagementCluster("a", "/nowhere", "option"),
        )

    def test_readings_are_looked_at_once_there_was_one(self) -> None:
        rt = self.built()
        turns = {("helm_running",), ("helm_turns",), ("helm_waiting",)}
        self.assertEqual(turns, self.gauges())
        rt.health_snapshots.get((base.NAMESPACE, base.RELEASE))
        self.assertEqual(
            turns
            | {
                ("snapshot_timestamp_seconds", "a", "health"),
                ("snapshot_attempt_timestamp_seconds", "a", "health"),
            },
            self.gauges(),
        )

    def test_runs_of_helm_are_counted(self) -> None:
        self.useFixture(fixtures.EnvironmentVariable("PATH", "/nowhere"))
        rt = self.built()
        self.assertRaises(errors.NotConfigured, rt.helm.version)
        self.assertEqual({"version stopped": 1}, self.counted())

    def test_a_process_that_was_forked_measures_anew(self) -> None:
        runtime.reset()
        self.assertIsNot(self.meter, runtime.meter())
        self.assertIs(runtime.meter(), runtime.meter())


DIRECTORY = promtool.root() / "etc" / "prometheus"
RULES = DIRECTORY / "magnum-capi-helm.rules.yaml"
TESTS = DIRECTORY / "magnum-capi-helm.rules.test.yaml"

#: What the alerts are about.
ALERTS = [
    f"Magnum{each}"
    for each in [
        "ClusterStuck",
        "ClusterFailed",
        "ClusterDrift",
        "ClusterAbsent",
        "Orphans",
        "AddonFailed",
        "CertificateExpiring",
        "CredentialDead",
        "LeaseStale",
        "ManagementClusterDown",
        "MetricsIncomplete",
        "SnapshotOld",
        "HelmSlow",
        "HelmQueue",
        "MetricsOld",
        "MetricsAbsent",
    ]
]

#: A section of the guide; tools.tests.docs.test_pages checks that it exists.
_SECTION = r"^https://docs\.openstack\.org/magnum-capi-helm/latest/admin/.+#"

#: What an operator runs of this driver's own, where that is the cure.
COMMANDS = {
    "MagnumClusterFailed": "cluster rollback",
    "MagnumClusterDrift": "list",
    "MagnumOrphans": "list",
    "MagnumCertificateExpiring": "cluster apply",
    "MagnumCredentialDead": "cluster credentials",
}


def rules() -> dict[str, dict[str, Any]]:
    """The rules by the names of their alerts."""
    groups = yaml.safe_load(RULES.read_text())["groups"]
    return {rule["alert"]: rule for each in groups for rule in each["rules"]}


def tested(*, firing: bool) -> set[str]:
    """Alerts of which it is tested that they fire, or that they don't."""
    return {
        test["alertname"]
        for case in yaml.safe_load(TESTS.read_text())["tests"]
        for test in case["alert_rule_test"]
        if bool(test.get("exp_alerts")) == firing
    }


class RulesTest(oslotest_base.BaseTestCase):
    def test_the_rules_have_these_alerts(self) -> None:
        self.assertEqual(ALERTS, list(rules()))

    def test_each_alert_is_told_in_a_line_and_says_what_to_do(self) -> None:
        for name, rule in rules().items():
            self.assertEqual(
                {"summary", "description", "runbook_url"},
                rule["annotations"].keys(),
                name,
            )
            self.assertRegex(rule["annotations"]["runbook_url"], _SECTION)
            self.assertIn(rule["labels"]["severity"], ("warning", "critical"))

    def test_an_alert_names_the_command_that_helps(self) -> None:
        for name, command in COMMANDS.items():
            said = rules()[name]["annotations"]["description"]
            self.assertIn(f'"magnum-capi-helm {command}', said, name)

    def test_rules_ask_for_nothing_but_what_is_declared(self) -> None:
        for name, rule in rules().items():
            unknown = promtool.unknown_names(rule["expr"])
            self.assertEqual(set(), unknown, name)

    def test_each_alert_is_tested_with_its_fault_and_without(self) -> None:
        self.assertEqual(set(ALERTS), tested(firing=True))
        self.assertEqual(set(ALERTS), tested(firing=False))


_PREFIX = "magnum_capi_helm_"


class DashboardTest(oslotest_base.BaseTestCase):
    def test_each_metric_and_label_is_exported(self) -> None:
        for expression, legend in promtool.targets():
            with self.subTest(expression):
                self.assertEqual(set(), promtool.unknown_names(expression))
                self.assertEqual(
                    set(), promtool.unknown_labels(expression, legend)
                )

    def test_each_variable_is_read_from_an_exported_metric(self) -> None:
        variables = promtool.content()["templating"]["list"]
        queries = {each["name"]: each["query"] for each in variables}
        self.assertEqual(
            {
                "datasource": "prometheus",
                "management_cluster": f"label_values({_PREFIX}"
                "management_cluster_up, management_cluster)",
            },
            queries,
        )

    def test_each_exported_metric_is_shown(self) -> None:
        text = " ".join(expression for expression, _ in promtool.targets())
        hidden = [name for name in promtool.declared() if name not in text]
        self.assertEqual(
            [
                f"{_PREFIX}cluster_status_timestamp_seconds",
                f"{_PREFIX}delivery_seconds_sum",
            ],
            hidden,
        )

    def test_panels_have_an_id_a_title_and_a_description(self) -> None:
        panels = promtool.panels()
        ids = [each["id"] for each in promtool.content()["panels"]]
        self.assertEqual(len(ids), len(set(ids)))
        for panel in panels:
            self.assertTrue(panel["title"])
            self.assertTrue(panel["description"].endswith("."))
