# SPDX-License-Identifier: Apache-2.0

"""Revisions that a helm began and did not end.

helm refuses to work on a release whose newest revision is pending. Whoever
finds one, with the Lease in hand, can't know whether a helm of somebody
without a Lease (version 1.4.0, or a person at a shell) still works on it, and
waits for as long as a helm may take. Of its own helms a conductor knows when
they ended.

The stamp in the values does not tell whose a revision is: ``helm rollback``
and ``helm upgrade --reuse-values`` carry it on. This driver never rolls back,
and gives helm the values of the intent, which it has written before.
"""

from __future__ import annotations

from collections.abc import Iterator
import contextlib

from oslo_log import log

from magnum_capi_helm import runtime
from magnum_capi_helm.chart import values
from magnum_capi_helm.helm import releases
from magnum_capi_helm.management import snapshot
from magnum_capi_helm.model import errors
from magnum_capi_helm.operations import state_secret
from magnum_capi_helm.status import view

LOG = log.getLogger(__name__)

Revisions = tuple[view.Revision, ...]

#: helm's word for what only a person begins.
_ROLLED_BACK = "pending-rollback"


@contextlib.contextmanager
def noted(
    rt: runtime.Runtime,
    scope: snapshot.Scope,
    revisions: Revisions,
    fingerprint: str,
) -> Iterator[None]:
    """Remember which revision the helm in the block began, if it broke off.

    :param revisions: those before it
    :param fingerprint: with which its values are stamped
    """
    try:
        yield
    except errors.HelmBusy:
        # It began none.
        raise
    except errors.HelmError:
        version = revisions[-1].version + 1 if revisions else 1
        rt.broken_off[scope] = (version, fingerprint)
        raise
    rt.broken_off.pop(scope, None)


def settled(
    rt: runtime.Runtime, scope: snapshot.Scope, revisions: Revisions
) -> Revisions:
    """The revisions, of which a newest one whose helm is dead has failed.

    :raises HelmBusy: the newest is pending and may still be worked on
    """
    newest = revisions[-1] if revisions else None
    if newest is None or not newest.pending:
        return revisions
    age = rt.pending.age(scope, newest)
    if age < _deadline(rt, scope, newest):
        raise errors.HelmBusy(
            f"helm: revision {newest.version} of {scope[1]} is {newest.status}"
        )
    LOG.warning(
        "Giving up revision %d of %s: it is %s and nobody works on it",
        newest.version,
        scope[1],
        newest.status,
    )
    releases.give_up(rt.management, *scope, newest.version)
    return releases.revisions(rt.management, *scope)


def _deadline(
    rt: runtime.Runtime, scope: snapshot.Scope, newest: view.Revision
) -> float:
    """Seconds that a pending revision may be at work.

    None, when a helm of this conductor began it and has ended. Who takes no
    Lease, as 1.4.0 and people do not, has helm's own time-out.
    """
    found = releases.read(rt.management, *scope, newest.version)
    if found is None or newest.status == _ROLLED_BACK:
        return rt.foreign_deadline
    stamp = values.stamp(found.values)
    if stamp and rt.broken_off.get(scope) == (newest.version, stamp):
        return 0.0
    ours = stamp and _wanted(rt, scope, found)
    return rt.helm_deadline if ours else rt.foreign_deadline


def _wanted(
    rt: runtime.Runtime, scope: snapshot.Scope, found: releases.Release
) -> bool:
    """Whether a revision is what a conductor would give to helm."""
    try:
        known = state_secret.read(rt, scope).wanted
    except errors.ManagementError:
        # Nobody can say: whoever it is, has the longer time.
        return False
    if known is None or known.chart.version != found.chart_version:
        return False
    given = values.stamped(known.values, known.fingerprint)
    told = values.without_nulls
    return bool(told(given) == told(found.values))
