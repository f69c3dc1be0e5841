# SPDX-License-Identifier: Apache-2.0

"""Clients and caches that all threads of a process share.

Magnum makes a new Driver for each call and each poll, in many threads. Each
management cluster has one :class:`Runtime`, made on first use; nothing
connects at import. A forked process starts without any: it would share
sockets with its parent.
"""

from __future__ import annotations

from collections.abc import Callable
import functools
import os
import random
import socket
import threading
import time
from typing import Any, NamedTuple, TypeAlias
import uuid

from oslo_log import log

from magnum_capi_helm import metrics
from magnum_capi_helm import schedules
from magnum_capi_helm.config import conf
from magnum_capi_helm.config import options as config
from magnum_capi_helm.helm import charts
from magnum_capi_helm.helm import client as helm_client
from magnum_capi_helm.helm import converting
from magnum_capi_helm.helm import turns
from magnum_capi_helm.kubernetes import client
from magnum_capi_helm.kubernetes import connection
from magnum_capi_helm.kubernetes import helm_records
from magnum_capi_helm.kubernetes import lease
from magnum_capi_helm.kubernetes import location
from magnum_capi_helm.kubernetes import maintenance
from magnum_capi_helm.kubernetes import reads
from magnum_capi_helm.kubernetes import shared_reads
from magnum_capi_helm.model import errors
from magnum_capi_helm.status import health
from magnum_capi_helm.status import view

#: Seconds that a helm may take to end after a signal.
_MARGIN = 30.0
#: Seconds within which Magnum polls a cluster again: it polls status every
#: ten seconds, and health every minute.
_STATUS_AGAIN = 30.0
_HEALTH_AGAIN = 300.0
#: Seconds for which polls share a read. With a thousand clusters, Magnum needs
#: half a minute to start the health polls of all.
_STATUS_AGE = 2.0
_HEALTH_AGE = 20.0
#: Seconds for which the verdict on an unchanged operation is reused. A
#: handler whose conductor died may have written a row without a change on the
#: management cluster.
_STATUS_REUSED = 300.0
#: Seconds for which the health of an unchanged cluster is reused.
_HEALTH_REUSED = 900.0
#: Seconds after which a release that no poll mentions is forgotten.
_FORGOTTEN = 7200.0
#: Polls that decode the objects of their cluster and judge, at a time.
_JUDGES = 16
#: Creates that are planned at a time: Python runs one thread at a time, and
#: fifty that compute leave next to no time to a thread that answers a user.
_PLANNERS = 3

LOG = log.getLogger(__name__)


class Question(NamedTuple):
    """The fault of one object, as one service knows it.

    :ivar id: of a server or volume; the name of another object
    :ivar state: of the object: a new state is a new question; its kind, if
        the question is for its events
    """

    service: str
    id: str
    state: str = ""


#: Faults that CAPO does not report, with the time of the request (monotonic
#: seconds).
Faults: TypeAlias = dict[Question, tuple[float, view.Fault]]


class Runtime:
    """Clients and caches of one management cluster.

    Nothing here is authoritative: another process starts without any of it.

    :param settings: its settings; a single management cluster has no name
    :param helm_turns: limits helm processes; one for all management clusters
    :param holder: names this process in Leases
    :param clock: monotonic seconds
    :param spread: a number from 0 to 1
    """

    #: Seconds for which a failure stays visible though its cause is gone.
    failure_display = 30.0
    #: Seconds that a call waits for a Lease, if its caller waits for it.
    lease_wait = 15.0
    #: Seconds that a command waits for a Lease: a command that was killed half
    #: way holds it for half a minute.
    command_lease_wait = 90.0

    def __init__(
        self,
        settings: config.ManagementCluster,
        management: client.Client,
        helm: helm_client.Helm,
        chart_store: charts.Store,
        helm_turns: turns.Turns,
        holder: str,
        clock: Callable[[], float] = time.monotonic,
        spread: Callable[[], float] = random.random,
    ) -> None:
        self.management_cluster = settings
        self.management = management
        self.helm = helm
        self.converter = converting.Converter(management)
        self.charts = chart_store
        self.turns = helm_turns
        self.clock = clock
        self.maintenance = maintenance.Maintenance(
            management, settings.name, clock
        )
        self.leases = lease.Leases(
            management,
            holder,
            check_allowed=self.maintenance.check,
            check_missing=functools.partial(
                helm_records.check_release_exists, management
            ),
            before_hold=self.invalidate,
            clock=clock,
        )
        self.snapshots = self._shared_reads(True, _STATUS_AGE, _STATUS_AGAIN)
        self.health_snapshots = self._shared_reads(
            False, _HEALTH_AGE, _HEALTH_AGAIN
        )
        #: Polls that judge now: Magnum starts one for each cluster at once.
        self.verdict_slots = threading.Semaphore(_JUDGES)
        self.create_slots = threading.BoundedSemaphore(_PLANNERS)

        #: When each release was used last.
        self._used = location.PerRelease[float]()
        self._next_sweep = 0.0
        self._add_timers(spread)
        self._add_results(spread)

    def _add_results(self, spread: Callable[[], float]) -> None:
        clock = self.clock
        self.status_cache = schedules.PollCache[bool](
            _STATUS_REUSED, clock, spread
        )
        self.health_cache = schedules.PollCache[health.Health](
            _HEALTH_REUSED, clock, spread
        )
        #: Clusters that are recorded with an identity of this one.
        self.located = schedules.PollCache[bool](_STATUS_REUSED, clock, spread)
        self.refusal_cache = schedules.PollCache[str](
            _STATUS_REUSED, clock, spread
        )
        self.faults = location.PerRelease[Faults]()
        #: Sessions with credentials of clusters, while faults are asked for.
        self.fault_sessions = location.PerRelease[Any]()
        #: Addresses of the Kubernetes API in the last polls' rows.
        self.api_addresses = location.PerRelease[str]()
        #: Releases whose kubeconfig is to be delivered, with the problem.
        self.undelivered = location.PerRelease[str]()
        #: The state of each cluster at its last poll.
        self.decisions = location.PerRelease[Any]()
        #: Reasons why the desired state of a release is not applied: it would
        #: replace machines without a request.
        self.withheld = location.PerRelease[str]()

    def _add_timers(self, spread: Callable[[], float]) -> None:
        clock = self.clock
        #: Seconds for which a helm may work on a pending revision.
        self.pending_deadline = conf.CONF.capi_helm.helm_timeout + _MARGIN
        self.backoff = schedules.Backoff(clock)
        self.credential_checks = schedules.Schedule(clock, spread)
        self.ages = schedules.AgeTracker(clock)
        #: Looks at kubeconfigs that may have to be delivered.
        self.deliveries = schedules.Schedule(clock, spread)
        #: Seconds since 1970: conductors share the time of the next try.
        self.wall: Callable[[], float] = time.time

    def _shared_reads(
        self, whole: bool, max_age: float, again: float
    ) -> shared_reads.SharedReads:
        read = reads.Reader(self.management, whole=whole).read
        return shared_reads.SharedReads(read, max_age, again, self.clock)

    def note_use(self, cluster: Any) -> None:
        """Keep the release of a cluster; forget those that nobody uses.

        Each conductor polls all clusters. That another one has ended a
        deletion shows by nothing else than that no poll comes any more.
        """
        now = self.clock()
        self._used[location.scope_of(cluster)] = now
        if now < self._next_sweep:
            return
        self._next_sweep = now + _FORGOTTEN
        for scope, last in list(self._used.items()):
            if now - last >= _FORGOTTEN:
                self.forget(scope)

    def forget(self, scope: location.Scope) -> None:
        """Drop all that this process keeps of a release.

        An attribute that keeps something of releases has such a method.
        """
        for each in vars(self).values():
            if hasattr(each, "forget"):
                each.forget(scope)

    def invalidate(self, scope: location.Scope) -> None:
        """Look at a release again: something is about to change it."""
        self.status_cache.forget(scope)
        self.health_cache.forget(scope)
        self.deliveries.set_due(scope, 0.0)


class ManagementClusterCache:
    """The last answers of management clusters: they save requests.

    :param clock: monotonic seconds
    """

    #: Seconds for which one that did not answer is not asked again.
    _PAUSE = 5.0

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        #: Name -> UID of its kube-system.
        self.identities: dict[str, str] = {}
        #: Identities on which new clusters may be made.
        self.accepted_identities: set[str] = set()
        self._errors: dict[str, tuple[float, errors.CapiHelmError]] = {}

    def last_error(self, name: str) -> errors.CapiHelmError | None:
        """Return the error of one that must not be asked again yet."""
        until, error = self._errors.get(name, (0.0, None))
        return error if self.clock() < until else None

    def record_error(self, name: str, error: errors.CapiHelmError) -> None:
        """Record that a management cluster did not answer."""
        self._errors[name] = (self.clock() + self._PAUSE, error)


class Receiver:
    """The receiver of kubeconfigs, as a process knows it."""

    def __init__(self) -> None:
        #: Held by the poll that delivers.
        self.turn = threading.Lock()
        #: In monotonic seconds.
        self.paused_until = 0.0
        #: The last problem of the options or the receiver that was logged.
        self.problem = ""


class _Process:
    """Objects that all runtimes of a process share."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.runtimes: dict[str, Runtime] = {}
        self.cache = ManagementClusterCache()
        self.receiver = Receiver()

    @functools.cached_property
    def configured(self) -> tuple[config.ManagementCluster, ...]:
        clusters = conf.management_clusters()
        for each in conf.unknown_options():
            LOG.warning("%s: what it sets has no effect", each)
        return clusters

    @functools.cached_property
    def meter(self) -> metrics.Meter:
        return metrics.Meter(conf.CONF.capi_helm.metrics_dir)

    @functools.cached_property
    def turns(self) -> turns.Turns:
        made = turns.Turns(conf.helm_processes())
        self.meter.gauge(metrics.HELM_TURNS, (), lambda: made.number)
        self.meter.gauge(metrics.HELM_RUNNING, (), lambda: made.running)
        self.meter.gauge(metrics.HELM_WAITING, (), lambda: made.waiting)
        return made


_process = _Process()


def reset() -> None:
    """Forget all clients; the next call makes new ones."""
    global _process
    _process = _Process()


os.register_at_fork(after_in_child=reset)


def names() -> tuple[str, ...]:
    """Return the names of the management clusters; a single one has "".

    :raises NotConfigured: naming the option that is missing or wrong
    """
    return tuple(each.name for each in configured())


def configured() -> tuple[config.ManagementCluster, ...]:
    """Return the management clusters, read from the configuration once.

    :raises NotConfigured: naming the option that is missing or wrong
    """
    return _process.configured


def settings_of(name: str) -> config.ManagementCluster:
    """Return the settings of a management cluster.

    :raises NotConfigured: there is none of that name
    """
    for each in configured():
        if each.name == name:
            return each
    listed = ", ".join(filter(None, names())) or "it is empty"
    raise errors.NotConfigured(
        f"there is no management cluster {errors.shown(name)}: give one "
        f"of [capi_helm] management_clusters ({listed})"
    )


def cache() -> ManagementClusterCache:
    """Return what management clusters answered to this process."""
    return _process.cache


def receiver() -> Receiver:
    """Return the receiver of kubeconfigs, as this process knows it."""
    return _process.receiver


def get(name: str = "") -> Runtime:
    """Return the runtime of a management cluster.

    :param name: empty if there is only one
    :raises NotConfigured: there is none of that name
    """
    with _process.lock:
        if name not in _process.runtimes:
            _process.runtimes[name] = build(settings=settings_of(name))
        return _process.runtimes[name]


def any_one() -> Runtime:
    """Return a runtime for what all have in common, such as charts."""
    return get(names()[0])


def use(runtime: Runtime) -> None:
    """Use this runtime from now on: for tests and for commands."""
    _process.runtimes[runtime.management_cluster.name] = runtime


def meter() -> metrics.Meter:
    """Return the meter of this process."""
    with _process.lock:
        return _process.meter


def measure(meter: metrics.Meter) -> None:
    """Use this meter from now on: for tests."""
    _process.meter = meter


def build(
    management: client.Client | None = None,
    settings: config.ManagementCluster | None = None,
) -> Runtime:
    """Make a runtime from the configuration; it connects to nothing yet.

    :param management: used instead of a client of the settings' kubeconfig
    :param settings: those of the only management cluster by default
    """
    options = conf.CONF.capi_helm
    settings = settings or settings_of("")
    management = management or client.Client(
        lambda: connection.Connection(
            settings.kubeconfig,
            (options.api_connect_timeout, options.api_read_timeout),
            settings.option,
        ),
        options.api_resources,
        settings.name,
    )
    meter, helm_turns = _process.meter, _process.turns
    helm = helm_client.Helm(
        settings.kubeconfig,
        options.helm_timeout,
        functools.partial(meter.measure, metrics.HELM),
    )
    runtime = Runtime(
        settings,
        management,
        helm,
        charts.Store(
            options.chart_store, helm, temporary=not conf.chart_store_is_set()
        ),
        helm_turns,
        f"{socket.gethostname()}/{os.getpid()}/{uuid.uuid4().hex[:6]}",
    )
    _export_reads(meter, (settings.name, "status"), runtime.snapshots)
    _export_reads(meter, (settings.name, "health"), runtime.health_snapshots)
    meter.gauge(
        metrics.DELIVERIES_PENDING,
        (settings.name,),
        lambda: len(runtime.undelivered) if conf.delivery_enabled() else None,
    )
    return runtime


def _export_reads(
    meter: metrics.Meter,
    labels: tuple[str, str],
    shared: shared_reads.SharedReads,
) -> None:
    meter.gauge(metrics.SNAPSHOT, labels, lambda: shared.last_success)
    meter.gauge(metrics.ATTEMPT, labels, lambda: shared.last_attempt)
