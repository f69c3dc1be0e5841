# SPDX-License-Identifier: Apache-2.0

"""Convert what a chart renders where its API versions are not served.

Nothing is converted, and no version is looked up, until helm or the management
cluster says that a version is not served. ``Runtime.converted_groups`` then
keeps the API groups whose objects are converted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from oslo_log import log

from magnum_capi_helm import runtime
from magnum_capi_helm.chart import conversion
from magnum_capi_helm.model import api_versions
from magnum_capi_helm.model import errors

LOG = log.getLogger(__name__)

T = TypeVar("T")
Object = dict[str, Any]


def served(
    rt: runtime.Runtime, groups: Iterable[str]
) -> api_versions.ServedKinds:
    """Return the versions in which a management cluster serves kinds.

    :param groups: API groups
    :raises ManagementUnreachable: no answer
    """
    return {
        (group, kind): versions
        for group in set(groups)
        for kind, versions in rt.management.served(group).items()
    }


def _learn(rt: runtime.Runtime) -> bool:
    """Find the groups whose objects have to be converted from now on.

    :returns: whether they are others than were known
    :raises ManagementUnreachable: no answer
    """
    versions = served(rt, (group for group, _ in conversion.TABLES))
    groups = frozenset(
        group
        for group, kind in conversion.TABLES
        if conversion.NEW in versions.get((group, kind), ())
        and conversion.OLD not in versions[group, kind]
    )
    if groups == rt.converted_groups:
        return False
    LOG.warning(
        "API groups that serve %s and not %s, so that the driver converts "
        "what charts make: %s",
        conversion.NEW,
        conversion.OLD,
        ", ".join(sorted(groups)) or "none",
    )
    rt.converted_groups = groups
    return True


def run(rt: runtime.Runtime, work: Callable[[], T]) -> T:
    """Run ``work``, and once more if a version was not served.

    Before the second time the driver learns what it has to convert.

    :raises ManagementUnserved: the driver does not convert these versions
    :raises ChartStranded: the same, and helm said so
    """
    try:
        return work()
    except (errors.ManagementUnserved, errors.ChartStranded):
        if not _learn(rt):
            raise
    return work()


def run_helm(
    rt: runtime.Runtime,
    helm: Callable[[], T],
    rendered: Callable[[], Iterable[Object]],
) -> T:
    """Run helm as :func:`run` does, and find out why it could not convert.

    helm 4 does not tell what its post-renderer said.

    :param rendered: returns the chart's objects, in the chart's versions
    :raises ChartStranded: the driver does not convert these versions
    :raises Unconvertible: a field can't be kept; nothing was written
    """
    try:
        return run(rt, helm)
    except errors.Unconvertible:
        # as_applied raises the error of the first object that does not fit.
        list(as_applied(rt, rendered()))
        raise


def as_applied(
    rt: runtime.Runtime, objects: Iterable[Object]
) -> Iterator[Object]:
    """Yield rendered objects as helm applies them.

    :raises Unconvertible: a field can't be kept
    """
    for each in objects:
        api = api_versions.api(each["apiVersion"], each["kind"])
        if api.group in rt.converted_groups and conversion.converts(
            api, conversion.NEW
        ):
            yield conversion.convert(each)
        else:
            yield each
