# SPDX-License-Identifier: Apache-2.0

"""LISTs for many releases at once, by label.

A hundred of them are in one request, and the API server sends no object of
any other.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Sequence
import dataclasses
import itertools
import time
from typing import TypeAlias

from oslo_log import log

from magnum_capi_helm.management import answers
from magnum_capi_helm.management import client
from magnum_capi_helm.management import items
from magnum_capi_helm.management import kinds

LOG = log.getLogger(__name__)

#: Seconds for which namespaces are read one by one after a refusal.
_REFUSED_FOR = 600.0

#: Namespace and release.
Scope: TypeAlias = tuple[str, str]
Item: TypeAlias = items.Item
Items: TypeAlias = tuple[Item, ...]
#: An item that is known already: of a release, by name and version.
Known: TypeAlias = Callable[[Scope, str, str], Item | None]

#: An object, and the release that it belongs to.
Taken: TypeAlias = tuple[Scope, Item]

#: Releases that one request asks for. Their names are up to 63 characters
#: long, and proxies take URLs of 8 KiB.
CHUNK = 100


@dataclasses.dataclass(frozen=True)
class Track:
    """Objects of one kind that belong to releases.

    :param label: its value is the release that an object belongs to
    :param also: more that a label selector asks for
    :param dispensable: without the permission to read them, the driver goes
        on as if there were none
    """

    kind: kinds.Kind
    label: str
    also: str = ""
    metadata_only: bool = False
    dispensable: bool = False

    def scope(self, head: items.Head) -> Scope:
        """The release that an object belongs to."""
        return head.namespace, (head.labels or {}).get(self.label, "")

    def selector(self, releases: Sequence[str] = ()) -> str:
        """Selects the objects of some releases, or of all."""
        mine = self.label
        if len(releases) == 1:
            mine = f"{self.label}={releases[0]}"
        elif releases:
            mine = f"{self.label} in ({','.join(releases)})"
        return ",".join(filter(None, (self.also, mine)))


class Lister:
    """LISTs of one management cluster."""

    def __init__(
        self,
        management: client.Client,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._management = management
        self._clock = clock
        self._refused = False
        self._not_before = 0.0

    @property
    def everywhere(self) -> bool:
        """Whether the kubeconfig's user may list all namespaces."""
        return self._clock() >= self._not_before

    def some(
        self,
        track: Track,
        scopes: Collection[Scope],
        known: Known,
        *,
        fresh: bool,
    ) -> dict[Scope, Items]:
        """Objects of some releases.

        :param fresh: ask etcd and not the API server's memory
        """
        try:
            return self._all(track, scopes, known, fresh=fresh)
        except answers.ForbiddenError as error:
            if not track.dispensable:
                raise
            self.unreadable(track, error)
            return {}

    def unreadable(self, track: Track, error: answers.ForbiddenError) -> None:
        """Warn once that the objects of a dispensable track are not read.

        A deletion makes a new lister in each poll, so the client knows it.
        """
        if track.kind.name not in self._management.unreadable:
            LOG.warning(
                "%ss can't be read, so the reasons of servers in ERROR are "
                "missing: apply what `magnum-capi-helm permissions` prints: "
                "%s",
                track.kind.name,
                error,
            )
        self._management.unreadable.add(track.kind.name)

    def _all(
        self,
        track: Track,
        scopes: Collection[Scope],
        known: Known,
        *,
        fresh: bool,
    ) -> dict[Scope, Items]:
        found: dict[Scope, Items] = {}
        if self.everywhere and not fresh:
            try:
                return self._some(track, scopes, known, None, cached=True)
            except answers.ForbiddenError as error:
                if track.dispensable:
                    raise
                self.forbidden(error)
        for namespace, mine in _by_namespace(scopes):
            found |= self._some(
                track, mine, known, namespace, cached=not fresh
            )
        return found

    def forbidden(self, error: answers.ForbiddenError) -> None:
        """Do not ask for all namespaces, for some time.

        An API server that has just started, and has not read its roles yet,
        refuses everybody for a moment.
        """
        if not self._refused:
            LOG.warning("Namespaces are read one by one: %s", error)
        self._refused = True
        self._not_before = self._clock() + _REFUSED_FOR

    def _some(
        self,
        track: Track,
        scopes: Collection[Scope],
        known: Known,
        namespace: str | None,
        *,
        cached: bool,
    ) -> dict[Scope, Items]:
        namespaces = {each[0] for each in scopes}
        if len(namespaces) == 1:
            (namespace,) = namespaces
        wanted = frozenset(scopes)
        found: list[Taken] = []
        releases = sorted({each[1] for each in scopes})
        for start in range(0, len(releases), CHUNK):
            found += self._management.scan(
                track.kind,
                namespace,
                track.selector(releases[start : start + CHUNK]),
                _taker(track, known, wanted),
                metadata_only=track.metadata_only,
                cached=cached,
            )
        return grouped(found)


def _taker(
    track: Track, known: Known, scopes: Container[Scope]
) -> Callable[[bytes], tuple[list[Taken], str]]:
    """Finds items in a page, or that they are known."""

    def take(content: bytes) -> tuple[list[Taken], str]:
        page = items.Page(content)
        found: list[Taken] = []
        for index, head in enumerate(page.heads):
            scope = track.scope(head)
            if scope in scopes:
                same = known(scope, head.name, head.resource_version)
                found.append((scope, same or page.item(index)))
        return found, page.token

    return take


def grouped(found: Iterable[Taken]) -> dict[Scope, Items]:
    """Objects by release."""
    grouped: dict[Scope, list[Item]] = {}
    for scope, each in found:
        grouped.setdefault(scope, []).append(each)
    return {scope: tuple(each) for scope, each in grouped.items()}


def _by_namespace(
    scopes: Iterable[Scope],
) -> Iterable[tuple[str, list[Scope]]]:
    grouped = itertools.groupby(sorted(scopes), key=lambda each: each[0])
    return [(namespace, list(mine)) for namespace, mine in grouped]
