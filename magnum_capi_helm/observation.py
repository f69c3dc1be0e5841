# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""What is read of releases, and in how many requests.

Machines' servers are read only where something is not ready, for the reason;
addons only where everything below them is.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
import dataclasses
import functools
import time
from typing import TypeAlias

from magnum_capi_helm.helm import releases
from magnum_capi_helm.management import client
from magnum_capi_helm.management import costs
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
_INFRASTRUCTURE = (_OPENSTACK_CLUSTER, _OPENSTACK_MACHINE)
_HELM_RELEASE = Track(kinds.HELM_RELEASE, _CHART)
_MANIFESTS = Track(kinds.MANIFESTS, _CHART)
_ADDONS = (_HELM_RELEASE, _MANIFESTS)


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
        )

    def _of(self, track: Track) -> tuple[view.Object, ...]:
        found = self.items.get(track, ())
        return tuple(each.decode(track.kind) for each in found)


Sightings: TypeAlias = Mapping[snapshot.Scope, Sighting]


class Observer:
    """Reads releases of one management cluster.

    :param whole: with revisions, and with what is above and below Cluster
        API; without, only what health needs
    """

    def __init__(self, management: client.Client, *, whole: bool) -> None:
        self._lister = listing.Lister(management)
        self._costs = costs.Costs()
        self._whole = whole

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
        started = time.monotonic()
        blank = {scope: Sighting(scope[1], {}) for scope in scopes}
        everything = not fresh and self._costs.all_is_cheaper(len(blank))
        read = functools.partial(self._read, before=before, fresh=fresh)
        seen = read(blank, _BASE if self._whole else OBJECTS, everything)
        if self._whole:
            seen = _judged(seen, before)
            ready = {scope: each for scope, each in seen.items() if each.ready}
            late = {scope: seen[scope] for scope in seen.keys() - ready}
            seen = {
                **read(late, _INFRASTRUCTURE, everything),
                **read(ready, _ADDONS, everything),
            }
        if not fresh:
            seconds = time.monotonic() - started
            self._costs.took(seconds, len(blank), everything)
        return seen

    def _read(
        self,
        seen: Sightings,
        tracks: Sequence[Track],
        everything: bool,
        *,
        before: Sightings,
        fresh: bool,
    ) -> dict[snapshot.Scope, Sighting]:
        """The sightings, with the objects of some more kinds."""
        if not seen:
            return {}
        everything = everything and self._costs.all_is_cheaper(len(seen))
        items = {scope: dict(each.items) for scope, each in seen.items()}
        for track in tracks:
            known = functools.partial(_known, before, track)
            found = (
                self._lister.all(track, seen, known)
                if everything
                else self._lister.some(track, seen, known, fresh=fresh)
            )
            for scope, mine in items.items():
                mine[track] = found.get(scope, ())
        return {
            scope: dataclasses.replace(each, items=items[scope])
            for scope, each in seen.items()
        }


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
