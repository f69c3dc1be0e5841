# SPDX-License-Identifier: Apache-2.0

"""``up``: everything that is missing is made, all that is down is started."""

from collections.abc import Iterable
import functools
import time

from lab import charts
from lab import driver_user
from lab import layout
from lab import management
from lab import manifests
from lab import pki
from lab import planes
from lab import postgres
from lab import registry
from lab import service
from lab import stamps
from lab import steps
from lab import virtualenv
from lab.cloud import config
from lab.cloud import databases
from lab.cloud import services as openstack_services
from lab.ha import everything as ha_services
from lab.horizon import build as horizon_build
from lab.horizon import dashboard
from lab.nodes import host
from lab.nodes import mode
from lab.nodes import programs
from lab.nodes import removal
from lab.nodes import services as node_services

# What the catalogue is filled with, and the services that this takes.
_IDENTITY = "catalogue: identity"
_FILLS = {
    "identity": ("keystone",),
    "network": ("neutron", _IDENTITY),
    "images": ("glance", _IDENTITY),
    "compute": ("nova", "placement", _IDENTITY),
    "volumes": ("cinder", _IDENTITY),
}


def run(
    management_cluster: str | None = None,
    *,
    ha: bool = False,
    horizon: bool = False,
) -> None:
    """Bring the lab up and say how to use it.

    With one management cluster, and those that are in use or asked for, and
    with Magnum in one process, or as its own programs where these are. With
    Horizon where it is in use or asked for.
    """
    started = time.monotonic()
    ha = ha or registry.ha_in_use()
    horizon = horizon or registry.horizon_in_use()
    wanted = registry.planes_in_use()
    if management_cluster is not None:
        asked = planes.named(management_cluster)
        wanted += [asked] * (asked not in wanted)
    for plane in wanted:
        _prepare(plane)
    config.write_all()
    if ha:
        ha_services.write()
        # Its port is theirs.
        openstack_services.magnum().stop()
    if horizon:
        horizon_build.write_key()
    _stop_old()
    todo = _todo(wanted, ha)
    if mode.chosen():
        todo = [*_nodes(), *todo]
    if horizon:
        todo += dashboard.todo()
    if todo:
        steps.run(todo)
    took = steps.duration(time.monotonic() - started)
    _tell(wanted, took, horizon)


def _nodes() -> list[steps.Step]:
    """What machines that run need, before the cloud is filled."""
    # Public endpoints are this host's address in the machines' network.
    host.make()
    return [
        *_start(node_services.network(), ["neutron", "octavia"]),
        *_start(node_services.addons(), ["kube-apiserver"]),
    ]


def _stop_old() -> None:
    """Stop outdated services, and those of an older choice."""
    if mode.chosen():
        others = [management.labinfra(plane) for plane in planes.ALL]
    else:
        others = node_services.services()
    for one in others:
        one.stop()
    for one in registry.everything().values():
        if one.outdated:
            one.stop()
    if host.ready() and not mode.chosen():
        removal.stop()


def _tell(wanted: list[planes.Plane], took: str, horizon: bool) -> None:
    """How to use what runs."""
    count = len(registry.in_use())
    print(f"The lab is up: {count} services run ({took}).")
    print(f"  OpenStack:  . {layout.OPENRC}")
    for plane in wanted:
        print(f"  Kubernetes: export KUBECONFIG={plane.kubeconfig}")
    if horizon:
        print(f"  Horizon:    {dashboard.URL} (demo or admin, password lab)")


def _prepare(plane: planes.Plane) -> None:
    if not pki.ready(plane):
        pki.make(plane)
    if not manifests.written(plane):
        manifests.write(plane)


def _todo(wanted: list[planes.Plane], ha: bool) -> list[steps.Step]:
    """The steps that have something to do."""
    found = _databases()
    for plane in wanted:
        found += _management(plane)
    return [*found, *_charts(), *_cloud(ha)]


def _start(
    one: service.Service, needs: Iterable[str] = ()
) -> list[steps.Step]:
    return [] if one.running else [steps.step(one.name, one.start, *needs)]


def _management(plane: planes.Plane) -> list[steps.Step]:
    etcd, api, *others = management.services(plane)
    found = _start(etcd) + _start(api, [etcd.name])
    crds = plane.called("resource definitions")
    if not manifests.crds_applied(plane):
        apply = functools.partial(manifests.apply_crds, plane)
        found.append(steps.step(crds, apply, api.name))
    for one in others:
        found += _start(one, [api.name, crds])
    if not driver_user.ready(plane):
        name = plane.called("driver's user")
        make = functools.partial(driver_user.make, plane)
        needs = plane.called("kube-controller-manager")
        found.append(steps.step(name, make, needs))
    if not manifests.webhooks_applied(plane):
        name = plane.called("webhooks")
        apply = functools.partial(manifests.apply_webhooks, plane)
        found.append(
            steps.step(name, apply, crds, *management.managers(plane))
        )
    return found


def _charts() -> list[steps.Step]:
    found = []
    if not charts.ready():
        found.append(steps.step("chart", charts.package))
    return found + _start(charts.server(), ["chart"])


def _database_stamp(name: str) -> str:
    inputs = [virtualenv.PACKAGES, config.path(name)]
    return stamps.fingerprint(files=inputs)


def _databases() -> list[steps.Step]:
    server = postgres.server()
    make = "database cluster"
    found = []
    if not postgres.ready():
        found.append(steps.step(make, postgres.make))
    found += _start(server, [make])
    for name in config.NAMES:
        value = _database_stamp(name)
        if not stamps.fresh("tables", value, config.home(name)):
            sync = functools.partial(_sync, name)
            found.append(steps.step(f"{name} database", sync, server.name))
    return found


def _sync(name: str) -> None:
    databases.sync(name)
    stamps.write("tables", _database_stamp(name), config.home(name))


def _cloud(ha: bool) -> list[steps.Step]:
    *apis, magnum = openstack_services.services()
    found = []
    for one in apis:
        found += _start(one, [f"{one.name} database", "postgres"])
    for what, needs in _FILLS.items():
        if not stamps.fresh(f"filled-{what}", _fill_stamp()):
            fill = functools.partial(_fill, what)
            found.append(steps.step(f"catalogue: {what}", fill, *needs))
    fills = (f"catalogue: {what}" for what in _FILLS)
    others = (
        "magnum database",
        "chart",
        "charts",
        "webhooks",
        "driver's user",
    )
    names = (one.name for one in apis)
    before = [*names, *fills, *others, *management.managers(planes.FIRST)]
    if ha:
        return found + ha_services.todo(before)
    return found + _start(magnum, before)


def _fill_stamp() -> str:
    folder = layout.SOURCE / "cloud"
    # The endpoints are the services'.
    inputs = [folder / "catalogue.py", folder / "services.py"]
    words = [*config.ZONES, mode.NETWORK if mode.chosen() else ""]
    if mode.chosen():
        words += programs.kubernetes()
    return stamps.fingerprint(*words, files=inputs)


def _fill(what: str) -> None:
    # Only now: the SDK takes a second to import.
    from lab.cloud import catalogue

    getattr(catalogue, f"fill_{what}")()
    stamps.write(f"filled-{what}", _fill_stamp())
