# SPDX-License-Identifier: Apache-2.0

"""Run helm for a release. Only under the Lease.

helm refuses to work on a release whose newest revision is pending. The holder
of the Lease can't know whether a helm without a Lease (version 1.4.0, or a
person at a shell) still works on it, and waits as long as a helm may take. A
conductor knows when its own helms ended. The fingerprint in the values does
not identify the writer of a revision: ``helm rollback`` and ``helm upgrade
--reuse-values`` copy it. This driver never rolls back, and gives helm the
stored values of the desired state.

helm reads every object of its last manifest before it writes anything, in the
version that the manifest names. When a provider stops to serve that version,
helm refuses. The driver then writes served versions into the record and runs
helm again; as long as all versions are served, that costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
import time

from oslo_log import log

from magnum_capi_helm.chart import conversion
from magnum_capi_helm.chart import overlays
from magnum_capi_helm.chart import patches
from magnum_capi_helm.chart import values
from magnum_capi_helm.helm import manifests
from magnum_capi_helm.kubernetes import helm_records
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import api_versions
from magnum_capi_helm.model import desired_state
from magnum_capi_helm.model import encoding
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.operations import converting
from magnum_capi_helm.operations import release as releases
from magnum_capi_helm.status import view

LOG = log.getLogger(__name__)

#: Only a person begins a revision with this status.
_ROLLED_BACK = "pending-rollback"


def upgrade(
    release: releases.Release,
    desired: desired_state.DesiredState,
    revisions: releases.Revisions,
    within: float | None,
) -> bool:
    """Run ``helm upgrade --install``.

    If helm fails, the revision that it began is remembered.

    :param revisions: those before it
    :param within: seconds for all of it; None: helm's own deadline
    :returns: whether API versions in helm's record were changed
    :raises HelmError: as helm says
    :raises Conflict: the record was written by another client meanwhile
    """
    rt, (namespace, name) = release.runtime, release.scope
    chart = rt.charts.ensure(desired.chart)
    stamped = overlays.for_helm(desired.values, desired.fingerprint)
    end = within and time.monotonic() + within

    def run() -> float:
        return rt.helm.upgrade(
            name,
            namespace,
            chart,
            stamped,
            within=end and max(end - time.monotonic(), 1.0),
            convert=rt.converted_groups,
            patch=patches.wanted(desired.values, desired.chart.version),
        )

    try:
        seconds, migrated = _run(
            release,
            lambda: converting.run_helm(
                rt, run, lambda: release.render(desired, live=False)
            ),
            releases.last_deployed,
        )
    except errors.HelmBusy:
        # It began none.
        raise
    except errors.HelmError:
        version = revisions[-1].version + 1 if revisions else 1
        rt.interrupted_revisions[release.scope] = version, desired.fingerprint
        raise
    rt.interrupted_revisions.pop(release.scope, None)
    LOG.info("release %s in %s: helm %.3f s", name, namespace, seconds)
    return migrated


def uninstall(release: releases.Release) -> None:
    """Run ``helm uninstall``, which reads the newest revision.

    :raises HelmError: as helm says
    :raises Conflict: the record was written by another client meanwhile
    """
    helm, (namespace, name) = release.runtime.helm, release.scope
    _run(
        release, lambda: helm.uninstall(name, namespace), lambda each: each[-1]
    )


# Pending revisions


def give_up_dead(
    release: releases.Release, revisions: releases.Revisions
) -> releases.Revisions:
    """Mark a pending newest revision as failed if its helm is dead.

    :returns: the revisions, read again if one was given up
    :raises HelmBusy: a helm may still work on it
    """
    newest = revisions[-1] if revisions else None
    if newest is None or not newest.pending:
        return revisions
    rt, scope = release.runtime, release.scope
    age = rt.ages.age(scope, "pending revision", newest)
    if age < _deadline(release, newest):
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
    return release.revisions()


def _deadline(release: releases.Release, newest: view.Revision) -> float:
    """Return the seconds for which a helm may work on a pending revision.

    0 if a helm of this process began it and has ended.
    """
    rt, record = release.runtime, release.record(newest.version)
    if record is None or newest.status == _ROLLED_BACK:
        return rt.foreign_deadline
    fingerprint = values.stamp(record.values)
    interrupted = rt.interrupted_revisions.get(release.scope)
    if fingerprint and interrupted == (newest.version, fingerprint):
        return 0.0
    if fingerprint and _is_desired(release, record):
        return rt.helm_deadline
    return rt.foreign_deadline


def _is_desired(
    release: releases.Release, record: helm_records.Release
) -> bool:
    """Return whether a revision has chart and values of the desired state."""
    try:
        desired = releases.read_stored(release.runtime, release.scope).desired
    except errors.ManagementError:
        # Unknown: the longer deadline is the safe one.
        return False
    if desired is None or desired.chart.version != record.chart_version:
        return False
    stamped = overlays.for_helm(desired.values, desired.fingerprint)
    return bool(
        values.without_nulls(stamped) == values.without_nulls(record.values)
    )


# API versions


def _run(
    release: releases.Release,
    helm: Callable[[], float],
    compared: Callable[[Sequence[view.Revision]], view.Revision],
) -> tuple[float, bool]:
    """Run helm, once more after the versions in its record were changed."""
    try:
        return helm(), False
    except errors.ReleaseStranded:
        revisions = release.revisions()
        if not revisions or not _migrate(release, compared(revisions).version):
            raise
    return helm(), True


def _migrate(release: releases.Release, version: int) -> bool:
    """Write served API versions into the record of a revision.

    :returns: whether any version changed
    :raises ReleaseStranded: a kind is served in no version
    """
    rt, (namespace, name) = release.runtime, release.scope
    record = release.record(version)
    if record is None:
        return False
    apis = manifests.apis(record.manifest)
    plan = api_versions.plan_repair(apis, converting.served(rt, apis))
    if plan.lost:
        raise errors.ReleaseStranded(
            f"release {name} can't be changed: "
            f"{api_versions.refusal(plan.lost)}"
        )
    if not plan.moves:
        return False
    _save_original(release, record)
    text = _in_versions(record.manifest, plan.moves)
    helm_records.rewrite(rt.management, record, text, plan)
    LOG.warning(
        "Revision %d of %s in %s names API versions that are not served: "
        "changed %s in its record; what it was is in Secret %s",
        version,
        name,
        namespace,
        plan,
        names.original(name, version),
    )
    return True


def _in_versions(text: str, moves: Mapping[api_versions.Api, str]) -> str:
    """Return a manifest with objects in other versions.

    An object that the driver can't convert gets the version alone. helm then
    does not remove a field of it that the next manifest does not have.
    """
    groups = {
        api.group
        for api, version in moves.items()
        if conversion.converts(api, version)
    }

    def convert(obj: conversion.Object) -> conversion.Object | None:
        try:
            return conversion.convert(obj)
        except errors.Unconvertible as error:
            LOG.warning("%s; the record gets the new version alone", error)
            return None

    return manifests.moved(manifests.converted(text, groups, convert), moves)


def _save_original(
    release: releases.Release, record: helm_records.Release
) -> None:
    """Save helm's own record in a Secret, as long as the cluster lives.

    An original that was saved before stays.
    """
    management, namespace = release.runtime.management, release.namespace
    name = names.original(release.release, record.version)
    if management.get(kinds.SECRET, namespace, name) is None:
        labels, data = release.object_labels, record.record["data"]
        management.create(
            kinds.SECRET, encoding.secret(namespace, name, labels, data)
        )
