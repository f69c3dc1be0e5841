# SPDX-License-Identifier: Apache-2.0

"""What a conductor measures while it polls."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import fixtures

from magnum_capi_helm import metrics
from magnum_capi_helm import runtime
from magnum_capi_helm.config import options
from magnum_capi_helm.kubernetes import client
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.metrics import meter_case


class ConductorTest(base.FlowTestCase):
    """Polls of one cluster, by a conductor that measures."""

    def setUp(self) -> None:
        super().setUp()
        self.begun: list[Callable[[], None]] = []
        directory = self.useFixture(fixtures.TempDir()).path
        self.meter = metrics.Meter(directory, begin=self.begun.append)
        runtime.measure(self.meter)

    def counted(self) -> dict[str, float]:
        """Return how many events there were by their labels."""
        counts = meter_case.counts(self.meter)
        return {" ".join(labels): count for labels, count in counts.items()}

    def gauges(self) -> set[tuple[str, ...]]:
        """Return names and labels of the gauges that have a value."""
        return {
            key
            for key in meter_case.samples(self.meter)
            if not key[0].endswith(("_sum", "_count"))
        }

    def test_polls_that_come_to_a_verdict_and_polls_that_do_not(self) -> None:
        self.created()
        self.health_poll()
        self.assertEqual({"status ok": 1, "health ok": 1}, self.counted())
        self.management.unreachable()
        self.resize(3)
        self.poll()
        self.health_poll()
        self.assertEqual(
            {
                "status ok": 1,
                "status failed": 1,
                "health ok": 1,
                "health failed": 1,
            },
            self.counted(),
        )
        self.assertEqual(1, len(self.begun))

    def test_a_poll_that_waits_for_another_conductor_is_ok(self) -> None:
        self.create()
        self.capi.settle()
        with self.busy():
            self.poll()
        self.assertEqual({"status ok": 1}, self.counted())

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
