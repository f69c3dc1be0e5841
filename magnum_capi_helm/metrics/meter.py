# SPDX-License-Identifier: Apache-2.0

"""What a process of a conductor measures, and the file that it goes into.

A poll adds a number and goes on. One thread of its own writes the file, now
and then; what keeps it from that, is logged, and harms nothing else. Without
a directory, nothing is measured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
import contextlib
import functools
import os
import pathlib
import socket
import threading
import time
from typing import Any

from oslo_log import log

from magnum_capi_helm.helm import turns
from magnum_capi_helm.management import snapshot
from magnum_capi_helm.metrics import families
from magnum_capi_helm.metrics import textfile
from magnum_capi_helm.model import errors

LOG = log.getLogger(__name__)

#: Seconds between two writes.
INTERVAL = 15.0

OK = "ok"
FAILED = "failed"
_REFUSED = "refused"
#: How a run of helm ended, by what it raised; the first one that fits.
_HELM: tuple[tuple[type[Exception], str], ...] = (
    (errors.HelmBusy, "busy"),
    (errors.HelmUnreachable, "unreachable"),
    (errors.ReleaseAbsent, "absent"),
    (errors.HelmError, _REFUSED),
    (errors.CapiHelmError, "stopped"),
)


def _beside(work: Callable[[], None]) -> None:
    """Every so often, in a thread of its own that keeps no process alive."""

    def again_and_again() -> None:
        while True:
            work()
            time.sleep(INTERVAL)

    threading.Thread(
        target=again_and_again, name="metrics", daemon=True
    ).start()


class Poll:
    """One poll, which says how it ended."""

    outcome = OK


class Meter:
    """The measures of this process.

    :param directory: where its file is; empty: nothing is measured
    :param clock: monotonic seconds
    :param begin: runs what writes, for as long as the process lives
    """

    def __init__(
        self,
        directory: str,
        clock: Callable[[], float] = time.monotonic,
        begin: Callable[[Callable[[], None]], None] = _beside,
    ) -> None:
        self._directory = directory
        self._begin = begin
        self._clock = clock
        self._host = socket.gethostname()
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._sums: dict[
            tuple[families.Family, families.Values], tuple[float, int]
        ] = {}
        self._gauges: dict[
            tuple[families.Family, families.Values],
            Callable[[], float | None],
        ] = {}
        self._begun = False
        self._problem = ""

    def gauge(
        self,
        family: families.Family,
        labels: families.Values,
        read: Callable[[], float | None],
    ) -> None:
        """Ask ``read`` for a value before each write.

        :param labels: without that of the process
        :param read: raises nothing; None: there is no value
        """
        with self._lock:
            self._gauges[family, labels] = read

    def turns(self, found: turns.Turns) -> None:
        """Look at the turns with helm before each write."""
        self.gauge(families.HELM_TURNS, (), lambda: found.number)
        self.gauge(families.HELM_RUNNING, (), lambda: found.running)
        self.gauge(families.HELM_WAITING, (), lambda: found.waiting)

    def readings(self, plane: str, **found: snapshot.Snapshots[Any]) -> None:
        """Look at readings of a management cluster before each write.

        :param found: what they are read for: ``status``, ``health``
        """
        for poll, each in found.items():
            where = (plane, poll)
            good = functools.partial(self._good, each)
            tried = functools.partial(self._tried, each)
            self.gauge(families.SNAPSHOT, where, good)
            self.gauge(families.ATTEMPT, where, tried)

    def _good(self, found: snapshot.Snapshots[Any]) -> float | None:
        return None if found.tried is None else self._moment(found.good)

    def _tried(self, found: snapshot.Snapshots[Any]) -> float | None:
        return None if found.tried is None else self._moment(found.tried)

    def _moment(self, monotonic: float) -> float:
        """Seconds since 1970; which part of one, nobody minds."""
        return round(time.time() - self._clock() + monotonic)

    @contextlib.contextmanager
    def polling(self, poll: str) -> Iterator[Poll]:
        """Measure a poll. Who polls is a conductor: its file is written.

        :param poll: ``status`` or ``health``
        """
        found = Poll()
        began = self._clock()
        try:
            yield found
        except BaseException:
            found.outcome = FAILED
            raise
        finally:
            self._add(families.POLL, (poll, found.outcome), began)
            self._start()

    @contextlib.contextmanager
    def helm(self, command: str) -> Iterator[None]:
        """Measure a run of helm.

        :param command: ``upgrade``, ``uninstall``, ``template``...
        """
        outcome = OK
        began = self._clock()
        try:
            yield
        except errors.CapiHelmError as error:
            outcome = next(
                word for kind, word in _HELM if isinstance(error, kind)
            )
            raise
        finally:
            self._add(families.HELM, (command, outcome), began)

    @contextlib.contextmanager
    def delivering(self) -> Iterator[None]:
        """Measure one sending of a kubeconfig."""
        outcome = FAILED
        began = self._clock()
        try:
            yield
            outcome = OK
        finally:
            self._add(families.DELIVERY, (outcome,), began)

    def samples(self) -> list[families.Sample]:
        """All samples, those of a metric one after the other."""
        process = f"{self._host}/{self._pid}"
        with self._lock:
            sums, gauges = dict(self._sums), dict(self._gauges)
        found = [
            families.Sample(family, (process, *labels), seconds, count)
            for (family, labels), (seconds, count) in sums.items()
        ]
        for (family, labels), read in gauges.items():
            value = read()
            if value is not None:
                where = (process, *labels)
                found.append(families.Sample(family, where, value))
        order = {family: at for at, family in enumerate(families.OF_PROCESS)}
        return sorted(
            found, key=lambda each: (order[each.family], each.labels)
        )

    def write(self) -> None:
        """Write the file; a failure is logged once."""
        from magnum_capi_helm.metrics import exposition

        directory = pathlib.Path(self._directory)
        path = textfile.of_process(directory, self._host, self._pid)
        try:
            textfile.write(path, exposition.text(self.samples()))
            textfile.remove_dead(directory, self._host)
            problem = ""
        except OSError as error:
            problem = str(error.strerror)
        if problem and problem != self._problem:
            LOG.warning(
                "[capi_helm] metrics_dir %s can't be written: %s",
                self._directory,
                problem,
            )
        self._problem = problem

    def _add(
        self, family: families.Family, labels: families.Values, began: float
    ) -> None:
        if not self._directory:
            return
        took = self._clock() - began
        with self._lock:
            seconds, count = self._sums.get((family, labels), (0.0, 0))
            self._sums[family, labels] = seconds + took, count + 1

    def _start(self) -> None:
        """Begin to write, once."""
        if self._begun or not self._directory:
            return
        # Where there is no thread for it, the next poll tries again.
        with self._lock, contextlib.suppress(RuntimeError):
            if not self._begun:
                self._begin(self._write_or_tell)
                self._begun = True

    def _write_or_tell(self) -> None:
        try:
            self.write()
        except Exception:
            LOG.exception("Metrics are not written this time")
