# SPDX-License-Identifier: Apache-2.0

"""Read all clusters: Magnum's rows, and their releases on all management
clusters.

:mod:`magnum_capi_helm.database.inventory` compares the two. Nothing is
written.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent import futures
import dataclasses
import functools
import re
from typing import Any, NamedTuple

from magnum_capi_helm import runtime
from magnum_capi_helm.cli import base
from magnum_capi_helm.cloud import credential_secret
from magnum_capi_helm.cloud import keystone
from magnum_capi_helm.cloud import sessions
from magnum_capi_helm.config import conf
from magnum_capi_helm.credentials import cloud_secret
from magnum_capi_helm.credentials import validity
from magnum_capi_helm.database import inventory as comparison
from magnum_capi_helm.database import rows
from magnum_capi_helm.kubernetes import client
from magnum_capi_helm.kubernetes import helm_records
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import location
from magnum_capi_helm.kubernetes import responses
from magnum_capi_helm.management_clusters import identity
from magnum_capi_helm.management_clusters import placement
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.operations import release as releases
from magnum_capi_helm.status import view

#: Owners of credentials that are no user's ID, for the column of ``--user``.
THEIRS = "theirs"
NONE = "none"
UNKNOWN = "unknown"

#: Desired states that are read at the same time.
_READERS = 8
#: IDs that Keystone makes, its own and those of users in LDAP.
_ID = re.compile("[0-9a-f]{32}|[0-9a-f]{64}")
_CREDENTIALS = names.credentials("")
_HELM_RECORDS = (
    f"{helm_records.OWNED},status!=superseded,{helm_records.NAME_LABEL}"
)


class Inventory(NamedTuple):
    """Rows, management clusters, and the result of comparing them."""

    rows: list[comparison.Row]
    lines: list[comparison.Line]
    planes: list[comparison.ManagementCluster]


@dataclasses.dataclass(frozen=True)
class CloudSettings:
    """The cloud's settings that a new cluster would get.

    :param access: endpoint, region, interface and CAs of its credentials
    :param cas: CAs that its machines would trust beside the public ones
    """

    access: cloud_secret.CloudAccess
    cas: frozenset[str]


def cloud_settings() -> CloudSettings:
    """Return the cloud's current settings.

    :raises CapiHelmError: the cloud does not answer
    """
    access = cloud_secret.cloud_access(sessions.service_session())
    return CloudSettings(access, cloud_secret.configured_cas())


def read(
    project: str | None, settings: CloudSettings | None = None
) -> Inventory:
    """Read all rows and all management clusters, and compare them.

    :param project: only clusters of that project; None: of all projects
    :param settings: compare credentials and machines with these; None: don't
    """
    prefix = conf.CONF.capi_helm.namespace_prefix
    known = _rows(project)
    if project:
        within = [location.namespace(project)]
    else:
        within = sorted({each.scope[0] for each in known})
    ours = frozenset(each.scope for each in known)

    def read_plane(name: str) -> comparison.ManagementCluster:
        where = within if project else [None]
        return _plane(name, where, within, settings, ours)

    configured = runtime.names()
    with futures.ThreadPoolExecutor(len(configured)) as pool:
        planes = list(pool.map(read_plane, configured))
    lines = comparison.compare(known, planes, prefix)
    if any(each.orphan for each in lines):
        # A cluster that Magnum made in the meantime is no orphan.
        again = {each.uuid: each for each in (*known, *_rows(project))}
        known = list(again.values())
        lines = comparison.compare(known, planes, prefix)
    return Inventory(known, lines, planes)


def _rows(project: str | None) -> list[comparison.Row]:
    return [
        _row(*each) for each in rows.read_all(project, base.of_this_driver)
    ]


def _row(cluster: Any, nodegroups: Sequence[Any]) -> comparison.Row:
    scope = (location.namespace(cluster.project_id), cluster.stack_id or "")
    wanted = rows.wants(cluster, nodegroups) if scope[1] else None
    record = identity.recorded(nodegroups)
    is_deleted = rows.action(cluster.status) == "DELETE"
    expiring = (cluster.health_status_reason or {}).get("certificates")
    return comparison.Row(
        name=cluster.name or "",
        uuid=cluster.uuid,
        project=cluster.project_id,
        status=cluster.status or "",
        version=cluster.coe_version or "",
        scope=scope,
        fingerprint=wanted.fingerprint() if wanted else "",
        identity=record.identity,
        recorded_name=record.name,
        leaving=is_deleted or bool(wanted and wanted.doomed),
        user=cluster.user_id or "",
        changed=(cluster.updated_at or cluster.created_at).timestamp(),
        refused=validity.last_result(cluster),
        warning=f"certificates: {expiring}" if expiring else "",
    )


def _plane(
    name: str,
    where: Sequence[str | None],
    within: Sequence[str],
    settings: CloudSettings | None,
    ours: frozenset[comparison.Scope],
) -> comparison.ManagementCluster:
    """Read the releases on a management cluster, in a handful of requests.

    :param where: namespaces to read; None: all of them
    :param within: namespaces of known clusters
    :param ours: releases of known clusters
    """
    rt = runtime.get(name)
    uid = ""
    try:
        uid = identity.read(rt)
        try:
            releases = _releases(rt, where, settings, ours)
        except responses.ForbiddenError:
            # The kubeconfig may be for the projects' namespaces alone.
            releases = _releases(rt, within, settings, ours)
    except errors.CapiHelmError as error:
        return comparison.ManagementCluster(name, uid, error=str(error))
    return comparison.ManagementCluster(name, uid, releases)


def _releases(
    rt: runtime.Runtime,
    within: Sequence[str | None],
    settings: CloudSettings | None,
    ours: frozenset[comparison.Scope],
) -> dict[comparison.Scope, comparison.Release]:
    """Return the releases in this cloud's namespaces."""
    stale: set[comparison.Scope] = set()
    clusters: dict[comparison.Scope, client.Object] = {}
    records: dict[comparison.Scope, list[client.Object]] = {}
    for namespace in within:
        if settings:
            stale |= _stale(rt, namespace, settings.access)
        label = view.CHART_CLUSTER_LABEL
        for each in _list(rt, kinds.CLUSTER, namespace, label):
            clusters[_scope(each, label)] = each
        for each in _list(rt, kinds.SECRET, namespace, _HELM_RECORDS):
            scope = _scope(each, helm_records.NAME_LABEL)
            records.setdefault(scope, []).append(each)
    prefix = conf.CONF.capi_helm.namespace_prefix
    scopes = {
        scope
        for scope in clusters.keys() | records.keys()
        if names.project_of(scope[0], prefix)
    }
    # A release without a row may be one of another region's Magnum.
    regions = _regions(rt, {scope[0] for scope in scopes - ours})
    allowed = ("", conf.CONF.capi_helm.region_name)
    behind = _behind(rt, (scopes & ours) - stale, settings)
    return {
        scope: comparison.Release(
            cluster=clusters.get(scope),
            newest=_newest(records.get(scope, ())),
            chart=view.chart_version(clusters.get(scope))
            or _desired_chart(rt, scope),
            stale=scope in stale,
            behind=behind.get(scope, ""),
            unmarked=not regions.get(scope[0]),
        )
        for scope in scopes
        if scope in ours or regions[scope[0]] in allowed
    }


def _list(
    rt: runtime.Runtime, kind: kinds.Kind, namespace: str | None, labels: str
) -> list[client.Object]:
    return rt.management.list(kind, namespace, labels, metadata_only=True)


def _scope(obj: client.Object, label: str) -> comparison.Scope:
    return obj["metadata"]["namespace"], view.labels_of(obj)[label]


def _regions(rt: runtime.Runtime, found_in: Iterable[str]) -> dict[str, str]:
    """Return the region that each namespace is marked with, or ""."""
    return {
        each: placement.namespace_region(
            rt.management.get(kinds.NAMESPACE, "", each)
        )
        for each in found_in
    }


def _newest(records: Iterable[client.Object]) -> view.Revision | None:
    revisions = helm_records.parsed(records)
    return revisions[-1] if revisions else None


def _desired_chart(rt: runtime.Runtime, scope: comparison.Scope) -> str:
    """Return the chart version in the desired state; empty: not known."""
    try:
        desired = releases.read_stored(rt, scope).desired
    except errors.CapiHelmError as error:
        if error.retriable:
            raise
        return ""
    return desired.chart.version if desired else ""


def _stale(
    rt: runtime.Runtime,
    namespace: str | None,
    access: cloud_secret.CloudAccess,
) -> set[comparison.Scope]:
    """Return releases whose credentials have older cloud settings.

    An annotation of the credential Secret tells. A Secret without one is
    older than these annotations, and is read as a whole.
    """
    current = cloud_secret.fingerprint(access)
    stale = set()
    for secret in _list(rt, kinds.SECRET, namespace, location.CLUSTER_UUID):
        if not view.name_of(secret).endswith(_CREDENTIALS):
            continue
        scope = _credential_scope(secret)
        mark = view.annotations_of(secret).get(cloud_secret.ANNOTATION)
        if mark:
            is_stale = mark != current
        else:
            is_stale = _content_is_stale(rt, scope, access)
        if is_stale:
            stale.add(scope)
    return stale


def _credential_scope(secret: client.Object) -> comparison.Scope:
    release = view.name_of(secret).removesuffix(_CREDENTIALS)
    return secret["metadata"]["namespace"], release


def _content_is_stale(
    rt: runtime.Runtime,
    scope: comparison.Scope,
    access: cloud_secret.CloudAccess,
) -> bool:
    """Compare a whole Secret; the cluster's health reports a damaged one."""
    secret = credential_secret.read(rt.management, scope)
    try:
        return cloud_secret.is_stale(secret, access)
    except errors.ManagementError:
        return False


def _behind(
    rt: runtime.Runtime,
    scopes: Collection[comparison.Scope],
    settings: CloudSettings | None,
) -> dict[comparison.Scope, str]:
    """Return a line for each release that needs an upgrade for a new CA.

    Only the desired state tells which CAs machines trust. None is read where
    a cloud has nothing but public CAs.
    """
    if settings is None or not settings.cas:
        return {}

    def read_one(scope: comparison.Scope) -> str:
        try:
            return cloud_secret.outdated_nodes(rt, scope, settings.cas)
        except errors.CapiHelmError as error:
            if error.retriable:
                raise
            return ""

    with futures.ThreadPoolExecutor(_READERS) as pool:
        lines = dict(zip(scopes, pool.map(read_one, scopes), strict=True))
    return {scope: line for scope, line in lines.items() if line}


def credentials_of(user: str, inventory: Inventory) -> dict[str, str]:
    """Return the clusters that break when a user goes.

    Those are the user's own clusters, and others that use the user's
    application credential.

    :param user: name or ID
    :returns: by UUID of the cluster, a word or ID for its credential's owner
    :raises InvalidInput: no user, or more than one, has that name
    :raises CloudError: Keystone does not tell who has that name
    """
    planes = inventory.planes
    configured = [each.name for each in planes if not each.error]
    namespaces_of_rows = sorted({each.scope[0] for each in inventory.rows})
    read_owners = functools.partial(_owners, namespaces_of_rows)
    with futures.ThreadPoolExecutor(len(planes)) as pool:
        answered = pool.map(read_owners, configured)
        owners = dict(zip(configured, answered, strict=True))
    known = {row.user for row in inventory.rows}
    known.update(*((each or {}).values() for each in owners.values()))
    user_id = _user_id(user, known)
    location_of: dict[str, str] = {}
    for line in inventory.lines:
        location_of.setdefault(line.uuid, line.management_cluster)
    words = {}
    for row in inventory.rows:
        plane = location_of.get(row.uuid, "")
        there = owners.get(plane)
        # 1.4.0 did not write down the owner of a credential.
        owner = (there or {}).get(row.scope, row.user)
        if user_id not in (row.user, owner):
            continue
        if not row.scope[1]:
            words[row.uuid] = NONE
        elif there is None and plane in {each.name for each in planes}:
            words[row.uuid] = UNKNOWN
        else:
            words[row.uuid] = THEIRS if owner == user_id else owner
    return words


def _user_id(user: str, known: Collection[str]) -> str:
    """Return the ID of a user, who may be gone already."""
    if user in known or _ID.fullmatch(user):
        return user
    ids = keystone.user_ids(sessions.service_session(), user)
    if len(ids) == 1:
        return ids[0]
    quoted = errors.shown(user)
    if ids:
        raise errors.InvalidInput(
            f"--user {quoted} is the name of {len(ids)} users: give one of "
            f"these ids: {', '.join(ids)}"
        )
    raise errors.InvalidInput(
        f"--user {quoted}: no user has that name, and no cluster has a user "
        "with that id: give the id that the user had"
    )


def _owners(
    within: Iterable[str], plane: str
) -> Mapping[comparison.Scope, str] | None:
    """Return the owners of credentials on a management cluster.

    :returns: by release; None: they can't be read
    """
    rt = runtime.get(plane)
    try:
        try:
            secrets = _list(rt, kinds.SECRET, None, location.USER_ID)
        except responses.ForbiddenError:
            secrets = []
            for each in within:
                secrets += _list(rt, kinds.SECRET, each, location.USER_ID)
        return {
            _credential_scope(each): owner
            for each in secrets
            if view.name_of(each).endswith(_CREDENTIALS)
            and (owner := credential_secret.owner(each))
        }
    except errors.CapiHelmError:
        return None
