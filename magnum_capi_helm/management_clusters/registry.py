# SPDX-License-Identifier: Apache-2.0

"""Find the management cluster that a cluster is on.

With one management cluster it is that one, and no request is made. With
several, the record in Magnum's rows decides
(:mod:`magnum_capi_helm.management_clusters.identity`), whatever the options
say by now. Without a record, it is the one that has the Cluster, the Lease or
the helm release. If that is not certain, the caller has to wait: a management
cluster that does not answer may have the cluster.

Identities are cached in the process, so that no cluster waits for a management
cluster that it is not on. Several management clusters are asked in parallel.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent import futures
from typing import TypeVar

from magnum_capi_helm import runtime
from magnum_capi_helm.database import rows
from magnum_capi_helm.kubernetes import location
from magnum_capi_helm.management_clusters import identity
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names

T = TypeVar("T")

#: Seconds to wait for the answers of several management clusters.
_TIMEOUT = 5.0


def runtime_of(cluster: rows.Cluster) -> runtime.Runtime:
    """Return the runtime of a cluster's management cluster, for a poll.

    Magnum's rows record the identity of the management cluster. If that
    identity is known, no request is sent, and for some minutes the rows are
    not read again. A management cluster that does not answer raises an error
    only when it is used.

    :raises ElsewhereError: it is not known
    """
    rt = _located(cluster) or _locate(cluster)
    rt.note_use(cluster)
    return rt


def _located(cluster: rows.Cluster) -> runtime.Runtime | None:
    """Return the runtime that a poll of the last minutes found."""
    for name, uid in list(runtime.cache().identities.items()):
        rt = runtime.get(name)
        if rt.located.get(location.scope_of(cluster), uid):
            return rt
    return None


def _locate(cluster: rows.Cluster) -> runtime.Runtime:
    name, record = _find(cluster)
    rt = runtime.get(name)
    if record.identity and record.name != name:
        # The operator has renamed the management cluster.
        record = record._replace(name=name)
        identity.record(rows.all_groups(cluster), cluster.stack_id, record)
    if record.identity:
        rt.located.put(location.scope_of(cluster), record.identity, True)
    return rt


def find_runtime(cluster: rows.Cluster) -> runtime.Runtime:
    """Return the same as :func:`runtime_of`, and write nothing.

    :raises ElsewhereError: it is not known
    """
    return runtime.get(_find(cluster)[0])


def verified_runtime(cluster: rows.Cluster) -> runtime.Runtime:
    """Return the runtime to change a cluster with.

    The management cluster answers and is the recorded one.

    :raises ElsewhereError: it is another one than the recorded one
    :raises CapiHelmError: it does not answer, or is not known
    """
    rt = runtime_of(cluster)
    if cluster.stack_id:
        identity.check(rt, rows.all_groups(cluster))
    return rt


def ask(
    asked: Sequence[str], question: Callable[[runtime.Runtime], T]
) -> dict[str, T | errors.CapiHelmError]:
    """Ask management clusters in parallel, so that time-outs don't add up.

    One that has just failed to answer is not asked: a poll must not wait for
    a management cluster that another poll is waiting for.

    :param asked: their names
    :returns: by name, the answer or the error
    """
    cache = runtime.cache()
    answers: dict[str, T | errors.CapiHelmError] = {
        name: error for name in asked if (error := cache.last_error(name))
    }
    left = [name for name in asked if name not in answers]
    if not left:
        return answers

    def put(name: str) -> T | errors.CapiHelmError:
        try:
            return question(runtime.get(name))
        except errors.CapiHelmError as error:
            return error

    pool = futures.ThreadPoolExecutor(len(left))
    calls = {name: pool.submit(put, name) for name in left}
    futures.wait(calls.values(), timeout=_TIMEOUT)
    # Calls that are still running are left alone.
    pool.shutdown(wait=False)
    for name, call in calls.items():
        late = errors.ManagementUnreachable(
            f"the management cluster {name} does not answer in time"
        )
        answers[name] = answer = call.result() if call.done() else late
        if isinstance(answer, errors.ManagementUnreachable):
            cache.record_error(name, answer)
    return answers


def _find(cluster: rows.Cluster) -> tuple[str, identity.Record]:
    """Return the name of a cluster's management cluster, and the record.

    :raises ElsewhereError: it is not known
    """
    configured = runtime.names()
    if len(configured) == 1 or not cluster.stack_id:
        # A cluster without a release has no objects anywhere.
        return configured[0], identity.Record("", "")
    groups = rows.all_groups(cluster)
    record = identity.recorded(groups)
    cache = runtime.cache()
    identities = list(cache.identities.items())
    same = [name for name, uid in identities if uid == record.identity]
    if same:
        return (record.name if record.name in same else same[0]), record
    if cache.last_error(record.name):
        # Polls must not ask the others each time.
        return record.name, record
    scope = location.scope_of(cluster)
    answers = ask(configured, lambda rt: _has(rt, record, scope))
    if (name := locate(record, cluster.stack_id, answers)) is not None:
        return name, record
    if record.identity or (
        groups and names.made_for(cluster.stack_id, cluster.uuid)
    ):
        raise identity.ElsewhereError(
            f"none of the management clusters {', '.join(configured)} is the "
            "one that the cluster was made on: the operator has to end that, "
            "the log says how",
            detail=f"{_expected(record)}. Add it to [capi_helm] "
            "management_clusters again or, if another one took its place, "
            "run 'magnum-capi-helm management-cluster accept'",
        )
    # Nothing is left of a cluster of 1.4.0, or of one whose deletion Magnum
    # was ending when it had removed the rows of the groups: any will do.
    return configured[0], record


def _has(
    rt: runtime.Runtime, record: identity.Record, scope: location.Scope
) -> bool:
    """Return whether a management cluster is the one of a cluster.

    Without a record, it is the one that has objects of the cluster.
    """
    if record.identity:
        return identity.read(rt) == record.identity
    return any(identity.presence(rt, scope))


def locate(
    record: identity.Record,
    release: str,
    answers: Mapping[str, bool | errors.CapiHelmError],
) -> str | None:
    """Return the name of the management cluster that a cluster is on.

    :param answers: by name, whether it is the one, or the error
    :returns: None: all have answered, and none is
    :raises ElsewhereError: several are, or one with an error may be
    """
    same = [name for name in answers if answers[name] is True]
    failed = {
        name: answer
        for name, answer in answers.items()
        if isinstance(answer, errors.CapiHelmError)
    }
    if record.name in (same or failed):
        return record.name
    if len(same) > 1 and not record.identity:
        raise identity.ElsewhereError(
            f"the management clusters {', '.join(same)} all have something of "
            f"the release {release}: the operator has to remove it from "
            "those that the cluster was not made on"
        )
    if failed and not same:
        listed = "; ".join(f"{name}: {failed[name]}" for name in failed)
        raise identity.ElsewhereError(
            "the cluster is on none of the management clusters that answer; "
            f"still to answer: {listed}",
            detail=_expected(record),
        )
    return same[0] if same else None


def _expected(record: identity.Record) -> str:
    """Return the text that describes a record in the log."""
    called = f"It was called {record.name}. " if record.name else ""
    return f"{called}UID of its kube-system: {record.identity or 'unknown'}"
