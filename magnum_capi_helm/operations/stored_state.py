# SPDX-License-Identifier: Apache-2.0

"""The Secret with the desired state of a release.

The desired state itself is written under the Lease alone. Requests about
single nodegroups add keys of their own without the Lease; the next holder of
the Lease takes them from there.
"""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
import time
from typing import Any

from magnum_capi_helm import runtime
from magnum_capi_helm.chart import values
from magnum_capi_helm.database import rows
from magnum_capi_helm.kubernetes import helm_records
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import location
from magnum_capi_helm.model import desired_state
from magnum_capi_helm.model import encoding
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.model import requested_groups
from magnum_capi_helm.resolve import requested_labels
from magnum_capi_helm.status import view

Revisions = tuple[view.Revision, ...]

#: In these alone an absent release is installed. A cluster that was complete
#: has machines somewhere.
_CREATING = (rows.Status.CREATE_IN_PROGRESS, rows.Status.CREATE_FAILED)


class InterruptedCreateError(errors.CapiHelmError):
    """Only the user can finish this create: it has no credential."""

    def __init__(self) -> None:
        super().__init__(
            "the conductor stopped before the cluster's credential was made: "
            "delete the cluster and create it again"
        )


class ReleaseGoneError(errors.CapiHelmError):
    """The helm release of a cluster that was complete is not there."""


@dataclasses.dataclass(frozen=True)
class StoredState:
    """The contents of the Secret.

    :param desired: the desired state; None: it was not written yet
    :param requests: pending requests about nodegroups
    """

    desired: desired_state.DesiredState | None = None
    requests: desired_state.PendingRequests = dataclasses.field(
        default_factory=desired_state.PendingRequests
    )

    @property
    def groups(self) -> frozenset[str]:
        """The chart's names of the node groups in the desired state."""
        return values.group_names(self.desired.values if self.desired else {})


def read(rt: runtime.Runtime, scope: location.Scope) -> StoredState:
    """Read the Secret."""
    namespace, release = scope
    secret = rt.management.get(
        kinds.SECRET, namespace, names.desired_state(release)
    )
    data = (secret or {}).get("data") or {}
    return StoredState(
        desired=desired_state.from_secret(data)
        if desired_state.is_stored(data)
        else None,
        requests=desired_state.pending_requests(data),
    )


def read_or_adopt(
    rt: runtime.Runtime,
    scope: location.Scope,
    revisions: Revisions | None = None,
    stored: StoredState | None = None,
) -> StoredState:
    """Read the Secret; without a desired state, take it from the release.

    :param revisions: of the release, if they were read already
    :param stored: the contents, if they were read already
    """
    stored = stored or read(rt, scope)
    if stored.desired is not None:
        return stored
    if revisions is None:
        revisions = helm_records.revisions(rt.management, *scope)
    adopted = _adopted(rt, scope, revisions)
    return dataclasses.replace(stored, desired=adopted)


def _adopted(
    rt: runtime.Runtime, scope: location.Scope, revisions: Revisions
) -> desired_state.DesiredState | None:
    """Return the desired state of a cluster of 1.4.0: that of its release."""
    for revision in reversed(revisions):
        if revision.status != "deployed":
            continue
        record = helm_records.read(rt.management, *scope, revision.version)
        if record is not None:
            chart = dataclasses.replace(
                requested_labels.configured_chart(),
                version=record.chart_version,
            )
            return desired_state.DesiredState(
                chart, record.values, "", time.time()
            )
    return None


def write(
    rt: runtime.Runtime,
    scope: location.Scope,
    labels: Mapping[str, str],
    desired: desired_state.DesiredState,
) -> desired_state.DesiredState:
    """Store a desired state, before helm runs.

    One without the digest of its chart gets that of the stored chart. Later
    writes keep it: it is that of the build that machines were made from.

    :returns: the state as it is stored
    """
    digest = desired.digest or rt.charts.digest(desired.chart)
    desired = dataclasses.replace(desired, digest=digest)
    rt.management.apply(
        kinds.SECRET, _secret(scope, labels, desired.to_secret())
    )
    return desired


def patch(
    rt: runtime.Runtime,
    scope: location.Scope,
    labels: Mapping[str, str],
    change: Mapping[str, str | None],
) -> None:
    """Set keys of the Secret, or remove them (None).

    It is atomic and needs no Lease: no other key is touched.

    :param labels: labels for a Secret that has to be made
    """
    namespace, release = scope
    name = names.desired_state(release)

    def patched() -> bool:
        return bool(
            rt.management.patch(
                kinds.SECRET, namespace, name, {"data": dict(change)}
            )
        )

    new = {key: value for key, value in change.items() if value is not None}
    if patched() or not new:
        return
    try:
        rt.management.create(kinds.SECRET, _secret(scope, labels, new))
    except errors.Conflict:
        patched()


def _secret(
    scope: location.Scope, labels: Mapping[str, str], data: Mapping[str, str]
) -> dict[str, Any]:
    namespace, release = scope
    name = names.desired_state(release)
    return encoding.secret(namespace, name, labels, data)


def planned(
    cluster: Any,
    rows_now: requested_groups.Rows,
    revisions: Revisions,
    stored: StoredState,
) -> desired_state.DesiredState:
    """Return the desired state that the rows ask for.

    The stored one, if its fingerprint is that of the rows.

    :param stored: read after the rows: a request stores what its row needs
        before it writes the row
    :raises ReleaseGoneError: the release was there once
    :raises InterruptedCreateError: there is no desired state and no release
    """
    if not revisions and cluster.status not in _CREATING:
        raise ReleaseGoneError(
            f"the helm release {cluster.stack_id} is not on the management "
            "cluster: it is not installed anew, since its machines would be "
            "replaced"
        )
    if stored.desired is None:
        raise InterruptedCreateError
    fingerprint = rows_now.fingerprint()
    if stored.desired.fingerprint == fingerprint:
        return stored.desired
    return dataclasses.replace(
        stored.desired,
        values=values.with_groups(
            stored.desired.values,
            rows_now.known_as(stored.groups),
            stored.requests,
        ),
        fingerprint=fingerprint,
        since=time.time(),
    )


def differs(
    stored: StoredState, planned_state: desired_state.DesiredState
) -> bool:
    """Return whether helm has to run for a planned state.

    A state adopted from 1.4.0 has no fingerprint, so values are compared.
    """
    before = stored.desired
    if before is None:
        return True
    if not before.fingerprint:
        return before.values != planned_state.values
    return before.fingerprint != planned_state.fingerprint
