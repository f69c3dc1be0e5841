# SPDX-License-Identifier: Apache-2.0

"""New certificates for a control plane, before the old ones expire.

Cluster API replaces its machines, one by one, and each new one has new
certificates. It is asked to by the live KubeadmControlPlane alone, which any
chart makes: no manifest has that field, so neither helm nor repairs take it
back.

Magnum's row is in progress until all machines are new, as for any other
change: the status polls say what is waited for, and how it ended.
"""

from __future__ import annotations

import dataclasses
import time
from typing import Any

from oslo_log import log

from magnum_capi_helm import runtime
from magnum_capi_helm.config import conf
from magnum_capi_helm.database import rows
from magnum_capi_helm.database import status_writer
from magnum_capi_helm.kubernetes import location
from magnum_capi_helm.lifecycle import observed
from magnum_capi_helm.management import kinds
from magnum_capi_helm.model import audit
from magnum_capi_helm.model import errors
from magnum_capi_helm.operations import operation
from magnum_capi_helm.status import certificates
from magnum_capi_helm.status import health
from magnum_capi_helm.status import view

LOG = log.getLogger(__name__)

#: Seconds by which this host's clock may be ahead of Cluster API's. What lies
#: ahead of Cluster API is noticed minutes later.
_AHEAD = 60.0


@dataclasses.dataclass(frozen=True)
class Plan:
    """What there is to do for a cluster.

    :param detail: in a few words; empty: nothing
    :param begun: somebody did it already: it is only waited for
    :param plane: the KubeadmControlPlane
    """

    detail: str = ""
    begun: bool = False
    plane: view.Object = dataclasses.field(default_factory=dict)


def planned(rt: runtime.Runtime, row: Any, days: int) -> Plan:
    """What there is to do; nothing is written.

    :param days: within which the certificates have to expire
    :raises NotSupported: the cluster is not complete and healthy
    """
    if rows.action(row.status) == "DELETE":
        raise errors.NotSupported("the cluster is being deleted")
    look = observed.at(rt, row, not_before=time.monotonic())
    now = time.time()
    if rows.in_progress(row.status) and _outdated(look.seen, now):
        return Plan("renewed already: to be waited for", begun=True)
    expires = certificates.due(look.seen)
    plane = look.seen.control_plane
    if expires is None or plane is None:
        # Nothing is there yet, or any more.
        _check_settled(look)
        return Plan()
    if not certificates.near(expires, days, now):
        return Plan()
    _check_settled(look)
    return Plan(_detail(look.seen, expires), plane=plane)


def begin(rt: runtime.Runtime, context: Any, row: Any, days: int) -> None:
    """Ask Cluster API for new machines, under the Lease.

    :param days: as for :func:`planned`
    :raises LeaseHeld: somebody works on the cluster, and goes on doing so
    :raises CapiHelmError: it was refused, and nothing written
    """
    scope = operation.scope_of(row)
    labels = location.object_labels(row, scope[1])
    with operation.patient(rt, scope, labels, command=True) as hold:
        _begin(rt, context, row, days, hold)


def in_time(
    rt: runtime.Runtime, context: Any, row: Any, seen: view.View
) -> None:
    """As :func:`begin`, where the operator wants the driver to see to it.

    One cluster at a time: until its certificates are new the others wait, for
    an hour at most. What was refused is not tried again before that.

    :param seen: of a cluster that is complete and healthy
    :raises LeaseHeld: somebody works on the cluster
    :raises CapiHelmError: it was refused, and nothing written
    """
    days = conf.CONF.capi_helm.renew_certificates_days
    scope = operation.scope_of(row)
    if (
        not days
        or certificates.renewed_by_cluster_api(seen.control_plane)
        or not certificates.near(certificates.expiry(seen), days, time.time())
    ):
        rt.renewing.pass_on(scope)
        return
    if not rt.renewing.take(scope):
        return
    labels = location.object_labels(row, scope[1])
    try:
        with (
            audit.acting(audit.Actor("renew")),
            rt.leases.hold(*scope, labels) as hold,
            audit.noted(row.uuid),
        ):
            _begin(rt, context, row, days, hold)
    except errors.LeaseHeld:
        rt.renewing.pass_on(scope)
        raise


def _begin(
    rt: runtime.Runtime, context: Any, row: Any, days: int, hold: Any
) -> None:
    fresh = rows.fresh(context, row)
    if fresh is None or hold.marked_deleted or rows.doomed(fresh):
        raise errors.NotSupported("the cluster is being deleted")
    plan = planned(rt, fresh, days)
    if not plan.detail or plan.begun:
        return
    # The row first: without the patch, polls find it complete again.
    status_writer.save_updating(fresh)
    rt.management.patch(
        kinds.CONTROL_PLANE,
        operation.scope_of(fresh)[0],
        view.name_of(plan.plane),
        certificates.rollout(plan.plane, _moment(time.time() - _AHEAD)),
    )
    LOG.info("cluster %s: %s", row.uuid, plan.detail)


def left(rt: runtime.Runtime, context: Any, row: Any) -> str:
    """What is still to come; empty: the cluster is complete.

    :raises CapiHelmError: it has failed
    """
    fresh = rows.fresh(context, row)
    if fresh is None or rows.failed(fresh.status):
        why = fresh.status_reason if fresh else "the cluster is gone"
        raise errors.CapiHelmError(str(why))
    if rows.in_progress(fresh.status):
        return str(fresh.status_reason or fresh.status)
    sighting = rt.snapshots.get(
        operation.scope_of(row), not_before=time.monotonic()
    )
    return _outdated(sighting.decode(), time.time())


def _outdated(seen: view.View, now: float) -> str:
    found = certificates.outdated(seen, now)
    return f"still to be replaced: {', '.join(found)}" if found else ""


def _check_settled(look: observed.Look) -> None:
    """Refuse a cluster that has enough to do, or that may not get through."""
    row = look.row
    why = "" if row.status.endswith("_COMPLETE") else str(row.status)
    if not why and not look.verdict.complete:
        why = look.verdict.reason
    found = health.health(look.seen, time.time()).status
    if not why and found != health.HEALTHY:
        why = found
    # The row also knows whether its credential works.
    if not why and row.health_status == health.UNHEALTHY:
        why = health.UNHEALTHY
    if why:
        raise errors.NotSupported(
            "only a complete and healthy cluster gets other machines, and "
            f"this one is not: {why}"
        )


def _detail(seen: view.View, expires: float) -> str:
    count = len(seen.control_plane_machines())
    what = (
        f"{count} machines of the control plane are replaced one by one"
        if count > 1
        else "the only machine of the control plane is replaced: connections "
        "to the API break when the old one goes"
    )
    return f"certificates expire on {_moment(expires)[:10]}; {what}"


def _moment(seconds: float) -> str:
    """As Kubernetes writes it."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
