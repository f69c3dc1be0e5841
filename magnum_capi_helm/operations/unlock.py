# SPDX-License-Identifier: Apache-2.0

"""What a conductor that died leaves locked, and how it is freed.

Its Lease runs out by itself, and polls give up a pending revision. Where
nobody polls, as a complete cluster is not, or an operator will not wait, both
are freed on request. That somebody is alive shows by a renewal and by nothing
else: clocks of two machines are not compared.
"""

from __future__ import annotations

from collections.abc import Callable
import dataclasses
import time
from typing import Any

from magnum_capi_helm import runtime
from magnum_capi_helm.helm import releases
from magnum_capi_helm.kubernetes import location
from magnum_capi_helm.management import kinds
from magnum_capi_helm.management import snapshot
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.operations import operation
from magnum_capi_helm.status import conditions
from magnum_capi_helm.status import view


@dataclasses.dataclass(frozen=True)
class Lock:
    """What keeps others from working on a release.

    :param holder: who holds the Lease; empty: nobody
    :param alive: whether the holder renewed it while it was watched
    :param renewed: when that was last, seconds since 1970 on the holder's
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
        """Whether there is anything to free."""
        return bool(self.holder or self.pending)

    @property
    def refusal(self) -> str:
        """Why it is not freed without force; empty: it is."""
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
    scope: snapshot.Scope,
    pause: Callable[[], None] = lambda: time.sleep(1.0),
) -> Lock:
    """Look until it is known whether the holder is alive: half a minute.

    :param pause: between two looks
    """
    first, alive = _spec(rt, scope), False
    while True:
        found = rt.leases.read(*scope)
        spec = (found or {}).get("spec") or {}
        if spec.get("holderIdentity") and _stamp(spec) != _stamp(first):
            alive = True
            break
        if not rt.leases.held(found):
            break
        pause()
    revisions = releases.revisions(rt.management, *scope)
    newest = revisions[-1] if revisions else None
    pending = newest if newest and newest.pending else None
    since = time.time() - pending.modified if pending else 0.0
    return Lock(
        holder=str(spec.get("holderIdentity") or ""),
        alive=alive,
        renewed=conditions.moment(spec.get("renewTime")),
        pending=pending,
        recent=pending is not None and since < rt.foreign_deadline,
    )


def _spec(rt: runtime.Runtime, scope: snapshot.Scope) -> view.Object:
    return (rt.leases.read(*scope) or {}).get("spec") or {}


def _stamp(spec: view.Object) -> tuple[object, object]:
    return spec.get("holderIdentity"), spec.get("renewTime")


def free(rt: runtime.Runtime, row: Any, lock: Lock, *, force: bool) -> None:
    """Free what was found. The polls go on from there.

    :param lock: what :func:`watched` found
    :param force: even if somebody may be at work, who is stopped by it at
        the next write; a helm of theirs is not
    :raises LeaseHeld: somebody is, or came meanwhile
    :raises Frozen: the management cluster is
    """
    if lock.refusal and not force:
        raise errors.LeaseHeld(lock.refusal)
    # Before the Lease is taken away: whoever holds it would lose it.
    rt.anchor.check()
    scope = operation.scope_of(row)
    if force and lock.holder:
        take_away(rt, scope)
    labels = location.object_labels(row, scope[1])
    # A dead holder's is taken over, and given back at the end.
    with rt.leases.hold(*scope, labels):
        revisions = releases.revisions(rt.management, *scope)
        newest = revisions[-1] if revisions else None
        if newest and newest == lock.pending:
            releases.give_up(rt.management, *scope, newest.version)


def take_away(rt: runtime.Runtime, scope: snapshot.Scope) -> None:
    """Let nobody hold the Lease, whoever does, dead or alive.

    One who is alive finds out before the next write.
    """
    nobody = {"spec": {"holderIdentity": ""}}
    rt.management.patch(kinds.LEASE, scope[0], names.lease(scope[1]), nobody)
