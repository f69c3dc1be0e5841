# SPDX-License-Identifier: Apache-2.0

"""Accept the management cluster of a cluster, or that a cluster is gone.

After a restore, a rebuild or a move, the driver sees another identity than
the recorded one, or nothing of a cluster that was there, and concludes
nothing. The operator's ``accept`` compares the management clusters with the
records and writes what is true now.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import dataclasses
from typing import Any

from oslo_log import log

from magnum_capi_helm import runtime
from magnum_capi_helm.database import rows
from magnum_capi_helm.kubernetes import location
from magnum_capi_helm.management_clusters import identity
from magnum_capi_helm.management_clusters import registry
from magnum_capi_helm.model import errors

LOG = log.getLogger(__name__)

_WITHOUT_RELEASE = (
    "no helm release: the cluster can be polled and deleted, not changed"
)


@dataclasses.dataclass(frozen=True)
class Acceptance:
    """A new record of a cluster.

    :param detail: the change, in words; empty: nothing changes
    """

    record: identity.Record
    detail: str = ""


def of_present(cluster: rows.Cluster, only: str | None) -> Acceptance:
    """Plan to accept the management cluster that has the Cluster.

    :param cluster: its row, with a ``stack_id``
    :param only: name of the management cluster to accept
    :raises CapiHelmError: none or several have it, or one does not answer
    """
    asked = runtime.names() if only is None else (only,)
    identities, objects = _ask(cluster, asked)
    having = [name for name, each in objects.items() if each.cluster]
    if not having:
        raise errors.NotSupported(
            f"{_listed(asked)} has no Cluster {cluster.stack_id}: bring it "
            "back or, if the cluster is gone, say so with --lost"
        )
    if len(having) > 1:
        raise errors.NotSupported(
            f"{_listed(having)} all have a Cluster {cluster.stack_id}: remove "
            "those that are not the cluster's, or give --management-cluster"
        )
    [name] = having
    old = identity.recorded(rows.all_groups(cluster))
    new = identity.Record(identities[name], name)
    if old == new:
        return Acceptance(new)
    warning = "" if objects[name].release else f"; {_WITHOUT_RELEASE}"
    return Acceptance(new, f"{old} -> {new}{warning}")


def of_gone(cluster: rows.Cluster, only: str | None) -> Acceptance:
    """Plan to accept that a cluster is gone.

    :param only: name of the management cluster that the cluster was on, if
        no record says so
    :raises CapiHelmError: an object exists, or one does not answer
    """
    identities, objects = _ask(cluster, runtime.names())
    for name, each in objects.items():
        # The Lease alone may be of a backup that is older than the cluster.
        if each.cluster or each.release:
            raise errors.NotSupported(
                f"{_listed([name])} has {each} {cluster.stack_id}: delete "
                "the cluster, nothing has to be confirmed"
            )
    old = identity.recorded(rows.all_groups(cluster))
    name = _former_location(old, identities, only)
    new = identity.Record(identities[name], name, gone=True)
    if old == new:
        return Acceptance(new)
    return Acceptance(
        new,
        f"accepted as gone from {new}: its deletion will finish, and its "
        "servers, volumes and load balancers stay, if it has any",
    )


def accept(context: Any, cluster: rows.Cluster, accepted: Acceptance) -> None:
    """Write an accepted record into the cluster's rows."""
    row = rows.fresh(context, cluster)
    if row is None or row.stack_id != cluster.stack_id:
        raise errors.NotSupported("the cluster changed meanwhile")
    identity.record(rows.all_groups(row), row.stack_id, accepted.record)
    LOG.info("cluster %s: accepted: %s", row.uuid, accepted.detail)


def _ask(
    cluster: rows.Cluster, asked: Sequence[str]
) -> tuple[dict[str, str], dict[str, identity.Presence]]:
    """Return identity and objects by management cluster; all must answer."""
    scope = location.scope_of(cluster)
    identities, objects = {}, {}
    for name, answer in registry.ask(
        asked, lambda rt: (identity.read(rt), identity.presence(rt, scope))
    ).items():
        if isinstance(answer, errors.CapiHelmError):
            # It may have the cluster as well.
            raise answer
        identities[name], objects[name] = answer
    return identities, objects


def _former_location(
    old: identity.Record, identities: Mapping[str, str], only: str | None
) -> str:
    """Return the name of the management cluster that a cluster was on."""
    if only is not None:
        return runtime.settings_of(only).name
    for name, uid in identities.items():
        if uid == old.identity or len(identities) == 1:
            return name
    raise errors.NotSupported(
        f"{_listed([*identities])} are not the one that is recorded: give "
        "--management-cluster"
    )


def _listed(names: Sequence[str]) -> str:
    listed = ", ".join(filter(None, names))
    noun = "management cluster" if len(names) == 1 else "management clusters"
    return f"the {noun} {listed}".rstrip()
