# SPDX-License-Identifier: Apache-2.0

"""helm, and once more where it could not read its own record.

It complains of objects in versions that are not served any more
(``stranded``) before it has written anything, so afterwards is early enough
to name other versions in the record. As long as all are served, that costs
nothing. Only under the Lease.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
import time
from typing import Any, TypeAlias

from oslo_log import log

from magnum_capi_helm import runtime
from magnum_capi_helm.helm import manifests
from magnum_capi_helm.helm import releases
from magnum_capi_helm.management import kinds
from magnum_capi_helm.management import snapshot
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.model import stranded
from magnum_capi_helm.status import view

LOG = log.getLogger(__name__)

Revisions: TypeAlias = tuple[view.Revision, ...]


def upgrade(
    rt: runtime.Runtime,
    scope: snapshot.Scope,
    labels: dict[str, str],
    chart: str,
    values: Mapping[str, Any],
    within: float | None,
) -> tuple[float, bool]:
    """helm's upgrade.

    :param labels: of what the driver keeps for the cluster
    :returns: seconds that helm took, and whether a record was changed for it
    :raises HelmError: as helm says
    :raises Conflict: somebody else wrote the record meanwhile
    """
    started = time.monotonic()

    def run() -> float:
        spent = time.monotonic() - started
        left = within and max(within - spent, 1.0)
        return rt.helm.upgrade(scope[1], scope[0], chart, values, within=left)

    return _rescued(rt, scope, labels, run, last_deployed)


def uninstall(
    rt: runtime.Runtime, scope: snapshot.Scope, labels: dict[str, str]
) -> None:
    """helm's uninstall.

    :param labels: of what the driver keeps for the cluster
    :raises HelmError: as helm says
    :raises Conflict: somebody else wrote the record meanwhile
    """
    _rescued(
        rt,
        scope,
        labels,
        lambda: rt.helm.uninstall(scope[1], scope[0]),
        lambda revisions: revisions[-1],
    )


def last_deployed(revisions: Revisions) -> view.Revision:
    """The revision with which helm compares a new one, of at least one.

    ``prepareUpgrade`` in helm's ``pkg/action/upgrade.go``. To uninstall it
    takes the newest (``Run`` in ``uninstall.go``).
    """
    deployed = [each for each in revisions if each.status == "deployed"]
    return (deployed or revisions)[-1]


def _rescued(
    rt: runtime.Runtime,
    scope: snapshot.Scope,
    labels: dict[str, str],
    run: Callable[[], float],
    chosen: Callable[[Revisions], view.Revision],
) -> tuple[float, bool]:
    try:
        return run(), False
    except errors.ReleaseStranded:
        revisions = releases.revisions(rt.management, *scope)
        if not revisions or not _move(
            rt, scope, labels, chosen(revisions).version
        ):
            raise
    return run(), True


def _move(
    rt: runtime.Runtime,
    scope: snapshot.Scope,
    labels: dict[str, str],
    version: int,
) -> bool:
    """Name served versions in the record of a revision.

    What helm wrote is kept in a Secret beside it, for as long as the cluster
    lives. That comes first.

    :returns: whether it needed any
    :raises ReleaseStranded: a kind is served in no version
    """
    found = releases.manifest(rt.management, *scope, version)
    if found is None:
        return False
    named = manifests.apis(found.text)
    plan = stranded.plan(named, served(rt, named))
    if plan.lost:
        raise errors.ReleaseStranded(
            f"release {scope[1]} can't be changed: "
            f"{stranded.refusal(plan.lost)}"
        )
    if not plan.moves:
        return False
    _keep(rt, scope, labels, found)
    releases.rewrite(
        rt.management, found, manifests.moved(found.text, plan.moves), plan
    )
    LOG.warning(
        "Revision %d of %s in %s names API versions that are not served: "
        "changed %s in its record; what it was is in Secret %s",
        version,
        scope[1],
        scope[0],
        plan,
        names.original(scope[1], version),
    )
    return True


def served(
    rt: runtime.Runtime, named: Iterable[stranded.Api]
) -> stranded.Served:
    """In which versions a management cluster serves what is named.

    :raises ManagementUnreachable: no answer
    """
    found = {}
    for group in {each.group for each in named}:
        for kind, versions in rt.management.served(group).items():
            found[group, kind] = versions
    return found


def _keep(
    rt: runtime.Runtime,
    scope: snapshot.Scope,
    labels: dict[str, str],
    found: releases.Manifest,
) -> None:
    """What helm wrote. The first time counts."""
    name = names.original(scope[1], found.version)
    if rt.management.get(kinds.SECRET, scope[0], name) is not None:
        return
    rt.management.create(
        kinds.SECRET,
        {
            "metadata": {
                "name": name,
                "namespace": scope[0],
                "labels": labels,
            },
            "type": "Opaque",
            "data": found.record["data"],
        },
    )
