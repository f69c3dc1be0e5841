# SPDX-License-Identifier: Apache-2.0

"""Ask for faults that CAPO does not report.

The driver asks OpenStack with the cluster's own application credential, and
Kubernetes for events. A fault of a server or a volume stays as it is while the
object has the same state: the driver asks once. The service may write the
fault later than the state, so an answer without a fault counts for a minute.
Each poll asks anew about a load balancer or a port that does not exist yet,
and for events of a network that is being deleted, and of servers whose
deletion takes longer than a minute. The needs of a server about which CAPO is
mute are asked for once a minute: image, flavor and server group, and before
these, whether CAPO trusts Keystone.

Source: CAPO 0.11 to 0.14, ``reconcileNormal`` and what it calls.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
import dataclasses
import functools
import re
import ssl
import time
from typing import Any
import urllib.request

from magnum_capi_helm import runtime
from magnum_capi_helm.cloud import credential_secret
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import location
from magnum_capi_helm.kubernetes import responses
from magnum_capi_helm.model import errors
from magnum_capi_helm.status import conditions
from magnum_capi_helm.status import messages
from magnum_capi_helm.status import view

# Services that know the faults.
_COMPUTE = "Nova"
_VOLUMES = "Cinder"
_BALANCERS = "Octavia"
#: Kubernetes' events of an object, by CAPO.
_EVENTS = "Kubernetes"

#: All services that a new server needs.
_NEEDS = "OpenStack"

_SERVER = "OpenStackServer"
_ERROR = "ERROR"
_DELETE_FAILED = "InstanceDeleteFailed"
_FAILED_VOLUME = re.compile(r"volume (\S+) is in error state")

#: Seconds for one request to a service, such as Keystone's list of versions.
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
    _COMPUTE: "compute",
    _VOLUMES: "block-storage",
    _BALANCERS: "load-balancer",
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
    keys.sort(key=lambda key: key.service == _NEEDS)
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
    waits = is_deletion or question.service == _NEEDS
    return waits and time.time() - since < _MUTE


def with_faults(
    rt: runtime.Runtime, scope: location.Scope, objects: view.View
) -> view.View:
    """Return the view with the faults in the cache. No request is sent."""
    cached = rt.faults.get(scope, {})
    faults: dict[str, view.Fault] = {}
    for obj, question in _questions(objects):
        service, (_, fault) = question.service, cached.get(question, _NEVER)
        if fault.unread and service != _EVENTS:
            words = f"{service} could not be asked: {fault.unread}"
            faults[view.name_of(obj)] = view.Fault(unread=words)
        # A fault from before the deletion of an object does not hinder it.
        is_old = 0 < fault.since < view.deleted_at(obj)
        if fault.message and not is_old:
            faults.setdefault(view.name_of(obj), fault)
        elif service == _NEEDS and question in cached:
            faults.setdefault(view.name_of(obj), _SILENT)
    return dataclasses.replace(objects, faults=faults)


def _questions(
    objects: view.View,
) -> Iterator[tuple[view.Object, runtime.Question]]:
    """Yield objects, each with its questions, the best first."""
    if network := objects.infrastructure:
        yield from ((network, e) for e in about_network(network))
    for each in (*objects.servers, *objects.mute_machines()):
        yield from ((each, e) for e in about_server(each))


def are_settled(rt: runtime.Runtime, scope: location.Scope) -> bool:
    """Return whether no other answer can come while objects stay the same."""
    return all(
        fault.message and _is_lasting(key)
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
        if key.service == _EVENTS:
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
    from magnum_capi_helm.cloud import sessions

    if key.service == _NEEDS:
        secret = credential_secret.read(rt.management, scope)
        if problem := untrusted(secret):
            return view.Fault(problem)
    session = rt.fault_sessions.get(scope)
    if session is None:
        session = sessions.cluster_session(rt.management, scope, _TIMEOUT)
    if session is None:
        if key.service == _NEEDS:
            return view.Fault(f"Authentication failed: {_REFUSED}")
        return view.Fault(unread=_REFUSED)
    rt.fault_sessions[scope] = session
    if key.service == _NEEDS:
        place = scope[0], key.id
        server = rt.management.get(
            kinds.OPENSTACK_SERVER, *place
        ) or rt.management.get(kinds.OPENSTACK_MACHINE, *place)
        return view.Fault(missing(session, view.spec_of(server)))
    api = sessions.proxy(session, _PROXIES[key.service])
    if key.service == _VOLUMES:
        with sessions.asking(f"messages about volume {key.id}"):
            return _volume_fault(api, key.id)
    if key.service == _BALANCERS:
        with sessions.asking(f"load balancer {key.id}"):
            return _balancer_fault(api, key.id)
    server = sessions.find(lambda: api.get_server(key.id), f"server {key.id}")
    fault = (server and server.fault) or {}
    since = view.timestamp(fault.get("created"))
    return view.Fault(str(fault.get("message") or ""), since)


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
    if key.service == _NEEDS:
        return now - asked >= _AGAIN
    if not _is_lasting(key):
        return True
    return not fault.message and now - asked >= _AGAIN


# Questions


def _is_lasting(question: runtime.Question) -> bool:
    """Return whether a fault stays as it is in the state of its object."""
    return question.service in (_COMPUTE, _VOLUMES)


def about_server(server: view.Object) -> list[runtime.Question]:
    """Return questions about an OpenStackServer, the best first.

    CAPO writes no message for a server in ERROR, nor why Cinder could not make
    a volume. When Neutron refuses a port, or its deletion, it writes no
    condition at all, only an event. It does not write down that a server went
    into ERROR while it is being deleted: then its deletion has failed.

    CAPO 0.11 to 0.14 is mute if Keystone refuses its login, and if an image,
    a flavor or a server group does not exist (``reconcileNormal`` in
    openstackserver_controller.go: the error comes before any condition).
    """
    status, name = view.status_of(server), view.name_of(server)
    state = str(status.get("instanceState") or "")
    instance = str(status.get("instanceID") or "")
    ready = conditions.merged(server)["InstanceReady"]
    if ready.reason == _DELETE_FAILED:
        state = _DELETE_FAILED
    if instance and state in (_ERROR, _DELETE_FAILED):
        return [runtime.Question(_COMPUTE, instance, state)]
    events = runtime.Question(_EVENTS, name, _SERVER)
    if view.deleting(server):
        return [events]
    if instance:
        return []
    if not ready:
        return [events, events._replace(service=_NEEDS)]
    volume = _FAILED_VOLUME.search(ready.message)
    return [runtime.Question(_VOLUMES, volume[1])] if volume else []


def about_network(cluster: view.Object) -> list[runtime.Question]:
    """Return the question about an OpenStackCluster, if there is one.

    CAPO up to 0.13 tells by events alone why it can't delete a network, and
    every CAPO does so of a step that it tries again (``reconcileDelete`` and
    ``handleUpdateOSCError`` in openstackcluster_controller.go). It waits more
    than four minutes for a new load balancer, also if that is in ERROR,
    before it writes anything (``waitForLoadBalancerActive`` in
    loadbalancer.go).
    """
    name = view.name_of(cluster)
    balancer = view.api_server_of(cluster).get("managedLoadBalancer") or {}
    if view.deleting(cluster):
        return [runtime.Question(_EVENTS, name, "OpenStackCluster")]
    if view.was_made(cluster) or not balancer.get("enabled"):
        return []
    # The chart names the OpenStackCluster as the Cluster. The name of its load
    # balancer is that of getLoadBalancerName.
    resource = f"{view.metadata_of(cluster).get('namespace', '')}-{name}"
    balancer_name = f"k8s-clusterapi-cluster-{resource}-kubeapi"
    return [runtime.Question(_BALANCERS, balancer_name)]


# Needs of a new server


def untrusted(secret: view.Object | None) -> str:
    """Return why CAPO does not trust Keystone with a cluster's CAs, or "".

    The words are those of Go's ``crypto/x509``, which CAPO writes to its log
    alone. It trusts the CAs of the Secret, if there are any, and no others
    (``NewProviderClient`` in ``pkg/scope/provider.go``).

    :param secret: with the cluster's credential
    :raises ManagementError: the Secret is damaged
    """
    content = credential_secret.clouds(secret)
    if secret is None or content is None:
        return ""
    cloud = content["clouds"]["openstack"]
    url = str(cloud["auth"].get("auth_url", ""))
    cas = credential_secret.ca_bundle(secret).strip()
    verifies = cloud.get("verify") is not False
    if not (cas and verifies and url.startswith("https://")):
        return ""
    try:
        trusted = ssl.create_default_context(cadata=cas)
        # The scheme was checked.
        urllib.request.urlopen(  # noqa: S310 # nosec B310
            url, timeout=_TIMEOUT, context=trusted
        ).close()
    except (OSError, ValueError) as error:
        problem = errors.certificate_problem(error)
        if "expired" in problem:
            return "x509: certificate has expired or is not yet valid"
        if problem:
            return "x509: certificate signed by unknown authority"
    return ""


def missing(session: Any, spec: view.Object) -> str:
    """Return the first need of a new server that is not there, or nothing.

    The words are CAPO's own, where it has any.

    :param spec: of the OpenStackServer
    """
    from magnum_capi_helm.cloud import sessions

    compute = sessions.proxy(session, "compute")
    image = sessions.proxy(session, "image")
    group = _identity(spec.get("serverGroup") or {})
    needs = (
        (
            _identity(spec.get("image") or {}),
            image.find_image,
            "No images were found with the given image filter: name=",
        ),
        (
            spec.get("flavor") or spec.get("flavorID"),
            compute.find_flavor,
            "No flavors were found: name=",
        ),
        (group, compute.find_server_group, "no such server group: "),
    )
    for name, find, text in needs:
        with sessions.asking(f"{text}{name}"):
            if name and find(name) is None:
                return f"{text}{name}"
    return ""


def _identity(reference: view.Object) -> str:
    """Return the ID or the name in a reference to an OpenStack resource."""
    by_name = (reference.get("filter") or {}).get("name")
    return str(reference.get("id") or by_name or "")
