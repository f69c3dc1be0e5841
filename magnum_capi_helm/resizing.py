# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Resize of a group of workers."""

from __future__ import annotations

from collections.abc import Callable
import time
from typing import Any

from oslo_log import log

from magnum_capi_helm import exceptions
from magnum_capi_helm import names
from magnum_capi_helm import nodegroup_rows
from magnum_capi_helm import operation
from magnum_capi_helm import rows
from magnum_capi_helm import runtime
from magnum_capi_helm.management import kinds
from magnum_capi_helm.resolve import location
from magnum_capi_helm.resolve import requested
from magnum_capi_helm.status import view

LOG = log.getLogger(__name__)


def resize(
    get_runtime: Callable[[], runtime.Runtime],
    context: Any,
    cluster: Any,
    nodegroup: Any,
    nodes_to_remove: list[str] | None,
) -> None:
    """Apply the count that Magnum has already saved in ``nodegroup``.

    :raises NotSupported: refused; nothing was written, and Magnum puts the
        old count back
    """
    _refuse(get_runtime, cluster, nodegroup, nodes_to_remove)
    started = time.monotonic()
    nodegroup.status = rows.Status.UPDATE_IN_PROGRESS
    nodegroup.status_reason = None
    nodegroup.save()
    problem = ""
    helm_seconds = 0.0
    try:
        helm_seconds = _apply(get_runtime(), context, cluster)
    except exceptions.CapiHelmError as error:
        problem = str(error)
    if problem:
        # Accepted all the same: the polls apply it, or say why not.
        LOG.warning(
            "Resize of cluster %s goes on with the polls: %s",
            cluster.uuid,
            problem,
        )
        return
    LOG.info(
        "resized release %s: driver %.3f s, helm %.3f s",
        cluster.stack_id,
        time.monotonic() - started - helm_seconds,
        helm_seconds,
    )


def _refuse(
    get_runtime: Callable[[], runtime.Runtime],
    cluster: Any,
    nodegroup: Any,
    nodes_to_remove: list[str] | None,
) -> None:
    if nodes_to_remove:
        raise exceptions.NotSupported(
            "choosing the nodes to remove is not supported by the driver "
            "k8s_capi_helm_v1: resize by count alone"
        )
    if nodegroup.role == "master":
        raise exceptions.NotSupported(
            "resizing the control plane is not supported by the driver "
            "k8s_capi_helm_v1"
        )
    if not cluster.stack_id:
        raise exceptions.NotSupported(
            "the cluster has no release on the management cluster: delete "
            "it and create it again"
        )
    # Only where the label is on is it worth a question.
    if requested.autoscales(cluster) and _autoscaled(
        get_runtime(), cluster, nodegroup
    ):
        raise exceptions.NotSupported(
            f"the autoscaler chooses the size of {nodegroup.name} (label "
            "auto_scaling_enabled): a resize"
        )


def _autoscaled(rt: runtime.Runtime, cluster: Any, nodegroup: Any) -> bool:
    """Whether the autoscaler owns the group: its machines say so.

    :raises ManagementError: they could not be read
    """
    namespace, release = operation.scope_of(cluster)
    known = (
        names.node_group(nodegroup.name, release),
        names.legacy_node_group(nodegroup.name),
    )
    for name in filter(None, known):
        found = rt.management.get(
            kinds.MACHINE_DEPLOYMENT,
            namespace,
            names.machine_deployment(release, name),
        )
        if found is not None:
            return view.AUTOSCALER_ANNOTATION in view.annotations_of(found)
    return False


def _apply(rt: runtime.Runtime, context: Any, cluster: Any) -> float:
    scope = operation.scope_of(cluster)
    labels = location.object_labels(cluster, scope[1])
    with rt.leases.hold(*scope, labels) as hold:
        row = rows.fresh(context, cluster)
        if row is None:
            return 0.0
        nodegroup_rows.settle(rt, row)
        rows_now, _ = rows.read(row)
        return operation.apply(rt, row, rows_now, hold)
