# SPDX-License-Identifier: Apache-2.0

"""What is read of releases, and in how many requests.

Machines' servers are read only where something is not ready, for the reason;
addons only where everything below them is.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from concurrent import futures
import dataclasses
import functools
from typing import TypeAlias

from magnum_capi_helm.helm import releases
from magnum_capi_helm.management import answers
from magnum_capi_helm.management import client
from magnum_capi_helm.management import following
from magnum_capi_helm.management import kinds
from magnum_capi_helm.management import listing
from magnum_capi_helm.management import snapshot
from magnum_capi_helm.status import conditions
from magnum_capi_helm.status import view

Track: TypeAlias = listing.Track

_CHART = view.CHART_CLUSTER_LABEL
_OWNED = view.CLUSTER_NAME_LABEL
_CLUSTER = Track(kinds.CLUSTER, _CHART)
_CONTROL_PLANE = Track(kinds.CONTROL_PLANE, _CHART)
_DEPLOYMENT = Track(kinds.MACHINE_DEPLOYMENT, _CHART)
_MACHINE = Track(kinds.MACHINE, _OWNED)
#: All that health needs: Cluster API's own objects.
OBJECTS = (_CLUSTER, _CONTROL_PLANE, _DEPLOYMENT, _MACHINE)

# No revision that was superseded says anything of the present.
_REVISION = Track(
    kinds.SECRET,
    releases.NAME_LABEL,
    also=f"{releases.OWNED},status!=superseded",
    metadata_only=True,
)
_BASE = (*OBJECTS, _REVISION)
_OPENSTACK_CLUSTER = Track(kinds.OPENSTACK_CLUSTER, _CHART)
_OPENSTACK_MACHINE = Track(kinds.OPENSTACK_MACHINE, _OWNED)
# CAPO labels them as it does machines (``getOrCreateMachineServer`` in
# openstackmachine_controller.go). Roles made for older versions of the driver
# do not allow reading them.
_OPENSTACK_SERVER = Track(kinds.OPENSTACK_SERVER, _OWNED, dispensable=True)
_MACHINERY = (_MACHINE, _OPENSTACK_MACHINE, _OPENSTACK_SERVER)
_INFRASTRUCTURE = (_OPENSTACK_CLUSTER, *_MACHINERY[1:])
_HELM_RELEASE = Track(kinds.HELM_RELEASE, _CHART)
_MANIFESTS = Track(kinds.MANIFESTS, _CHART)
_ADDONS = (_HELM_RELEASE, _MANIFESTS)


#: Releases from which on it is cheaper to follow all objects than to list
#: theirs: measured with 10 to 1,000 clusters, see the sizing page.
MANY = 50


@dataclasses.dataclass(frozen=True)
class Sighting:
    """What was read of one release, decoded when somebody looks.

    :param ready: whether no reason is asked for from below Cluster API
    """

    release: str
    items: Mapping[Track, listing.Items]
    ready: bool = False

    @functools.cached_property
    def version(self) -> frozenset[tuple[str, str, str]]:
        """Another one as soon as any object is another one."""
        return frozenset(
            (track.kind.name, each.name, each.version)
            for track, found in self.items.items()
            for each in found
        )

    def decode(self) -> view.View:
        """The objects. They are decoded anew for each call."""
        clusters = self._of(_CLUSTER)
        planes = self._of(_CONTROL_PLANE)
        infrastructure = self._of(_OPENSTACK_CLUSTER)
        addons = self._of(_HELM_RELEASE) + self._of(_MANIFESTS)
        return view.View(
            release=self.release,
            cluster=clusters[0] if clusters else None,
            control_plane=planes[0] if planes else None,
            deployments=self._of(_DEPLOYMENT),
            machines=self._of(_MACHINE),
            addons=addons,
            addons_known=_HELM_RELEASE in self.items,
            revisions=releases.parsed(self._of(_REVISION)),
            infrastructure=infrastructure[0] if infrastructure else None,
            infra_machines=self._of(_OPENSTACK_MACHINE),
            servers=self.servers(),
        )

    def servers(self) -> tuple[view.Object, ...]:
        """The OpenStackServers; none where something is ready."""
        return self._of(_OPENSTACK_SERVER)

    def _of(self, track: Track) -> tuple[view.Object, ...]:
        found = self.items.get(track, ())
        return tuple(each.decode(track.kind) for each in found)


Sightings: TypeAlias = Mapping[snapshot.Scope, Sighting]


class Observer:
    """Reads releases of one management cluster.

    :param whole: with revisions, and with what is above and below Cluster
        API; without, only what health needs
    :param many: releases from which on all of them are followed
    """

    def __init__(
        self, management: client.Client, *, whole: bool, many: int = MANY
    ) -> None:
        self._lister = listing.Lister(management)
        self._followers = {
            track: following.Follower(management, track)
            for track in (*_BASE, *_INFRASTRUCTURE, *_ADDONS)
        }
        self._whole = whole
        self._many = many

    def read(
        self,
        scopes: Collection[snapshot.Scope],
        fresh: bool,
        before: Sightings,
    ) -> dict[snapshot.Scope, Sighting]:
        """Look at some releases.

        :param fresh: whether nothing in it may be older than this call
        :param before: what was seen the last time
        :returns: something for each of ``scopes``
        """
        seen = {scope: Sighting(scope[1], {}) for scope in scopes}
        read = functools.partial(self._read, before=before, fresh=fresh)
        if not self._whole:
            return read(seen, OBJECTS)
        seen = _judged(read(seen, _BASE), before)
        ready = {scope: each for scope, each in seen.items() if each.ready}
        late = {scope: seen[scope] for scope in seen.keys() - ready}
        return {**read(late, _INFRASTRUCTURE), **read(ready, _ADDONS)}

    def _read(
        self,
        seen: Sightings,
        tracks: Sequence[Track],
        *,
        before: Sightings,
        fresh: bool,
    ) -> dict[snapshot.Scope, Sighting]:
        """The sightings, with the objects of some more kinds."""
        if not seen:
            return {}
        follow = not fresh and len(seen) >= self._many
        found = (self._followed(tracks) if follow else None) or {
            track: self._lister.some(
                track,
                seen,
                functools.partial(_known, before, track),
                fresh=fresh,
            )
            for track in tracks
        }
        return {
            scope: dataclasses.replace(
                each,
                items={
                    **each.items,
                    **{track: found[track].get(scope, ()) for track in tracks},
                },
            )
            for scope, each in seen.items()
        }

    def _followed(
        self, tracks: Sequence[Track]
    ) -> Mapping[Track, Mapping[snapshot.Scope, listing.Items]] | None:
        """All objects; None where not all namespaces may be read.

        A look takes a second, whatever there is to see: they look together.
        """
        if not self._lister.everywhere:
            return None
        try:
            with futures.ThreadPoolExecutor(len(tracks)) as pool:
                found = pool.map(self._look, tracks)
                return dict(zip(tracks, found, strict=True))
        except answers.ForbiddenError as error:
            self._lister.forbidden(error)
            return None

    def _look(self, track: Track) -> Mapping[snapshot.Scope, listing.Items]:
        try:
            return self._followers[track].look()
        except answers.ForbiddenError as error:
            if not track.dispensable:
                raise
            self._lister.unreadable(track, error)
            return {}


def completed(
    management: client.Client, scope: snapshot.Scope, seen: Sighting
) -> Sighting:
    """A sighting, with what was left unread since nobody needs it.

    :raises CapiHelmError: the management cluster does not say
    """
    return _with(management, scope, seen, (*_INFRASTRUCTURE, *_ADDONS))


def machinery(management: client.Client, scope: snapshot.Scope) -> Sighting:
    """The machines of a release and their servers, as they are now.

    :raises CapiHelmError: the management cluster does not say
    """
    return _with(management, scope, Sighting(scope[1], {}), _MACHINERY)


def _with(
    management: client.Client,
    scope: snapshot.Scope,
    seen: Sighting,
    tracks: Sequence[Track],
) -> Sighting:
    """The sighting, with the objects of those tracks that it lacks."""
    lister = listing.Lister(management)
    known = functools.partial(_known, {scope: seen})
    items = dict(seen.items)
    for track in tracks:
        if track not in items:
            found = lister.some(
                track, [scope], functools.partial(known, track), fresh=True
            )
            items[track] = found.get(scope, ())
    return dataclasses.replace(seen, items=items)


def _known(
    before: Sightings,
    track: Track,
    scope: snapshot.Scope,
    name: str,
    version: str,
) -> listing.Item | None:
    """An item that has not changed since."""
    old = before.get(scope)
    if old is not None:
        for each in old.items.get(track, ()):
            if each.name == name and each.version == version:
                return each
    return None


def _judged(
    seen: Sightings, before: Sightings
) -> dict[snapshot.Scope, Sighting]:
    """The sightings, with the word whether each is ready."""
    return {
        scope: dataclasses.replace(
            each, ready=_ready_as(each, before.get(scope))
        )
        for scope, each in seen.items()
    }


def _ready_as(new: Sighting, old: Sighting | None) -> bool:
    """Whether it is ready; what did not change, is as it was."""
    if old is not None and all(
        new.items[track] == old.items.get(track) for track in OBJECTS
    ):
        return old.ready
    seen = new.decode()
    available = conditions.available(seen.cluster)
    return (
        available is not None
        and available.well
        and all(view.status_of(each).get("nodeRef") for each in seen.machines)
    )
