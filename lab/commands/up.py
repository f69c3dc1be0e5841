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

"""``up``: everything that is missing is made, all that is down is started."""

from collections.abc import Iterable
import functools
import sys
import time

from lab import charts
from lab import layout
from lab import management
from lab import manifests
from lab import pki
from lab import postgres
from lab import progress
from lab import registry
from lab import service
from lab import stamps
from lab import steps
from lab import virtualenv
from lab.cloud import config
from lab.cloud import databases
from lab.cloud import services as openstack_services

# What the catalogue is filled with, and the services that this takes.
_IDENTITY = "catalogue: identity"
_FILLS = {
    "identity": ("keystone",),
    "network": ("neutron", _IDENTITY),
    "images": ("glance", _IDENTITY),
    "compute": ("nova", _IDENTITY),
    "volumes": ("cinder", _IDENTITY),
}


def run() -> None:
    """Bring the lab up and say how to use it."""
    started = time.monotonic()
    if not pki.ready():
        pki.make()
    config.write_all()
    if not manifests.written():
        manifests.write()
    for one in registry.everything().values():
        if one.outdated:
            one.stop()
    todo = _todo()
    if todo:
        steps.run(todo, progress.Board(sys.stdout, len(todo)))
    count = len(registry.everything())
    took = progress.duration(time.monotonic() - started)
    print(f"The lab is up: {count} services run ({took}).")
    print(f"  OpenStack:  . {layout.OPENRC}")
    print(f"  Kubernetes: export KUBECONFIG={layout.KUBECONFIG}")


def _todo() -> list[steps.Step]:
    """The steps that have something to do."""
    return [*_databases(), *_management(), *_cloud()]


def _start(
    one: service.Service, needs: Iterable[str] = ()
) -> list[steps.Step]:
    if one.running:
        return []
    return [steps.Step(one.name, lambda say: one.start(), frozenset(needs))]


def _management() -> list[steps.Step]:
    etcd, api, *others = management.services()
    found = _start(etcd) + _start(api, [etcd.name])
    crds = "resource definitions"
    if not manifests.crds_applied():
        found.append(
            steps.Step(
                crds, lambda say: manifests.apply_crds(), frozenset({api.name})
            )
        )
    for one in others:
        found += _start(one, [api.name, crds])
    if not manifests.webhooks_applied():
        found.append(
            steps.Step(
                "webhooks",
                lambda say: manifests.apply_webhooks(),
                frozenset({crds, *management.MANAGERS}),
            )
        )
    if not charts.ready():
        found.append(steps.Step("chart", lambda say: charts.package()))
    return found + _start(charts.server(), ["chart"])


def _database_stamp(name: str) -> str:
    inputs = [virtualenv.PACKAGES, config.path(name)]
    return stamps.fingerprint(files=inputs)


def _databases() -> list[steps.Step]:
    server = postgres.server()
    make = "database cluster"
    found = []
    if not postgres.ready():
        found.append(steps.Step(make, lambda say: postgres.make()))
    found += _start(server, [make])
    for name in config.NAMES:
        value = _database_stamp(name)
        if not stamps.fresh("tables", value, config.home(name)):
            found.append(
                steps.Step(
                    f"{name} database",
                    functools.partial(_sync, name),
                    frozenset({server.name}),
                )
            )
    return found


def _sync(name: str, say: steps.Say) -> None:
    databases.sync(name)
    stamps.write("tables", _database_stamp(name), config.home(name))


def _cloud() -> list[steps.Step]:
    *apis, magnum = openstack_services.services()
    found = []
    for one in apis:
        found += _start(one, [f"{one.name} database", "postgres"])
    for what, needs in _FILLS.items():
        if not stamps.fresh(f"filled-{what}", _fill_stamp()):
            found.append(
                steps.Step(
                    f"catalogue: {what}",
                    functools.partial(_fill, what),
                    frozenset(needs),
                )
            )
    fills = (f"catalogue: {what}" for what in _FILLS)
    others = ("magnum database", "chart", "charts", "webhooks")
    names = (one.name for one in apis)
    return found + _start(
        magnum, [*names, *fills, *others, *management.MANAGERS]
    )


def _fill_stamp() -> str:
    folder = layout.SOURCE / "cloud"
    # The endpoints are the services'.
    inputs = [folder / "catalogue.py", folder / "services.py"]
    return stamps.fingerprint(files=inputs)


def _fill(what: str, say: steps.Say) -> None:
    # Only now: the SDK takes a second to import.
    from lab.cloud import catalogue

    getattr(catalogue, f"fill_{what}")()
    stamps.write(f"filled-{what}", _fill_stamp())
