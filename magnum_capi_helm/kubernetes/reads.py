# SPDX-License-Identifier: Apache-2.0

"""Read the objects of releases, for many polls at once.

1. :mod:`shared_reads`: Magnum polls all clusters in bursts, each in a thread.
   A poll uses the last read, if it is young enough. Else one thread reads for
   all clusters that were polled lately, and the others wait for it. A change
   reads its cluster alone, from etcd and not from the API server's cache.
2. :class:`Reader`: OpenStack's objects are read only for a cluster that has
   something unsettled. Active servers of settled machines are dropped. Addons
   are read only once it has a control plane.
3. For a few releases it sends one LIST for each kind, by label. For many
   releases a :class:`Follower` for each kind lists all objects once and then
   asks for changes with watches of one second.
4. :class:`Item`: objects are kept as compressed JSON, and decoded when a
   verdict needs them, which is when they have changed.

``doc/source/evidence/benchmarks.rst`` has what each of these saves.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent import futures
import dataclasses
import functools
import random
import time
from typing import Any, NamedTuple, TypeAlias
import zlib

import msgspec
from oslo_log import log

from magnum_capi_helm.kubernetes import client
from magnum_capi_helm.kubernetes import helm_records
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import location
from magnum_capi_helm.kubernetes import responses
from magnum_capi_helm.model import errors
from magnum_capi_helm.status import cluster as cluster_status
from magnum_capi_helm.status import machine
from magnum_capi_helm.status import view

LOG = log.getLogger(__name__)

Scope: TypeAlias = location.Scope


class _Metadata(msgspec.Struct, rename="camel"):
    """The part of an object that is decoded at once."""

    resource_version: str
    name: str = ""
    namespace: str = ""
    labels: dict[str, str] | None = None


class _Status(msgspec.Struct, rename="camel"):
    """The part of a status that is decoded at once."""

    instance_state: str | None = None


class _Object(msgspec.Struct):
    metadata: _Metadata
    status: _Status | None = None


class _Event(msgspec.Struct):
    type: str
    object: msgspec.Raw


_decode_object = msgspec.json.Decoder(_Object).decode
_decode_event = msgspec.json.Decoder(_Event).decode


class Item(NamedTuple):
    """An object at one moment.

    :param version: ``resourceVersion``; each change has another one
    :param body: JSON, which the fastest level of zlib makes a tenth
    :param instance_state: Nova's word for a server, such as ACTIVE, if CAPO
        has it in the object
    """

    name: str
    version: str
    body: bytes
    instance_state: str = ""

    def decode(self, kind: kinds.Kind) -> dict[str, Any]:
        """Return the object; an item of a LIST may lack its kind."""
        obj: dict[str, Any] = responses.decode_json(zlib.decompress(self.body))
        return {"kind": kind.name, **obj}


#: The items of one kind that belong to a release.
Items: TypeAlias = tuple[Item, ...]


@dataclasses.dataclass(frozen=True)
class Query:
    """The objects of one kind that belong to releases.

    :param label: its value is the release that an object belongs to
    :param also: further requirements of the label selector
    :param dispensable: if the kubeconfig's user may not read these objects,
        the driver works as if there were none
    """

    kind: kinds.Kind
    label: str
    also: str = ""
    metadata_only: bool = False
    dispensable: bool = False

    def item(self, raw: msgspec.Raw) -> tuple[Scope, Item]:
        """Return the release that an object belongs to, and the object."""
        obj = responses.decoded(_decode_object, raw)
        metadata, status = obj.metadata, obj.status or _Status()
        release = (metadata.labels or {}).get(self.label, "")
        body = zlib.compress(raw, zlib.Z_BEST_SPEED)
        state = status.instance_state or ""
        item = Item(metadata.name, metadata.resource_version, body, state)
        return (metadata.namespace, release), item

    def selector(self, releases: Sequence[str] = ()) -> str:
        """Return the label selector for some releases, or for all."""
        names = f" in ({','.join(releases)})" if releases else ""
        return ",".join(filter(None, (self.also, self.label + names)))

    def scan(
        self,
        management: client.Client,
        namespace: str | None,
        releases: Sequence[str] = (),
        *,
        cached: bool,
    ) -> tuple[dict[Scope, Items], str]:
        """List objects; return them by release, and the list's version.

        :param releases: empty for all
        """
        try:
            pairs, version = management.scan(
                self.kind,
                namespace,
                self.selector(releases),
                self.item,
                metadata_only=self.metadata_only,
                cached=cached,
            )
        except responses.ForbiddenError as error:
            if not self.dispensable:
                raise
            management.warn_once(
                "%ss can't be read, so the reasons of servers in ERROR are "
                "missing: apply what `magnum-capi-helm management-cluster "
                "permissions` prints: %s",
                self.kind.name,
                error,
            )
            return {}, ""
        items: dict[Scope, Items] = {}
        for scope, item in pairs:
            items[scope] = (*items.get(scope, ()), item)
        return items, version


_CHART = view.CHART_CLUSTER_LABEL
_OWNED = view.CLUSTER_NAME_LABEL
_CLUSTER = Query(kinds.CLUSTER, _CHART)
_HEALTH_CHECK = Query(kinds.HEALTH_CHECK, _CHART)
_CONTROL_PLANE = Query(kinds.CONTROL_PLANE, _CHART)
_DEPLOYMENT = Query(kinds.MACHINE_DEPLOYMENT, _CHART)
_MACHINE = Query(kinds.MACHINE, _OWNED)
#: Cluster API's own objects: a health poll needs nothing else.
_CLUSTER_API = (_CLUSTER, _CONTROL_PLANE, _DEPLOYMENT, _MACHINE)

# Superseded revisions say nothing about the present.
_REVISION = Query(
    kinds.SECRET,
    helm_records.NAME_LABEL,
    also=f"{helm_records.OWNED},status!=superseded",
    metadata_only=True,
)
_OPENSTACK_CLUSTER = Query(kinds.OPENSTACK_CLUSTER, _CHART)
_OPENSTACK_MACHINE = Query(kinds.OPENSTACK_MACHINE, _OWNED)
# CAPO labels them as it does machines (``getOrCreateMachineServer`` in
# openstackmachine_controller.go). Roles made for older versions of the driver
# do not allow reading them.
_OPENSTACK_SERVER = Query(kinds.OPENSTACK_SERVER, _OWNED, dispensable=True)
_INFRASTRUCTURE = (_OPENSTACK_CLUSTER, _OPENSTACK_MACHINE, _OPENSTACK_SERVER)
_HELM_RELEASE = Query(kinds.HELM_RELEASE, _CHART)
_MANIFESTS = Query(kinds.MANIFESTS, _CHART)
_ADDONS = (_HELM_RELEASE, _MANIFESTS)
#: Seconds for which health polls share a read of addons: a cluster has a dozen
#: of them, and they rarely change.
_ADDONS_AGE = 60.0
#: Machines and their servers.
MACHINES = (_MACHINE, _OPENSTACK_MACHINE, _OPENSTACK_SERVER)
#: Objects that a read leaves out if the verdict does not need them.
OPTIONAL = (*_INFRASTRUCTURE, *_ADDONS)


class _Needs(NamedTuple):
    """The objects beside Cluster API's that a verdict needs.

    :ivar items: Cluster API's objects, from which the needs follow
    :ivar settled: names of the OpenStackMachines, and OpenStackServers, of
        settled machines
    """

    items: list[Items]
    queries: tuple[Query, ...]
    settled: frozenset[str]


@dataclasses.dataclass(frozen=True)
class ReleaseObjects:
    """The objects of one release, not decoded yet.

    :param items: by query; a query that was not needed is missing
    :param refused: the kubeconfig's user may not read the namespace
    """

    release: str
    items: Mapping[Query, Items] = dataclasses.field(default_factory=dict)
    refused: errors.CapiHelmError | None = None

    @property
    def version(self) -> tuple[Items, ...]:
        """A value that changes when any of the objects changes.

        A follower keeps the items of an unchanged release as they are, so a
        comparison takes no time.
        """
        return tuple(self.items.values())

    def without_active(self, names: Collection[str]) -> ReleaseObjects:
        """Return the release without some servers, unless one has failed."""
        items = dict(self.items)
        for query in (_OPENSTACK_MACHINE, _OPENSTACK_SERVER):
            items[query] = tuple(
                each
                for each in items[query]
                if each.name not in names or each.instance_state != "ACTIVE"
            )
        return dataclasses.replace(self, items=items)

    def decode(self, below: view.View | None = None) -> view.View:
        """Return the objects, decoded anew for each call.

        :param below: the answer of ``infrastructure``, if it is known
        """
        return dataclasses.replace(
            below or self.infrastructure(),
            cluster=self._decode_one(_CLUSTER),
            control_plane=self._decode_one(_CONTROL_PLANE),
            deployments=self._decode(_DEPLOYMENT),
            machines=self._decode(_MACHINE),
            health_checks=self._decode(_HEALTH_CHECK),
            addons=self._decode(_HELM_RELEASE) + self._decode(_MANIFESTS),
            addons_known=_HELM_RELEASE in self.items,
            revisions=helm_records.parsed(self._decode(_REVISION)),
            clock=view.Clock(time.time()),
        )

    def infrastructure(self) -> view.View:
        """Return the objects that OpenStack may know more about."""
        return view.View(
            self.release,
            infrastructure=self._decode_one(_OPENSTACK_CLUSTER),
            infra_machines=self._decode(_OPENSTACK_MACHINE),
            servers=self._decode(_OPENSTACK_SERVER),
        )

    def _decode(self, query: Query) -> tuple[view.Object, ...]:
        items = self.items.get(query, ())
        return tuple(each.decode(query.kind) for each in items)

    def _decode_one(self, query: Query) -> view.Object | None:
        return next(iter(self._decode(query)), None)


#: Releases from which on following all objects costs less than listing theirs.
FOLLOW_FROM = 50
#: Releases that a LIST names at most: proxies take URLs of 8 KiB.
_NAMED = 100
#: Seconds after which a follower lists everything again, at the latest.
_RELIST = 1800.0


class Follower:
    """All objects of a query: one LIST, then their changes.

    No connection is open between two polls. An event that is too late for one
    watch comes with the next. One thread may read at a time.

    :param clock: monotonic seconds
    """

    def __init__(
        self,
        management: client.Client,
        query: Query,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._management = management
        self._query = query
        self._clock = clock
        self._relist_at = 0.0
        self._version = ""
        self._items: dict[Scope, Items] = {}

    def read(self) -> Mapping[Scope, Items]:
        """Return the objects by release; not to be changed."""
        if not self._watch():
            self._list()
        return self._items

    def _list(self) -> None:
        self._version = ""
        self._items, self._version = self._query.scan(
            self._management, None, cached=False
        )
        # Not all kinds, and not all conductors, at the same time.
        wait = random.uniform(_RELIST / 2, _RELIST)  # noqa: S311 # nosec B311
        self._relist_at = self._clock() + wait

    def _watch(self) -> bool:
        """Apply the changes since the last read; return whether it worked."""
        if not self._version or self._clock() >= self._relist_at:
            return False
        query = self._query
        try:
            for line in self._management.watch(
                query.kind,
                query.selector(),
                self._version,
                metadata_only=query.metadata_only,
            ):
                self._apply(responses.decoded(_decode_event, line))
        except responses.ExpiredError as error:
            LOG.debug("%s: listed again: %s", query.kind.name, error)
            return False
        return True

    def _apply(self, event: _Event) -> None:
        if event.type == "ERROR":
            # A new LIST helps, whatever the error is.
            raise responses.ExpiredError("the watch can't be continued")
        scope, item = self._query.item(event.object)
        if event.type != "BOOKMARK":
            before = self._items.pop(scope, ())
            items = tuple(each for each in before if each.name != item.name)
            if event.type != "DELETED":
                items += (item,)
            if items:
                self._items[scope] = items
        self._version = item.version


class Reader:
    """Reads the objects of releases from one management cluster.

    :param whole: also read helm's revisions and infrastructure; else only
        the objects that a health poll needs
    :param follow_from: follow all objects when so many releases are read
    """

    def __init__(
        self,
        management: client.Client,
        *,
        whole: bool,
        follow_from: int = FOLLOW_FROM,
    ) -> None:
        self._management = management
        self._whole = whole
        self._follow_from = follow_from
        self._followers: dict[Query, Follower] = {}
        #: Addons that a health poll has read, of which releases, and until
        #: when they are good enough.
        self._addons: Mapping[Query, Mapping[Scope, Items]] = {}
        self._addons_of: Collection[Scope] = ()
        self._addons_until = 0.0
        #: Queries that may not be read in all namespaces: when to try again.
        self._one_by_one: dict[Query, float] = {}
        #: Namespaces that the last read for polls was not allowed to read.
        self._refused: dict[str, errors.CapiHelmError] = {}
        self._needs: dict[Scope, _Needs] = {}

    def read(
        self, scopes: Collection[Scope], fresh: bool
    ) -> dict[Scope, ReleaseObjects]:
        """Read some releases.

        :param fresh: no object may be older than this call
        :returns: an entry for each of ``scopes``
        :raises ForbiddenError: none of their namespaces can be read
        """
        if fresh:
            return self._read_releases(scopes, fresh)
        self._refused = {}
        releases = self._read_releases(scopes, fresh)
        if len(self._refused) == len({namespace for namespace, _ in scopes}):
            raise next(iter(self._refused.values()))
        for scope, each in releases.items():
            if error := self._refused.get(scope[0]):
                releases[scope] = dataclasses.replace(each, refused=error)
        return releases

    def _read_releases(
        self, scopes: Collection[Scope], fresh: bool
    ) -> dict[Scope, ReleaseObjects]:
        releases = {scope: ReleaseObjects(scope[1]) for scope in scopes}
        if not self._whole:
            objects = self._read(_CLUSTER_API, scopes, fresh)
            addons = {} if fresh else self._read_addons(scopes)
            return _merged(releases, {**objects, **addons})
        releases = self.add(releases, (*_CLUSTER_API, _REVISION), fresh=fresh)
        needs = {
            scope: self._needed(scope, each)
            for scope, each in releases.items()
        }
        if not fresh:
            self._needs = needs
        for queries in (_INFRASTRUCTURE, _ADDONS, (_HEALTH_CHECK,)):
            mine = {
                scope: releases[scope]
                for scope, each in needs.items()
                if queries[0] in each.queries
            }
            found = self.add(mine, queries, fresh=fresh)
            if queries is _INFRASTRUCTURE:
                found = {
                    scope: each.without_active(needs[scope].settled)
                    for scope, each in found.items()
                }
            releases |= found
        return releases

    def _read_addons(
        self, scopes: Collection[Scope]
    ) -> Mapping[Query, Mapping[Scope, Items]]:
        """Return addons that are a minute old at most."""
        is_known = set(scopes) <= set(self._addons_of)
        if not is_known or time.monotonic() >= self._addons_until:
            self._addons = self._read(_ADDONS, scopes, fresh=False)
            self._addons_of = set(scopes)
            self._addons_until = time.monotonic() + _ADDONS_AGE
        return self._addons

    def _needed(self, scope: Scope, objects: ReleaseObjects) -> _Needs:
        """Return what Cluster API's objects leave to read.

        Objects that have not changed since the last read are not decoded.
        """
        items = [objects.items[query] for query in _CLUSTER_API]
        before = self._needs.get(scope)
        if before is not None and before.items == items:
            return before
        there = objects.decode()
        queries: tuple[Query, ...] = ()
        if not cluster_status.is_settled(there):
            queries += _INFRASTRUCTURE
        if cluster_status.is_initialized(there):
            queries += _ADDONS
        if any(map(machine.has_failed_check, there.machines)):
            queries += (_HEALTH_CHECK,)
        settled = filter(machine.is_settled, there.machines)
        names = frozenset(map(view.infrastructure_name, settled))
        return _Needs(items, queries, names)

    def add(
        self,
        releases: Mapping[Scope, ReleaseObjects],
        queries: Sequence[Query],
        *,
        fresh: bool,
    ) -> dict[Scope, ReleaseObjects]:
        """Return the releases with the objects of some more queries."""
        if not releases:
            return {}
        return _merged(releases, self._read(queries, releases, fresh))

    def _read(
        self, queries: Sequence[Query], scopes: Collection[Scope], fresh: bool
    ) -> Mapping[Query, Mapping[Scope, Items]]:
        """Read the objects of some queries.

        Watches take a second, so they are done together.
        """
        read = functools.partial(self._read_one, scopes=scopes, fresh=fresh)
        if fresh or len(scopes) < self._follow_from:
            return {each: read(each) for each in queries}
        with futures.ThreadPoolExecutor(len(queries)) as pool:
            return dict(zip(queries, pool.map(read, queries), strict=True))

    def _read_one(
        self, query: Query, scopes: Collection[Scope], fresh: bool
    ) -> Mapping[Scope, Items]:
        """Read all namespaces together, or one by one."""
        if not fresh and self._one_by_one.get(query, 0.0) < time.monotonic():
            try:
                if len(scopes) < self._follow_from:
                    return self._list(query, scopes)
                if query not in self._followers:
                    self._followers[query] = Follower(self._management, query)
                return self._followers[query].read()
            except responses.ForbiddenError as error:
                self._one_by_one[query] = time.monotonic() + _RELIST
                if query is not _REVISION:
                    self._management.warn_once(
                        "Namespaces are read one by one: %s", error
                    )
        items: dict[Scope, Items] = {}
        for namespace in sorted({namespace for namespace, _ in scopes}):
            mine = [scope for scope in scopes if scope[0] == namespace]
            try:
                items |= self._list(query, mine, cached=not fresh)
            except responses.ForbiddenError as error:
                if fresh:
                    raise
                # The polls of other namespaces go on.
                self._refused[namespace] = error
        return items

    def _list(
        self, query: Query, scopes: Collection[Scope], *, cached: bool = True
    ) -> Mapping[Scope, Items]:
        """List the objects of some releases.

        If they are too many for a selector, list those of all releases.
        """
        namespaces = {namespace for namespace, _ in scopes}
        namespace = namespaces.pop() if len(namespaces) == 1 else None
        releases = sorted({release for _, release in scopes})
        if len(releases) > _NAMED:
            releases = []
        return query.scan(
            self._management, namespace, releases, cached=cached
        )[0]


def _merged(
    releases: Mapping[Scope, ReleaseObjects],
    more: Mapping[Query, Mapping[Scope, Items]],
) -> dict[Scope, ReleaseObjects]:
    """Return the releases with some more objects."""
    return {
        scope: dataclasses.replace(
            objects,
            items={
                **objects.items,
                **{query: each.get(scope, ()) for query, each in more.items()},
            },
        )
        for scope, objects in releases.items()
    }


def complete(
    management: client.Client,
    scope: Scope,
    queries: Sequence[Query],
    objects: ReleaseObjects | None = None,
) -> ReleaseObjects:
    """Return the objects of a release with all those of some queries.

    :param objects: objects of an earlier read
    :raises CapiHelmError: the management cluster does not answer
    """
    objects = objects or ReleaseObjects(scope[1])
    reader = Reader(management, whole=True)
    return reader.add({scope: objects}, queries, fresh=True)[scope]
