# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""The process-wide state: one of each client, made on first use.

Magnum makes a new Driver for each call and each poll, in many threads; all
of them share what is here. Nothing connects at import. A fork starts with
nothing: it would share sockets with its parent.
"""

from __future__ import annotations

import dataclasses
import os
import socket
import threading
from typing import TypeAlias
import uuid

from magnum_capi_helm import atlas
from magnum_capi_helm import conf
from magnum_capi_helm import exceptions
from magnum_capi_helm import homes
from magnum_capi_helm import observation
from magnum_capi_helm import outages
from magnum_capi_helm import spent
from magnum_capi_helm import steady
from magnum_capi_helm import traces
from magnum_capi_helm import waits
from magnum_capi_helm.helm import charts
from magnum_capi_helm.helm import client as helm_client
from magnum_capi_helm.helm import turns
from magnum_capi_helm.management import anchor
from magnum_capi_helm.management import client
from magnum_capi_helm.management import connection
from magnum_capi_helm.management import lease
from magnum_capi_helm.management import snapshot
from magnum_capi_helm.metrics import meter as meters
from magnum_capi_helm.status import health

#: Magnum asks for the status every ten seconds. Health: every minute.
_STATUS_AGAIN = 30.0
_HEALTH_AGAIN = 300.0
#: How many creates are planned at a time, and seconds that one waits for it:
#: nobody waits for its answer, but others for theirs.
_PLANNERS = 3
_PATIENCE = 30.0
#: Seconds until an operation that does not move is judged anew, by rows that
#: a handler wrote whose conductor died before it told the management cluster;
#: and health that does not change.
_WAITING = 300.0
_HEALTHY = 900.0

#: Seconds for which one cluster may keep others from new certificates.
_RENEWAL = 3600.0
_JUDGES = 16
#: Seconds. Of a thousand clusters, Magnum needs half a minute to ask for all.
_HEALTH_AGE = 20.0

Snapshots: TypeAlias = snapshot.Snapshots[observation.Sighting]


@dataclasses.dataclass(frozen=True)
class Runtime:
    """What talks to one management cluster.

    ``home``: what is configured of it; its name is empty where it is the
    only one.
    """

    management: client.Client
    helm: helm_client.Helm
    charts: charts.Store
    leases: lease.Leases
    snapshots: Snapshots
    health_snapshots: Snapshots
    backoff: waits.Backoff = dataclasses.field(default_factory=waits.Backoff)
    pending: waits.FirstSeen = dataclasses.field(
        default_factory=waits.FirstSeen
    )
    #: Revisions that a helm of this process began and did not end, and the
    #: fingerprint of their values.
    broken_off: dict[snapshot.Scope, tuple[int, str]] = dataclasses.field(
        default_factory=dict
    )
    behind: waits.FirstSeen = dataclasses.field(
        default_factory=waits.FirstSeen
    )
    #: Looks at the clusters' credentials.
    rounds: waits.Rounds = dataclasses.field(default_factory=waits.Rounds)
    #: Seconds for which a call whose caller waits, waits for a Lease.
    patience: float = 15.0
    leftovers: waits.FirstSeen = dataclasses.field(
        default_factory=waits.FirstSeen
    )
    #: How long a pending revision without a Lease may still be at work.
    helm_deadline: float = 330.0
    #: One for all management clusters: helm runs on this host.
    turns: turns.Turns = dataclasses.field(
        default_factory=lambda: turns.Turns(conf.helm_processes())
    )
    home: homes.Home = homes.UNNAMED
    #: Polls that judge at the same time. Magnum starts one for each cluster,
    #: and each has all objects of a cluster decoded while it judges.
    judging: threading.Semaphore = dataclasses.field(
        default_factory=lambda: threading.Semaphore(_JUDGES)
    )
    #: Creates that are planned at the same time.
    planning: waits.Courtesy = dataclasses.field(
        default_factory=lambda: waits.Courtesy(_PLANNERS, _PATIENCE)
    )
    #: The cluster whose certificates this process has renewed.
    renewing: waits.Baton = dataclasses.field(
        default_factory=lambda: waits.Baton(_RENEWAL)
    )
    #: Operations that go on as they did.
    waiting: steady.Steady[bool] = dataclasses.field(
        default_factory=lambda: steady.Steady(_WAITING)
    )
    #: Health that only a change of an object can change.
    healthy: steady.Steady[health.Health] = dataclasses.field(
        default_factory=lambda: steady.Steady(_HEALTHY)
    )

    outages: outages.Outages = dataclasses.field(
        default_factory=outages.Outages
    )
    #: Which one it is, and whether it is frozen.
    anchor: anchor.Anchor = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        found = anchor.Anchor(self.management, self.home.name)
        object.__setattr__(self, "anchor", found)
        self.leases.wanted = self.changing
        self.leases.allowed = found.check
        self.leases.lacking = lambda scope: traces.check(
            self.management, scope
        )

    def forget(self, scope: snapshot.Scope) -> None:
        """Drop what this process knows of a release."""
        self.broken_off.pop(scope, None)
        self.snapshots.forget(scope)
        self.health_snapshots.forget(scope)
        self.changing(scope)

    def stood_still(self, since: float, now: float) -> float:
        """Seconds of a time in which it was frozen, or could not be read.

        :param since: seconds since 1970
        :raises ManagementError: nobody can say whether it is frozen
        """
        spans = (*self.anchor.known().spans(now), *self.outages.spans(now))
        return spent.covered(
            (max(began, since), min(ended, now))
            for began, ended in spans
            if began < now and ended > since
        )

    def changing(self, scope: snapshot.Scope) -> None:
        """Judge a release anew: something is about to change it."""
        self.waiting.forget(scope)
        self.healthy.forget(scope)


_lock = threading.Lock()
_runtimes: dict[str, Runtime] = {}
_turns: list[turns.Turns] = []
_meters: list[meters.Meter] = []
_homes: tuple[homes.Home, ...] = ()
_atlas = atlas.Atlas()


def names() -> tuple[str, ...]:
    """Of the management clusters; of a single one: one that is empty.

    :raises NotConfigured: naming the option that is missing or wrong
    """
    return tuple(each.name for each in configured())


def configured() -> tuple[homes.Home, ...]:
    """The management clusters, read from the configuration once.

    :raises NotConfigured: naming the option that is missing or wrong
    """
    global _homes
    if not _homes:
        _homes = conf.management_clusters()
    return _homes


def places() -> atlas.Atlas:
    """What this process has found out of them."""
    return _atlas


def get(name: str = "") -> Runtime:
    """The runtime of a management cluster.

    :param name: empty where there is one alone
    :raises NotConfigured: there is none of that name
    """
    with _lock:
        if name not in _runtimes:
            _runtimes[name] = build(home=home_of(name))
        return _runtimes[name]


def any_one() -> Runtime:
    """A runtime for what is the same on all: charts above all."""
    return get(names()[0])


def use(found: Runtime) -> None:
    """Take this runtime from now on: for tests, and for the command line."""
    with _lock:
        _runtimes[found.home.name] = found


def meter() -> meters.Meter:
    """What this process measures."""
    with _lock:
        return _shared_meter()


def measure(found: meters.Meter) -> None:
    """Take this meter from now on: for tests."""
    with _lock:
        _meters[:] = [found]


def home_of(name: str) -> homes.Home:
    """What is configured of a management cluster.

    :raises NotConfigured: there is none of that name
    """
    for each in configured():
        if each.name == name:
            return each
    listed = ", ".join(filter(None, names())) or "it is empty"
    raise exceptions.NotConfigured(
        f"there is no management cluster {exceptions.shown(name)}: give one "
        f"of [capi_helm] management_clusters ({listed})"
    )


def build(
    management: client.Client | None = None, home: homes.Home | None = None
) -> Runtime:
    """A new runtime from the configuration; connects to nothing yet.

    :param management: instead of a client of the configured kubeconfig
    :param home: the management cluster; the only one by default
    """
    options = conf.CONF.capi_helm
    home = home or home_of("")
    timeout = (options.api_connect_timeout, options.api_read_timeout)
    management = management or client.Client(
        lambda: connection.Connection(home.kubeconfig, timeout, home.option),
        options.api_resources,
        home.name,
    )
    helm = helm_client.Helm(
        home.kubeconfig,
        options.helm_timeout,
        os.path.join(os.path.dirname(options.chart_store), "helm"),
        _shared_meter().helm,
    )
    holder = f"{socket.gethostname()}/{os.getpid()}/{uuid.uuid4().hex[:6]}"
    whole = observation.Observer(management, whole=True)
    objects = observation.Observer(management, whole=False)
    seen = outages.Outages()
    status: Snapshots = snapshot.Snapshots(
        seen.watched(whole.read), again=_STATUS_AGAIN
    )
    healths: Snapshots = snapshot.Snapshots(
        seen.watched(objects.read), max_age=_HEALTH_AGE, again=_HEALTH_AGAIN
    )
    _shared_meter().readings(home.name, status=status, health=healths)
    return Runtime(
        management=management,
        helm=helm,
        charts=charts.Store(options.chart_store, helm),
        leases=lease.Leases(management, holder),
        snapshots=status,
        health_snapshots=healths,
        outages=seen,
        helm_deadline=options.helm_timeout + 30.0,
        turns=_shared_turns(),
        home=home,
    )


def _shared_turns() -> turns.Turns:
    """The same for every runtime of this process."""
    if not _turns:
        made = turns.Turns(conf.helm_processes())
        _turns.append(made)
        _shared_meter().turns(made)
    return _turns[0]


def _shared_meter() -> meters.Meter:
    """The one of this process; the lock is held, or nobody else is here."""
    if not _meters:
        _meters.append(meters.Meter(conf.CONF.capi_helm.metrics_dir))
    return _meters[0]


def reset() -> None:
    """Forget all clients; the next call makes new ones."""
    global _lock, _homes, _atlas
    _lock = threading.Lock()
    _homes = ()
    _atlas = atlas.Atlas()
    _runtimes.clear()
    _turns.clear()
    _meters.clear()


os.register_at_fork(after_in_child=reset)
