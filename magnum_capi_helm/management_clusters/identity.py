# SPDX-License-Identifier: Apache-2.0

"""Record and check the management cluster that a cluster was made on.

Another management cluster, a rebuilt one or an empty one, has none of a
cluster's objects, but the cluster's machines still run. So the location of
each cluster is recorded: the identity of the management cluster (UID of
``kube-system``) is in Magnum's database, in the ``stack_id`` of the control
plane's nodegroup, as ``<release>@<identity>``. No client can set that column,
no plan of Terraform has it, and 1.4.0 does not read it. With several
management clusters the configured name follows, as ``@<name>``: the driver
waits for that one while it does not answer. The identity is authoritative;
operators may change names. At the end of a deletion, or when an operator
confirms that nothing is left to delete, ``@gone`` follows.

The record is written when a create claims its release. Magnum's handler
overwrites it with the bare release afterwards, and 1.4.0 never wrote more than
that: the first poll that sees the Cluster object writes it (again).

Until then the Lease stands for a cluster of this driver: a create makes the
Lease before it claims the release, and a deletion removes it last. A
management cluster with neither Lease nor Cluster is therefore another one. If
it is the recorded one all the same, it was restored from a backup without the
cluster, and nothing is gone unless ``@gone`` is recorded. 1.4.0 has no Lease:
nothing is known of its clusters before the first poll that sees one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
import contextlib
from typing import Any, NamedTuple

from oslo_log import log

from magnum_capi_helm import runtime
from magnum_capi_helm.database import rows
from magnum_capi_helm.kubernetes import client
from magnum_capi_helm.kubernetes import helm_records
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import location
from magnum_capi_helm.model import call
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names

LOG = log.getLogger(__name__)

#: Between release and identity; no release name has it.
_MARK = "@"
_GONE = "gone"


class ElsewhereError(errors.ManagementError):
    """The cluster may be on another management cluster."""

    retriable = True


class Record(NamedTuple):
    """The recorded location of a cluster; empty: nothing is recorded.

    ``name``: configured name of the management cluster, of several.
    ``gone``: nothing is left of the cluster
    """

    identity: str
    name: str
    gone: bool = False

    def __str__(self) -> str:
        """Return name and identity, for operators."""
        words = filter(None, (self.name, self.identity))
        return " ".join(words) or "nothing recorded"


def recorded(nodegroups: Sequence[rows.NodeGroup]) -> Record:
    """Return the record in a cluster's rows."""
    master = _master(nodegroups)
    return _parsed(str((master and master.stack_id) or ""))


def all_records() -> dict[str, Record]:
    """Return the records of all clusters that have one, by UUID."""
    return {
        uuid: _parsed(stack_id)
        for uuid, stack_id in rows.stack_ids(_MARK).items()
    }


def _parsed(stack_id: str) -> Record:
    _, identity, name, gone = (*stack_id.split(_MARK), "", "", "")[:4]
    return Record(identity, name, gone == _GONE)


class Presence(NamedTuple):
    """The objects of a cluster that a management cluster has."""

    cluster: bool
    release: bool
    lease: bool

    def __str__(self) -> str:
        """Return the objects that exist, in words."""
        objects = ("the Cluster", "the helm release", "the Lease")
        return " and ".join(
            name for name, exists in zip(objects, self, strict=True) if exists
        )


def presence(rt: runtime.Runtime, scope: location.Scope) -> Presence:
    """Return the objects of a cluster on this management cluster.

    :raises ManagementError: one could not be read
    """
    return Presence(
        cluster=rt.management.get(kinds.CLUSTER, *scope) is not None,
        release=bool(helm_records.revisions(rt.management, *scope)),
        lease=rt.leases.read(*scope) is not None,
    )


@call.without_lease("all polls write the same identity")
def record(
    nodegroups: Sequence[rows.NodeGroup], release: str, current: Record
) -> None:
    """Write a record into a cluster's rows."""
    master = _master(nodegroups)
    if master is not None:
        words = (release, current.identity, current.name)
        gone = _GONE if current.gone else ""
        master.stack_id = _MARK.join((*words, gone)).rstrip(_MARK)
        rows.save(master)


def check(
    rt: runtime.Runtime,
    nodegroups: Sequence[rows.NodeGroup],
    *,
    cached: bool = False,
) -> bool:
    """Refuse a management cluster that is not the recorded one.

    :param cached: its answer of a few seconds ago will do
    :returns: whether there is a record; without one nothing is known
    :raises ElsewhereError: it is another one
    :raises ManagementError: its identity could not be read
    """
    expected = recorded(nodegroups).identity
    if not expected:
        return False
    actual = rt.maintenance.cached().identity if cached else read(rt)
    if actual != expected:
        raise ElsewhereError(
            "the management cluster is not the one that the cluster was made "
            "on: the operator has to end that, the log says how",
            detail=f"UID of its kube-system: {actual}, expected: {expected}. "
            f"Set {rt.management_cluster.option} to that one again or, if it "
            "took that one's place, run 'magnum-capi-helm management-cluster "
            "accept'",
        )
    return True


def check_present(rt: runtime.Runtime, scope: location.Scope) -> None:
    """Refuse a management cluster that has nothing of a release.

    :raises MissingError: neither Lease nor Cluster nor a record of helm's
    :raises ManagementError: it could not be read
    """
    if rt.leases.read(*scope) is None:
        helm_records.check_release_exists(rt.management, scope)


def record_here(
    rt: runtime.Runtime,
    release: str,
    nodegroups: Sequence[rows.NodeGroup],
) -> None:
    """Record this management cluster, which has objects of the cluster."""
    before = recorded(nodegroups)
    if not before.identity or before.gone:
        current = here(rt)
        record(nodegroups, release, current)
        text = "release %s is on the management cluster %s"
        LOG.info(text, release, current)


def record_gone(release: str, nodegroups: Sequence[rows.NodeGroup]) -> None:
    """Record that nothing is left, before the last object is removed."""
    before = recorded(nodegroups)
    if before.identity and not before.gone:
        record(nodegroups, release, before._replace(gone=True))


def verify(
    rt: runtime.Runtime,
    scope: location.Scope,
    nodegroups: Sequence[rows.NodeGroup],
) -> bool:
    """Do the same as :func:`check`; without a record, try to make it.

    Call this before the Lease is taken: an empty management cluster would
    have a Lease then.

    :returns: whether this is the management cluster of that release; no: it
        is a release of 1.4.0, and nothing is known
    :raises ElsewhereError: nothing is here of a release of this driver
    :raises MissingError: nor is it of one that was here
    """
    if check(rt, nodegroups):
        check_present(rt, scope)
        return True
    namespace, release = scope
    if rt.management.get(kinds.CLUSTER, *scope) is None:
        if not any(
            names.made_for(release, each.cluster_id) for each in nodegroups
        ):
            return False
        if rt.leases.read(*scope) is None:
            raise ElsewhereError(
                "the management cluster does not seem to be the one that the "
                f"cluster was made on: its namespace {namespace} has neither "
                f"the Cluster nor the Lease {release}; the operator has to "
                "end that, the log says how",
                detail=f"Set {rt.management_cluster.option} to that one again "
                "or, if it is the one, create that Lease again",
            )
    record_here(rt, release, nodegroups)
    return True


def confirm(
    rt: runtime.Runtime,
    scope: location.Scope,
    nodegroups: Sequence[rows.NodeGroup],
    cluster: client.Object | None,
) -> None:
    """Record the management cluster, if it has the Cluster.

    Otherwise check that it is the recorded one.

    :param cluster: the live Cluster; None: it is not there
    """
    if cluster is not None:
        record_here(rt, scope[1], nodegroups)
    else:
        verify(rt, scope, nodegroups)


def read(rt: runtime.Runtime) -> str:
    """Return the identity of the management cluster that answers now.

    :raises ManagementError: it could not be read
    """
    uid = rt.maintenance.read().identity
    if not uid:
        raise errors.ManagementError(
            "the management cluster has no namespace kube-system"
        )
    runtime.cache().identities[rt.management_cluster.name] = uid
    return uid


def here(rt: runtime.Runtime) -> Record:
    """Return the record of a cluster on this management cluster.

    :raises ManagementError: its identity could not be read
    """
    return Record(read(rt), rt.management_cluster.name)


@contextlib.contextmanager
def verified_on_error(
    rt: runtime.Runtime, cluster: rows.Cluster
) -> Iterator[None]:
    """After a failed read, check that this is the recorded one."""
    try:
        yield
    except errors.ManagementError as error:
        if isinstance(error, errors.ManagementUnserved) or not error.retriable:
            rt.located.forget(location.scope_of(cluster))
            check(rt, rows.all_groups(cluster))
        raise


def _master(nodegroups: Sequence[rows.NodeGroup]) -> Any | None:
    return next((e for e in nodegroups if e.role == "master"), None)
