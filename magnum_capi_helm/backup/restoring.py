# SPDX-License-Identifier: Apache-2.0

"""What is missing of a cluster, made from its export.

Under the cluster's Lease. Nothing that is there is written over, and no
machine is touched: intent and helm's records come back only beside a Cluster
that is still what they say (``comparison``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from magnum_capi_helm import runtime
from magnum_capi_helm.backup import bundle
from magnum_capi_helm.backup import comparison
from magnum_capi_helm.backup import reading
from magnum_capi_helm.database import rows
from magnum_capi_helm.kubernetes import location
from magnum_capi_helm.management import kinds
from magnum_capi_helm.management import snapshot
from magnum_capi_helm.model import errors
from magnum_capi_helm.operations import operation
from magnum_capi_helm.planes import origin
from magnum_capi_helm.planes import places
from magnum_capi_helm.planes import survey
from magnum_capi_helm.status import view


def row_of(header: bundle.Header) -> Any:
    """Magnum's row of the cluster that an export is of.

    :raises InvalidInput: there is none, or it is not that cluster's
    """
    row = rows.find(rows.everywhere(), header.cluster)
    if row is None:
        raise errors.InvalidInput(
            f"Magnum has no cluster {header.cluster} (any more)"
        )
    if not row.stack_id:
        raise errors.InvalidInput(
            f"nothing was ever made for Magnum's cluster {row.uuid}"
        )
    scope = operation.scope_of(row)
    for what, in_file, wanted in (
        ("project", header.project, row.project_id),
        ("release", header.release, scope[1]),
        ("namespace", header.namespace, scope[0]),
    ):
        if in_file != wanted:
            raise errors.InvalidInput(
                f"the file is of {what} {errors.shown(in_file)}, and "
                f"Magnum's cluster {row.uuid} of {wanted}"
            )
    return row


def place(row: Any, onto: str) -> runtime.Runtime:
    """The management cluster to import a cluster to.

    :param onto: identity of another one than it was made on; empty: it is
        where it was
    :raises CapiHelmError: it is not that one, or nobody can tell
    """
    groups = rows.all_groups(row)
    if onto:
        return _another(row, origin.recorded(groups), onto)
    rt = places.find(row)
    try:
        known = origin.check(rt, groups)
    except origin.ForeignError as error:
        raise errors.NotSupported(
            f"{error}; if the cluster is to be on this one from now on, "
            "import with --onto and its UID"
        ) from None
    scope = operation.scope_of(row)
    if not known and not _trace(rt, scope):
        raise errors.NotSupported(
            "nobody knows which management cluster it was made on, and this "
            f"one has neither the Cluster nor the Lease {scope[1]}: import "
            "with --onto and the UID of the kube-system of the right one"
        )
    return rt


def compare(
    rt: runtime.Runtime, row: Any, found: bundle.Bundle
) -> comparison.Finding:
    """What is missing there now; nothing is written."""
    return comparison.compare(
        found, reading.live(rt, operation.scope_of(row), row.uuid)
    )


def restore(
    rt: runtime.Runtime, row: Any, found: bundle.Bundle, *, partly: bool
) -> None:
    """Make what is missing.

    :param partly: even where other objects differ, which stay as they are
    :raises Frozen: the management cluster is
    :raises CapiHelmError: saying what was made and what was not
    """
    scope = operation.scope_of(row)
    labels = location.object_labels(row, scope[1])
    # The namespace is made before the Lease, which would be refused.
    rt.anchor.check()
    _ensure_namespace(rt, found)
    # Where there is nothing of the cluster, nobody else makes a Lease.
    new = rt.leases.read(*scope) is None
    with operation.patient(rt, scope, labels, command=True, new=new) as hold:
        fresh = rows.fresh(rows.everywhere(), row)
        hold.orphaned = fresh is None
        if fresh is None or hold.marked_deleted or reading.leaving(fresh):
            raise errors.NotSupported("the cluster is being deleted")
        finding = compare(rt, fresh, found)
        check(finding, partly=partly)
        # With a Lease and without a Cluster, a deletion would conclude that
        # the cluster is gone.
        hold.orphaned = (
            new and rt.management.get(kinds.CLUSTER, *scope) is None
        )
        _make(rt, finding.secrets)


def check(finding: comparison.Finding, *, partly: bool) -> None:
    """Refuse where something differs.

    :raises NotSupported: naming it
    """
    if finding.different and not partly:
        raise errors.NotSupported(
            "what is there is not what the file has: "
            f"{'; '.join(finding.different)}. Nothing was written over it; "
            "--leave-different restores the rest"
        )


def _make(rt: runtime.Runtime, secrets: Sequence[view.Object]) -> None:
    made: list[str] = []
    every = [f"Secret {view.name_of(each)}" for each in secrets]
    for secret, name in zip(secrets, every, strict=True):
        try:
            _create(rt, secret)
        except errors.CapiHelmError as error:
            raise errors.CapiHelmError(
                f"{name} was not made: {error}; made before: "
                f"{', '.join(made) or 'nothing'}; still to make: "
                f"{', '.join(every[len(made) :])}: import again"
            ) from error
        made.append(name)


def _create(rt: runtime.Runtime, secret: view.Object) -> None:
    """Make a Secret; that it is there already, the same, is fine."""
    try:
        rt.management.create(kinds.SECRET, secret)
    except errors.Conflict as error:
        meta = secret["metadata"]
        there = rt.management.get(
            kinds.SECRET, meta["namespace"], meta["name"]
        )
        if there is None or not comparison.same(secret, there):
            raise errors.Conflict(
                "somebody else made it meanwhile, and not as in the file"
            ) from error


def _ensure_namespace(rt: runtime.Runtime, found: bundle.Bundle) -> None:
    """Make the project's namespace, with the marks that it had."""
    name = found.header.namespace
    if rt.management.get(kinds.NAMESPACE, "", name) is not None:
        return
    recorded = found.object("Namespace", name) or {}
    meta = recorded.get("metadata") or {}
    kept = {key: meta[key] for key in ("labels", "annotations") if key in meta}
    rt.management.apply(kinds.NAMESPACE, {"metadata": {"name": name, **kept}})


def _another(row: Any, record: origin.Record, onto: str) -> runtime.Runtime:
    """The configured management cluster with an identity.

    :raises CapiHelmError: there is none, or the cluster is still on the
        one that it was made on
    """
    answers = survey.ask(runtime.names(), origin.identity)
    name = _called(answers, onto)
    if name is None:
        listed = "; ".join(
            f"{each} {answer}".strip() for each, answer in answers.items()
        )
        raise errors.InvalidInput(
            f"--onto {errors.shown(onto)} is not the UID of the "
            "kube-system of a management cluster that is configured and "
            f"answers: {listed}"
        )
    before = _called(answers, record.identity)
    silent = answers.get(record.name)
    if before is None and isinstance(silent, errors.CapiHelmError):
        raise silent
    if before not in (None, name) and _trace(
        runtime.get(before), operation.scope_of(row), cluster_alone=True
    ):
        raise errors.NotSupported(
            f"the Cluster is still on the management cluster {before}: two "
            "that have one cluster would fight over its servers"
        )
    return runtime.get(name)


def _called(
    answers: Mapping[str, str | errors.CapiHelmError], identity: str
) -> str | None:
    for name, answer in answers.items():
        if identity and answer == identity:
            return name
    return None


def _trace(
    rt: runtime.Runtime, scope: snapshot.Scope, *, cluster_alone: bool = False
) -> bool:
    """Whether a management cluster has the Cluster, or its Lease."""
    if rt.management.get(kinds.CLUSTER, *scope) is not None:
        return True
    return not cluster_alone and rt.leases.read(*scope) is not None
