# SPDX-License-Identifier: Apache-2.0

"""Why Nova put a server into ERROR.

The driver asks Nova with the cluster's own application credential, once for
each server and state: a fault does not change while the server stays as it
is. Nova may write the fault later than the state, so an answer without a
fault counts for a minute.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
import dataclasses
import time
from typing import Any, TypeAlias

from magnum_capi_helm.management import client
from magnum_capi_helm.management import snapshot
from magnum_capi_helm.model import errors
from magnum_capi_helm.status import conditions
from magnum_capi_helm.status import plain_words
from magnum_capi_helm.status import view

#: Seconds for one request to Keystone or Nova.
_TIMEOUT = 3.0
#: Seconds after which one call asks for no further server.
_DEADLINE = 10.0
#: Seconds until Nova is asked again after it named no fault.
_AGAIN = 60.0
_ERROR = "ERROR"
_DELETE_FAILED = "InstanceDeleteFailed"
_REFUSED = "Keystone refuses the cluster's application credential"
_LATE = "it takes too long to answer"

#: Id and state of a server.
_Key: TypeAlias = tuple[str, str]
_Known: TypeAlias = dict[_Key, tuple[float, view.Fault]]


class ServerFaults:
    """The faults of servers, as Nova told them to this process.

    :param clock: monotonic seconds
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        # Replaced as a whole: threads that read it need no lock.
        self._known: dict[snapshot.Scope, _Known] = {}

    def ask(
        self,
        management: client.Client,
        scope: snapshot.Scope,
        servers: Iterable[view.Object],
    ) -> None:
        """Ask Nova about those servers in ERROR that it was not asked about.

        Without a server in ERROR there is no request. Nothing is raised.

        :param servers: OpenStackServers of one cluster
        """
        keys = [key for each in servers if (key := _key(each))]
        if not keys and scope not in self._known:
            return
        now = self._clock()
        before = self._known.get(scope, {})
        known = {key: before[key] for key in keys if key in before}
        due = [
            key for key in keys if key not in known or _is_due(known[key], now)
        ]
        if due:
            known |= self._read(management, scope, due)
        if known:
            self._known[scope] = known
        else:
            self._known.pop(scope, None)

    def added(self, scope: snapshot.Scope, seen: view.View) -> view.View:
        """Return the view with the answers of Nova. No request is sent."""
        known = self._known.get(scope, {})
        found = [key for each in seen.servers if (key := _key(each)) in known]
        faults = {key[0]: known[key][1] for key in found if key}
        return dataclasses.replace(seen, faults=faults)

    def forget(self, scope: snapshot.Scope) -> None:
        """Drop what is known of a release that is gone."""
        self._known.pop(scope, None)

    def _read(
        self,
        management: client.Client,
        scope: snapshot.Scope,
        keys: Iterable[_Key],
    ) -> _Known:
        """Ask Nova until the deadline.

        Keep the reason where it did not answer.

        :returns: the faults, and when Nova was asked (monotonic seconds)
        """
        end = self._clock() + _DEADLINE
        found: _Known = {}
        nova, unread = _nova(management, scope)
        for key in keys:
            fault = view.Fault(unread=unread)
            if not unread:
                fault = _fault(nova, key[0])
                unread = fault.unread
            if self._clock() >= end:
                unread = unread or _LATE
            found[key] = (self._clock(), fault)
        return found


def _nova(management: client.Client, scope: snapshot.Scope) -> tuple[Any, str]:
    """Nova, as the cluster sees it, or why it can't be asked."""
    # openstacksdk takes long to import, and most processes need none.
    from magnum_capi_helm.cloud import credential_session
    from magnum_capi_helm.cloud import sessions

    try:
        session = credential_session.session(management, scope, _TIMEOUT)
        if session is None:
            return None, _REFUSED
        return sessions.proxy(session, "compute", "nova", "compute"), ""
    except errors.CapiHelmError as error:
        return None, plain_words.plain(str(error))


def _fault(nova: Any, server: str) -> view.Fault:
    """The ``fault`` that ``GET /servers/{id}`` shows of servers in ERROR."""
    from magnum_capi_helm.cloud import sessions

    try:
        with sessions.asking(f"server {server}"):
            found = nova.get_server(server).fault or {}
    except errors.CloudError as error:
        if sessions.missing(error):
            return view.Fault()
        return view.Fault(unread=plain_words.plain(str(error)))
    return view.Fault(
        message=str(found.get("message") or ""),
        since=conditions.moment(found.get("created")),
    )


def _is_due(known: tuple[float, view.Fault], now: float) -> bool:
    asked, fault = known
    return not fault.message and now - asked >= _AGAIN


def _key(server: view.Object) -> _Key | None:
    """Id and state of a server that Nova is to be asked about; else None.

    CAPO does not write down that a server went into ERROR while it is being
    deleted: then its deletion has failed.
    """
    status = view.status_of(server)
    state = str(status.get("instanceState") or "")
    instance = str(status.get("instanceID") or "")
    ready = conditions.of(server).get("InstanceReady")
    if ready is not None and ready.reason == _DELETE_FAILED:
        state = _DELETE_FAILED
    if not instance or state not in (_ERROR, _DELETE_FAILED):
        return None
    return instance, state
