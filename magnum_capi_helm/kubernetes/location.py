# SPDX-License-Identifier: Apache-2.0

"""Namespace, release and labels of a cluster's objects."""

from __future__ import annotations

from typing import Any, TypeAlias, TypeVar

from magnum_capi_helm.config import conf
from magnum_capi_helm.model import names

#: Namespace and release.
Scope: TypeAlias = tuple[str, str]
T = TypeVar("T")

#: Labels of the objects that the driver writes (as 1.4.0).
CLUSTER_UUID = "magnum.openstack.org/cluster-uuid"
USER_ID = "magnum.openstack.org/user-id"


def namespace(project_id: str) -> str:
    """Return the namespace of a project, under the configured prefix."""
    return names.namespace(conf.CONF.capi_helm.namespace_prefix, project_id)


def scope_of(cluster: Any) -> Scope:
    """Return namespace and release of a cluster that has a ``stack_id``."""
    return namespace(cluster.project_id), str(cluster.stack_id)


def object_labels(cluster: Any, release: str) -> dict[str, str]:
    """Return the labels of objects that the driver writes for a cluster."""
    labels = {
        "magnum.openstack.org/project-id": cluster.project_id,
        USER_ID: cluster.user_id,
        CLUSTER_UUID: cluster.uuid,
        "cluster.x-k8s.io/cluster-name": release,
    }
    return {
        key: names.label_value(value) for key, value in labels.items() if value
    }


class PerRelease(dict[Scope, T]):
    """One value for each release."""

    def forget(self, scope: Scope) -> None:
        """Drop the value of a release."""
        self.pop(scope, None)
