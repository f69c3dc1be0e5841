# SPDX-License-Identifier: Apache-2.0

"""Prometheus metrics: their declarations, and what a conductor measures.

A poll adds a number and goes on. A thread of its own writes the file for
node_exporter's textfile collector; a failure there is logged and harms
nothing else.

Names and units follow Prometheus' own rules. Times are moments in seconds
since 1970: rules compute the age, so a file that is no longer written does
not look young. A series names its cluster by UUID alone; ``cluster_info`` has
the properties that change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
import contextlib
import os
import pathlib
import socket
import threading
import time
from typing import NamedTuple, TypeAlias

from oslo_log import log
import prometheus_client
from prometheus_client import core
from prometheus_client import registry

from magnum_capi_helm.model import encoding
from magnum_capi_helm.model import errors

LOG = log.getLogger(__name__)

Collector: TypeAlias = registry.Collector
Family: TypeAlias = core.Metric

#: Seconds between two writes.
INTERVAL = 15.0

OK = "ok"
FAILED = "failed"
#: The outcome of a helm command, by the error; the first match counts.
_HELM_OUTCOMES: tuple[tuple[type[BaseException], str], ...] = (
    (errors.HelmBusy, "busy"),
    (errors.HelmUnreachable, "unreachable"),
    (errors.ReleaseAbsent, "absent"),
    (errors.HelmError, "refused"),
    (BaseException, "stopped"),
)
#: Seconds without a write after which the file of an ended process goes.
_UNUSED = 60.0


class Metric(NamedTuple):
    """The declaration of a metric.

    :param summary: it counts events and sums up their seconds; otherwise it
        is a gauge
    """

    name: str
    help: str
    labels: tuple[str, ...] = ()
    summary: bool = False

    def gauge(self) -> core.GaugeMetricFamily:
        """Return a gauge without samples."""
        return core.GaugeMetricFamily(self.name, self.help, labels=self.labels)


#: All metrics by their names in metrics.yaml, in its order.
_DECLARED = {
    name: Metric(
        f"magnum_capi_helm_{name}",
        fields["help"],
        tuple(fields["labels"]),
        fields.get("summary", False),
    )
    for name, fields in encoding.package_data("metrics.yaml").items()
}

# Metrics of the command ``metrics``

UP = _DECLARED["management_cluster_up"]
READ = _DECLARED["read_success"]
CLUSTERS = _DECLARED["clusters"]
OLDEST = _DECLARED["clusters_oldest_timestamp_seconds"]
INFO = _DECLARED["cluster_info"]
STATUS = _DECLARED["cluster_status_timestamp_seconds"]
STATE = _DECLARED["cluster_state"]
ORPHANS = _DECLARED["orphans"]
ADDONS = _DECLARED["cluster_addons"]
CERTIFICATE = _DECLARED["cluster_certificate_expiry_timestamp_seconds"]
CREDENTIAL = _DECLARED["cluster_credential_refused"]
LEASE = _DECLARED["lease_renewed_timestamp_seconds"]

# Metrics of each conductor process

POLL = _DECLARED["poll_seconds"]
HELM = _DECLARED["helm_seconds"]
HELM_RUNNING = _DECLARED["helm_running"]
HELM_TURNS = _DECLARED["helm_turns"]
HELM_WAITING = _DECLARED["helm_waiting"]
SNAPSHOT = _DECLARED["snapshot_timestamp_seconds"]
ATTEMPT = _DECLARED["snapshot_attempt_timestamp_seconds"]
DELIVERY = _DECLARED["delivery_seconds"]
DELIVERIES_PENDING = _DECLARED["deliveries_pending"]

OF_PROCESS = tuple(
    each for each in _DECLARED.values() if "process" in each.labels
)
OF_CLOUD = tuple(each for each in _DECLARED.values() if each not in OF_PROCESS)


def _run_in_thread(work: Callable[[], None]) -> None:
    """Repeat the work in a daemon thread."""

    def repeat() -> None:
        while True:
            work()
            time.sleep(INTERVAL)

    threading.Thread(target=repeat, name="metrics", daemon=True).start()


class Meter(Collector):
    """Measures this conductor process and writes the file.

    :param directory: place of the file; empty: nothing is measured
    :param clock: monotonic seconds
    :param begin: runs the writer for as long as the process lives
    """

    def __init__(
        self,
        directory: str,
        clock: Callable[[], float] = time.monotonic,
        begin: Callable[[Callable[[], None]], None] = _run_in_thread,
    ) -> None:
        self._directory = directory
        self._clock = clock
        self._begin = begin
        self._host = socket.gethostname()
        self._pid = os.getpid()
        self._process = f"{self._host}/{self._pid}"
        self._lock = threading.Lock()
        self._begun = False
        self._problem = ""
        self._gauges: dict[
            Metric, dict[tuple[str, ...], Callable[[], float | None]]
        ] = {each: {} for each in OF_PROCESS if not each.summary}
        # The creation time of each series would be a series of its own.
        prometheus_client.disable_created_metrics()  # type: ignore[no-untyped-call]
        self._summaries = {
            each: prometheus_client.Summary(
                each.name, each.help, each.labels, registry=None
            )
            for each in OF_PROCESS
            if each.summary
        }

    def collect(self) -> Iterator[Family]:
        """Yield the metrics of this process."""
        for metric in OF_PROCESS:
            if metric.summary:
                families = list(self._summaries[metric].collect())
            else:
                families = [self._collect_gauge(metric)]
            yield from (each for each in families if each.samples)

    def _collect_gauge(self, metric: Metric) -> Family:
        family = metric.gauge()
        for labels, read in list(self._gauges[metric].items()):
            if (value := read()) is not None:
                family.add_metric((self._process, *labels), value)
        return family

    def gauge(
        self,
        metric: Metric,
        labels: tuple[str, ...],
        read: Callable[[], float | None],
    ) -> None:
        """Call ``read`` for a value before each write.

        :param labels: without that of the process
        :param read: raises nothing; None: there is no value
        """
        self._gauges[metric][labels] = read

    @contextlib.contextmanager
    def measure(self, metric: Metric, *labels: str) -> Iterator[None]:
        """Measure the block. The first poll starts the writer.

        :param metric: a summary
        :param labels: without those of the process and the outcome
        """
        outcome = OK
        began = self._clock()
        try:
            yield
        except BaseException as error:
            outcome = FAILED
            if metric is HELM:
                outcome = next(
                    word
                    for kind, word in _HELM_OUTCOMES
                    if isinstance(error, kind)
                )
            raise
        finally:
            if self._directory:
                summary = self._summaries[metric].labels(
                    self._process, *labels, outcome
                )
                summary.observe(self._clock() - began)
            if metric is POLL:
                self._start_writer()

    def _start_writer(self) -> None:
        if self._begun or not self._directory:
            return
        # Without a free thread, the next poll tries again.
        with self._lock, contextlib.suppress(RuntimeError):
            if not self._begun:
                self._begin(self.write)
                self._begun = True

    def write(self) -> None:
        """Write the file and raise nothing; a failure is logged once."""
        directory = pathlib.Path(self._directory)
        problem = ""
        try:
            write(process_file(directory, self._host, self._pid), self)
            remove_files_of_ended(directory, self._host)
        except OSError as error:
            problem = str(error.strerror)
        except Exception:
            LOG.exception("Metrics could not be written")
        if problem and problem != self._problem:
            LOG.warning(
                "[capi_helm] metrics_dir %s can't be written: %s",
                self._directory,
                problem,
            )
        self._problem = problem


# Files for node_exporter's textfile collector


def text(collector: Collector) -> str:
    """Return metrics in Prometheus' text format."""
    return prometheus_client.generate_latest(collector).decode()


def write(path: pathlib.Path, collector: Collector) -> None:
    """Write a file that the collector may read at any moment.

    :raises OSError: the file can't be written; the old one stays
    """
    prometheus_client.write_to_textfile(str(path), collector)
    # node_exporter may run as another user.
    path.chmod(0o644)


def process_file(directory: pathlib.Path, host: str, pid: int) -> pathlib.Path:
    """Return the file of one conductor process."""
    return directory / f"{_prefix(host)}{pid}.prom"


def remove_files_of_ended(directory: pathlib.Path, host: str) -> None:
    """Remove the files of this host's processes that have ended.

    :raises OSError: the directory can't be read
    """
    prefix = _prefix(host)
    for path in directory.iterdir():
        pid = path.name.removeprefix(prefix).partition(".")[0]
        if path.name.startswith(prefix) and pid.isdecimal():
            with contextlib.suppress(OSError):
                age = time.time() - path.stat().st_mtime
                # A process of another container may live and not be visible.
                if age > _UNUSED and not _is_alive(int(pid)):
                    path.unlink()


def _prefix(host: str) -> str:
    return f"magnum_capi_helm_{host.replace('/', '_')}_"


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        # Another user's process.
        pass
    return True
