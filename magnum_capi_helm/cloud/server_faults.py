# SPDX-License-Identifier: Apache-2.0

"""Ask Nova why it put servers into ERROR.

The driver asks Nova with the cluster's own application credential, once for
each server and state: a fault does not change while the server stays as it
is. Nova may write the fault later than the state, so an answer without a
fault counts for a minute.
"""

from __future__ import annotations

from collections.abc import Iterable
import dataclasses
from typing import Any, TypeAlias

from magnum_capi_helm import runtime
from magnum_capi_helm.kubernetes import client
from magnum_capi_helm.kubernetes import location
from magnum_capi_helm.model import errors
from magnum_capi_helm.status import conditions
from magnum_capi_helm.status import messages
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


def ask(
    rt: runtime.Runtime,
    scope: location.Scope,
    servers: Iterable[view.Object],
) -> None:
    """Ask Nova for faults that are not in the cache of the runtime.

    Without a server in ERROR no request is sent. Nothing is raised.

    :param servers: OpenStackServers of one cluster
    """
    cache = rt.server_faults
    keys = [key for each in servers if (key := _key(each))]
    if not keys and scope not in cache:
        return
    now = rt.clock()
    before = cache.get(scope, {})
    faults = {key: before[key] for key in keys if key in before}
    due = [
        key for key in keys if key not in faults or _is_due(faults[key], now)
    ]
    if due:
        faults |= _read(rt, scope, due)
    if faults:
        cache[scope] = faults
    else:
        cache.pop(scope, None)


def added(
    rt: runtime.Runtime, scope: location.Scope, objects: view.View
) -> view.View:
    """Return the view with the faults in the cache. No request is sent."""
    cached = rt.server_faults.get(scope, {})
    keys = [key for each in objects.servers if (key := _key(each)) in cached]
    faults = {key[0]: cached[key][1] for key in keys if key}
    return dataclasses.replace(objects, faults=faults)


def _read(
    rt: runtime.Runtime, scope: location.Scope, keys: Iterable[_Key]
) -> runtime.Faults:
    """Ask Nova until the deadline; keep the reason if it does not answer.

    :returns: the faults, and when Nova was asked (monotonic seconds)
    """
    clock = rt.clock
    end = clock() + _DEADLINE
    faults: runtime.Faults = {}
    nova, unread = _nova(rt.management, scope)
    for key in keys:
        fault = view.Fault(unread=unread) if unread else _fault(nova, key[0])
        unread = fault.unread or (_LATE if clock() >= end else "")
        faults[key] = (clock(), fault)
    return faults


def _nova(management: client.Client, scope: location.Scope) -> tuple[Any, str]:
    """Return Nova for the cluster's user, or why it can't be asked."""
    # openstacksdk takes long to import, and most processes need none.
    from magnum_capi_helm.cloud import sessions

    try:
        session = sessions.cluster_session(management, scope, _TIMEOUT)
        if session is None:
            return None, _REFUSED
        return sessions.proxy(session, "compute"), ""
    except errors.CapiHelmError as error:
        return None, messages.plain(str(error))


def _fault(nova: Any, server: str) -> view.Fault:
    """Return the ``fault`` that Nova shows of a server in ERROR."""
    from magnum_capi_helm.cloud import sessions

    try:
        answer = sessions.find(
            lambda: nova.get_server(server), f"server {server}"
        )
    except errors.CloudError as error:
        return view.Fault(unread=messages.plain(str(error)))
    fault = (answer and answer.fault) or {}
    return view.Fault(
        message=str(fault.get("message") or ""),
        since=view.timestamp(fault.get("created")),
    )


def _is_due(cached: tuple[float, view.Fault], now: float) -> bool:
    asked, fault = cached
    return not fault.message and now - asked >= _AGAIN


def _key(server: view.Object) -> _Key | None:
    """Return id and state of a server whose fault Nova may know, else None.

    CAPO does not write down that a server went into ERROR while it is being
    deleted: then its deletion has failed.
    """
    status = view.status_of(server)
    state = str(status.get("instanceState") or "")
    instance = str(status.get("instanceID") or "")
    ready = conditions.preferred(server).get("InstanceReady")
    if ready is not None and ready.reason == _DELETE_FAILED:
        state = _DELETE_FAILED
    if not instance or state not in (_ERROR, _DELETE_FAILED):
        return None
    return instance, state
