# SPDX-License-Identifier: Apache-2.0

"""One look at a cluster, and what is to be delivered of it, if anything.

Written before it is sent: first what is to be sent, under the cluster's Lease,
so that no cluster that is being deleted gets a Secret; then, by whoever sends
it, that nobody else does for a while. Sending holds no Lease.
"""

from __future__ import annotations

from oslo_log import log

from magnum_capi_helm import runtime
from magnum_capi_helm.database import rows
from magnum_capi_helm.delivery import courier
from magnum_capi_helm.delivery import due
from magnum_capi_helm.delivery import message
from magnum_capi_helm.delivery import record
from magnum_capi_helm.delivery import sender
from magnum_capi_helm.delivery import signing
from magnum_capi_helm.kubernetes import location
from magnum_capi_helm.management import client
from magnum_capi_helm.management import kinds
from magnum_capi_helm.model import names

LOG = log.getLogger(__name__)

#: Seconds until the next look where something was in the way.
SOON = 60.0
#: In the place of a release, for what all of them have in common.
ALL = ("", "")
#: Time-outs that one sending may take, with some to spare.
_SENDING = 3


def was_complete(status: str | None) -> bool:
    """Whether a cluster has been ready, and is not going."""
    action = rows.action(status)
    return action != "DELETE" and (
        action != "CREATE" or status == rows.Status.CREATE_COMPLETE
    )


def deliver(task: due.Task) -> courier.Outcome:
    """Look, and send what is due.

    :raises NotDeliveredError: it was not accepted
    :raises CapiHelmError: it could not be looked at, or written
    """
    rt, options = task.rt, task.options
    secret = rt.management.get(
        kinds.SECRET, task.scope[0], names.delivery(task.scope[1])
    )
    now = rt.deliveries.wall()
    found = due.wanted(task, _recorded(secret), now)
    if found is None:
        # Cluster API has not made it yet.
        return courier.Outcome(SOON, pending=True)
    if found.record.delivered:
        spread = 0.75 + rt.deliveries.spread() / 2
        return courier.Outcome(options.interval * spread, pending=False)
    left = found.record.left(now)
    if left > 0:
        return courier.Outcome(left, pending=True)
    # Before anything is written: what can't be sent is not put off.
    body = message.body(
        task.cluster, options.user.kind, found.record, found.credential
    )
    claimed = found.record.claimed(
        now, _SENDING * options.timeout, rt.deliveries.spread()
    )
    written = _claim(task, secret, found, claimed)
    if written is None:
        return courier.Outcome(SOON, pending=False)
    _send(task, claimed, body)
    _write(rt, written, claimed.accepted(rt.deliveries.wall()))
    return courier.Outcome(options.interval, pending=False)


def _recorded(secret: client.Object | None) -> record.Record | None:
    if secret is None:
        return None
    name = str(secret["metadata"]["name"])
    return record.from_secret(name, secret.get("data") or {})


def _claim(
    task: due.Task,
    secret: client.Object | None,
    found: due.Found,
    claimed: record.Record,
) -> client.Object | None:
    """Write down that this conductor sends it; None: it must not.

    :raises Conflict: another one does
    """
    rt, row = task.rt, task.row
    if secret is not None and not found.new:
        rt.anchor.check()
        return _write(rt, secret, claimed)
    labels = location.object_labels(row, task.scope[1])
    with rt.leases.hold(*task.scope, labels) as hold:
        fresh = rows.fresh(task.context, row)
        if (
            fresh is None
            or hold.marked_deleted
            or not was_complete(fresh.status)
            # The poll that saw it was late: another one is not.
            or fresh.api_address != task.cluster.address
        ):
            return None
        if secret is not None:
            return _write(rt, secret, claimed)
        made = {
            "metadata": {
                "name": names.delivery(task.scope[1]),
                "namespace": task.scope[0],
                "labels": labels,
            },
            "type": "Opaque",
            "data": claimed.to_secret(),
        }
        return rt.management.create(kinds.SECRET, made)


def _write(
    rt: runtime.Runtime, secret: client.Object, now: record.Record
) -> client.Object:
    """Write a record in the place of the one that was read.

    :raises Conflict: that is not there any more
    """
    wanted = {**secret, "data": now.to_secret()}
    return rt.management.replace(kinds.SECRET, wanted)


def _send(task: due.Task, claimed: record.Record, body: bytes) -> None:
    """Send it once.

    :raises NotDeliveredError: it was not accepted
    """
    deliveries, options = task.rt.deliveries, task.options
    headers = signing.headers(
        options.keys, claimed.id, deliveries.wall(), body
    )
    try:
        with runtime.meter().delivering():
            sender.post(options, headers, body)
    except sender.NotDeliveredError as error:
        if error.away:
            deliveries.receiver.failed(ALL)
        raise
    deliveries.receiver.succeeded(ALL)
    deliveries.new_to_all("")
    deliveries.new(task.scope, "")
    LOG.info(
        "delivered %s of cluster %s: %s",
        claimed.id,
        task.cluster.uuid,
        claimed.event,
    )
