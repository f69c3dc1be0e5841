# SPDX-License-Identifier: Apache-2.0

"""All services of the lab by name, in the order of starting."""

import functools

from lab import charts
from lab import errors
from lab import management
from lab import planes
from lab import postgres
from lab import service
from lab.cloud import services
from lab.ha import everything as ha
from lab.horizon import dashboard
from lab.nodes import mode
from lab.nodes import services as node_services


@functools.cache
def everything() -> dict[str, service.Service]:
    """Name -> service, of every management cluster that there may be."""
    found = [
        *(one for plane in planes.ALL for one in management.services(plane)),
        *(management.labinfra(plane) for plane in planes.ALL),
        postgres.server(),
        charts.server(),
        *services.services(),
        *ha.services(),
        dashboard.server(),
        *node_services.services(),
    ]
    return {one.name: one for one in found}


def planes_in_use() -> list[planes.Plane]:
    """The first one, and others that were started and not taken down."""
    return [
        plane
        for plane in planes.ALL
        if plane is planes.FIRST
        or any(one.record.exists() for one in management.services(plane))
    ]


def ha_in_use() -> bool:
    """Whether Magnum's own programs were started and not taken down."""
    return any(one.record.exists() for one in ha.services())


def horizon_in_use() -> bool:
    """Whether Horizon was started and not taken down."""
    return dashboard.server().record.exists()


def in_use() -> list[service.Service]:
    """All but those that nobody asked for."""
    used = planes_in_use()
    others = [services.magnum()] if ha_in_use() else ha.services()
    if not horizon_in_use():
        others.append(dashboard.server())
    if mode.chosen():
        # Machines that run need nobody to play them.
        others += [management.labinfra(plane) for plane in planes.ALL]
    else:
        others += node_services.services()
    for plane in planes.ALL:
        if plane not in used:
            others += management.services(plane)
    idle = {one.name for one in others}
    return [one for one in everything().values() if one.name not in idle]


def chosen(
    management_cluster: str | None, *, only_ha: bool = False
) -> list[service.Service]:
    """Those of the management cluster of that name, or of Magnum's own
    programs; else all.
    """
    if management_cluster is not None:
        return management.services(planes.named(management_cluster))
    return ha.services() if only_ha else list(everything().values())


def get(name: str) -> service.Service:
    """One service, or what names there are."""
    try:
        return everything()[name]
    except KeyError:
        raise errors.LabError(
            f"there is no service {name!r}",
            hint=f"The services are: {', '.join(everything())}.",
        ) from None
