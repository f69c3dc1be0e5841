# SPDX-License-Identifier: Apache-2.0

"""Read Magnum's rows, and the machines that they ask for.

Rows are read again before they are judged: objects that Magnum hands to a
driver are as old as the request. ``status_writer`` writes into them. Commands
read the rows of all clusters, with as many queries for a thousand as for one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Sequence
import datetime
import threading
from typing import Any, Protocol

from magnum import objects
from magnum.common import context
from magnum.common import exception
from magnum.db.sqlalchemy import models
from magnum.objects import fields
from oslo_db.sqlalchemy import enginefacade  # type: ignore[import-untyped]
from oslo_utils import uuidutils

from magnum_capi_helm.model import call
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.model import requested_groups

Status = fields.ClusterStatus
_PROGRESS = "_IN_PROGRESS"
_FAILED = "_FAILED"


# Magnum's objects have no types. A row that Magnum has just read, one that it
# hands to the driver, and a copy for a plan all fit.


class Row(Protocol):
    """A row that the driver reads and writes."""

    uuid: str
    name: str
    labels: dict[str, str]
    status: str
    status_reason: str | None
    #: Empty or None before the driver has accepted the row.
    stack_id: str
    flavor_id: str

    def save(self) -> None: ...

    def as_dict(self) -> dict[str, Any]: ...

    def obj_what_changed(self) -> Collection[str]: ...

    def obj_reset_changes(self, fields: Collection[str]) -> None: ...


class Template(Protocol):
    """The row of a cluster template, which the driver reads alone."""

    uuid: str
    name: str
    labels: dict[str, str] | None
    coe: str
    server_type: str
    cluster_distro: str
    driver: str | None
    image_id: str
    flavor_id: str | None
    master_flavor_id: str | None
    keypair_id: str | None
    network_driver: str | None
    external_network_id: str | None
    fixed_network: str | None
    fixed_subnet: str | None
    dns_nameserver: str | None
    apiserver_port: int | None
    http_proxy: str | None
    https_proxy: str | None
    no_proxy: str | None
    insecure_registry: str | None
    tls_disabled: bool | None


class Cluster(Row, Protocol):
    """Of a cluster.

    :ivar create_timeout: minutes
    :ivar health_status_reason: entry -> text
    """

    created_at: datetime.datetime | None
    user_id: str
    project_id: str
    cluster_template: Template
    cluster_template_id: str
    keypair: str
    create_timeout: int | None
    api_address: str
    coe_version: str | None
    container_version: str | None
    health_status: str | None
    health_status_reason: dict[str, str] | None
    ca_cert_ref: str
    etcd_ca_cert_ref: str | None

    @property
    def nodegroups(self) -> list[NodeGroup]: ...

    @property
    def default_ng_worker(self) -> NodeGroup: ...


class NodeGroup(Row, Protocol):
    """Of a nodegroup."""

    created_at: datetime.datetime
    cluster_id: str
    role: str
    is_default: bool
    image_id: str
    node_count: int
    min_node_count: int | None
    max_node_count: int | None
    version: str | None

    def destroy(self) -> None: ...


def health_key(cluster: Cluster) -> Hashable:
    """Return the fields that invalidate the health of a complete cluster.

    The health itself is not among them: the poll compares it anyway.
    """
    return (
        cluster.uuid,
        cluster.status,
        cluster.api_address,
        cluster.coe_version,
        cluster.container_version,
    )


def verdict_key(cluster: Cluster) -> Hashable:
    """Return the fields that invalidate the verdict of a status poll."""
    return health_key(cluster), cluster.status_reason


def fresh(request: Any, cluster: Cluster) -> Cluster | None:
    """Read a cluster's row again; None: it is gone."""
    return find(request, cluster.uuid)


def find(request: Any, uuid: str) -> Cluster | None:
    """Read the row of a cluster; None: there is none."""
    try:
        row: Cluster = objects.Cluster.get_by_uuid(request, uuid)
    except exception.ClusterNotFound:
        return None
    return row


def save(row: Row) -> None:
    """Save the changed fields of a row.

    :raises LeaseMissing: this call does not hold the Lease
    :raises LeaseLost: the row may be outdated: another conductor has the Lease
    """
    call.check_lease()
    row.save()


def destroy(row: NodeGroup) -> None:
    """Remove the row of a nodegroup; the errors are those of :func:`save`."""
    call.check_lease()
    row.destroy()


def read(cluster: Cluster) -> tuple[requested_groups.Rows, list[NodeGroup]]:
    """Read what the rows of a cluster want, and the nodegroup rows."""
    nodegroups = all_groups(cluster)
    return wants(cluster, nodegroups), nodegroups


def wants(
    cluster: Cluster, nodegroups: Sequence[NodeGroup]
) -> requested_groups.Rows:
    """Return what the rows of a cluster with a ``stack_id`` want."""
    release = cluster.stack_id
    return requested_groups.Rows(
        uuid=cluster.uuid,
        release=release,
        groups=tuple(group(e, release) for e in nodegroups if is_member(e)),
        leaving=tuple(group(e, release) for e in nodegroups if leaving(e)),
        refused=tuple(
            group(e, release)
            for e in nodegroups
            if not is_member(e) and not leaving(e)
        ),
    )


def template_images(project: str) -> list[str]:
    """Read the images of the driver's templates that users of a project see.

    :param project: its ID
    :returns: UUIDs or names
    """
    return [
        each.image_id
        for each in objects.ClusterTemplate.list(everywhere())
        if each.driver == names.DRIVER
        and (each.project_id == project or (each.public and not each.hidden))
    ]


def all_groups(cluster: Cluster) -> list[NodeGroup]:
    """Read the rows of all groups, also of those that an admin added."""
    return list(
        objects.NodeGroup.list(everywhere(), cluster.uuid, sort_key="id")
    )


def everywhere() -> Any:
    """Return a context that sees the rows of all projects."""
    return context.make_admin_context(all_tenants=True)


def leaving(nodegroup: NodeGroup) -> bool:
    """Return whether a group is being deleted."""
    return bool(nodegroup.status == Status.DELETE_IN_PROGRESS)


def doomed(nodegroups: Collection[NodeGroup]) -> bool:
    """Return whether the whole cluster is being deleted.

    A group operation puts UPDATE_IN_PROGRESS over the cluster's own
    DELETE_IN_PROGRESS, but not over that of the control plane's row.

    :param nodegroups: all of the cluster
    """
    return any(leaving(each) and each.role == "master" for each in nodegroups)


def undecided(nodegroup: NodeGroup) -> bool:
    """Return whether the driver has not accepted or refused a group yet."""
    return bool(
        nodegroup.status == Status.CREATE_IN_PROGRESS
        and not nodegroup.stack_id
        and not nodegroup.is_default
    )


def is_member(nodegroup: NodeGroup) -> bool:
    """Return whether a group is part of the cluster.

    A group that is being deleted or was refused is not. An accepted group has
    a ``stack_id``.
    """
    status = nodegroup.status or ""
    if leaving(nodegroup):
        return False
    refused = status.startswith("CREATE_") and status != Status.CREATE_COMPLETE
    return nodegroup.is_default or bool(nodegroup.stack_id) or not refused


def group(nodegroup: NodeGroup, release: str) -> requested_groups.Group:
    """Return a row as plain data."""
    # Magnum 2026.1 and older have no labels and taints of nodes.
    node_labels = getattr(nodegroup, "node_labels", None) or {}
    taints = getattr(nodegroup, "node_taints", None) or []
    return requested_groups.Group(
        uuid=nodegroup.uuid,
        name=nodegroup.name,
        chart_name=names.node_group(nodegroup.name, release),
        control_plane=nodegroup.role == "master",
        count=nodegroup.node_count,
        flavor_id=nodegroup.flavor_id,
        image_id=nodegroup.image_id,
        minimum=nodegroup.min_node_count or 0,
        maximum=nodegroup.max_node_count,
        node_labels=tuple(sorted(node_labels.items())),
        node_taints=tuple(map(_taint, taints)),
        made=is_member(nodegroup) or bool(nodegroup.stack_id),
    )


def _taint(taint: dict[str, Any]) -> tuple[str, str, str]:
    key, value, effect = map(taint.get, ("key", "value", "effect"))
    return key or "", value or "", effect or ""


def fresh_group(nodegroup: NodeGroup) -> NodeGroup | None:
    """Read a nodegroup's row again; None: it is gone."""
    try:
        row: NodeGroup = objects.NodeGroup.get_by_uuid(
            everywhere(), nodegroup.cluster_id, nodegroup.uuid
        )
    except exception.NodeGroupNotFound:
        return None
    return row


def action(status: str | None) -> str:
    """Return the action of a status: CREATE, UPDATE, DELETE or ROLLBACK."""
    return (status or "CREATE").split("_")[0]


def in_progress(status: str | None) -> bool:
    """Return whether Magnum polls a cluster with this status."""
    return (status or "").endswith(_PROGRESS)


def failed(status: str | None) -> bool:
    """Return whether a status is a failure: only health is polled then."""
    return (status or "").endswith(_FAILED)


# Rows that an operator names


def find_cluster(ref: str) -> Any:
    """Return the row of a cluster, by UUID or name.

    :raises InvalidInput: there is none, or more than one of that name
    """
    return _find(objects.Cluster, "cluster", ref)


def find_template(ref: str) -> Any:
    """Return the row of a cluster template, by UUID or name.

    :raises InvalidInput: there is none, or more than one of that name
    """
    return _find(objects.ClusterTemplate, "cluster template", ref)


def _find(kind: Any, noun: str, ref: str) -> Any:
    try:
        if uuidutils.is_uuid_like(ref):
            return kind.get_by_uuid(everywhere(), ref)
        return kind.get_by_name(everywhere(), ref)
    except exception.ResourceNotFound as error:
        raise errors.InvalidInput(
            f"{noun} {ref} not found: choose one of "
            f"`openstack coe {noun} list`"
        ) from error
    except exception.Conflict as error:
        raise errors.InvalidInput(
            f"there is more than one {noun} {ref}: give its UUID"
        ) from error


# All clusters


def read_all(
    project: str | None, of_template: Callable[[Any], bool]
) -> list[tuple[Any, list[Any]]]:
    """Read clusters, each with its nodegroups.

    :param project: its ID; None: all projects
    :param of_template: chooses clusters by the row of their template
    """
    request = everywhere()
    filters = {"project_id": project} if project else None
    clusters = objects.Cluster.list(request, filters=filters)
    groups: dict[str, list[Any]] = {each.uuid: [] for each in clusters}
    # Magnum's objects would read public and hidden templates again, and list
    # the groups of one cluster only.
    with enginefacade.reader.using(threading.local()) as session:
        templates = session.query(models.ClusterTemplate)
        chosen = {each.uuid for each in templates if of_template(each)}
        for each in session.query(models.NodeGroup).order_by(
            models.NodeGroup.id
        ):
            if each.cluster_id in groups:
                values = {e: each[e] for e in objects.NodeGroup.fields}
                row = objects.NodeGroup(request, **values)
                groups[each.cluster_id].append(row)
    return [
        (each, groups[each.uuid])
        for each in clusters
        if each.cluster_template_id in chosen
    ]


def probe() -> None:
    """Read a row of each table that the driver uses.

    The connection is a new one and is tried once: Magnum's own one tries ten
    times, with ten seconds in between, unless the operator changes that.

    :raises Exception: of oslo.db or SQLAlchemy: the database does not answer,
        or lacks a table or a column
    """
    source = enginefacade.transaction_context()
    source.configure(max_retries=0)
    with source.reader.using(threading.local()) as session:
        for model in (
            models.Cluster,
            models.ClusterTemplate,
            models.NodeGroup,
        ):
            session.query(model).first()


def stack_ids(mark: str) -> dict[str, str]:
    """Return ``stack_id`` of each control plane with a mark in it.

    :returns: by UUID of the cluster
    """
    column = models.NodeGroup.stack_id
    with enginefacade.reader.using(threading.local()) as session:
        marked = session.query(models.NodeGroup.cluster_id, column).filter(
            models.NodeGroup.role == "master",
            column.contains(mark, autoescape=True),
        )
        return {str(uuid): str(stack_id) for uuid, stack_id in marked}
