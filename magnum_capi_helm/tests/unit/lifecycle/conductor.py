# SPDX-License-Identifier: Apache-2.0

"""Magnum: its rows, requests of users to its conductor, and polls."""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import datetime
from typing import Any
from unittest import mock
import uuid

from magnum import objects
from magnum.conductor.handlers import cluster_conductor
from magnum.conductor.handlers import nodegroup_conductor
from magnum.conductor.handlers.common import cert_manager
from magnum.db.sqlalchemy import api as db_api
from magnum.service import periodic
from magnum.tests.unit.db import base
from magnum.tests.unit.objects import utils
from oslo_service import loopingcall  # type: ignore[import-untyped]

from magnum_capi_helm import driver as drivers
from magnum_capi_helm.tests.fakes import openstack


class ConductorTestCase(base.DbTestCase):
    """One project; all goes through Magnum's own handlers and jobs."""

    #: The cluster that the helpers below are about.
    uuid: str

    #: Who a user's requests come from, and Magnum's own.
    context: Any
    admin: Any

    driver: drivers.Driver
    handler: cluster_conductor.Handler

    def template(self, **fields: Any) -> Any:
        """A template; without arguments one of the smallest that works."""
        return utils.create_test_cluster_template(
            self.context,
            **{
                "uuid": str(uuid.uuid4()),
                "image_id": "ubuntu-1.34",
                "flavor_id": "m1.medium",
                "master_flavor_id": "m1.medium",
                "external_network_id": "public",
                "fixed_network": None,
                "network_driver": "calico",
                "apiserver_port": None,
                "docker_storage_driver": "overlay2",
                "docker_volume_size": None,
                "http_proxy": None,
                "https_proxy": None,
                "insecure_registry": None,
                "no_proxy": None,
                "labels": {},
                "driver": "k8s_capi_helm_v1",
                **fields,
            },
        )

    def cluster(
        self, template: dict[str, Any] | None = None, **fields: Any
    ) -> Any:
        """A cluster that is not saved yet, as Magnum's API makes it."""
        made = self.template(**(template or {}))
        return utils.get_test_cluster(
            self.context,
            **{
                "uuid": self.uuid,
                "name": "web",
                "cluster_template_id": made.uuid,
                "stack_id": None,
                "api_address": None,
                "status_reason": None,
                "flavor_id": made.flavor_id,
                "master_flavor_id": made.master_flavor_id,
                "docker_volume_size": None,
                "labels": {},
                "keypair": "mine",
                **fields,
            },
        )

    def saved(
        self, template: dict[str, Any] | None = None, **fields: Any
    ) -> Any:
        """A cluster and its two nodegroups, saved; nothing made for it."""
        groups = {"status": fields.get("status", "CREATE_IN_PROGRESS")}
        cluster = self.cluster(template, **fields)
        cluster.create()
        for name, role, count in (
            ("default-master", "master", 1),
            ("default-worker", "worker", 2),
        ):
            self.nodegroup(
                cluster,
                name=name,
                role=role,
                node_count=count,
                is_default=True,
                stack_id=fields.get("stack_id"),
                **groups,
            )
        cert_manager.generate_certificates_to_cluster(
            cluster, context=self.context
        )
        cluster.save()
        return cluster

    def nodegroup(self, cluster: Any, **fields: Any) -> Any:
        """A nodegroup, saved."""
        made = objects.NodeGroup(
            self.context,
            **{
                "uuid": str(uuid.uuid4()),
                "cluster_id": cluster.uuid,
                "project_id": openstack.PROJECT,
                "image_id": "ubuntu-1.34",
                "flavor_id": "m1.medium",
                "role": "worker",
                "node_count": 1,
                "min_node_count": 0,
                "is_default": False,
                **fields,
            },
        )
        made.create()
        return made

    def save(self, row: Any = None, **fields: Any) -> None:
        """Change fields of a row; by default of the cluster's."""
        row = row or self.row()
        for name, value in fields.items():
            setattr(row, name, value)
        row.save()

    def row(self) -> Any:
        """The cluster as it is saved now."""
        return objects.Cluster.get_by_uuid(self.admin, self.uuid)

    def groups(self) -> dict[str, Any]:
        """The nodegroups as they are saved now, by name."""
        found = objects.NodeGroup.list(self.admin, self.uuid)
        return {each.name: each for each in found}

    def statuses(self) -> set[str]:
        """Statuses of the cluster and of all its groups."""
        groups = self.groups().values()
        return {self.row().status, *(each.status for each in groups)}

    def backdate(self, minutes: float) -> None:
        """The cluster was created that long ago."""
        now = datetime.datetime.now(datetime.timezone.utc)
        began = now - datetime.timedelta(minutes=minutes)
        self.dbapi.update_cluster(self.row().id, {"created_at": began})

    @contextlib.contextmanager
    def saves(self) -> Iterator[list[str]]:
        """Collects what is written into the database inside the block."""
        found: list[str] = []
        with contextlib.ExitStack() as stack:
            for name in ("update_cluster", "update_nodegroup"):
                original = getattr(db_api.Connection, name)

                def spy(
                    *args: Any, _name: str = name, _real: Any = original
                ) -> Any:
                    found.append(f"{_name} {args[-1]}")
                    return _real(*args)

                stack.enter_context(
                    mock.patch.object(db_api.Connection, name, spy)
                )
            yield found

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


def references(row: Any) -> dict[str, str]:
    """What a row says about its certificates."""
    return {
        name: getattr(row, name)
        for name in (
            "ca_cert_ref",
            "magnum_cert_ref",
            "etcd_ca_cert_ref",
            "front_proxy_ca_cert_ref",
        )
    }
