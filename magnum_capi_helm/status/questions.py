# SPDX-License-Identifier: Apache-2.0

"""Faults that CAPO does not report, and the service that knows them.

Source: CAPO 0.11 to 0.14, ``reconcileNormal`` and what it calls.
"""

from __future__ import annotations

import re

from magnum_capi_helm.status import conditions
from magnum_capi_helm.status import view

COMPUTE = "Nova"
VOLUMES = "Cinder"
BALANCERS = "Octavia"
#: Kubernetes' events of an object, by CAPO.
EVENTS = "Kubernetes"

#: All services that a new server needs.
NEEDS = "OpenStack"

_SERVER = "OpenStackServer"
_ERROR = "ERROR"
_DELETE_FAILED = "InstanceDeleteFailed"
_FAILED_VOLUME = re.compile(r"volume (\S+) is in error state")


def is_lasting(question: view.Question) -> bool:
    """Return whether a fault stays as it is in the state of its object."""
    return question.service in (COMPUTE, VOLUMES)


def is_event(question: view.Question | None) -> bool:
    """Return whether Kubernetes' events have the answer."""
    return question is not None and question.service == EVENTS


def about_server(server: view.Object | None) -> view.Question | None:
    """Return the question about an OpenStackServer, or None.

    CAPO writes no message for a server in ERROR, nor why Cinder could not make
    a volume. When Neutron refuses a port, or its deletion, it writes no
    condition at all, only an event. It does not write down that a server went
    into ERROR while it is being deleted: then its deletion has failed.
    """
    if server is None:
        return None
    status = view.status_of(server)
    state = str(status.get("instanceState") or "")
    instance = str(status.get("instanceID") or "")
    ready = conditions.preferred(server).get("InstanceReady")
    if ready is not None and ready.reason == _DELETE_FAILED:
        state = _DELETE_FAILED
    if instance and state in (_ERROR, _DELETE_FAILED):
        return view.Question(COMPUTE, instance, state)
    if view.deleting(server) or (ready is None and not instance):
        return _about_events(server, _SERVER)
    if instance or ready is None:
        return None
    volume = _FAILED_VOLUME.search(ready.message)
    return view.Question(VOLUMES, volume[1]) if volume else None


def about_needs(server: view.Object | None) -> view.Question | None:
    """Return the question about the needs of an OpenStackServer, or None.

    CAPO 0.11 to 0.14 is mute if Keystone refuses its login, and if an image,
    a flavor or a server group does not exist (``reconcileNormal`` in
    openstackserver_controller.go: the error comes before any condition).
    """
    question = about_server(server)
    if question is None or not is_event(question) or view.deleting(server):
        return None
    return question._replace(service=NEEDS)


def about_network(cluster: view.Object | None) -> view.Question | None:
    """Return the question about an OpenStackCluster, or None.

    CAPO up to 0.13 tells by events alone why it can't delete a network, and
    every CAPO does so of a step that it tries again (``reconcileDelete`` and
    ``handleUpdateOSCError`` in openstackcluster_controller.go). It waits more
    than four minutes for a new load balancer, also if that is in ERROR,
    before it writes anything (``waitForLoadBalancerActive`` in
    loadbalancer.go).
    """
    balancer = view.api_server_of(cluster).get("managedLoadBalancer") or {}
    if view.deleting(cluster):
        return _about_events(cluster, "OpenStackCluster")
    if view.was_made(cluster) or not balancer.get("enabled"):
        return None
    # The chart names the OpenStackCluster as the Cluster. The name of its load
    # balancer is that of getLoadBalancerName.
    namespace = view.metadata_of(cluster).get("namespace", "")
    name = f"{namespace}-{view.name_of(cluster)}"
    return view.Question(BALANCERS, f"k8s-clusterapi-cluster-{name}-kubeapi")


def _about_events(obj: view.Object | None, kind: str) -> view.Question:
    return view.Question(EVENTS, view.name_of(obj), kind)
