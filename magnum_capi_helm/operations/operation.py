# SPDX-License-Identifier: Apache-2.0

"""One change of one release: from intent and rows to helm.

Level-triggered: :func:`apply` makes the release match what is wanted,
whoever calls it and however often. A request calls it once; when that did
not get through, or the conductor died, the polls call it again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
import contextlib
import dataclasses
import time
from typing import Any

from oslo_log import log

from magnum_capi_helm import runtime
from magnum_capi_helm.chart import values
from magnum_capi_helm.database import rows
from magnum_capi_helm.helm import releases
from magnum_capi_helm.kubernetes import location
from magnum_capi_helm.management import kinds
from magnum_capi_helm.management import snapshot
from magnum_capi_helm.model import desired_state
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.model import requested_groups
from magnum_capi_helm.model import timing
from magnum_capi_helm.operations import api_migration
from magnum_capi_helm.operations import repair
from magnum_capi_helm.operations import state_secret
from magnum_capi_helm.operations import template_guard
from magnum_capi_helm.operations import unfinished_revision
from magnum_capi_helm.planes import origin
from magnum_capi_helm.status import view

LOG = log.getLogger(__name__)

#: In these alone an absent release is installed. One that was complete has
#: machines somewhere.
_CREATING = (rows.Status.CREATE_IN_PROGRESS, rows.Status.CREATE_FAILED)


NO_RELEASE = (
    "the cluster has no release on the management cluster: delete it and "
    "create it again"
)


class InterruptedCreateError(errors.CapiHelmError):
    """Nobody but the user can finish this create: it has no credential."""

    def __init__(self) -> None:
        super().__init__(
            "the conductor stopped before the cluster's credential was made: "
            "delete the cluster and create it again"
        )


class ReleaseGoneError(errors.CapiHelmError):
    """The helm release of a cluster that was complete is not there."""


def scope_of(cluster: Any) -> snapshot.Scope:
    """Namespace and release of a cluster that has a ``stack_id``."""
    return location.namespace(cluster.project_id), str(cluster.stack_id)


@contextlib.contextmanager
def patient(
    rt: runtime.Runtime,
    scope: snapshot.Scope,
    labels: dict[str, str],
    *,
    command: bool = False,
    new: bool = False,
) -> Iterator[Any]:
    """The Lease; a poll or a request gives it back after a moment.

    :param command: whoever asks can wait until a dead holder counts as dead
    :param new: there should be none
    :raises LeaseHeld: somebody works on the cluster, and goes on doing so
    """
    seconds = rt.long_patience if command else rt.patience
    deadline = time.monotonic() + seconds
    with contextlib.ExitStack() as stack:
        while True:
            try:
                hold = rt.leases.hold(*scope, labels, new=new)
                taken = stack.enter_context(hold)
                break
            except errors.LeaseHeld:
                if time.monotonic() >= deadline:
                    raise
            time.sleep(0.5)
        yield taken


def write_intent(
    rt: runtime.Runtime,
    scope: snapshot.Scope,
    wanted_now: desired_state.Intent,
    labels: dict[str, str],
) -> None:
    """Keep what is wanted, before helm is run.

    What has no digest of its chart yet gets that of the stored chart. Later
    writes keep it: it is that of the build that machines were made from.
    """
    namespace, release = scope
    digest = wanted_now.digest or rt.charts.digest(wanted_now.chart)
    wanted_now = dataclasses.replace(wanted_now, digest=digest)
    rt.management.apply(
        kinds.SECRET,
        {
            "metadata": {
                "name": names.intent(release),
                "namespace": namespace,
                "labels": labels,
            },
            "type": "Opaque",
            "data": wanted_now.to_secret(),
        },
    )


def apply(
    rt: runtime.Runtime,
    cluster: Any,
    rows_now: requested_groups.Rows,
    hold: Any,
    *,
    within: float | None = None,
) -> None:
    """Make the release match the rows, under the Lease ``hold``.

    :param cluster: the row, read under the Lease
    :param within: seconds for helm, where there are fewer than usual
    :raises NoTurn: as many helm processes run as may; nothing was written
    :raises WouldReplace: machines would be replaced unasked; nothing was
        written
    :raises InterruptedCreateError: there is no intent and no release
    :raises HelmBusy: a helm of somebody else may still be at work
    :raises CapiHelmError: as helm or the management cluster says
    """
    doomed = hold.marked_deleted or rows_now.doomed
    if doomed or rows.action(cluster.status) == "DELETE":
        return
    with rt.turns.turn():
        _apply(rt, cluster, rows_now, within)


def _apply(
    rt: runtime.Runtime,
    cluster: Any,
    rows_now: requested_groups.Rows,
    within: float | None,
) -> None:
    scope = scope_of(cluster)
    revisions, found = _read(rt, scope, rows.all_groups(cluster))
    wanted_now = _wanted(cluster, rows_now, scope, revisions, found)
    template_guard.check_apply(rt, scope, wanted_now, revisions)
    changed = wanted_now is not found.wanted
    if changed:
        _keep(rt, cluster, rows_now, scope, wanted_now, found.parked)
    chart = rt.charts.ensure(wanted_now.chart)
    stamp = wanted_now.fingerprint
    labels = location.object_labels(cluster, scope[1])
    told = values.stamped(wanted_now.values, stamp)
    with unfinished_revision.noted(rt, scope, revisions, stamp):
        seconds, rescued = api_migration.upgrade(
            rt, scope, labels, chart, told, within
        )
    # Asked for once more, or after a failure: helm alone does not look. Nor
    # does it see what two versions of an API spell in two ways.
    if revisions and (not changed or rescued or repair.needed(revisions)):
        repair.repair(rt, scope)
    LOG.info("release %s in %s: helm %.3f s", scope[1], scope[0], seconds)


def _read(
    rt: runtime.Runtime, scope: snapshot.Scope, groups: Sequence[Any]
) -> tuple[tuple[view.Revision, ...], state_secret.Kept]:
    """The revisions, and what is kept, of the right management cluster."""
    with timing.Threads(2) as pool:
        listed = pool.submit(releases.revisions, rt.management, *scope)
        known = pool.submit(state_secret.read, rt, scope)
        # Before any absence is believed.
        origin.check(rt, groups)
    revisions = unfinished_revision.settled(rt, scope, listed.result())
    return revisions, state_secret.base(rt, scope, revisions, known.result())


def planned(
    rt: runtime.Runtime,
    cluster: Any,
    rows_now: requested_groups.Rows,
    scope: snapshot.Scope,
    revisions: tuple[view.Revision, ...],
) -> desired_state.Intent:
    """What :func:`apply` would apply now. Nothing is written.

    :raises InterruptedCreateError: there is no intent and no release
    :raises ReleaseGoneError: the release was there once
    """
    found = state_secret.base(rt, scope, revisions)
    return _wanted(cluster, rows_now, scope, revisions, found)


def check_request(
    get_runtime: Callable[[], runtime.Runtime],
    cluster: Any,
    rows_then: requested_groups.Rows,
    found: state_secret.Kept | None = None,
    *,
    always: bool = False,
) -> None:
    """Refuse a request that replaces machines unasked, before it writes.

    A management cluster that does not answer, or a busy helm, refuses no
    request: :func:`apply` looks again under the Lease.

    :param rows_then: as the request will leave them
    :param found: what will be kept then; None: what is kept now
    :param always: helm will run even if nothing else is wanted
    :raises WouldReplace: the request would
    """
    problem = ""
    try:
        rt = get_runtime()
        scope = scope_of(cluster)
        revisions = releases.revisions(rt.management, *scope)
        found = state_secret.base(rt, scope, revisions, found)
        wanted_then = _wanted(cluster, rows_then, scope, revisions, found)
        if always or _differs(found.wanted, wanted_then):
            with rt.turns.turn():
                template_guard.check_request(rt, scope, wanted_then, revisions)
    except errors.WouldReplace:
        raise
    except errors.CapiHelmError as error:
        problem = str(error)
    if problem:
        LOG.debug("Cluster %s is not compared yet: %s", cluster.uuid, problem)


def _differs(
    known: desired_state.Intent | None, planned: desired_state.Intent
) -> bool:
    """Return whether helm runs for what is wanted.

    What is adopted from 1.4.0 has no fingerprint, so values are compared.
    """
    if known is None:
        return True
    if not known.fingerprint:
        return known.values != planned.values
    return known.fingerprint != planned.fingerprint


def _wanted(
    cluster: Any,
    rows_now: requested_groups.Rows,
    scope: snapshot.Scope,
    revisions: tuple[view.Revision, ...],
    found: state_secret.Kept,
) -> desired_state.Intent:
    """What is wanted by now.

    :param found: read after the rows: what a row that was taken on needs,
        was parked before
    """
    if not revisions and cluster.status not in _CREATING:
        raise ReleaseGoneError(
            f"the helm release {scope[1]} is not on the management cluster: "
            "it is not installed anew, since its machines would be replaced"
        )
    if found.wanted is None:
        raise InterruptedCreateError
    fingerprint = rows_now.fingerprint()
    if found.wanted.fingerprint == fingerprint:
        return found.wanted
    return dataclasses.replace(
        found.wanted,
        values=values.with_groups(
            found.wanted.values, rows_now.known_as(found.groups), found.parked
        ),
        fingerprint=fingerprint,
        since=time.time(),
    )


def _keep(
    rt: runtime.Runtime,
    cluster: Any,
    rows_now: requested_groups.Rows,
    scope: snapshot.Scope,
    renewed: desired_state.Intent,
    parked: desired_state.Parked,
) -> None:
    """Store what is wanted by now, and drop what went into it."""
    labels = location.object_labels(cluster, scope[1])
    write_intent(rt, scope, renewed, labels)
    if done := _done(cluster, rows_now, renewed, parked):
        state_secret.park(rt, scope, labels, dict.fromkeys(done))


def _done(
    cluster: Any,
    rows_now: requested_groups.Rows,
    renewed: desired_state.Intent,
    parked: desired_state.Parked,
) -> frozenset[str]:
    """Keys of the parked requests that nobody needs any more."""
    if not parked.keys:
        return frozenset()
    # Read after the Secret: a new group has its row before it is parked.
    alive = {each.uuid for each in rows.all_groups(cluster)}
    gone = parked.keys_of(set(parked.keys.values()) - alive)
    there = values.group_names(renewed.values)
    taken = {
        key
        for each in rows_now.known_as(there).workers
        if each.chart_name in there
        for key in (
            desired_state.item_key(each.uuid),
            desired_state.change_key(each),
        )
    }
    return gone | (taken & parked.keys.keys())
