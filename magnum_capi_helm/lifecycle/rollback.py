# SPDX-License-Identifier: Apache-2.0

"""The way back from an upgrade that failed.

The intent keeps what the release was before its last upgrade. Going back is
an upgrade like any other: one write accepts it, and polls finish it. Only a
control plane never goes back to an older Kubernetes: etcd and the objects in
it may be of the newer one already.
"""

from __future__ import annotations

import dataclasses
import time
from typing import Any

from magnum_capi_helm import runtime
from magnum_capi_helm.chart import upgrade_rules
from magnum_capi_helm.chart import values
from magnum_capi_helm.database import rows
from magnum_capi_helm.database import status_writer
from magnum_capi_helm.kubernetes import location
from magnum_capi_helm.lifecycle import current_state
from magnum_capi_helm.lifecycle import moved_rows
from magnum_capi_helm.lifecycle import pending_moves
from magnum_capi_helm.management import kinds
from magnum_capi_helm.model import desired_state
from magnum_capi_helm.model import errors
from magnum_capi_helm.operations import operation
from magnum_capi_helm.operations import state_secret
from magnum_capi_helm.status import view


def plan_back(
    rt: runtime.Runtime, row: Any, *, settle: bool = False
) -> desired_state.Intent:
    """What the release is to be, without its last upgrade.

    :param settle: bring the rows in line first; only under the Lease
    :raises NotSupported: there is no way back
    """
    if not row.stack_id:
        raise errors.NotSupported(
            f"cluster {row.name} has no release: nothing was made for it"
        )
    if row.status not in _STATUSES:
        raise errors.NotSupported(
            f"cluster {row.name} is {row.status}: only an upgrade that "
            "failed, or does not end, is rolled back; a complete one is left "
            "by another upgrade"
        )
    found = state_secret.read(rt, operation.scope_of(row)).wanted
    if found is None or found.before is None:
        raise errors.NotSupported(
            f"cluster {row.name} was not upgraded since it was last complete "
            "or rolled back: there is nothing to go back to"
        )
    subject = current_state.read(rt, row, settle=settle)
    _check_control_plane(rt, row, found, found.before)
    return _without(subject, found.before)


_STATUSES = (rows.Status.UPDATE_FAILED, rows.Status.UPDATE_IN_PROGRESS)


def apply(rt: runtime.Runtime, context: Any, row: Any) -> str:
    """Take the last upgrade back; what helm left to the polls, if anything.

    :raises CapiHelmError: it was refused, and nothing written
    """
    scope = operation.scope_of(row)
    labels = location.object_labels(row, scope[1])
    with operation.patient(rt, scope, labels, command=True) as hold:
        fresh = rows.fresh(context, row)
        if fresh is None or hold.marked_deleted or rows.doomed(fresh):
            raise errors.NotSupported("the cluster is being deleted")
        wanted = plan_back(rt, fresh, settle=True)
        status_writer.save_updating(fresh)
        operation.write_intent(rt, scope, wanted, labels)
        try:
            pending_moves.make(rt, fresh)
            rows_now, _ = rows.read(fresh)
            operation.apply(rt, fresh, rows_now, hold)
        except errors.CapiHelmError as error:
            return str(error)
    return ""


def _without(
    subject: current_state.Subject, before: desired_state.Before
) -> desired_state.Intent:
    """The state before, with the groups and counts of today."""
    back = before.moves
    known = {
        str(each["name"]): each
        for each in before.values.get("nodeGroups") or []
    }
    now = {
        str(each["name"]): each
        for each in subject.base.values.get("nodeGroups") or []
    }
    old = {
        **before.values,
        "nodeGroups": [known.get(name, item) for name, item in now.items()],
    }
    ours = values.with_groups(old, subject.rows, desired_state.Parked())
    version = upgrade_rules.control_plane_version(before.values)
    for group in subject.rows.workers:
        if group.chart_name in now and group.chart_name not in known:
            # Made since, of the newer version.
            kubelet = now[group.chart_name].get("kubernetesVersion")
            upgrade_rules.check_kept(group.name, str(kubelet), version)
    return desired_state.Intent(
        chart=before.chart,
        values=values.upgraded(ours, subject.base.values),
        fingerprint=moved_rows.fingerprint(subject.rows, back),
        since=time.time(),
        labels=before.labels,
        moves=dataclasses.replace(back, groups=_there(subject, back)),
    )


def _there(
    subject: current_state.Subject, back: desired_state.Moves
) -> dict[str, Any]:
    alive = {each.uuid for each in subject.rows.groups}
    return {
        uuid: dict(fields)
        for uuid, fields in back.groups.items()
        if uuid in alive
    }


def _check_control_plane(
    rt: runtime.Runtime,
    row: Any,
    found: desired_state.Intent,
    before: desired_state.Before,
) -> None:
    """Refuse when a server of the control plane may run the newer version."""
    old = upgrade_rules.control_plane_version(before.values)
    new = upgrade_rules.control_plane_version(found.values)
    first, second = upgrade_rules.number(old), upgrade_rules.number(new)
    if first is None or second is None or second <= first:
        return
    newer = [
        view.name_of(each)
        for each in _control_plane_machines(rt, row)
        if _started(each) and (_version_of(each) or first) > first
    ]
    if newer:
        raise errors.NotSupported(
            f"control plane machine {newer[0]} runs Kubernetes v{new} "
            f"already, and a control plane never goes back to v{old}: remove "
            "the reason why the upgrade does not end, and resize the cluster "
            "to the count it has"
        )


def _control_plane_machines(rt: runtime.Runtime, row: Any) -> list[Any]:
    namespace, release = operation.scope_of(row)
    selector = f"{view.CLUSTER_NAME_LABEL}={release}"
    return [
        each
        for each in rt.management.list(kinds.MACHINE, namespace, selector)
        if view.CONTROL_PLANE_LABEL in view.labels_of(each)
    ]


def _version_of(machine: Any) -> tuple[int, int, int] | None:
    return upgrade_rules.number(str(view.spec_of(machine).get("version")))


def _started(machine: Any) -> bool:
    """Whether there is a server: it may have joined etcd."""
    return bool(
        view.spec_of(machine).get("providerID")
        or view.status_of(machine).get("nodeRef")
    )
