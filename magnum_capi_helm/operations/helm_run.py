# SPDX-License-Identifier: Apache-2.0

"""Run helm for a release. Only under the Lease.

helm refuses to work on a release whose newest revision is pending. The holder
of the Lease can't know which helm began that revision, or whether it still
works on it: values do not tell, because ``helm upgrade --reuse-values`` at a
shell copies them. So it waits as long as a helm may take, from its first look.
Of its own helms a conductor knows the end, and gives up at once the revision
that one leaves pending.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
import contextlib
import time

from oslo_log import log

from magnum_capi_helm.chart import autoscaler
from magnum_capi_helm.chart import values
from magnum_capi_helm.kubernetes import helm_records
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import desired_state
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.model import requested_groups
from magnum_capi_helm.operations import holding
from magnum_capi_helm.operations import release as releases
from magnum_capi_helm.status import view

LOG = log.getLogger(__name__)

#: Seconds that a run of helm needs at least.
_LEAST = 15.0
#: The driver never rolls back.
_OWN = ("pending-install", "pending-upgrade")


def upgrade(
    held: holding.Held,
    desired: desired_state.DesiredState,
    revisions: releases.Revisions,
    counts: Mapping[str, int],
    deadline: float | None,
) -> bool:
    """Run ``helm upgrade --install``.

    If helm fails, the revision that it began is given up.

    :param revisions: those before it
    :param counts: from :func:`counts_to_set`
    :param deadline: on the monotonic clock; None: helm's own alone
    :returns: whether API versions in helm's record were changed
    :raises HelmError: as helm says
    :raises Conflict: the record was written by another client meanwhile
    """
    rt, (namespace, name) = held.runtime, held.scope
    helm = held.prepared(rt.helm.upgrade, desired, counts)

    def run() -> float:
        within = deadline and max(deadline - time.monotonic(), 1.0)
        return helm(within=within, convert=rt.converter.groups)

    try:
        seconds, migrated = _run(held, run, releases.last_deployed)
    except errors.HelmError as error:
        if not isinstance(error, errors.HelmBusy):
            _give_up_own(held, revisions)
        if isinstance(error, errors.Unconvertible):
            # It names the field, which helm 4 does not.
            held.render(desired)
        raise
    LOG.info("release %s in %s: helm %.3f s", name, namespace, seconds)
    return migrated


def is_too_late(deadline: float | None) -> bool:
    """Return whether no run of helm can end before a deadline.

    :param deadline: on the monotonic clock; None: there is none
    """
    return deadline is not None and time.monotonic() > deadline - _LEAST


def counts_to_set(
    release: releases.Release,
    desired: desired_state.DesiredState,
    rows_now: requested_groups.Rows,
) -> dict[str, int]:
    """Return the counts that helm sets in autoscaled groups, by their names.

    Only those that no autoscaler chose: of groups that are new to it, and
    outside of bounds.

    :raises ManagementError: the live counts can't be read
    """
    existing = values.group_names(desired.values)
    asked, counts = rows_now.known_as(existing).counts(), {}
    for each in autoscaler.scaled(values.in_effect(desired.values)):
        name = str(each["name"])
        deployment = release.get(
            kinds.MACHINE_DEPLOYMENT,
            names.machine_deployment(release.release, name),
        )
        live = None
        if view.AUTOSCALER_ANNOTATION in view.annotations_of(deployment):
            live = view.spec_of(deployment).get("replicas")
        count = autoscaler.set_count(each, asked.get(name), live)
        if count is not None:
            counts[name] = count
    return counts


def uninstall(held: holding.Held) -> None:
    """Run ``helm uninstall``, which reads the newest revision.

    :raises HelmError: as helm says
    :raises Conflict: the record was written by another client meanwhile
    """
    helm, (namespace, name) = held.runtime.helm, held.scope
    _run(held, lambda: helm.uninstall(name, namespace), lambda each: each[-1])


# Pending revisions


def give_up_dead(
    held: holding.Held, revisions: releases.Revisions
) -> releases.Revisions:
    """Mark a pending newest revision as failed if its helm is dead.

    :returns: the revisions, read again if one was given up
    :raises HelmBusy: a helm may still work on it
    """
    newest = revisions[-1] if revisions else None
    if newest is None or not newest.pending:
        return revisions
    rt, scope = held.runtime, held.scope
    age = rt.ages.age(scope, "pending revision", newest)
    if age < rt.pending_deadline:
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
    return held.revisions()


def _give_up_own(held: holding.Held, before: releases.Revisions) -> None:
    """Mark the revision as failed that an ended helm has left pending.

    If it can't be seen now, :func:`give_up_dead` waits for it.
    """
    management, scope = held.runtime.management, held.scope
    with contextlib.suppress(errors.CapiHelmError):
        for each in set(held.revisions()) - set(before):
            if each.status in _OWN:
                helm_records.give_up(management, *scope, each.version)


# API versions


def _run(
    held: holding.Held,
    helm: Callable[[], float],
    compared: Callable[[Sequence[view.Revision]], view.Revision],
) -> tuple[float, bool]:
    """Run helm, once more after the versions in its record were changed."""
    converter, labels = held.runtime.converter, held.object_labels
    try:
        return converter.run(helm), False
    except errors.ReleaseStranded:
        if not (revisions := held.revisions()):
            raise
        record = held.record(compared(revisions).version)
        if not (record and converter.migrate(record, held.release, labels)):
            raise
    return converter.run(helm), True
