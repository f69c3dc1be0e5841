# SPDX-License-Identifier: Apache-2.0

"""Everything that the management cluster alone has of a cluster, read.

As it was at one moment: what changes while it is read is read again. Nothing
is written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
import contextlib
import dataclasses
import datetime
import time
from typing import Any

from magnum_capi_helm import runtime
from magnum_capi_helm.backup import bundle
from magnum_capi_helm.backup import comparison
from magnum_capi_helm.database import rows
from magnum_capi_helm.features import encryption
from magnum_capi_helm.helm import charts
from magnum_capi_helm.helm import releases
from magnum_capi_helm.kubernetes import location
from magnum_capi_helm.management import kinds
from magnum_capi_helm.management import lease
from magnum_capi_helm.management import snapshot
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.operations import operation
from magnum_capi_helm.operations import state_secret
from magnum_capi_helm.planes import origin
from magnum_capi_helm.planes import places
from magnum_capi_helm.status import view

#: Seconds before a cluster that changed meanwhile is read again.
PAUSES = (1.0, 3.0)

#: Kept for the record, by the label that they have.
_OBJECTS = {
    view.CHART_CLUSTER_LABEL: (
        kinds.OPENSTACK_CLUSTER,
        kinds.CONTROL_PLANE,
        kinds.MACHINE_DEPLOYMENT,
        kinds.OPENSTACK_MACHINE_TEMPLATE,
        kinds.CONFIG_TEMPLATE,
        kinds.HELM_RELEASE,
        kinds.MANIFESTS,
    ),
    view.CLUSTER_NAME_LABEL: (kinds.MACHINE, kinds.OPENSTACK_MACHINE),
}

#: A cluster that is being made, or was refused, may lack anything.
_UNFINISHED = (rows.Status.CREATE_IN_PROGRESS, rows.Status.CREATE_FAILED)


class ChangingError(errors.CapiHelmError):
    """It was changed while it was read."""

    retriable = True


@dataclasses.dataclass(frozen=True)
class Export:
    """A cluster as it was read.

    :param chart: the one that was last applied; None: there is none
    """

    bundle: bundle.Bundle
    chart: cluster_spec.Chart | None
    rt: runtime.Runtime


def of_cluster(row: Any, pauses: Sequence[float] = PAUSES) -> Export:
    """Read all that there is of a cluster, again where it changed meanwhile.

    :param row: of a cluster that has a ``stack_id``
    :param pauses: seconds before it is read again
    :raises CapiHelmError: not all of it could be read
    """
    for pause in pauses:
        with contextlib.suppress(ChangingError):
            return _of_cluster(row)
        time.sleep(pause)
    return _of_cluster(row)


def leaving(row: Any) -> bool:
    """Whether a cluster goes: nothing of it is kept, or comes back."""
    return rows.action(row.status) == "DELETE" or rows.doomed(row)


def live(
    rt: runtime.Runtime, scope: snapshot.Scope, uuid: str
) -> comparison.Live:
    """What there is of a release that an import may have to make.

    :param uuid: of the cluster
    """
    return comparison.Live(
        namespace=rt.management.get(kinds.NAMESPACE, "", scope[0]),
        lease=rt.leases.read(*scope),
        cluster=rt.management.get(kinds.CLUSTER, *scope),
        secrets=_secrets(rt, scope, uuid),
    )


def _of_cluster(row: Any) -> Export:
    scope = operation.scope_of(row)
    rt = places.find(row)
    origin.check(rt, rows.all_groups(row))
    before = _versions(rt, scope, row.uuid)
    found = live(rt, scope, row.uuid)
    if leaving(row) or lease.marked_deleted_at(found.lease) is not None:
        raise errors.NotSupported("the cluster is being deleted")
    wanted = state_secret.base(rt, scope).wanted
    _check_whole(row, scope[1], found, wanted.values if wanted else {})
    objects = tuple(map(bundle.recorded, _objects(rt, scope, found)))
    now = datetime.datetime.now(datetime.timezone.utc)
    header = bundle.Header(
        cluster=row.uuid,
        name=row.name or "",
        project=row.project_id,
        namespace=scope[0],
        release=scope[1],
        identity=origin.identity(rt),
        chart=charts.name_of(wanted.chart) if wanted else "",
        chart_version=wanted.chart.version if wanted else "",
        time=now.isoformat(timespec="seconds"),
    )
    secrets = tuple(
        bundle.bare(found.secrets[name]) for name in sorted(found.secrets)
    )
    if _versions(rt, scope, row.uuid) != before:
        raise ChangingError(
            "the cluster is being changed while it is read: export it again"
        )
    chart = wanted.chart if wanted else None
    return Export(bundle.Bundle(header, secrets, objects), chart, rt)


def _check_whole(
    row: Any,
    release: str,
    found: comparison.Live,
    values: dict[str, Any],
) -> None:
    """Refuse to take a part for the whole.

    :raises ManagementError: something is missing that every cluster has
    """
    if row.status in _UNFINISHED:
        return
    needed = [names.credentials(release), *bundle.authorities(release)]
    if encryption.needs_key(values):
        needed.append(names.etcd_key(release))
    missing = [
        f"Secret {each}" for each in needed if each not in found.secrets
    ]
    if not bundle.records(found.secrets, release):
        missing.append("helm's records")
    if found.cluster is None:
        missing.append(f"Cluster {release}")
    if missing:
        raise errors.ManagementError(
            "the management cluster does not have all of the cluster: there "
            f"is no {', no '.join(missing)}"
        )


def _versions(
    rt: runtime.Runtime, scope: snapshot.Scope, uuid: str
) -> set[tuple[str, str]]:
    """The versions of the Secrets that change together."""
    return {
        (view.name_of(each), each["metadata"]["resourceVersion"])
        for selector in _selectors(scope[1], uuid)
        for each in rt.management.list(
            kinds.SECRET, scope[0], selector, metadata_only=True
        )
    }


def _secrets(
    rt: runtime.Runtime, scope: snapshot.Scope, uuid: str
) -> dict[str, view.Object]:
    """The Secrets of a release, by name, whoever labelled them how."""
    namespace, release = scope
    found = {
        view.name_of(each): each
        for selector in _selectors(release, uuid)
        for each in rt.management.list(kinds.SECRET, namespace, selector)
        if bundle.belongs(view.name_of(each), release)
    }
    for name in (*bundle.key_names(release), names.intent(release)):
        if name not in found:
            secret = rt.management.get(kinds.SECRET, namespace, name)
            if secret is not None:
                found[name] = secret
    return found


def _selectors(release: str, uuid: str) -> tuple[str, str]:
    """Of the driver's Secrets, and of helm's records."""
    return (
        f"{location.CLUSTER_UUID}={uuid}",
        f"{releases.OWNED},{releases.NAME_LABEL}={release}",
    )


def _objects(
    rt: runtime.Runtime, scope: snapshot.Scope, found: comparison.Live
) -> Iterator[view.Object]:
    """What is kept for the record."""
    for known in (found.namespace, found.lease, found.cluster):
        if known is not None:
            yield known
    for label, of_label in _OBJECTS.items():
        for kind in of_label:
            yield from rt.management.list(
                kind, scope[0], f"{label}={scope[1]}"
            )
