# SPDX-License-Identifier: Apache-2.0

"""Renew the certificates of a control plane before they expire.

1. Refuse a cluster that is not complete and healthy.
2. Under the Lease, save UPDATE_IN_PROGRESS: Magnum polls only such clusters.
3. Patch the live KubeadmControlPlane, so that Cluster API replaces its
   machines one by one. New machines have new certificates. No manifest has
   the patched field, so neither helm nor a repair takes it back.
4. The status polls tell which machines are left, and the outcome.
5. The health poll does the same, where the operator wants it, for one cluster
   at a time.
"""

from __future__ import annotations

import dataclasses
import time

from oslo_log import log

from magnum_capi_helm.config import conf
from magnum_capi_helm.database import rows
from magnum_capi_helm.database import status_writer
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.lifecycle import observed_state
from magnum_capi_helm.model import call
from magnum_capi_helm.model import errors
from magnum_capi_helm.operations import operation as operations
from magnum_capi_helm.status import health
from magnum_capi_helm.status import replacement
from magnum_capi_helm.status import view

LOG = log.getLogger(__name__)

#: Seconds by which this host's clock may be ahead of Cluster API's. Cluster
#: API notices a time in its future minutes later.
_AHEAD = 60.0


@dataclasses.dataclass(frozen=True)
class Plan:
    """The renewal of one cluster.

    :param detail: in a few words; empty: nothing to do
    :param control_plane: to be patched; empty: not, or not any more
    """

    detail: str = ""
    control_plane: view.Object = dataclasses.field(default_factory=dict)


def plan(operation: operations.Operation, days: int) -> Plan:
    """Plan a renewal; write nothing.

    :param days: certificates that expire later are not renewed
    :raises NotSupported: the cluster is not complete and healthy
    """
    row = operation.cluster
    if rows.action(row.status) == "DELETE":
        raise errors.NotSupported("the cluster is being deleted")
    look = observed_state.observe_all(operation)
    now = time.time()
    if rows.in_progress(row.status) and _outdated(look.view):
        return Plan("renewed already: to be waited for")
    expires = replacement.estimated_expiry(look.view)
    control_plane = look.view.control_plane
    if expires is None or control_plane is None:
        # Nothing is there yet, or any more.
        check_settled(look)
        return Plan()
    if not replacement.expires_within(expires, days, now):
        return Plan()
    check_settled(look)
    return Plan(_detail(look.view, expires), control_plane=control_plane)


def begin(operation: operations.Operation, days: int) -> None:
    """Let Cluster API replace the machines, under the Lease.

    :param days: as for :func:`plan`
    :raises LeaseHeld: another operation works on the cluster
    :raises CapiHelmError: it was refused, and nothing was written
    """
    wait = operation.runtime.command_lease_wait
    with operation.lock(wait=wait) as locked:
        _begin(locked, days)


def begin_in_time(operation: operations.Operation, live: view.View) -> None:
    """Renew certificates that expire soon, if the operator wants that.

    One cluster at a time: the others wait until its certificates are new, for
    an hour at most. A refused renewal is not tried again before that.

    :param live: objects of a cluster that is complete and healthy
    :raises LeaseHeld: another operation works on the cluster
    :raises CapiHelmError: it was refused, and nothing was written
    """
    days = conf.CONF.capi_helm.renew_certificates_days
    lock, scope = operation.runtime.renewal_lock, operation.scope
    if (
        not days
        or replacement.renewed_by_cluster_api(live.control_plane)
        or not replacement.expires_within(
            replacement.certificate_expiry(live), days, time.time()
        )
    ):
        lock.release(scope)
        return
    if not lock.acquire(scope):
        return
    try:
        with (
            call.acting(call.Actor("renew")),
            operation.lock() as locked,
            call.logged(f"cluster {operation.cluster.uuid}"),
        ):
            _begin(locked, days)
    except errors.LeaseHeld:
        lock.release(scope)
        raise


def _begin(locked: operations.Locked, days: int) -> None:
    locked.check_living()
    row, planned = locked.row, plan(locked, days)
    if not planned.control_plane:
        return
    # The row first: without the patch, polls find it complete again.
    status_writer.save_updating(row)
    control_plane = planned.control_plane
    locked.runtime.management.patch(
        kinds.CONTROL_PLANE,
        locked.namespace,
        view.name_of(control_plane),
        replacement.renewal_patch(
            control_plane, timestamp(time.time() - _AHEAD)
        ),
    )
    LOG.info("cluster %s: %s", row.uuid, planned.detail)


def pending(operation: operations.Operation) -> str:
    """Return the reason why a renewal is not complete; empty: it is.

    :raises CapiHelmError: it failed, or the cluster is being deleted
    """
    reason = operation.wait_reason()
    return reason or _outdated(operation.observe().view)


def _outdated(live: view.View) -> str:
    machines = replacement.outdated_machines(live)
    return f"still to be replaced: {', '.join(machines)}" if machines else ""


def check_settled(look: observed_state.ObservedState) -> None:
    """Refuse a cluster that is busy, or whose machines may not come up."""
    row = look.row
    reason = "" if row.status.endswith("_COMPLETE") else str(row.status)
    if not reason and not look.verdict.complete:
        reason = look.verdict.reason
    status = health.health(look.view).status
    if not reason and status != health.HEALTHY:
        reason = status
    # The row also has the check of the credential.
    if not reason and row.health_status == health.UNHEALTHY:
        reason = health.UNHEALTHY
    if reason:
        raise errors.NotSupported(
            "only a complete and healthy cluster gets other machines, and "
            f"this one is not: {reason}"
        )


def _detail(live: view.View, expires: float) -> str:
    count = len(live.control_plane_machines())
    effect = (
        f"{count} machines of the control plane are replaced one by one"
        if count > 1
        else "the only machine of the control plane is replaced: connections "
        "to the API break when the old one goes"
    )
    return f"certificates expire on {timestamp(expires)[:10]}; {effect}"


def timestamp(seconds: float) -> str:
    """Return a time as Kubernetes writes it."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
