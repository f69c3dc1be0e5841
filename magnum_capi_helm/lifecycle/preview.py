# SPDX-License-Identifier: Apache-2.0

"""Show a release as the driver would make it. Nothing is written.

A preview goes the way of a request: rows or a file are resolved, and the
values are built. It ends there.
"""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
import os

from magnum_capi_helm import runtime
from magnum_capi_helm.chart import values
from magnum_capi_helm.cloud import catalogue
from magnum_capi_helm.cloud import sessions
from magnum_capi_helm.database import rows
from magnum_capi_helm.lifecycle import release_change
from magnum_capi_helm.lifecycle import rollout
from magnum_capi_helm.lifecycle import upgrade_plan
from magnum_capi_helm.model import desired_state
from magnum_capi_helm.model import errors
from magnum_capi_helm.operations import cluster_release
from magnum_capi_helm.resolve import cluster as resolve_cluster
from magnum_capi_helm.resolve import offline
from magnum_capi_helm.resolve import operator_files
from magnum_capi_helm.resolve import requested_labels


def of_cluster(release: cluster_release.Release) -> desired_state.DesiredState:
    """Return the desired state that the next operation would apply.

    :raises InvalidInput: nothing was ever made for the cluster
    """
    row = release.cluster
    if not row.stack_id:
        raise errors.InvalidInput(
            f"cluster {row.name} has no release: nothing was made for it"
        )
    revisions = release.revisions()
    rows_now, _ = rows.read(row)
    return release.read_stored(revisions).desired_for(row, rows_now, revisions)


def of_template(
    rt: runtime.Runtime, ref: str
) -> tuple[cluster_release.Release, desired_state.DesiredState]:
    """Return the release and the desired state of a new cluster.

    :param ref: a file, or name or UUID of one of Magnum's templates
    """
    if os.path.exists(ref):
        row = offline.read(ref)
    elif ref.endswith((".yaml", ".yml")):
        raise errors.InvalidInput(f"there is no file {ref}")
    else:
        row = offline.cluster(rows.find_template(ref), {})
    # The cloud need not answer to show an error of the template.
    requested_labels.cluster_labels(row)
    session = sessions.service_session()
    row.project_id = sessions.project(session)
    release = cluster_release.Release(None, row, rt)
    cloud = catalogue.Cloud(session)
    cluster = resolve_cluster.resolve(row, cloud, release.release)
    complete = operator_files.complete(rt, cluster, values.checked(cluster))
    return release, desired_state.DesiredState(
        cluster.chart, complete, fingerprint="", since=0.0
    )


def upgraded(
    release: cluster_release.Release,
    template: str | None,
    version: str | None,
    labels: Mapping[str, str | None],
) -> desired_state.DesiredState:
    """Return the desired state with another template, chart or labels.

    :param labels: as for :func:`rollout.relabelled`
    """
    desired = of_cluster(release)
    if template:
        desired = upgrade_plan.plan_cluster(
            release_change.read(release),
            rows.find_template(template),
            catalogue.Cloud(release.own_session()),
        ).desired()
    if version:
        chart = dataclasses.replace(desired.chart, version=version)
        desired = dataclasses.replace(desired, chart=chart)
    if labels:
        changed = rollout.relabelled(release_change.read(release), labels)
        desired = dataclasses.replace(desired, values=changed.values)
    return desired
