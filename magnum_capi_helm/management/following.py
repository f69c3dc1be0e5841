# SPDX-License-Identifier: Apache-2.0

"""Following all objects of a kind: one LIST, and then what changed.

Reading a thousand clusters takes an API server seconds, and next to nothing
of it is new. So a LIST is gone on with by watches that the server ends after
a second: each tells what changed since the one before. Nothing is held open
between two looks, so nothing has to be kept alive, and nobody has to notice
that it died: what can't be gone on with is listed anew.

An event that comes too late for its second comes in the next one.
"""

from __future__ import annotations

from collections.abc import Callable
import random
import time

from oslo_log import log

from magnum_capi_helm.management import answers
from magnum_capi_helm.management import client
from magnum_capi_helm.management import items
from magnum_capi_helm.management import listing

LOG = log.getLogger(__name__)

#: Seconds until everything is listed anew all the same.
_BELIEVED = 1800.0


class Follower:
    """The objects of one track, of all releases. Not for two threads.

    :param clock: monotonic seconds
    :param spread: a number from 0 to 1
    """

    def __init__(
        self,
        management: client.Client,
        track: listing.Track,
        clock: Callable[[], float] = time.monotonic,
        spread: Callable[[], float] = random.random,
    ) -> None:
        self._management = management
        self._track = track
        self._clock = clock
        self._spread = spread
        self._until = 0.0
        self._version = ""
        self._refused = False
        self._found: dict[listing.Scope, listing.Items] = {}

    def look(self) -> dict[listing.Scope, listing.Items]:
        """The objects, by release; not to be changed."""
        if not self._gone_on():
            self._start()
        return self._found

    @property
    def listed(self) -> bool:
        """Whether the next look takes a LIST."""
        return not self._version or self._clock() >= self._until

    def _gone_on(self) -> bool:
        """Whether it could be gone on with."""
        if self.listed:
            return False
        try:
            self._go_on()
        except answers.ExpiredError as error:
            LOG.debug("%s: listed anew: %s", self._track.kind.name, error)
            return False
        except answers.ForbiddenError as error:
            if not self._refused:
                LOG.warning("Everything is listed each time: %s", error)
            self._refused = True
            return False
        return True

    def _start(self) -> None:
        version = ""

        def take(content: bytes) -> tuple[list[listing.Taken], str]:
            nonlocal version
            page = items.Page(content)
            version = page.version
            return self._new(page), page.token

        self._version = ""
        taken = self._management.scan(
            self._track.kind,
            None,
            self._track.selector(),
            take,
            metadata_only=self._track.metadata_only,
        )
        self._found = listing.grouped(taken)
        self._version = version
        # Not those of all kinds, and of all conductors, at the same time.
        self._until = self._clock() + _BELIEVED * (0.5 + self._spread() / 2)

    def _new(self, page: items.Page) -> list[listing.Taken]:
        """What a page has; what is known is not kept once more."""
        found: list[listing.Taken] = []
        for index, head in enumerate(page.heads):
            scope = self._track.scope(head)
            same = self._known(scope, head)
            found.append((scope, same or page.item(index)))
        return found

    def _known(
        self, scope: listing.Scope, head: items.Head
    ) -> items.Item | None:
        for each in self._found.get(scope, ()):
            if (each.name, each.version) == (head.name, head.resource_version):
                return each
        return None

    def _go_on(self) -> None:
        for event in self._management.watch(
            self._track.kind,
            self._track.selector(),
            self._version,
            metadata_only=self._track.metadata_only,
        ):
            self._apply(event)

    def _apply(self, event: items.Event) -> None:
        head = event.head
        if event.type != items.BOOKMARK:
            scope = self._track.scope(head)
            others = tuple(
                each
                for each in self._found.get(scope, ())
                if each.name != head.name
            )
            if event.type != items.DELETED:
                others += (event.item(),)
            if others:
                self._found[scope] = others
            else:
                self._found.pop(scope, None)
        self._version = head.resource_version
