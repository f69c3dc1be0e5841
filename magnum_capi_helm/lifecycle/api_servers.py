# SPDX-License-Identifier: Apache-2.0

"""Lose no request to the API while a CA rotation replaces its servers.

CAPO adds a machine to the load balancer before it has an API server. Requests
wait until the health monitor notices that, after thirty seconds. So the driver
lets CAPO set a faster monitor.

Cluster API removes the etcd member of an old control plane machine. CAPO
removes the machine from the load balancer some seconds later. In between,
requests to this API server fail: two of 6,700 in a rotation with ten requests
a second, and none with the hook below.

From Kubernetes 1.31 on, KubeadmControlPlane waits for other hooks of the
Machine before it removes the member (``reconcilePreTerminateHook`` in
``controlplane/kubeadm/internal/controllers/controller.go`` of Cluster API
1.13.3). So the driver sets a hook on the machines that a CA rotation replaces.
Each poll disables, in Octavia, the members of those that are being deleted,
and then removes the hook.

Such a machine waits for Magnum's polls. So no other machine gets a hook. If
Octavia refuses, or is not ready after ten minutes, the driver removes the hook
all the same.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
import time
from typing import Any

from oslo_log import log

from magnum_capi_helm.cloud import sessions
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import versions
from magnum_capi_helm.operations import operation as operations
from magnum_capi_helm.status import view

LOG = log.getLogger(__name__)

_PREFIX = "pre-terminate.delete.hook.machine.cluster.x-k8s.io"
_HOOK = f"{_PREFIX}/magnum-api-server"
#: KubeadmControlPlane's own. An older one removes the etcd member before it
#: deletes the Machine.
_OF_CONTROL_PLANE = f"{_PREFIX}/kcp-cleanup"
_WAITS = versions.Range(since="1.31.0")
#: Seconds and counts; CAPO's own are in ``ensureMonitor``.
_MONITOR = {"delay": 2, "timeout": 1, "maxRetries": 2, "maxRetriesDown": 2}
#: Seconds for one request to a service.
_TIMEOUT = 10.0
#: Seconds that a machine waits for Octavia: amphorae that hang stay in
#: PENDING_UPDATE until an administrator acts.
_PATIENCE = 600.0


def prepare(
    operation: operations.Operation, machines: Iterable[view.Object]
) -> None:
    """Set the monitor, and let machines wait for the driver when they go.

    :param machines: of the control plane
    :raises ManagementError: monitor or hooks may be missing
    """
    management, scope = operation.runtime.management, operation.scope
    provider = management.get(kinds.OPENSTACK_CLUSTER, *scope)
    if not view.api_load_balancer_of(provider):
        return
    change: view.Object = {"monitor": _MONITOR}
    for key in _balancer_path(provider):
        change = {key: change}
    management.patch(kinds.OPENSTACK_CLUSTER, *scope, {"spec": change})
    for each in machines:
        waits = view.spec_of(each).get("version") in _WAITS
        if waits and _OF_CONTROL_PLANE in view.annotations_of(each):
            _annotate(operation, each, "")


def _balancer_path(provider: view.Object | None) -> tuple[str, ...]:
    """Return the keys of the load balancer in the spec, innermost first."""
    if "apiServer" in view.spec_of(provider):
        return "managedLoadBalancer", "apiServer"
    return ("apiServerLoadBalancer",)


def release(
    operation: operations.Operation, machines: Iterable[view.Object]
) -> None:
    """Let machines wait no more.

    :raises ManagementError: a hook may be left
    """
    for each in machines:
        if _HOOK in view.annotations_of(each):
            _annotate(operation, each, None)


def take_out(operation: operations.Operation, objects: view.View) -> bool:
    """Take the API servers of deleted machines out, then release them.

    :returns: whether a machine waits for the next poll
    :raises ManagementError: not now; the next poll tries again
    """
    waiting = [
        each
        for each in objects.machines
        if view.deleting(each) and _HOOK in view.annotations_of(each)
    ]
    if not waiting:
        return False
    try:
        operation.runtime.maintenance.check()
        out = _are_out(operation, waiting)
        since = min(map(view.deleted_at, waiting))
        if not out and time.time() - since > _PATIENCE:
            raise errors.CloudError(
                f"Octavia was not ready for {_PATIENCE:.0f} seconds"
            )
    except errors.Frozen:
        return True
    except errors.CloudError as error:
        LOG.warning(
            "cluster %s: requests to its API may fail while %s is deleted: %s",
            operation.cluster.uuid,
            ", ".join(map(view.name_of, waiting)),
            error,
        )
        out = True
    if out:
        release(operation, waiting)
    return not out


def _annotate(
    operation: operations.Operation, machine: view.Object, value: str | None
) -> None:
    operation.runtime.management.patch(
        kinds.MACHINE,
        operation.namespace,
        view.name_of(machine),
        {"metadata": {"annotations": {_HOOK: value}}},
    )


def _are_out(
    operation: operations.Operation, machines: Iterable[view.Object]
) -> bool:
    """Disable the members of machines; return whether that is done.

    :raises CloudError: Keystone or Octavia refused, or did not answer
    """
    management, scope = operation.runtime.management, operation.scope
    provider = management.get(kinds.OPENSTACK_CLUSTER, *scope)
    balancer = view.api_load_balancer_of(provider).get("id")
    if not balancer:
        return True
    session = sessions.cluster_session(management, scope, _TIMEOUT)
    if session is None:
        raise errors.CloudError(
            "Keystone refuses the cluster's application credential"
        )
    addresses = {
        each.get("address")
        for machine in machines
        for each in view.status_of(machine).get("addresses") or []
    }
    try:
        return _disable(session, balancer, addresses)
    except errors.CloudError as error:
        if sessions.busy(error):
            return False
        raise


def _disable(
    session: Any, balancer: str, addresses: Container[str | None]
) -> bool:
    """Disable the members at some addresses.

    All providers of Octavia know that, but not all know weights. CAPO changes
    no member that has the right address (``ReconcileLoadBalancerMember``).

    :returns: whether all are disabled, and the load balancer is ready
    :raises CloudError: Octavia refused, or the load balancer is in ERROR
    """
    api = sessions.proxy(session, "load-balancer")
    with sessions.asking("the load balancer of the Kubernetes API"):
        state = api.get_load_balancer(balancer).provisioning_status
        if state == "ERROR":
            raise errors.CloudError(f"load balancer {balancer} is in ERROR")
        if state != "ACTIVE":
            return False
        enabled = [
            (each.id, pool.id)
            for pool in api.pools(loadbalancer_id=balancer)
            for each in api.members(pool.id)
            if each.address in addresses and each.is_admin_state_up
        ]
        for ids in enabled:
            api.update_member(*ids, admin_state_up=False)
    return not enabled
