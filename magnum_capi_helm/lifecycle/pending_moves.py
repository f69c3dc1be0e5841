# SPDX-License-Identifier: Apache-2.0

"""Magnum's rows, brought to what an accepted upgrade wants of them.

The intent says it before the rows do, in one write: whoever holds the Lease
first makes these moves, and only then looks at the rows.
"""

from __future__ import annotations

from typing import Any

from oslo_log import log

from magnum_capi_helm import runtime
from magnum_capi_helm.database import rows
from magnum_capi_helm.kubernetes import location
from magnum_capi_helm.management import snapshot
from magnum_capi_helm.model import desired_state
from magnum_capi_helm.model import lease_guard
from magnum_capi_helm.operations import state_secret

LOG = log.getLogger(__name__)


def make(rt: runtime.Runtime, cluster: Any) -> None:
    """Make the moves that are still to be made, under the Lease.

    :param cluster: the row; afterwards as it is saved
    """
    scope: snapshot.Scope = (
        location.namespace(cluster.project_id),
        str(cluster.stack_id),
    )
    found = state_secret.read(rt, scope).wanted
    if found is None or found.moves is None:
        return
    _write(cluster, found.moves)
    labels = location.object_labels(cluster, scope[1])
    state_secret.park(rt, scope, labels, {desired_state.MOVES: None})


def _write(cluster: Any, moves: desired_state.Moves) -> None:
    for each in rows.all_groups(cluster):
        fields = moves.groups.get(each.uuid)
        if fields is None or rows.leaving(each):
            continue
        for name, value in fields.items():
            setattr(each, name, value)
        if not rows.in_progress(each.status):
            each.status = rows.Status.UPDATE_IN_PROGRESS
        each.status_reason = None
        lease_guard.check()
        each.save()
    # The template last: what the groups had is known by the old one.
    cluster.cluster_template_id = moves.template
    cluster.status_reason = None
    if rows.action(cluster.status) != "DELETE":
        cluster.status = rows.Status.UPDATE_IN_PROGRESS
    lease_guard.check()
    cluster.save()
    LOG.info("cluster %s has template %s", cluster.uuid, moves.template)
