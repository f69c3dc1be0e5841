# SPDX-License-Identifier: Apache-2.0

"""Give up pending revisions that no helm works on any more.

helm refuses to work on a release whose newest revision is pending. The holder
of the Lease can't know whether a helm without a Lease (version 1.4.0, or a
person at a shell) still works on it, and waits as long as a helm may take. A
conductor knows when its own helms ended.

The fingerprint in the values does not identify the writer of a revision:
``helm rollback`` and ``helm upgrade --reuse-values`` copy it. This driver
never rolls back, and gives helm the stored values of the desired state.
"""

from __future__ import annotations

from collections.abc import Iterator
import contextlib

from oslo_log import log

from magnum_capi_helm import runtime
from magnum_capi_helm.chart import values
from magnum_capi_helm.kubernetes import helm_records
from magnum_capi_helm.kubernetes import location
from magnum_capi_helm.model import errors
from magnum_capi_helm.operations import stored_state
from magnum_capi_helm.status import view

LOG = log.getLogger(__name__)

#: Only a person begins a revision with this status.
_ROLLED_BACK = "pending-rollback"


@contextlib.contextmanager
def remember_interrupted(
    rt: runtime.Runtime,
    scope: location.Scope,
    revisions: stored_state.Revisions,
    fingerprint: str,
) -> Iterator[None]:
    """Remember the revision that helm began in the block, if helm fails.

    :param revisions: those before it
    :param fingerprint: in the values that helm gets
    """
    try:
        yield
    except errors.HelmBusy:
        # It began none.
        raise
    except errors.HelmError:
        version = revisions[-1].version + 1 if revisions else 1
        rt.interrupted_revisions[scope] = (version, fingerprint)
        raise
    rt.interrupted_revisions.pop(scope, None)


def give_up_dead(
    rt: runtime.Runtime,
    scope: location.Scope,
    revisions: stored_state.Revisions,
) -> stored_state.Revisions:
    """Mark a pending newest revision as failed if its helm is dead.

    :returns: the revisions, read again if one was given up
    :raises HelmBusy: a helm may still work on it
    """
    newest = revisions[-1] if revisions else None
    if newest is None or not newest.pending:
        return revisions
    age = rt.pending_revisions.age(scope, newest)
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
    helm_records.give_up(rt.management, *scope, newest.version)
    return helm_records.revisions(rt.management, *scope)


def _deadline(
    rt: runtime.Runtime, scope: location.Scope, newest: view.Revision
) -> float:
    """Return the seconds for which a helm may work on a pending revision.

    0 if a helm of this process began it and has ended.
    """
    record = helm_records.read(rt.management, *scope, newest.version)
    if record is None or newest.status == _ROLLED_BACK:
        return rt.foreign_deadline
    fingerprint = values.stamp(record.values)
    interrupted = rt.interrupted_revisions.get(scope)
    if fingerprint and interrupted == (newest.version, fingerprint):
        return 0.0
    if fingerprint and _is_desired(rt, scope, record):
        return rt.helm_deadline
    return rt.foreign_deadline


def _is_desired(
    rt: runtime.Runtime, scope: location.Scope, record: helm_records.Release
) -> bool:
    """Return whether a revision has chart and values of the desired state."""
    try:
        desired = stored_state.read(rt, scope).desired
    except errors.ManagementError:
        # Unknown: the longer deadline is the safe one.
        return False
    if desired is None or desired.chart.version != record.chart_version:
        return False
    stamped = values.stamped(desired.values, desired.fingerprint)
    return bool(
        values.without_nulls(stamped) == values.without_nulls(record.values)
    )
