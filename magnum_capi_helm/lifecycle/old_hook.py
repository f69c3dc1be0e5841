# SPDX-License-Identifier: Apache-2.0

"""Remove a hook that earlier builds of version 2.0 set on machines.

With it, Cluster API waited for Magnum before it deleted a machine of a CA
rotation. No machine waits for Magnum any more.
"""

from __future__ import annotations

from collections.abc import Iterable
import contextlib

from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import errors
from magnum_capi_helm.operations import operation as operations
from magnum_capi_helm.status import view

_HOOK = "pre-terminate.delete.hook.machine.cluster.x-k8s.io/magnum-api-server"


def remove(
    operation: operations.Operation, machines: Iterable[view.Object]
) -> None:
    """Let machines go, unless the management cluster is frozen.

    :raises ManagementError: a hook may be left; the next poll tries again
    """
    rt, change = operation.runtime, {"annotations": {_HOOK: None}}
    for each in machines:
        if _HOOK in view.annotations_of(each):
            with contextlib.suppress(errors.Frozen):
                rt.maintenance.check()
                place = operation.namespace, view.name_of(each)
                rt.management.patch(
                    kinds.MACHINE, *place, {"metadata": change}
                )
