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

"""Nodegroups beyond the default ones.

They can't be made yet. Magnum keeps the row of one that was refused, and
here it can be removed again.
"""

from __future__ import annotations

from typing import Any

from magnum_capi_helm import exceptions
from magnum_capi_helm import names
from magnum_capi_helm import operation
from magnum_capi_helm import runtime
from magnum_capi_helm.management import kinds


def forget_refused(rt: runtime.Runtime, cluster: Any, nodegroup: Any) -> None:
    """Remove the row of a group that has no machines anywhere.

    What Magnum's handler put into ``nodegroup.status`` says nothing: it is
    DELETE_IN_PROGRESS for every group.

    :raises NotSupported: the group exists; its row stays as it was
    :raises CapiHelmError: nobody can say whether it exists
    """
    if nodegroup.is_default or _exists(rt, cluster, nodegroup.name):
        raise exceptions.NotSupported(
            "deleting a nodegroup is not supported by the driver "
            "k8s_capi_helm_v1"
        )
    nodegroup.destroy()


def _exists(rt: runtime.Runtime, cluster: Any, name: str) -> bool:
    if not cluster.stack_id:
        return False
    namespace, release = operation.scope_of(cluster)
    known = {
        names.node_group(name, release),
        names.legacy_node_group(name),
    }
    return any(
        rt.management.get(
            kinds.MACHINE_DEPLOYMENT,
            namespace,
            names.machine_deployment(release, group),
        )
        for group in known
        if group
    )
