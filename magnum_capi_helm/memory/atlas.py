# SPDX-License-Identifier: Apache-2.0

"""What a process has found out of several management clusters.

Nothing in it is a record: it saves requests and reads of the database.
"""

from __future__ import annotations

from collections.abc import Callable
import time

from magnum_capi_helm.model import errors


class Atlas:
    """What one process knows.

    :param clock: monotonic seconds
    """

    #: Clusters known at most; then it starts anew.
    _MOST = 100_000
    #: Seconds for which one that did not answer a question is asked none.
    _PAUSE = 5.0

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        #: Name -> UID of its kube-system.
        self.identities: dict[str, str] = {}
        #: Identities of those that new clusters may be made on.
        self.familiar: set[str] = set()
        self._places: dict[str, str] = {}
        self._silent: dict[str, tuple[float, errors.CapiHelmError]] = {}

    def place(self, uuid: str) -> str | None:
        """The name of the management cluster that a cluster is on."""
        return self._places.get(uuid)

    def settle(self, uuid: str, name: str) -> None:
        """That cluster is on that management cluster."""
        if len(self._places) >= self._MOST:
            self._places.clear()
        self._places[uuid] = name

    def forget(self, uuid: str) -> None:
        """That cluster is gone."""
        self._places.pop(uuid, None)

    def identify(self, name: str, identity: str) -> None:
        """A management cluster said who it is; it may be another by now."""
        known = self.identities.get(name)
        self.identities[name] = identity
        if known not in (None, identity):
            self._places.clear()

    def silence(self, name: str) -> errors.CapiHelmError | None:
        """Why a management cluster need not be asked now."""
        until, error = self._silent.get(name, (0.0, None))
        return error if self.clock() < until else None

    def silent(self, name: str, error: errors.CapiHelmError) -> None:
        """A management cluster did not answer."""
        self._silent[name] = (self.clock() + self._PAUSE, error)
