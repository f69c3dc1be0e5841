# SPDX-License-Identifier: Apache-2.0

"""Ask for faults that CAPO does not report.

The driver asks OpenStack with the cluster's own application credential, and
Kubernetes for events. A fault of a server or a volume stays as it is while the
object has the same state: the driver asks once. The service may write the
fault later than the state, so an answer without a fault counts for a minute.
Each poll asks anew about a load balancer or a port that does not exist yet,
and for events of a network that is being deleted, and of servers whose
deletion takes longer than a minute. The needs of a server about which CAPO is
mute are asked for once a minute.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
import dataclasses
import functools
import time
from typing import Any

from magnum_capi_helm import runtime
from magnum_capi_helm.cloud import credential_secret
from magnum_capi_helm.cloud import questions
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import location
from magnum_capi_helm.kubernetes import responses
from magnum_capi_helm.model import errors
from magnum_capi_helm.status import messages
from magnum_capi_helm.status import view

#: Seconds for one request to a service.
_TIMEOUT = 3.0
#: Seconds after which one call asks no further question.
_DEADLINE = 10.0
#: Seconds for which CAPO may be mute about a new server.
_MUTE = 60.0
#: Seconds until a service is asked again after it named no fault.
_AGAIN = 60.0
_REFUSED = "Keystone refuses the cluster's application credential"
_LATE = "it takes too long to answer"
_WARNING = "Warning"
#: The first version of Cinder that selects messages by resource.
_MESSAGES = "3.5"
#: A question that was not asked yet: when, and the answer.
_NEVER = 0.0, view.Fault()
_SILENT = view.Fault(
    unread="Cluster API's OpenStack provider does not say why: its log may, "
    "ask the operator"
)
#: Name of a service in sessions.
_PROXIES = {
    questions.COMPUTE: "compute",
    questions.VOLUMES: "block-storage",
    questions.BALANCERS: "load-balancer",
}


def refresh(
    rt: runtime.Runtime, scope: location.Scope, objects: view.View
) -> None:
    """Ask for faults that are not in the cache of the runtime.

    Without a question no request is sent. Nothing is raised.

    :param objects: of one cluster
    """
    keys = [
        question
        for obj, question in _questions(objects)
        if not _is_early(obj, question)
    ]
    keys.sort(key=lambda key: key.service == questions.NEEDS)
    if not keys:
        rt.faults.pop(scope, None)
        rt.fault_sessions.pop(scope, None)
        return
    now = rt.clock()
    before = rt.faults.get(scope, {})
    faults = {key: before[key] for key in keys if key in before}
    due = [
        key
        for key in keys
        if key not in faults or _is_due(key, faults[key], now)
    ]
    rt.faults[scope] = faults | _read(rt, scope, due)


def asked(
    rt: runtime.Runtime, scope: location.Scope, objects: view.View
) -> view.View:
    """Ask for faults as :func:`refresh`; return the view with all faults."""
    refresh(rt, scope, objects)
    return with_faults(rt, scope, objects)


def _is_early(obj: view.Object, question: runtime.Question) -> bool:
    """Return whether CAPO may still do what the question is about."""
    kind = kinds.OPENSTACK_SERVER.name
    is_deletion = view.deleting(obj) and question.state == kind
    since = view.deleted_at(obj) or view.created_at(obj)
    waits = is_deletion or question.service == questions.NEEDS
    return waits and time.time() - since < _MUTE


def with_faults(
    rt: runtime.Runtime, scope: location.Scope, objects: view.View
) -> view.View:
    """Return the view with the faults in the cache. No request is sent."""
    cached = rt.faults.get(scope, {})
    faults: dict[str, view.Fault] = {}
    for obj, question in _questions(objects):
        service, (_, fault) = question.service, cached.get(question, _NEVER)
        if fault.unread and service != questions.EVENTS:
            words = f"{service} could not be asked: {fault.unread}"
            faults[view.name_of(obj)] = view.Fault(unread=words)
        # A fault from before the deletion of an object does not hinder it.
        is_old = 0 < fault.since < view.deleted_at(obj)
        if fault.message and not is_old:
            faults.setdefault(view.name_of(obj), fault)
        elif service == questions.NEEDS and question in cached:
            faults.setdefault(view.name_of(obj), _SILENT)
    return dataclasses.replace(objects, faults=faults)


def _questions(
    objects: view.View,
) -> Iterator[tuple[view.Object, runtime.Question]]:
    """Yield objects, each with its questions, the best first."""
    if network := objects.infrastructure:
        yield from ((network, e) for e in questions.about_network(network))
    for each in (*objects.servers, *objects.mute_machines()):
        yield from ((each, e) for e in questions.about_server(each))


def are_settled(rt: runtime.Runtime, scope: location.Scope) -> bool:
    """Return whether no other answer can come while objects stay the same."""
    return all(
        fault.message and questions.is_lasting(key)
        for key, (_, fault) in rt.faults.get(scope, {}).items()
    )


def _read(
    rt: runtime.Runtime,
    scope: location.Scope,
    keys: Iterable[runtime.Question],
) -> runtime.Faults:
    """Ask until the deadline; keep the reason if a service does not answer.

    :returns: the faults, and when they were asked for (monotonic seconds)
    """
    end = rt.clock() + _DEADLINE
    faults: runtime.Faults = {}
    #: By service: why it is not asked any more.
    unread: dict[str, str] = {}
    for key in keys:
        why = unread.get(key.service, "")
        if rt.clock() >= end:
            why = why or _LATE
        fault = view.Fault(unread=why) if why else _fault(rt, scope, key)
        unread[key.service] = fault.unread
        faults[key] = (rt.clock(), fault)
    return faults


def _fault(
    rt: runtime.Runtime, scope: location.Scope, key: runtime.Question
) -> view.Fault:
    try:
        if key.service == questions.EVENTS:
            return _event(rt, scope, key)
        return _answer(rt, scope, key)
    except errors.CapiHelmError as error:
        # The credential may be another one by now.
        rt.fault_sessions.pop(scope, None)
        return view.Fault(unread=messages.plain(str(error)))


def _event(
    rt: runtime.Runtime, scope: location.Scope, key: runtime.Question
) -> view.Fault:
    """Return CAPO's last event about an object, if it warns."""
    management = rt.management
    try:
        events, _ = management.scan(
            kinds.EVENT,
            scope[0],
            "",
            functools.partial(responses.decoded, responses.decode_json),
            fields=f"involvedObject.kind={key.state},involvedObject.name={key.id}",
        )
    except responses.ForbiddenError as error:
        # Roles that were made for older versions of the driver.
        management.warn_once(
            "Events can't be read, so reasons of ports that Neutron refuses "
            "are missing: apply what `magnum-capi-helm management-cluster "
            "permissions` prints: %s",
            error,
        )
        return view.Fault()
    last: view.Object = max(events, key=_time, default={})
    if last.get("type") != _WARNING:
        return view.Fault()
    since = view.timestamp(_time(last))
    return view.Fault(str(last.get("message") or ""), since)


def _time(event: view.Object) -> str:
    """Return the time of an event, as Kubernetes writes it."""
    return str(
        event.get("lastTimestamp")
        or event.get("eventTime")
        or view.metadata_of(event).get("creationTimestamp")
    )


def _answer(
    rt: runtime.Runtime, scope: location.Scope, key: runtime.Question
) -> view.Fault:
    """Return the answer of a service of OpenStack."""
    # openstacksdk takes long to import, and most processes need none.
    from magnum_capi_helm.cloud import server_needs
    from magnum_capi_helm.cloud import sessions

    if key.service == questions.NEEDS:
        secret = credential_secret.read(rt.management, scope)
        if problem := server_needs.untrusted(secret):
            return view.Fault(problem)
    session = rt.fault_sessions.get(scope)
    if session is None:
        session = sessions.cluster_session(rt.management, scope, _TIMEOUT)
    if session is None:
        if key.service == questions.NEEDS:
            return view.Fault(f"Authentication failed: {_REFUSED}")
        return view.Fault(unread=_REFUSED)
    rt.fault_sessions[scope] = session
    if key.service == questions.NEEDS:
        place = scope[0], key.id
        server = rt.management.get(
            kinds.OPENSTACK_SERVER, *place
        ) or rt.management.get(kinds.OPENSTACK_MACHINE, *place)
        return view.Fault(server_needs.missing(session, view.spec_of(server)))
    api = sessions.proxy(session, _PROXIES[key.service])
    match key.service:
        case questions.COMPUTE:
            server = sessions.find(
                lambda: api.get_server(key.id), f"server {key.id}"
            )
            fault = (server and server.fault) or {}
            since = view.timestamp(fault.get("created"))
            return view.Fault(str(fault.get("message") or ""), since)
        case questions.VOLUMES:
            with sessions.asking(f"messages about volume {key.id}"):
                return _volume_fault(api, key.id)
        case _:
            with sessions.asking(f"load balancer {key.id}"):
                return _balancer_fault(api, key.id)


def _volume_fault(cinder: Any, volume: str) -> view.Fault:
    """Return Cinder's last message to the user about a volume."""
    # openstacksdk 4.0 does not know messages.
    answer = cinder.get(
        "/messages",
        params={"resource_uuid": volume},
        microversion=_MESSAGES,
        raise_exc=True,
    )
    messages = answer.json()["messages"]
    if not messages:
        return view.Fault()
    last = max(messages, key=lambda each: str(each["created_at"]))
    return view.Fault(
        f"volume {volume} could not be made: {last['user_message']}"
    )


def _balancer_fault(octavia: Any, name: str) -> view.Fault:
    """Return that a load balancer is in ERROR; Octavia says no more."""
    for each in octavia.load_balancers(name=name):
        if each.provisioning_status == "ERROR":
            return view.Fault(f"load balancer {name} is in state ERROR")
    return view.Fault()


def _is_due(
    key: runtime.Question, cached: tuple[float, view.Fault], now: float
) -> bool:
    asked, fault = cached
    if key.service == questions.NEEDS:
        return now - asked >= _AGAIN
    if not questions.is_lasting(key):
        return True
    return not fault.message and now - asked >= _AGAIN
