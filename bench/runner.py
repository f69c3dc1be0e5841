# SPDX-License-Identifier: Apache-2.0

"""Run Magnum's periodic tasks with one driver and measure their cost.

A script for the environment of that driver. It reads one task per line from
its standard input, as JSON, and answers each with one line.
"""

from __future__ import annotations

import contextlib
import json
import sys
import threading
import time
from typing import Any

# Before any library of oslo: Magnum selects a backend of oslo.service.
from magnum.common import service as magnum_service  # isort: skip

from magnum import objects
from magnum.common import context
from magnum.common import rpc
from magnum.conductor import monitors
import magnum.conf
from magnum.drivers.common import driver
from magnum.service import periodic

from bench import meter
from bench import verdicts

_DRIVER = "k8s_capi_helm_v1"
_LIVE = ("CREATE", "UPDATE", "DELETE", "ROLLBACK")
Data = dict[str, dict[str, Any]]


class Runner:
    """Magnum's conductor, as far as polls go."""

    def __init__(self, config: str) -> None:
        magnum_service.prepare_service(["magnum", "--config-file", config])
        if rpc.TRANSPORT:
            rpc.cleanup()
        rpc.init(magnum.conf.CONF)
        self._tasks = periodic.MagnumPeriodicTasks(magnum.conf.CONF)
        self._meter = meter.Meter()
        self._said: Data = {}
        self._loops: list[Any] = []
        self._hook()
        self._keep_loops()

    def _hook(self) -> None:
        found = driver.Driver.get_driver(
            "vm", "ubuntu", "kubernetes", driver_name=_DRIVER
        )
        self._meter.hook(type(found), "update_cluster_status")
        cluster = objects.Cluster(_context(), stack_id=None)
        monitor = found.get_monitor(_context(), cluster)
        self._meter.hook(type(monitor), "poll_health_status", self._heard)

    def _heard(self, monitor: Any) -> None:
        cluster = monitor.cluster
        # Without data, Magnum leaves the row as it is: that is the verdict.
        row = {
            name: getattr(cluster, name)
            for name in ("health_status", "health_status_reason")
        }
        self._said[cluster.uuid] = dict(monitor.data) or row

    def _keep_loops(self) -> None:
        """Know when Magnum's threads are done: it does not wait for them."""
        loops = self._loops

        class Kept(periodic.loopingcall.FixedIntervalLoopingCall):  # type: ignore[misc]
            def start(self, *args: Any, **options: Any) -> Any:
                loops.append(self)
                return super().start(*args, **options)

        periodic.loopingcall.FixedIntervalLoopingCall = Kept

    def run(self, kind: str, mode: str) -> dict[str, Any]:
        """Run a tick, or the hooks alone; return what it cost."""
        self._said.clear()
        work = self._tick if mode == "tick" else self._prepared(kind)
        self._meter.begin()
        started = time.monotonic()
        work(kind)
        wall = time.monotonic() - started
        return {"wall": wall, **self._meter.end()}

    def _tick(self, kind: str) -> None:
        if kind == "health":
            self._tasks.sync_cluster_health_status(_context())
        else:
            self._tasks.sync_cluster_status(_context())
        for each in self._loops:
            # Magnum has logged what a driver raised; the meter counts it.
            with contextlib.suppress(Exception):
                each.wait()
        self._loops.clear()

    def _prepared(self, kind: str) -> Any:
        """The hooks of all clusters, in as many threads as Magnum has."""
        ctx = _context()
        filters = None
        if kind == "status":
            filters = {"status": [f"{each}_IN_PROGRESS" for each in _LIVE]}
        threads = []
        for each in objects.Cluster.list(ctx, filters=filters):
            if kind == "health":
                monitor = monitors.create_monitor(ctx, each)
                thread = threading.Thread(target=monitor.poll_health_status)
            else:
                found = driver.Driver.get_driver_for_cluster(ctx, each)
                thread = threading.Thread(
                    target=found.update_cluster_status, args=(ctx, each)
                )
            threads.append(thread)

        def work(_: str) -> None:
            for each in threads:
                each.start()
            for each in threads:
                each.join()

        return work

    def wrong(self, expected: str, per_node: bool) -> list[str]:
        """Return the wrong verdicts of the last health poll."""
        with open(expected) as stream:
            return verdicts.wrong(
                self._said, json.load(stream), per_node=per_node
            )


def _context() -> Any:
    return context.make_admin_context(all_tenants=True)


def main(config: str) -> None:
    """Serve until the input ends."""
    runner = Runner(config)
    answers, sys.stdout = sys.stdout, sys.stderr
    print(json.dumps({"ready": True}), file=answers, flush=True)
    for line in sys.stdin:
        task = json.loads(line)
        if "expected" in task:
            found: Any = runner.wrong(task["expected"], task["per_node"])
        else:
            found = runner.run(task["kind"], task["mode"])
        print(json.dumps(found), file=answers, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
