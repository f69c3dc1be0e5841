# SPDX-License-Identifier: Apache-2.0

"""Clients and caches that all threads of a process share.

Magnum makes a new Driver for each call and each poll, in many threads. Each
management cluster has one :class:`Runtime`, made on first use; nothing
connects at import. A forked process starts without any: it would share
sockets with its parent.
"""

from __future__ import annotations

from collections.abc import Callable
import dataclasses
import os
import socket
import threading
import time
from typing import TypeAlias
import uuid

from magnum_capi_helm import metrics
from magnum_capi_helm import schedules
from magnum_capi_helm.config import conf
from magnum_capi_helm.config import options as config
from magnum_capi_helm.helm import charts
from magnum_capi_helm.helm import client as helm_client
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
from magnum_capi_helm.model import timing
from magnum_capi_helm.status import health
from magnum_capi_helm.status import view

#: Seconds of helm's default timeout: for a helm that runs without a Lease.
_HELM_DEFAULT = 300
#: Seconds that a helm may take to end after a signal.
_MARGIN = 30.0
#: Seconds within which Magnum polls a cluster again: it polls status every
#: ten seconds, and health every minute.
_STATUS_AGAIN = 30.0
_HEALTH_AGAIN = 300.0
#: Seconds for which health polls share a read: with a thousand clusters,
#: Magnum needs half a minute to poll all.
_HEALTH_AGE = 20.0
#: Creates that are planned at a time, and seconds that one waits for it.
_PLANNERS = 3
_PATIENCE = 30.0
#: Seconds for which the verdict on an unchanged operation is reused. A
#: handler whose conductor died may have written a row without a change on the
#: management cluster.
_STATUS_REUSED = 300.0
#: Seconds for which the health of an unchanged cluster is reused.
_HEALTH_REUSED = 900.0
#: Seconds for which one cluster may keep others from new certificates.
_RENEWAL = 3600.0
#: Polls that decode the objects of their cluster and judge, at a time.
_JUDGES = 16

Scope: TypeAlias = location.Scope
_Ages: TypeAlias = schedules.AgeTracker
_Downtime: TypeAlias = maintenance.Downtime
Snapshots: TypeAlias = shared_reads.SharedReads[reads.ReleaseObjects]


@dataclasses.dataclass
class FaultCache:
    """Faults that Nova returned, by release and by server and state.

    :param clock: monotonic seconds
    :param faults: replaced by release as a whole, so readers need no lock
    """

    clock: Callable[[], float] = time.monotonic
    faults: dict[Scope, dict[tuple[str, str], tuple[float, view.Fault]]] = (
        dataclasses.field(default_factory=dict)
    )

    def forget(self, scope: Scope) -> None:
        """Drop the faults of a release that is gone."""
        self.faults.pop(scope, None)


@dataclasses.dataclass(frozen=True)
class Runtime:
    """Clients and caches of one management cluster.

    :param turns: limits helm processes; one for all management clusters
    :param management_cluster: its settings; a single one has no name
    :param helm_deadline: seconds that a pending revision of a conductor may
        be at work
    :param foreign_deadline: the same for revisions of 1.4.0 and of operators
        at a shell
    """

    management: client.Client
    helm: helm_client.Helm
    charts: charts.Store
    leases: lease.Leases
    snapshots: Snapshots
    health_snapshots: Snapshots
    turns: turns.Turns = dataclasses.field(
        default_factory=lambda: turns.Turns(conf.helm_processes())
    )
    management_cluster: config.ManagementCluster = config.UNNAMED
    maintenance: maintenance.Maintenance = dataclasses.field(init=False)
    downtime: _Downtime = dataclasses.field(default_factory=_Downtime)

    # Deadlines, in seconds

    helm_deadline: float = 330.0
    foreign_deadline: float = 330.0
    #: A failure stays visible for so long, though its cause is gone.
    failure_display: float = 30.0
    #: A call whose caller waits, waits so long for a Lease.
    lease_wait: float = 15.0
    #: A command, whose operator has time, waits longer: a command that was
    #: killed half way holds the Lease for half a minute.
    command_lease_wait: float = 90.0

    # What polls found

    status_cache: schedules.PollCache[bool] = dataclasses.field(
        default_factory=lambda: schedules.PollCache(_STATUS_REUSED)
    )
    health_cache: schedules.PollCache[health.Health] = dataclasses.field(
        default_factory=lambda: schedules.PollCache(_HEALTH_REUSED)
    )
    refusal_cache: schedules.PollCache[str] = dataclasses.field(
        default_factory=lambda: schedules.PollCache(_STATUS_REUSED)
    )
    #: Faults that Nova recorded for servers in ERROR.
    server_faults: FaultCache = dataclasses.field(default_factory=FaultCache)
    #: Revisions that a helm of this process began and did not end, and the
    #: fingerprint of their values.
    interrupted_revisions: dict[Scope, tuple[int, str]] = dataclasses.field(
        default_factory=dict
    )
    #: Reasons why the desired state of a release is not applied: it would
    #: replace machines without a request.
    withheld: dict[Scope, str] = dataclasses.field(default_factory=dict)
    #: What requests have compared with the deployed release, and when
    #: (monotonic seconds).
    compared: dict[Scope, tuple[float, tuple[object, ...] | None]] = (
        dataclasses.field(default_factory=dict)
    )

    # Timers

    backoff: schedules.Backoff = dataclasses.field(
        default_factory=schedules.Backoff
    )
    credential_checks: schedules.Schedule = dataclasses.field(
        default_factory=schedules.Schedule
    )
    pending_revisions: _Ages = dataclasses.field(default_factory=_Ages)
    behind: _Ages = dataclasses.field(default_factory=_Ages)
    #: Results of requests that were refused or took too long.
    failures: _Ages = dataclasses.field(default_factory=_Ages)
    leftovers: _Ages = dataclasses.field(default_factory=_Ages)
    #: Progress of deletions, and reasons why Cluster API can't log in.
    stuck: _Ages = dataclasses.field(default_factory=_Ages)

    # Limits and jobs

    #: Magnum starts a poll for each cluster at the same time.
    verdict_slots: threading.Semaphore = dataclasses.field(
        default_factory=lambda: threading.Semaphore(_JUDGES)
    )
    create_slots: schedules.BoundedSlots = dataclasses.field(
        default_factory=lambda: schedules.BoundedSlots(_PLANNERS, _PATIENCE)
    )
    #: Held by the cluster whose certificates this process renews.
    renewal_lock: schedules.ExpiringLock = dataclasses.field(
        default_factory=lambda: schedules.ExpiringLock(_RENEWAL)
    )
    #: Deliveries of kubeconfigs.
    deliveries: schedules.BackgroundJobs = dataclasses.field(
        default_factory=schedules.BackgroundJobs
    )

    def __post_init__(self) -> None:
        state = maintenance.Maintenance(
            self.management, self.management_cluster.name
        )
        object.__setattr__(self, "maintenance", state)
        self.leases.wanted = self.invalidate
        self.leases.allowed = state.check
        self.leases.lacking = lambda scope: helm_records.check_release_exists(
            self.management, scope
        )

    def forget(self, scope: Scope) -> None:
        """Drop all that this process keeps of a release."""
        self.interrupted_revisions.pop(scope, None)
        self.withheld.pop(scope, None)
        self.compared.pop(scope, None)
        self.snapshots.forget(scope)
        self.health_snapshots.forget(scope)
        self.deliveries.forget(scope)
        self.server_faults.forget(scope)
        self.invalidate(scope)

    def invalidate(self, scope: Scope) -> None:
        """Judge a release again: something is about to change it."""
        self.status_cache.forget(scope)
        self.health_cache.forget(scope)

    def paused_seconds(self, since: float, now: float) -> float:
        """Return the seconds in which it was frozen or unreadable.

        :param since: seconds since 1970
        :raises ManagementError: it can't be read whether it is frozen
        """
        frozen = self.maintenance.cached().spans(now)
        return timing.covered(
            (max(began, since), min(ended, now))
            for began, ended in (*frozen, *self.downtime.spans(now))
            if began < now and ended > since
        )


class ManagementClusterCache:
    """Cache which management cluster each cluster is on.

    Entries save requests; the database stays authoritative.

    :param clock: monotonic seconds
    """

    #: Clusters at most; then the cache starts anew.
    _MOST = 100_000
    #: Seconds for which one that did not answer is not asked again.
    _PAUSE = 5.0
    #: Seconds for which a choice counts; the first poll of a new cluster,
    #: which records its location, comes sooner.
    _CHOICE = 600.0

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        #: Name -> UID of its kube-system.
        self.identities: dict[str, str] = {}
        #: Identities on which new clusters may be made.
        self.accepted_identities: set[str] = set()
        self._locations: dict[str, str] = {}
        self._choices: dict[str, tuple[float, str]] = {}
        self._errors: dict[str, tuple[float, errors.CapiHelmError]] = {}

    def location(self, cluster_uuid: str) -> str | None:
        """Return the name of the management cluster that a cluster is on."""
        return self._locations.get(cluster_uuid)

    def set_location(self, cluster_uuid: str, name: str) -> None:
        """Record the management cluster that a cluster is on."""
        if len(self._locations) >= self._MOST:
            self._locations.clear()
        self._locations[cluster_uuid] = name

    def forget(self, cluster_uuid: str) -> None:
        """Drop a cluster that is gone or has moved."""
        self._locations.pop(cluster_uuid, None)
        self._choices.pop(cluster_uuid, None)

    def record_choice(self, cluster_uuid: str, name: str) -> None:
        """Record the management cluster that a new cluster goes to."""
        self._choices[cluster_uuid] = (self.clock() + self._CHOICE, name)

    def choices(self) -> dict[str, str]:
        """Return recent choices: UUID of the cluster -> name."""
        now = self.clock()
        for uuid_, (until, _) in list(self._choices.items()):
            if now >= until:
                self._choices.pop(uuid_, None)
        return {key: name for key, (_, name) in list(self._choices.items())}

    def set_identity(self, name: str, identity: str) -> None:
        """Record the identity that a management cluster answered.

        If it changed, all locations are dropped.
        """
        before = self.identities.get(name)
        self.identities[name] = identity
        if before not in (None, identity):
            self._locations.clear()

    def last_error(self, name: str) -> errors.CapiHelmError | None:
        """Return the error of one that must not be asked again yet."""
        until, error = self._errors.get(name, (0.0, None))
        return error if self.clock() < until else None

    def record_error(self, name: str, error: errors.CapiHelmError) -> None:
        """Record that a management cluster did not answer."""
        self._errors[name] = (self.clock() + self._PAUSE, error)


_lock = threading.Lock()
_runtimes: dict[str, Runtime] = {}
_turns: list[turns.Turns] = []
_meters: list[metrics.Meter] = []
_configured: tuple[config.ManagementCluster, ...] = ()
_cache = ManagementClusterCache()


def names() -> tuple[str, ...]:
    """Return the names of the management clusters; a single one has "".

    :raises NotConfigured: naming the option that is missing or wrong
    """
    return tuple(each.name for each in configured())


def configured() -> tuple[config.ManagementCluster, ...]:
    """Return the management clusters, read from the configuration once.

    :raises NotConfigured: naming the option that is missing or wrong
    """
    global _configured
    if not _configured:
        _configured = conf.management_clusters()
    return _configured


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
    """Return the cache of locations of this process."""
    return _cache


def get(name: str = "") -> Runtime:
    """Return the runtime of a management cluster.

    :param name: empty if there is only one
    :raises NotConfigured: there is none of that name
    """
    with _lock:
        if name not in _runtimes:
            _runtimes[name] = build(settings=settings_of(name))
        return _runtimes[name]


def any_one() -> Runtime:
    """Return a runtime for what all have in common, such as charts."""
    return get(names()[0])


def use(runtime: Runtime) -> None:
    """Use this runtime from now on: for tests and for commands."""
    with _lock:
        _runtimes[runtime.management_cluster.name] = runtime


def meter() -> metrics.Meter:
    """Return the meter of this process."""
    with _lock:
        return _shared_meter()


def measure(meter: metrics.Meter) -> None:
    """Use this meter from now on: for tests."""
    with _lock:
        _meters[:] = [meter]


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
    management = management or _client(settings)
    helm = helm_client.Helm(
        settings.kubeconfig, options.helm_timeout, _shared_meter().helm
    )
    holder = f"{socket.gethostname()}/{os.getpid()}/{uuid.uuid4().hex[:6]}"
    downtime = maintenance.Downtime()
    status = shared_reads.SharedReads(
        downtime.recorded(reads.Reader(management, whole=True).read),
        again=_STATUS_AGAIN,
    )
    healths = shared_reads.SharedReads(
        downtime.recorded(reads.Reader(management, whole=False).read),
        max_age=_HEALTH_AGE,
        again=_HEALTH_AGAIN,
    )
    _shared_meter().reads(settings.name, status=status, health=healths)
    runtime = Runtime(
        management=management,
        helm=helm,
        charts=charts.Store(
            options.chart_store,
            helm,
            temporary=not conf.chart_store_is_set(),
        ),
        leases=lease.Leases(management, holder),
        snapshots=status,
        health_snapshots=healths,
        downtime=downtime,
        helm_deadline=options.helm_timeout + _MARGIN,
        foreign_deadline=max(options.helm_timeout, _HELM_DEFAULT) + _MARGIN,
        turns=_shared_turns(),
        management_cluster=settings,
    )
    _shared_meter().gauge(
        metrics.DELIVERIES_PENDING,
        (settings.name,),
        runtime.deliveries.pending,
    )
    return runtime


def _client(settings: config.ManagementCluster) -> client.Client:
    """Return a client that follows changes of its kubeconfig."""
    options = conf.CONF.capi_helm
    timeout = (options.api_connect_timeout, options.api_read_timeout)

    def connect() -> connection.Connection:
        return connection.Connection(
            settings.kubeconfig, timeout, settings.option
        )

    return client.Client(
        lambda: connection.ReloadingConnection(connect, settings.kubeconfig),
        options.api_resources,
        settings.name,
    )


def _shared_turns() -> turns.Turns:
    """Return the turns that all runtimes of this process share."""
    if not _turns:
        _turns.append(turns.Turns(conf.helm_processes()))
        _shared_meter().turns(_turns[0])
    return _turns[0]


def _shared_meter() -> metrics.Meter:
    """Return the meter; the caller holds the lock."""
    if not _meters:
        _meters.append(metrics.Meter(conf.CONF.capi_helm.metrics_dir))
    return _meters[0]


def reset() -> None:
    """Forget all clients; the next call makes new ones."""
    global _lock, _configured, _cache
    _lock = threading.Lock()
    _configured = ()
    _cache = ManagementClusterCache()
    _runtimes.clear()
    _turns.clear()
    _meters.clear()


os.register_at_fork(after_in_child=reset)
