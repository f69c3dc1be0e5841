# SPDX-License-Identifier: Apache-2.0

"""Query all of Magnum's rows: as many queries for a thousand as for one."""

from __future__ import annotations

from collections.abc import Callable
import threading
from typing import Any

from magnum import objects
from magnum.db.sqlalchemy import models
from oslo_db.sqlalchemy import enginefacade  # type: ignore[import-untyped]

from magnum_capi_helm.database import rows

_MODELS = (models.Cluster, models.ClusterTemplate, models.NodeGroup)


def read(
    project: str | None, of_template: Callable[[Any], bool]
) -> list[tuple[Any, list[Any]]]:
    """Read clusters, each with its nodegroups.

    :param project: its ID; None: all projects
    :param of_template: chooses clusters by the row of their template
    """
    request = rows.everywhere()
    filters = {"project_id": project} if project else None
    clusters = objects.Cluster.list(request, filters=filters)
    with enginefacade.reader.using(threading.local()) as session:
        templates = _templates(session, of_template)
        groups = _groups(session, request)
    return [
        (each, groups.get(each.uuid, []))
        for each in clusters
        if each.cluster_template_id in templates
    ]


def _templates(session: Any, chosen: Callable[[Any], bool]) -> frozenset[str]:
    """Return the UUIDs of the chosen templates.

    Magnum's objects would read all, and the public and hidden ones again.
    """
    every = session.query(models.ClusterTemplate)
    return frozenset(each.uuid for each in every if chosen(each))


def _groups(session: Any, request: Any) -> dict[str, list[Any]]:
    """Return all nodegroups, by the UUID of their cluster.

    Magnum's objects list the groups of one cluster only.
    """
    groups: dict[str, list[Any]] = {}
    every = session.query(models.NodeGroup).order_by(models.NodeGroup.id)
    for each in every:
        fields = {name: each[name] for name in objects.NodeGroup.fields}
        group = objects.NodeGroup(request, **fields)
        groups.setdefault(group.cluster_id, []).append(group)
    return groups


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
        for model in _MODELS:
            session.query(model).first()


def stack_ids(mark: str) -> dict[str, str]:
    """Return ``stack_id`` of each control plane with a mark in it.

    :returns: by UUID of the cluster
    """
    column = models.NodeGroup.stack_id
    with enginefacade.reader.using(threading.local()) as session:
        rows = session.query(models.NodeGroup.cluster_id, column).filter(
            models.NodeGroup.role == "master",
            column.contains(mark, autoescape=True),
        )
        return {str(uuid): str(stack_id) for uuid, stack_id in rows}
