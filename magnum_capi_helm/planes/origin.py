# SPDX-License-Identifier: Apache-2.0

"""The management cluster that a cluster was made on.

Another one, a rebuilt one or an empty one has none of a cluster's objects,
and none of its machines is gone for that. So each cluster remembers where it
is: the identity of the management cluster (UID of ``kube-system``) is in
Magnum's database, in the ``stack_id`` of the control plane's nodegroup, as
``<release>@<identity>``. No client can set that column, no plan of Terraform
has it, and 1.4.0 does not read it. Where several management clusters are
configured, the name of the right one follows, as ``@<name>``: it says whom to
wait for while that one does not answer. The identity alone is the truth: names
are the operator's, and may change. At the end of a deletion, or when an
operator says that nothing is left to delete, ``@gone`` follows.

It is written when a create claims its release. Magnum's handler puts the bare
release over it afterwards, and 1.4.0 never wrote more than that: the first
poll that sees the Cluster object writes it (again).

Until then a cluster of this driver is known by its Lease: a create makes the
Lease before it claims the release, and a deletion removes it after all else.
So a management cluster with neither Lease nor Cluster is another one, too. If
it is the recorded one all the same, it was restored from a backup in which
the cluster is not: nothing is gone there unless ``@gone`` says so.
1.4.0 has no Lease: of its clusters, nothing is known before the first poll
that sees one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
import contextlib
from typing import Any, NamedTuple

from oslo_log import log

from magnum_capi_helm import runtime
from magnum_capi_helm.database import queries
from magnum_capi_helm.database import rows
from magnum_capi_helm.management import kinds
from magnum_capi_helm.management import snapshot
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.planes import traces

LOG = log.getLogger(__name__)

#: Between release and identity; no release name has it.
_MARK = "@"
_GONE = "gone"


class ElsewhereError(errors.ManagementError):
    """Nothing can be said here of a cluster that is somewhere else."""

    retriable = True


class ForeignError(ElsewhereError):
    """This is not the management cluster that the cluster was made on."""

    def __init__(self, found: str, expected: str, option: str) -> None:
        super().__init__(
            "the management cluster is not the one that the cluster was made "
            f"on (UID of its kube-system: {found}, expected: {expected}): "
            f"the operator has to set {option} to that one again or, if it "
            "took that one's place, to run 'magnum-capi-helm management "
            "accept'"
        )


class NoTraceError(ElsewhereError):
    """A cluster that was not polled yet has not even its Lease here."""

    def __init__(self, scope: snapshot.Scope, option: str) -> None:
        namespace, release = scope
        super().__init__(
            "the management cluster does not seem to be the one that the "
            f"cluster was made on: its namespace {namespace} has neither the "
            f"Cluster nor the Lease {release}. The operator has to set "
            f"{option} to that one again or, if it is the one, to create "
            "that Lease again"
        )


class Record(NamedTuple):
    """What a cluster's rows say of where it is; empty: nothing.

    ``name``: of the management cluster, of several, when it was written.
    ``gone``: nothing is left of the cluster
    """

    identity: str
    name: str
    gone: bool = False


def recorded(nodegroups: Sequence[Any]) -> Record:
    """The record in a cluster's rows."""
    master = _master(nodegroups)
    return _parsed(str((master and master.stack_id) or ""))


def every_record() -> list[Record]:
    """The records of all clusters that have one."""
    return [_parsed(each) for each in queries.stack_ids(_MARK)]


def _parsed(stack_id: str) -> Record:
    _, identity, name, gone = (*stack_id.split(_MARK), "", "", "")[:4]
    return Record(identity, name, gone == _GONE)


def record(nodegroups: Sequence[Any], release: str, found: Record) -> None:
    """Write into a cluster's rows where it is."""
    master = _master(nodegroups)
    if master is not None:
        words = (release, found.identity, found.name, _GONE * found.gone)
        master.stack_id = _MARK.join(words).rstrip(_MARK)
        master.save()


def check(rt: runtime.Runtime, nodegroups: Sequence[Any]) -> bool:
    """Refuse a management cluster that is not the recorded one.

    :returns: whether there is a record; without one nothing is known
    :raises ForeignError: it is another one
    :raises ManagementError: its identity could not be read
    """
    expected = recorded(nodegroups).identity
    if not expected:
        return False
    found = identity(rt)
    if found != expected:
        # An operator may have accepted another one meanwhile.
        runtime.places().forget(nodegroups[0].cluster_id)
        raise ForeignError(found, expected, rt.home.option)
    return True


def check_there(rt: runtime.Runtime, scope: snapshot.Scope) -> None:
    """Refuse a management cluster that has nothing of a release.

    :raises MissingError: neither Lease nor Cluster nor a record of helm's
    :raises ManagementError: it could not be read
    """
    if rt.leases.read(*scope) is None:
        traces.check(rt.management, scope)


def learn(
    rt: runtime.Runtime, release: str, nodegroups: Sequence[Any]
) -> None:
    """Record this management cluster, where a trace of it was seen."""
    known = recorded(nodegroups)
    if not known.identity or known.gone:
        found = here(rt)
        record(nodegroups, release, found)
        LOG.info(
            "release %s is on the management cluster %s",
            release,
            f"{found.name} {found.identity}".strip(),
        )


def bury(release: str, nodegroups: Sequence[Any]) -> None:
    """Record that nothing is left, before the last trace of it goes."""
    known = recorded(nodegroups)
    if known.identity and not known.gone:
        record(nodegroups, release, known._replace(gone=True))


def ascertain(
    rt: runtime.Runtime, scope: snapshot.Scope, nodegroups: Sequence[Any]
) -> bool:
    """As :func:`check`; without a record, look whether it can be made.

    To be called before the Lease is held, which would make it.

    :returns: whether this is the management cluster of that release; no: it
        is a release of 1.4.0, and nothing is known
    :raises NoTraceError: nothing is here of a release of this driver
    :raises MissingError: nor is it of one that was here
    """
    if check(rt, nodegroups):
        check_there(rt, scope)
        return True
    ours = any(
        names.made_for(scope[1], each.cluster_id) for each in nodegroups
    )
    found = rt.management.get(kinds.CLUSTER, *scope)
    if found is None and ours:
        found = rt.leases.read(*scope)
        if found is None:
            raise NoTraceError(scope, rt.home.option)
    if found is None:
        return False
    learn(rt, scope[1], nodegroups)
    return True


def identity(rt: runtime.Runtime) -> str:
    """The identity of the management cluster that answers now.

    :raises ManagementError: it could not be read
    """
    found = rt.anchor.read().identity
    if not found:
        raise errors.ManagementError(
            "the management cluster has no namespace kube-system"
        )
    runtime.places().identify(rt.home.name, found)
    return found


def here(rt: runtime.Runtime) -> Record:
    """The record of a cluster on the management cluster that answers now.

    :raises ManagementError: its identity could not be read
    """
    return Record(identity(rt), rt.home.name)


@contextlib.contextmanager
def doubted(rt: runtime.Runtime, cluster: Any) -> Iterator[None]:
    """What can't be read, maybe can't since this is not the right place."""
    try:
        yield
    except errors.ManagementUnserved:
        check(rt, rows.all_groups(cluster))
        raise
    except errors.ManagementError as error:
        if not error.retriable:
            check(rt, rows.all_groups(cluster))
        raise


def _master(nodegroups: Sequence[Any]) -> Any | None:
    for each in nodegroups:
        if each.role == "master":
            return each
    return None
