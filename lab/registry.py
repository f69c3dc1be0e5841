"""All services of the lab by name, in the order of starting."""

import functools

from lab import charts, errors, management, postgres, service
from lab.cloud import services


@functools.cache
def everything() -> dict[str, service.Service]:
    """Name -> service."""
    found = [
        *management.services(),
        postgres.server(),
        charts.server(),
        *services.services(),
    ]
    return {one.name: one for one in found}


def get(name: str) -> service.Service:
    """One service, or what names there are."""
    try:
        return everything()[name]
    except KeyError:
        raise errors.LabError(
            f"there is no service {name!r}",
            hint=f"The services are: {', '.join(everything())}.",
        ) from None


def running() -> list[service.Service]:
    """Those whose process lives."""
    return [one for one in everything().values() if one.running]
