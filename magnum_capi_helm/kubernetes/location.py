# SPDX-License-Identifier: Apache-2.0

"""Where a cluster's objects are on the management cluster, and whose."""

from __future__ import annotations

from typing import Any

from magnum_capi_helm.config import conf
from magnum_capi_helm.model import names

#: Labels of what the driver writes (as 1.4.0).
CLUSTER_UUID = "magnum.openstack.org/cluster-uuid"
USER_ID = "magnum.openstack.org/user-id"


def namespace(project_id: str) -> str:
    """The namespace of a project under the configured prefix."""
    return names.namespace(conf.CONF.capi_helm.namespace_prefix, project_id)


def object_labels(cluster: Any, release: str) -> dict[str, str]:
    """Labels of what the driver itself writes for a cluster."""
    found = {
        "magnum.openstack.org/project-id": cluster.project_id,
        USER_ID: cluster.user_id,
        CLUSTER_UUID: cluster.uuid,
        "cluster.x-k8s.io/cluster-name": release,
    }
    return {
        key: names.label_value(value) for key, value in found.items() if value
    }
