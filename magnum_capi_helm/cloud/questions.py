# SPDX-License-Identifier: Apache-2.0

"""Faults that CAPO does not report, and the service that knows them.

Source: CAPO 0.11 to 0.14, ``reconcileNormal`` and what it calls.
"""

from __future__ import annotations

import re

from magnum_capi_helm import runtime
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


def is_lasting(question: runtime.Question) -> bool:
    """Return whether a fault stays as it is in the state of its object."""
    return question.service in (COMPUTE, VOLUMES)


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
        return [runtime.Question(COMPUTE, instance, state)]
    events = runtime.Question(EVENTS, name, _SERVER)
    if view.deleting(server):
        return [events]
    if instance:
        return []
    if not ready:
        return [events, events._replace(service=NEEDS)]
    volume = _FAILED_VOLUME.search(ready.message)
    return [runtime.Question(VOLUMES, volume[1])] if volume else []


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
        return [runtime.Question(EVENTS, name, "OpenStackCluster")]
    if view.was_made(cluster) or not balancer.get("enabled"):
        return []
    # The chart names the OpenStackCluster as the Cluster. The name of its load
    # balancer is that of getLoadBalancerName.
    resource = f"{view.metadata_of(cluster).get('namespace', '')}-{name}"
    balancer_name = f"k8s-clusterapi-cluster-{resource}-kubeapi"
    return [runtime.Question(BALANCERS, balancer_name)]
