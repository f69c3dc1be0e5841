# SPDX-License-Identifier: Apache-2.0

"""Unlock a release that a dead conductor left locked.

Its Lease expires by itself, and polls give up a pending revision. Magnum does
not poll complete clusters, and an operator may not want to wait: then both are
freed on request. Only a renewal shows that a holder is alive: clocks of two
machines are not compared.
"""

from __future__ import annotations

from collections.abc import Callable
import dataclasses
import time
from typing import Any

from magnum_capi_helm import runtime
from magnum_capi_helm.kubernetes import helm_records
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import location
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.operations import release as releases
from magnum_capi_helm.status import view


@dataclasses.dataclass(frozen=True)
class Lock:
    """A Lease or a pending revision that blocks operations on a release.

    :param holder: the holder of the Lease; empty: it is free
    :param alive: whether the holder renewed it while it was watched
    :param renewed: the last renewal, seconds since 1970 on the holder's
        clock; 0: not known
    :param pending: the revision that a helm began and did not end
    :param recent: whether a helm may still work on that revision
    """

    holder: str = ""
    alive: bool = False
    renewed: float = 0.0
    pending: view.Revision | None = None
    recent: bool = False

    @property
    def found(self) -> bool:
        """Return whether there is anything to free."""
        return bool(self.holder or self.pending)

    @property
    def refusal(self) -> str:
        """Return why it is not freed without force, or ""."""
        if self.alive:
            return f"{self.holder} is alive: it has renewed the Lease"
        if self.recent and self.pending:
            return (
                f"a helm without a Lease may still work on revision "
                f"{self.pending.version}: it began or moved a moment ago"
            )
        return ""


def watched(
    rt: runtime.Runtime,
    scope: location.Scope,
    pause: Callable[[], None] = lambda: time.sleep(1.0),
) -> Lock:
    """Watch the Lease until it renews or expires, at most half a minute.

    :param pause: waits between two looks
    """
    first = view.spec_of(rt.leases.read(*scope))
    while True:
        lease = rt.leases.read(*scope)
        spec = view.spec_of(lease)
        holder = str(spec.get("holderIdentity") or "")
        alive = bool(holder) and _renewal(spec) != _renewal(first)
        if alive or not rt.leases.held(lease):
            break
        pause()
    revisions = helm_records.revisions(rt.management, *scope)
    newest = revisions[-1] if revisions else None
    pending = newest if newest and newest.pending else None
    since = time.time() - pending.modified if pending else 0.0
    return Lock(
        holder=holder,
        alive=alive,
        renewed=view.timestamp(spec.get("renewTime")),
        pending=pending,
        recent=pending is not None and since < rt.pending_deadline,
    )


def _renewal(spec: view.Object) -> tuple[object, object]:
    return spec.get("holderIdentity"), spec.get("renewTime")


def free(rt: runtime.Runtime, row: Any, lock: Lock, *, force: bool) -> None:
    """Free a lock. The polls go on from there.

    :param lock: the result of :func:`watched`
    :param force: even if an operation may be under way; its next write fails,
        but a helm of it goes on
    :raises LeaseHeld: the holder is alive, or another one came meanwhile
    :raises Frozen: the management cluster is frozen
    """
    if lock.refusal and not force:
        raise errors.LeaseHeld(lock.refusal)
    # Before the Lease is taken away: its holder would lose it.
    rt.maintenance.check()
    release = releases.Release(row, rt)
    scope = release.scope
    if force and lock.holder:
        take_away(rt, scope)
    # A dead holder's is taken over, and given back at the end.
    with rt.leases.hold(*scope, release.object_labels):
        revisions = release.revisions()
        newest = revisions[-1] if revisions else None
        if newest and newest == lock.pending:
            helm_records.give_up(rt.management, *scope, newest.version)


def take_away(rt: runtime.Runtime, scope: location.Scope) -> None:
    """Take the Lease away from its holder, dead or alive.

    A living holder notices before its next write.
    """
    free_lease = {"spec": {"holderIdentity": ""}}
    name = names.lease(scope[1])
    rt.management.patch(kinds.LEASE, scope[0], name, free_lease)
