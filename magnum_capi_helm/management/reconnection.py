# SPDX-License-Identifier: Apache-2.0

"""A connection that is made anew once what it was made of is another.

A token, a certificate or a key in a kubeconfig is replaced before the old one
ends, and the old one is revoked. helm reads the kubeconfig each time; who
reads it once is refused from then on.
"""

from __future__ import annotations

from collections.abc import Callable
import os
import threading
from typing import Any, Protocol, TypeAlias

from oslo_log import log
import requests

from magnum_capi_helm.management import endings
from magnum_capi_helm.model import errors

LOG = log.getLogger(__name__)

#: What is another once a file was written, replaced or let be read; None
#: where there is no such file.
_State: TypeAlias = "tuple[int, int, int, int] | None"


class Readable(Protocol):
    """What is made of files: :class:`connection.Connection`.

    :param files: that it was made of, beside the kubeconfig
    """

    server: str
    files: tuple[str, ...]

    def request(
        self, method: str, version: str, url: str = "", **options: Any
    ) -> Any: ...

    def ends(self) -> tuple[endings.Ending, ...]: ...


class Reconnection:
    """The connection that the files amount to at this moment.

    :param connect: makes it
    :param path: kubeconfig
    :raises NotConfigured: the kubeconfig can't be used
    """

    def __init__(self, connect: Callable[[], Readable], path: str) -> None:
        self._connect = connect
        self._path = path
        self._lock = threading.Lock()
        self._refused: tuple[_State, ...] = ()
        self._make()

    def ends(self) -> tuple[endings.Ending, ...]:
        """What of the kubeconfig ends, and when. Asks nobody."""
        return self._latest().ends()

    def request(
        self, method: str, version: str, url: str = "", **options: Any
    ) -> Any:
        """One request, made again where another kubeconfig may be let in.

        Who is not let in has written nothing: that may be repeated.

        :raises requests.RequestException: no answer in time
        """
        used = self._latest()
        answer = used.request(method, version, url, **options)
        if answer.status_code != requests.codes.unauthorized:
            return answer
        latest = self._latest(insist=True)
        if latest is used:
            return answer
        return latest.request(method, version, url, **options)

    def _latest(self, *, insist: bool = False) -> Readable:
        """The connection to use.

        :param insist: try files again that could not be used before
        """
        with self._lock:
            now = self._states()
            if now != self._made_of and (insist or now != self._refused):
                self._make_anew(now)
            return self._connection

    def _make_anew(self, now: tuple[_State, ...]) -> None:
        try:
            self._make()
        except (errors.NotConfigured, OSError) as error:
            # Half written, perhaps. What there is may do until it is whole.
            if now != self._refused:
                LOG.warning("Still used as it was read before: %s", error)
            self._refused = now
        else:
            self._refused = ()
            LOG.info("The kubeconfig %s was read again", self._path)

    def _make(self) -> None:
        # Before it is read: what is written meanwhile is another one.
        kubeconfig = _state(self._path)
        self._connection = self._connect()
        self.server = self._connection.server
        # Certificates and keys are read with the first request.
        rest = (_state(each) for each in self._connection.files)
        self._made_of = (kubeconfig, *rest)

    def _states(self) -> tuple[_State, ...]:
        return tuple(
            _state(each) for each in (self._path, *self._connection.files)
        )


def _state(path: str) -> _State:
    try:
        found = os.stat(path)
    except OSError:
        return None
    # The change of a mode, too, is a change: it can be read by now.
    return (
        found.st_mtime_ns,
        found.st_ctime_ns,
        found.st_ino,
        found.st_size,
    )
