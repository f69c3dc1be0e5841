# SPDX-License-Identifier: Apache-2.0

"""Read all clusters: Magnum's rows, and their releases on all management
clusters.

:mod:`magnum_capi_helm.database.inventory` compares the two. Nothing is
written.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from concurrent import futures
import dataclasses
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
    management_clusters: list[comparison.ManagementCluster]

    def on(self, chosen: Collection[str]) -> Inventory:
        """Return the part that is on some management clusters."""
        return self._replace(
            lines=[
                each
                for each in self.lines
                if each.management_cluster in chosen
            ],
            management_clusters=[
                each
                for each in self.management_clusters
                if each.name in chosen
            ],
        )


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
    project: str | None,
    settings: CloudSettings | None = None,
    *,
    owners: bool = False,
) -> Inventory:
    """Read all rows and all management clusters, and compare them.

    :param project: only clusters of that project; None: of all projects
    :param settings: compare credentials and machines with these; None: don't
    :param owners: read the owners of credentials
    """
    prefix = conf.CONF.capi_helm.namespace_prefix
    clusters = _rows(project)
    reader = _Reader(clusters, project, settings, owners)
    configured = runtime.names()
    with futures.ThreadPoolExecutor(len(configured)) as pool:
        management_clusters = list(pool.map(reader.read, configured))
    lines = comparison.compare(clusters, management_clusters, prefix)
    if any(each.orphan for each in lines):
        # A cluster that Magnum made in the meantime is no orphan.
        again = {each.uuid: each for each in (*clusters, *_rows(project))}
        clusters = list(again.values())
        lines = comparison.compare(clusters, management_clusters, prefix)
    return Inventory(clusters, lines, management_clusters)


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


class _Reader:
    """Reads the releases on each management cluster, in a few requests."""

    def __init__(
        self,
        clusters: Iterable[comparison.Row],
        project: str | None,
        settings: CloudSettings | None,
        owners: bool,
    ) -> None:
        self._settings = settings
        self._owners = owners
        self._ours = frozenset(each.scope for each in clusters)
        #: Namespaces of clusters, and those to read; None: all of them.
        self._namespaces = sorted({namespace for namespace, _ in self._ours})
        self._where: list[str | None] = [None]
        if project:
            self._namespaces = [location.namespace(project)]
            self._where = [*self._namespaces]

    def read(self, name: str) -> comparison.ManagementCluster:
        """Read one management cluster; an error is part of the result."""
        rt = runtime.get(name)
        uid = ""
        try:
            uid = identity.read(rt)
            try:
                releases = self._releases(rt, self._where)
            except responses.ForbiddenError:
                releases = self._releases(rt, self._readable(rt))
        except errors.CapiHelmError as error:
            return comparison.ManagementCluster(
                name, uid, error=errors.explained(error)
            )
        return comparison.ManagementCluster(name, uid, releases)

    def _readable(self, rt: runtime.Runtime) -> list[str]:
        """Return namespaces for a user of the projects' namespaces alone.

        Those with a Cluster object may have releases without rows. A role is
        bound only in namespaces that exist here.
        """
        try:
            clusters = _list(rt, kinds.CLUSTER, None, view.CHART_CLUSTER_LABEL)
        except responses.ForbiddenError:
            return self._namespaces
        prefix = conf.CONF.capi_helm.namespace_prefix
        namespaces = {each["metadata"]["namespace"] for each in clusters}
        namespaces = {
            each for each in namespaces if names.project_of(each, prefix)
        }
        if self._where != [None]:
            namespaces &= set(self._namespaces)
        for each in set(self._namespaces) - namespaces:
            if rt.management.get(kinds.NAMESPACE, "", each) is not None:
                namespaces.add(each)
        return sorted(namespaces)

    def _releases(
        self, rt: runtime.Runtime, where: Sequence[str | None]
    ) -> dict[comparison.Scope, comparison.Release]:
        """Return the releases in this cloud's namespaces.

        :param where: namespaces; None: all of them
        """
        credentials: dict[comparison.Scope, client.Object] = {}
        clusters: dict[comparison.Scope, client.Object] = {}
        records: dict[comparison.Scope, list[client.Object]] = {}
        for namespace in where:
            if self._settings or self._owners:
                credentials |= _credentials(rt, namespace)
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
        regions = _regions(rt, {scope[0] for scope in scopes - self._ours})
        allowed = ("", conf.CONF.capi_helm.region_name)
        stale = {
            scope
            for scope in scopes & credentials.keys()
            if self._settings
            and _is_stale(rt, scope, credentials[scope], self._settings.access)
        }
        behind = self._behind(rt, (scopes & self._ours) - stale)
        return {
            scope: comparison.Release(
                cluster=clusters.get(scope),
                newest=_newest(records.get(scope, ())),
                chart=view.chart_version(clusters.get(scope))
                or _desired_chart(rt, scope),
                stale=scope in stale,
                behind=behind.get(scope, ""),
                unmarked=not regions.get(scope[0]),
                owner=_owner(credentials.get(scope)),
            )
            for scope in scopes
            if scope in self._ours or regions[scope[0]] in allowed
        }

    def _behind(
        self, rt: runtime.Runtime, scopes: Collection[comparison.Scope]
    ) -> dict[comparison.Scope, str]:
        """Return a line for each release that needs an upgrade for a new CA.

        Only the desired state tells which CAs machines trust. None is read
        where a cloud has nothing but public CAs.
        """
        cas = self._settings.cas if self._settings else frozenset()
        if not cas:
            return {}

        def read_one(scope: comparison.Scope) -> str:
            try:
                return cloud_secret.outdated_nodes(rt, scope, cas)
            except errors.CapiHelmError as error:
                if error.retriable:
                    raise
                return ""

        with futures.ThreadPoolExecutor(_READERS) as pool:
            lines = dict(zip(scopes, pool.map(read_one, scopes), strict=True))
        return {scope: line for scope, line in lines.items() if line}


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


def _credentials(
    rt: runtime.Runtime, namespace: str | None
) -> dict[comparison.Scope, client.Object]:
    """Return the metadata of the credential Secrets by release."""
    return {
        (
            each["metadata"]["namespace"],
            view.name_of(each).removesuffix(_CREDENTIALS),
        ): each
        for each in _list(rt, kinds.SECRET, namespace, location.CLUSTER_UUID)
        if view.name_of(each).endswith(_CREDENTIALS)
    }


def _owner(secret: client.Object | None) -> str | None:
    """Return the owner of a credential; None: the record is damaged."""
    try:
        return credential_secret.owner(secret) if secret else ""
    except errors.ManagementError:
        return None


def _is_stale(
    rt: runtime.Runtime,
    scope: comparison.Scope,
    secret: client.Object,
    access: cloud_secret.CloudAccess,
) -> bool:
    """Return whether a credential Secret has older cloud settings.

    An annotation tells. A Secret without one is older than these annotations,
    and is read as a whole; the cluster's health reports a damaged one.
    """
    mark = view.annotations_of(secret).get(cloud_secret.ANNOTATION)
    if mark:
        return mark != cloud_secret.fingerprint(access)
    whole = credential_secret.read(rt.management, scope)
    try:
        return cloud_secret.is_stale(whole, access)
    except errors.ManagementError:
        return False


def credentials_of(user: str, inventory: Inventory) -> dict[str, str]:
    """Return the clusters that break when a user goes.

    Those are the user's own clusters, and others that use the user's
    application credential.

    :param user: name or ID
    :returns: by UUID of the cluster, a word or ID for its credential's owner
    :raises InvalidInput: no user, or more than one, has that name
    :raises CloudError: Keystone does not tell who has that name
    """
    by_name = {each.name: each for each in inventory.management_clusters}
    location_of: dict[str, str] = {}
    for line in inventory.lines:
        location_of.setdefault(line.uuid, line.management_cluster)
    owners = {
        row.uuid: _owner_of(row, by_name.get(location_of.get(row.uuid, "")))
        for row in inventory.rows
    }
    user_ids = {row.user for row in inventory.rows} | {*owners.values()}
    user_id = _user_id(user, user_ids)
    words = {}
    for row in inventory.rows:
        owner = owners[row.uuid]
        if user_id not in (row.user, owner):
            continue
        if not row.scope[1]:
            words[row.uuid] = NONE
        elif owner is None:
            words[row.uuid] = UNKNOWN
        else:
            words[row.uuid] = THEIRS if owner == user_id else owner
    return words


def _owner_of(
    row: comparison.Row, location: comparison.ManagementCluster | None
) -> str | None:
    """Return the owner of a cluster's credential; None: it can't be read.

    1.4.0 did not write down the owner: it is the cluster's user.
    """
    if location is None:
        return row.user
    if location.error:
        return None
    owner = location.releases.get(row.scope, comparison.Release()).owner
    return row.user if owner == "" else owner


def _user_id(user: str, user_ids: Collection[str | None]) -> str:
    """Return the ID of a user, who may be gone already."""
    if user in user_ids or _ID.fullmatch(user):
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
