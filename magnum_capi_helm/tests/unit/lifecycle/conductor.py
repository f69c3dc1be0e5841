# SPDX-License-Identifier: Apache-2.0

"""What Magnum's conductor does: requests of users, and polls."""

from __future__ import annotations

import contextlib
from typing import Any
import uuid

from magnum import objects
from magnum.conductor.handlers import cluster_conductor
from magnum.conductor.handlers import nodegroup_conductor
from magnum.service import periodic
from oslo_service import loopingcall  # type: ignore[import-untyped]

from magnum_capi_helm import driver as drivers
from magnum_capi_helm.tests.fakes import openstack
from magnum_capi_helm.tests.unit.lifecycle import rows


class ConductorTestCase(rows.RowsTestCase):
    """Through Magnum's own handlers and periodic jobs."""

    driver: drivers.Driver
    handler: cluster_conductor.Handler

    def create(
        self, template: dict[str, Any] | None = None, **fields: Any
    ) -> Any:
        """``coe cluster create`` with 1 + 2 nodes, through the handler."""
        cluster = self.cluster(template, **fields)
        self.handler.cluster_create(self.context, cluster, 1, 2, 60)
        return self.row()

    def resize(self, count: int, name: str = "default-worker") -> None:
        """``coe cluster resize``, through the handler."""
        self.handler.cluster_resize(
            self.context, self.row(), count, [], self.groups()[name]
        )

    def add(self, name: str, **fields: Any) -> Any:
        """``coe nodegroup create``, through the handler."""
        made = objects.NodeGroup(
            self.context,
            **{
                "uuid": str(uuid.uuid4()),
                "name": name,
                "cluster_id": self.uuid,
                "project_id": openstack.PROJECT,
                "role": "worker",
                "node_count": 1,
                "min_node_count": 0,
                "is_default": False,
                "flavor_id": "m1.medium",
                "image_id": "ubuntu-1.34",
                "labels": {},
                **fields,
            },
        )
        return nodegroup_conductor.Handler().nodegroup_create(
            self.context, self.row(), made
        )

    def change(self, name: str, **fields: Any) -> None:
        """``coe nodegroup update``, through the handler."""
        group = self.groups()[name]
        if strange := fields.keys() - group.fields.keys():
            self.skipTest(f"nodegroups of this Magnum have no {strange}")
        for field, value in fields.items():
            setattr(group, field, value)
        nodegroup_conductor.Handler().nodegroup_update(
            self.context, self.row(), group
        )

    def remove(self, name: str) -> None:
        """``coe nodegroup delete``, through the handler."""
        nodegroup_conductor.Handler().nodegroup_delete(
            self.context, self.row(), self.groups()[name]
        )

    def rotate(self) -> None:
        """``coe credential rotate``; Magnum 20 has no handler for it."""
        self.driver.rotate_credential(self.context, self.row())

    def delete(self) -> None:
        """``coe cluster delete``, through the handler."""
        self.handler.cluster_delete(self.context, self.uuid)

    def poll(self) -> None:
        """One tick of Magnum's status task."""
        job = periodic.ClusterUpdateJob(self.admin, self.row())
        with contextlib.suppress(loopingcall.LoopingCallDone):
            job.update_status()

    def health_poll(self) -> Any:
        """One tick of Magnum's health task; the row afterwards."""
        job = periodic.ClusterHealthUpdateJob(self.admin, self.row())
        with contextlib.suppress(loopingcall.LoopingCallDone):
            job.update_health_status()
        return self.row()
