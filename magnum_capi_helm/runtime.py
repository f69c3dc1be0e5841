# SPDX-License-Identifier: Apache-2.0

"""The process-wide state: one of each client, made on first use.

Magnum makes a new Driver for each call and each poll, in many threads; all
of them share what is here. Nothing connects at import. A fork starts with
nothing: it would share sockets with its parent.
"""

from __future__ import annotations

import os
import socket
import threading
from typing import TypeAlias
import uuid

from magnum_capi_helm import equipment
from magnum_capi_helm.config import conf
from magnum_capi_helm.helm import charts
from magnum_capi_helm.helm import client as helm_client
from magnum_capi_helm.helm import turns
from magnum_capi_helm.management import client
from magnum_capi_helm.management import connection
from magnum_capi_helm.management import lease
from magnum_capi_helm.management import observation
from magnum_capi_helm.management import reconnection
from magnum_capi_helm.management import snapshot
from magnum_capi_helm.memory import atlas
from magnum_capi_helm.memory import outages
from magnum_capi_helm.metrics import families
from magnum_capi_helm.metrics import meter as meters
from magnum_capi_helm.model import errors
from magnum_capi_helm.planes import homes

#: Seconds that whoever runs helm without a Lease gives it: helm's default.
_HELMS_OWN = 300
#: Seconds that a helm which is told to end may take for it.
_MARGIN = 30.0
#: Magnum asks for the status every ten seconds. Health: every minute.
_STATUS_AGAIN = 30.0
_HEALTH_AGAIN = 300.0
#: Seconds. Of a thousand clusters, Magnum needs half a minute to ask for all.
_HEALTH_AGE = 20.0

Runtime: TypeAlias = equipment.Runtime


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
    raise errors.NotConfigured(
        f"there is no management cluster {errors.shown(name)}: give one "
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
    management = management or _management(home)
    helm = _helm(home)
    holder = f"{socket.gethostname()}/{os.getpid()}/{uuid.uuid4().hex[:6]}"
    seen = outages.Outages()
    status, healths = _looks(management, seen)
    _shared_meter().readings(home.name, status=status, health=healths)
    made = Runtime(
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
        outages=seen,
        helm_deadline=options.helm_timeout + _MARGIN,
        foreign_deadline=max(options.helm_timeout, _HELMS_OWN) + _MARGIN,
        turns=_shared_turns(),
        home=home,
    )
    _shared_meter().gauge(
        families.DELIVERIES_PENDING, (home.name,), made.deliveries.pending
    )
    return made


def _management(home: homes.Home) -> client.Client:
    """A client that goes on when the kubeconfig is replaced."""
    options = conf.CONF.capi_helm
    timeout = (options.api_connect_timeout, options.api_read_timeout)

    def connect() -> connection.Connection:
        return connection.Connection(home.kubeconfig, timeout, home.option)

    return client.Client(
        lambda: reconnection.Reconnection(connect, home.kubeconfig),
        options.api_resources,
        home.name,
    )


def _helm(home: homes.Home) -> helm_client.Helm:
    timeout = conf.CONF.capi_helm.helm_timeout
    return helm_client.Helm(home.kubeconfig, timeout, _shared_meter().helm)


def _looks(
    management: client.Client, seen: outages.Outages
) -> tuple[equipment.Snapshots, equipment.Snapshots]:
    """What status polls share, and what health polls do.

    :param seen: notes when they can't be read
    """
    whole = observation.Observer(management, whole=True)
    objects = observation.Observer(management, whole=False)
    return (
        snapshot.Snapshots(seen.watched(whole.read), again=_STATUS_AGAIN),
        snapshot.Snapshots(
            seen.watched(objects.read),
            max_age=_HEALTH_AGE,
            again=_HEALTH_AGAIN,
        ),
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
