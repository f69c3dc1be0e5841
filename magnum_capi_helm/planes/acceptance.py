# SPDX-License-Identifier: Apache-2.0

"""What an operator says of a cluster whose management cluster changed.

After a restore, a rebuild or a move the driver finds another identity than
the recorded one, or nothing of a cluster that was there, and concludes
nothing. Here it is looked what is where; then the record says it.
"""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
from typing import Any

from oslo_log import log

from magnum_capi_helm import runtime
from magnum_capi_helm.database import rows
from magnum_capi_helm.helm import releases
from magnum_capi_helm.management import kinds
from magnum_capi_helm.model import errors
from magnum_capi_helm.operations import operation
from magnum_capi_helm.planes import origin
from magnum_capi_helm.planes import places
from magnum_capi_helm.planes import survey

LOG = log.getLogger(__name__)

_WITHOUT_RELEASE = (
    "no helm release: it can be polled and deleted, and not changed"
)


@dataclasses.dataclass(frozen=True)
class Look:
    """What one management cluster has of a cluster."""

    identity: str
    cluster: bool
    release: bool
    lease: bool

    def __str__(self) -> str:
        """What there is, in words."""
        words = {
            "the Cluster": self.cluster,
            "the helm release": self.release,
            "the Lease": self.lease,
        }
        return " and ".join(word for word, there in words.items() if there)


@dataclasses.dataclass(frozen=True)
class Acceptance:
    """What is to be recorded of a cluster.

    :param detail: what changes, in words; empty: nothing
    """

    record: origin.Record
    detail: str = ""


def of_present(cluster: Any, only: str | None) -> Acceptance:
    """Take the management cluster that has the Cluster for the right one.

    :param cluster: its row, with a ``stack_id``
    :param only: the name of the one that is meant, of several
    :raises CapiHelmError: none has, more than one has, or one is silent
    """
    looks = _look(cluster, runtime.names() if only is None else (only,))
    have = [name for name, look in looks.items() if look.cluster]
    if not have:
        raise errors.NotSupported(
            f"{_listed(looks)} has no Cluster {cluster.stack_id}: bring it "
            "back or, if the cluster is gone, say so with --gone"
        )
    if len(have) > 1:
        raise errors.NotSupported(
            f"{_listed(have)} all have a Cluster {cluster.stack_id}: remove "
            "those that are not the cluster's, or give --management-cluster"
        )
    [name] = have
    old = origin.recorded(rows.all_groups(cluster))
    new = origin.Record(looks[name].identity, name)
    if old == new:
        return Acceptance(new)
    there = "" if looks[name].release else f"; {_WITHOUT_RELEASE}"
    return Acceptance(new, f"{_shown(old)} -> {_shown(new)}{there}")


def of_gone(cluster: Any, only: str | None) -> Acceptance:
    """Take a cluster for gone, of which no management cluster has anything.

    :param only: the name of the one that it was on, where no record says so
    :raises CapiHelmError: there is something of it, or one is silent
    """
    looks = _look(cluster, runtime.names())
    for name, look in looks.items():
        if str(look):
            raise errors.NotSupported(
                f"{_listed([name])} has {look} {cluster.stack_id}: delete "
                "the cluster, nothing has to be confirmed"
            )
    old = origin.recorded(rows.all_groups(cluster))
    name = _where(old, looks, only)
    new = origin.Record(looks[name].identity, name, gone=True)
    if old == new:
        return Acceptance(new)
    return Acceptance(
        new,
        f"taken for gone from {_shown(new)}: its deletion will conclude, and "
        "nobody removes servers, volumes and load balancers that it may have",
    )


def accept(context: Any, cluster: Any, wanted: Acceptance) -> None:
    """Record it."""
    row = rows.fresh(context, cluster)
    if row is None or row.stack_id != cluster.stack_id:
        raise errors.NotSupported("the cluster changed meanwhile")
    origin.record(rows.all_groups(row), row.stack_id, wanted.record)
    places.forget(row)
    LOG.info("cluster %s: accepted: %s", row.uuid, wanted.detail)


def _look(cluster: Any, names: tuple[str, ...]) -> dict[str, Look]:
    """What each has; all have to answer."""
    scope = operation.scope_of(cluster)

    def look(rt: runtime.Runtime) -> Look:
        return Look(
            origin.identity(rt),
            rt.management.get(kinds.CLUSTER, *scope) is not None,
            bool(releases.revisions(rt.management, *scope)),
            rt.leases.read(*scope) is not None,
        )

    found = {}
    for name, answer in survey.ask(names, look).items():
        if isinstance(answer, errors.CapiHelmError):
            # It may have the cluster as well.
            raise answer
        found[name] = answer
    return found


def _where(
    old: origin.Record, looks: Mapping[str, Look], only: str | None
) -> str:
    """The name of the management cluster that the cluster was on."""
    if only is not None:
        return runtime.home_of(only).name
    for name, look in looks.items():
        if look.identity == old.identity or len(looks) == 1:
            return name
    raise errors.NotSupported(
        f"{_listed(looks)} are not the one that is recorded: give "
        "--management-cluster"
    )


def _shown(record: origin.Record) -> str:
    words = filter(None, (record.name, record.identity))
    return " ".join(words) or "nothing recorded"


def _listed(names: Mapping[str, object] | list[str]) -> str:
    known = ", ".join(filter(None, names))
    noun = "management cluster" if len(names) == 1 else "management clusters"
    return f"the {noun} {known}".rstrip()
