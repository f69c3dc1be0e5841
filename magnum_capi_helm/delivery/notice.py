# SPDX-License-Identifier: Apache-2.0

"""What polls say of clusters, and how what comes of it is told.

Nothing is raised: a poll has other things to do.
"""

from __future__ import annotations

import functools
from typing import Any

from oslo_log import log

from magnum_capi_helm import runtime
from magnum_capi_helm.delivery import change
from magnum_capi_helm.delivery import courier
from magnum_capi_helm.delivery import due
from magnum_capi_helm.delivery import sender
from magnum_capi_helm.delivery import settings
from magnum_capi_helm.delivery import step
from magnum_capi_helm.model import errors
from magnum_capi_helm.operations import operation

LOG = log.getLogger(__name__)

#: Seconds until it would be looked at again how the options are.
_LATER = 3600.0

#: What needs nobody's attention here.
_QUIET = (
    errors.Conflict,
    errors.Frozen,
    errors.LeaseHeld,
    # The polls say so themselves.
    errors.ManagementUnreachable,
)


def seen(
    rt: runtime.Runtime, context: Any, row: Any, *, now: bool = False
) -> None:
    """What a poll saw: it may have to be delivered. Asks nobody.

    :param row: Magnum's
    :param now: look at once, whatever is known of it
    """
    if not settings.enabled():
        return
    if rt.deliveries.first():
        start = functools.partial(_start, rt)
        rt.deliveries.notice(step.ALL, "", start, now=True)
    if not row.api_address or not step.was_complete(row.status):
        return
    cluster = change.Cluster(
        name=row.name or "",
        uuid=row.uuid,
        project_id=row.project_id,
        user_id=row.user_id or "",
        address=row.api_address,
    )
    rt.deliveries.notice(
        operation.scope_of(row),
        cluster.address,
        functools.partial(_look, rt, context, row, cluster),
        now=now,
    )


def _start(rt: runtime.Runtime) -> courier.Outcome:
    """Say at once what is wrong with the options."""
    try:
        options = settings.read()
    except errors.NotConfigured as error:
        problem = str(error)
    else:
        LOG.info(
            "Kubeconfigs of the user %s are delivered to %s",
            options.user.kind,
            options.receiver,
        )
        return courier.Outcome(_LATER)
    _tell_of_all(rt, problem)
    return courier.Outcome(_LATER)


def _look(
    rt: runtime.Runtime, context: Any, row: Any, cluster: change.Cluster
) -> courier.Outcome:
    """Deliver what is due; what is in the way is logged once."""
    away, problem = False, ""
    if not rt.deliveries.receiver.ready(step.ALL):
        return courier.Outcome(step.SOON)
    try:
        task = due.Task(rt, context, row, cluster, settings.read())
        return step.deliver(task)
    except _QUIET as error:
        LOG.debug("Delivery of cluster %s waits: %s", cluster.uuid, error)
        return courier.Outcome(step.SOON, pending=True)
    except errors.NotConfigured as error:
        away, problem = True, str(error)
    except sender.NotDeliveredError as error:
        away, problem = error.away, str(error)
    except errors.CapiHelmError as error:
        problem = str(error)
    # Not inside "except": oslo.log would append the exception again.
    if away:
        _tell_of_all(rt, problem)
    elif rt.deliveries.new(operation.scope_of(row), problem):
        LOG.warning("Cluster %s is not delivered: %s", cluster.uuid, problem)
    return courier.Outcome(step.SOON, pending=True)


def _tell_of_all(rt: runtime.Runtime, problem: str) -> None:
    if rt.deliveries.new_to_all(problem):
        LOG.error("No kubeconfig is delivered: %s", problem)
