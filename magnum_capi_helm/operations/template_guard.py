# SPDX-License-Identifier: Apache-2.0
"""Refuse a change that replaces machines without a request for it.

Cluster API replaces the machines of a group when the rendered template of the
group changes. Before each upgrade by helm the driver renders the desired
state and compares the templates with those of the revision that helm deployed
last. The desired state names the groups that its acceptance may replace
(``desired_state.Permission``); any other group stays, whatever is the cause:
another build of the chart under the same version, a Secret that was restored
from a backup, another program that changed the release.

Besides, a desired state that is older than the release is never applied, and
the Kubernetes version of a control plane never falls: etcd and its objects
can't go back. Cluster API does not refuse that (``validateVersion`` of the
webhook for KubeadmControlPlane has no lower bound).
"""

from __future__ import annotations

from collections.abc import Sequence
import dataclasses
import functools

from magnum_capi_helm.chart import diff
from magnum_capi_helm.chart import upgrade_rules
from magnum_capi_helm.chart import values
from magnum_capi_helm.helm import charts
from magnum_capi_helm.kubernetes import client
from magnum_capi_helm.kubernetes import helm_records
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import desired_state
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.model import paths
from magnum_capi_helm.model import requested_groups
from magnum_capi_helm.model import versions
from magnum_capi_helm.operations import cluster_release
from magnum_capi_helm.status import view

DesiredState = desired_state.DesiredState

#: Digits of a SHA-256 that a text shows.
_DIGITS = 12


class OutdatedError(errors.NotSupported):
    """The stored desired state is not that of the release any more.

    :param release: name of the release
    :param fact: the difference, in words
    """

    def __init__(self, release: str, fact: str) -> None:
        # Magnum's client shows the text before the first full stop.
        super().__init__(
            "nothing is changed, because machines would go back to an older "
            f"state. The reason: {fact}. The Secret "
            f"{names.desired_state(release)} is an older copy, or another "
            "program changed the release: the operator restores the newest "
            "Secret, or lets the driver adopt the release as it is"
        )


@dataclasses.dataclass(frozen=True)
class Comparison:
    """The difference between the installed manifest and a new one.

    :param release: name of the release
    :param before: the revision that helm compares with
    :param after: all objects of the new manifest
    """

    release: str
    before: helm_records.RevisionContent
    after: tuple[client.Object, ...]

    @functools.cached_property
    def replaced(self) -> tuple[str, ...]:
        """All groups that make other machines than before.

        The chart's names of node groups, and ``names.CONTROL_PLANE``.
        """
        groups = [names.CONTROL_PLANE, *sorted(self._groups_before)]
        called = {
            names.machine_deployment(self.release, each): each
            for each in groups
        }
        remade = diff.remade(self.before.objects, self.after)
        return tuple(called.get(each, each) for each in remade)

    @property
    def workers(self) -> tuple[str, ...]:
        """The node groups of them."""
        return tuple(e for e in self.replaced if e != names.CONTROL_PLANE)

    @functools.cached_property
    def changes(self) -> tuple[diff.Change, ...]:
        """The changes, those that replace machines first."""
        return diff.changes(self.before.objects, self.after)

    @property
    def objects(self) -> tuple[client.Object, ...]:
        """The new and the changed objects."""
        touched = {
            (each.kind, each.name)
            for each in self.changes
            if each.what != "removed"
        }
        return tuple(
            each
            for each in self.after
            if (each["kind"], each["metadata"]["name"]) in touched
        )

    @property
    def _groups_before(self) -> frozenset[str]:
        return values.group_names(self.before.values)

    def unasked(
        self, desired: DesiredState, rows_now: requested_groups.Rows
    ) -> tuple[str, ...]:
        """Return the groups that a state replaces without permission.

        :param desired: the state of the new manifest
        """
        permission = _valid(desired, self.before)
        if permission and permission.groups is None:
            return ()
        allowed = (permission and permission.groups) or frozenset()
        named = rows_now.named_as(self._groups_before)
        living = {each.chart_name for each in (*named.workers, *named.refused)}
        gone = self._groups_before - living
        return tuple(e for e in self.replaced if e not in allowed | gone)


def check(
    release: cluster_release.Release,
    desired: DesiredState,
    rows_now: requested_groups.Rows,
    revisions: Sequence[view.Revision],
) -> None:
    """Refuse a state that replaces machines without permission.

    A request checks before its first write, and once more under the Lease. The
    second check is over at once if it is about the same state and revision.

    :param rows_now: the rows that the state was planned for
    :raises WouldReplace: it does
    :raises OutdatedError: it is older than the release
    :raises HelmError: the chart does not accept the values
    """
    asked = (
        dataclasses.replace(desired, since=0.0, version=""),
        rows_now.fingerprint(),
        cluster_release.last_deployed(revisions) if revisions else None,
    )
    if release.allowed == asked:
        return
    before = check_current(release, desired, revisions)
    if before is not None:
        after = release.render(desired)
        comparison = Comparison(release.release, before, after)
        check_objects(release, desired, rows_now, comparison)
    release.allowed = asked


def check_objects(
    release: cluster_release.Release,
    desired: DesiredState,
    rows_now: requested_groups.Rows,
    comparison: Comparison,
) -> None:
    """Refuse the objects of a state as :func:`check` does."""
    groups = comparison.unasked(desired, rows_now)
    if not groups:
        return
    revision, version = comparison.before.version, desired.chart.version
    raise errors.WouldReplace(
        "the change would replace machines that it is not meant to replace "
        f"({', '.join(groups)}), so nothing is changed. Their templates "
        f"differ from those of revision {revision}, which helm deployed "
        f"last{_cause(release, desired)}. The operator can remove the cause, "
        "for example put the former build back into the chart store, or "
        "replace the machines: `magnum-capi-helm cluster apply "
        f"--chart-version {version} --allow-replacement` names them, and "
        "replaces them with --apply; an upgrade of the cluster replaces them, "
        "too"
    )


def check_current(
    release: cluster_release.Release,
    desired: DesiredState,
    revisions: Sequence[view.Revision],
) -> helm_records.RevisionContent | None:
    """Refuse a state that is older than the release, or another cluster's.

    :returns: the revision to compare with; None: there are no machines
    :raises OutdatedError: it is
    """
    before = release.deployed(revisions) if revisions else None
    name = release.release
    control_plane = release.get(kinds.CONTROL_PLANE, names.control_plane(name))
    if control_plane is None and (before is None or before.status == "failed"):
        return None
    if before is None:
        raise OutdatedError(
            name, "the cluster has a control plane and no helm release"
        )
    live = release.get(kinds.CLUSTER)
    if fact := outdated(name, desired, before, live, control_plane):
        raise OutdatedError(name, fact)
    return before


def outdated(
    release: str,
    desired: DesiredState,
    before: helm_records.RevisionContent,
    cluster: client.Object | None,
    control_plane: client.Object | None,
) -> str:
    """Return why a state must not be applied to a release; empty: it may.

    :param before: the revision that helm compares with
    :param cluster: the live Cluster
    :param control_plane: the live KubeadmControlPlane
    """
    owner = desired.values.get(paths.CREDENTIALS)
    if owner not in (None, names.credentials(release)):
        return f"the stored desired state is of another cluster ({owner})"
    applied = max(
        values.generation(before.values),
        values.live_generation(view.annotations_of(cluster)),
    )
    stored = values.generation(desired.values)
    if stored < applied:
        return (
            f"the stored desired state is of upgrade {stored}, the release of "
            f"upgrade {applied}"
        )
    runs = str(view.spec_of(control_plane).get("version") or "")
    wanted = upgrade_rules.control_plane_version(desired.values)
    permission = _valid(desired, before)
    may_fall = permission is not None and permission.back
    if versions.is_older(wanted, runs) and not may_fall:
        return (
            f"the stored desired state has Kubernetes v{wanted}, the control "
            f"plane {runs}"
        )
    return ""


def _valid(
    desired: DesiredState, before: helm_records.RevisionContent
) -> desired_state.Permission | None:
    """Return the permission of a state; None: it has none for this revision.

    :param before: the revision that helm compares with
    """
    permission = desired.may_replace
    if permission is not None:
        return permission if permission.revision == before.version else None
    if values.stamp(before.values) and (
        values.generation(desired.values) > values.generation(before.values)
    ):
        # Accepted by an older version of the driver, which names no groups.
        return desired_state.Permission(before.version, None, back=True)
    return None


def _cause(release: cluster_release.Release, desired: DesiredState) -> str:
    """Return what the digest of the chart explains; empty: nothing."""
    stored = release.runtime.charts.digest(desired.chart)
    if not stored or not desired.digest or stored == desired.digest:
        return ""
    chart = f"{charts.name_of(desired.chart)} {desired.chart.version}"
    return (
        f": the chart store has another build of {chart} (sha256 "
        f"{stored[:_DIGITS]}) than the one that the cluster was made from "
        f"(sha256 {desired.digest[:_DIGITS]})"
    )
