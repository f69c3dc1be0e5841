# SPDX-License-Identifier: Apache-2.0

"""Show a release as the driver would make it. Nothing is written.

A preview goes the way of a request: rows or a file are resolved, and the
values are built. It ends there.
"""

from __future__ import annotations

import dataclasses
import os
from typing import Any

from magnum import objects
from magnum.common import exception
from oslo_utils import uuidutils

from magnum_capi_helm import runtime
from magnum_capi_helm.chart import diff
from magnum_capi_helm.chart import values
from magnum_capi_helm.cloud import catalogue
from magnum_capi_helm.cloud import sessions
from magnum_capi_helm.database import rows
from magnum_capi_helm.features import topic
from magnum_capi_helm.kubernetes import location
from magnum_capi_helm.lifecycle import release_change
from magnum_capi_helm.lifecycle import upgrade_plan
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import desired_state
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.operations import release as releases
from magnum_capi_helm.resolve import cluster as resolve_cluster
from magnum_capi_helm.resolve import offline
from magnum_capi_helm.resolve import operator_files


@dataclasses.dataclass(frozen=True)
class Preview:
    """A release that the driver would make.

    :param values: the values for helm
    """

    release: str
    namespace: str
    chart: cluster_spec.Chart
    values: topic.Values


def find_cluster(ref: str) -> Any:
    """Return the row of a cluster, by UUID or name.

    :raises InvalidInput: there is none, or more than one of that name
    """
    return _find(objects.Cluster, exception.ClusterNotFound, "cluster", ref)


def find_template(ref: str) -> Any:
    """Return the row of a cluster template, by UUID or name.

    :raises InvalidInput: there is none, or more than one of that name
    """
    return _find(
        objects.ClusterTemplate,
        exception.ClusterTemplateNotFound,
        "cluster template",
        ref,
    )


def _find(kind: Any, not_found: type[Exception], noun: str, ref: str) -> Any:
    try:
        if uuidutils.is_uuid_like(ref):
            return kind.get_by_uuid(rows.everywhere(), ref)
        return kind.get_by_name(rows.everywhere(), ref)
    except not_found as error:
        raise errors.InvalidInput(
            f"{noun} {ref} not found: choose one of "
            f"`openstack coe {noun} list`"
        ) from error
    except exception.Conflict as error:
        raise errors.InvalidInput(
            f"there is more than one {noun} {ref}: give its UUID"
        ) from error


def of_cluster(rt: runtime.Runtime, row: Any) -> Preview:
    """Return the release that the next operation would apply.

    :raises InvalidInput: nothing was ever made for it
    """
    if not row.stack_id:
        raise errors.InvalidInput(
            f"cluster {row.name} has no release: nothing was made for it"
        )
    release = releases.Release(row, rt)
    revisions = release.revisions()
    rows_now, _ = rows.read(row)
    planned = release.stored(revisions).planned(row, rows_now, revisions)
    return of_desired_state(row, planned)


def of_template(rt: runtime.Runtime, ref: str) -> Preview:
    """Return the release of a new cluster of a template.

    :param ref: a file, or name or UUID of one of Magnum's templates
    """
    session = sessions.service_session()
    project = sessions.project(session)
    if os.path.exists(ref):
        row = offline.read(ref, project)
    else:
        row = offline.cluster(find_template(ref), {}, project)
    release = names.release(row.name, row.uuid)
    cluster = resolve_cluster.resolve(row, catalogue.Cloud(session), release)
    return Preview(
        release=release,
        namespace=location.namespace(row.project_id),
        chart=cluster.chart,
        values=operator_files.complete(rt, cluster, values.checked(cluster)),
    )


def upgraded(
    rt: runtime.Runtime, row: Any, template: str | None, version: str | None
) -> Preview:
    """Return the release with another template or chart version."""
    now = of_cluster(rt, row)
    if template:
        session = sessions.service_session()
        planned = upgrade_plan.plan_cluster(
            release_change.read(releases.Release(row, rt)),
            find_template(template),
            catalogue.Cloud(session),
        )
        now = of_desired_state(row, planned.desired())
    if version:
        chart = dataclasses.replace(now.chart, version=version)
        now = dataclasses.replace(now, chart=chart)
    return now


def of_desired_state(row: Any, desired: desired_state.DesiredState) -> Preview:
    """Return the release of a desired state."""
    scope = location.scope_of(row)
    return Preview(
        release=scope[1],
        namespace=scope[0],
        chart=desired.chart,
        values=values.stamped(desired.values, desired.fingerprint),
    )


def rendered(
    rt: runtime.Runtime, preview: Preview, *, live: bool
) -> tuple[dict[str, Any], ...]:
    """Return the objects that helm would apply.

    :param live: ask the management cluster, as an upgrade would
    :raises HelmError: the chart does not accept the values
    """
    return rt.helm.render(
        preview.release,
        preview.namespace,
        rt.charts.ensure(preview.chart),
        preview.values,
        live=live,
    )


def changes(rt: runtime.Runtime, preview: Preview) -> tuple[diff.Change, ...]:
    """Return the differences from the installed objects.

    :raises NotSupported: no revision was deployed
    :raises HelmError: the chart does not accept the values
    """
    scope = (preview.namespace, preview.release)
    return diff.changes(
        release_change.installed(rt, scope),
        rendered(rt, preview, live=True),
    )
