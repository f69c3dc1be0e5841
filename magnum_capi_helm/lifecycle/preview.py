# SPDX-License-Identifier: Apache-2.0

"""What the driver would do, without doing it.

The same path as a request takes: the rows or a file are resolved, the values
are put together, and here it ends: nothing is written anywhere.
"""

from __future__ import annotations

import dataclasses
import os
from typing import Any

from magnum import objects
from magnum.common import context as magnum_context
from magnum.common import exception
from oslo_utils import uuidutils

from magnum_capi_helm import runtime
from magnum_capi_helm.chart import diff
from magnum_capi_helm.chart import values
from magnum_capi_helm.cloud import catalogue
from magnum_capi_helm.cloud import sessions
from magnum_capi_helm.database import rows
from magnum_capi_helm.features import topic
from magnum_capi_helm.helm import releases
from magnum_capi_helm.kubernetes import location
from magnum_capi_helm.lifecycle import current_state
from magnum_capi_helm.lifecycle import dry_run
from magnum_capi_helm.lifecycle import upgrade_plan
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import desired_state
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.operations import assembly
from magnum_capi_helm.operations import manifest
from magnum_capi_helm.operations import operation
from magnum_capi_helm.resolve import cluster as resolve_cluster
from magnum_capi_helm.resolve import requested
from magnum_capi_helm.resolve import sketch
from magnum_capi_helm.status import view


@dataclasses.dataclass(frozen=True)
class Preview:
    """A release as it would be made.

    :param values: as helm would get them
    """

    release: str
    namespace: str
    chart: cluster_spec.Chart
    values: topic.Values


def context() -> Any:
    """Sees the rows of all projects, as Magnum's periodic tasks do."""
    return magnum_context.make_admin_context(all_tenants=True)


def find_cluster(ref: str) -> Any:
    """The row of a cluster, by UUID or name.

    :raises InvalidInput: there is none, or more than one of that name
    """
    return _find(objects.Cluster, exception.ClusterNotFound, "cluster", ref)


def find_template(ref: str) -> Any:
    """The row of a cluster template, by UUID or name.

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
            return kind.get_by_uuid(context(), ref)
        return kind.get_by_name(context(), ref)
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
    """What the next operation on a cluster would apply.

    :raises InvalidInput: nothing was ever made for it
    """
    if not row.stack_id:
        raise errors.InvalidInput(
            f"cluster {row.name} has no release: nothing was made for it"
        )
    scope = operation.scope_of(row)
    revisions = releases.revisions(rt.management, *scope)
    rows_now, _ = rows.read(row)
    planned = operation.planned(rt, row, rows_now, scope, revisions)
    return of_intent(row, planned)


def of_template(rt: runtime.Runtime, ref: str) -> Preview:
    """What a new cluster of a template would be.

    :param ref: a file, or name or UUID of one of Magnum's templates
    """
    session = sessions.service_session()
    project = sessions.project(session)
    if os.path.exists(ref):
        row = sketch.read(ref, project)
    else:
        row = sketch.cluster(find_template(ref), {}, project)
    return _resolved(rt, row, names.release(row.name, row.uuid), session)


def upgraded(
    rt: runtime.Runtime, row: Any, template: str | None, version: str | None
) -> Preview:
    """What a cluster would be with another template or chart version."""
    now = of_cluster(rt, row)
    if template:
        session = sessions.service_session()
        subject = current_state.read(rt, row, settle=False)
        planned = upgrade_plan.of_cluster(
            subject, find_template(template), catalogue.Cloud(session)
        )
        live = current_state.infrastructure(rt, row)
        now = of_intent(row, planned.wanted(rt, live))
    if version:
        chart = dataclasses.replace(now.chart, version=version)
        now = dataclasses.replace(now, chart=chart)
    return now


def of_intent(row: Any, wanted: desired_state.Intent) -> Preview:
    """A release with another intent."""
    scope = operation.scope_of(row)
    return Preview(
        release=scope[1],
        namespace=scope[0],
        chart=wanted.chart,
        values=values.stamped(wanted.values, wanted.fingerprint),
    )


def _resolved(
    rt: runtime.Runtime, row: Any, release: str, session: Any
) -> Preview:
    requested.check_unknown(row)
    found = resolve_cluster.resolve(row, catalogue.Cloud(session), release)
    return Preview(
        release=release,
        namespace=location.namespace(row.project_id),
        chart=found.chart,
        values=assembly.values_of(rt, found),
    )


def rendered(
    rt: runtime.Runtime, preview: Preview, *, live: bool
) -> tuple[dict[str, Any], ...]:
    """The objects that helm would apply.

    :param live: ask the management cluster, as an upgrade would
    :raises HelmError: the chart does not accept the values
    """
    text = rt.helm.render(
        preview.release,
        preview.namespace,
        rt.charts.ensure(preview.chart),
        preview.values,
        live=live,
    )
    return manifest.parsed(text)


def installed(
    rt: runtime.Runtime, preview: Preview
) -> tuple[view.Object, ...]:
    """The objects of the newest revision that helm deployed.

    :raises NotSupported: there is none
    """
    return dry_run.installed(rt, (preview.namespace, preview.release))


def changes(rt: runtime.Runtime, preview: Preview) -> tuple[diff.Change, ...]:
    """What differs from what is installed.

    :raises InvalidInput: nothing is
    :raises HelmError: the chart does not accept the values
    """
    return diff.changes(
        installed(rt, preview), rendered(rt, preview, live=True)
    )
