# SPDX-License-Identifier: Apache-2.0

"""Find the management cluster that a cluster is on.

With one management cluster it is that one, and no request is made. With
several, the record in Magnum's rows decides
(:mod:`magnum_capi_helm.management_clusters.identity`), whatever the options
say by now. Without a record, it is the one that has the Cluster, the Lease or
the helm release. If that is not certain, the caller has to wait: a management
cluster that does not answer may have the cluster.

A location is cached in the process, so that no cluster waits for a management
cluster that it is not on. Several management clusters are asked in parallel.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent import futures
from typing import Any, TypeVar

from magnum_capi_helm import runtime
from magnum_capi_helm.database import rows
from magnum_capi_helm.kubernetes import location
from magnum_capi_helm.management_clusters import identity
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names

T = TypeVar("T")

#: Seconds to wait for the answers of several management clusters.
_TIMEOUT = 5.0
_NOTHING = identity.Record("", "")


def runtime_of(cluster: Any) -> runtime.Runtime:
    """Return the runtime of a cluster's management cluster, for a poll.

    A management cluster that does not answer is named by the record; the
    error comes when it is used. A cached location costs no request.

    :raises ElsewhereError: it is not known
    """
    cache = runtime.cache()
    cached = cache.location(cluster.uuid)
    name, record = _find(cluster) if cached is None else (cached, _NOTHING)
    rt = runtime.get(name)
    rt.note_use(cluster)
    if record.identity and record.identity == cache.identities.get(name):
        cache.set_location(cluster.uuid, name)
        if record.name != name:
            # The operator has renamed it.
            renamed = record._replace(name=name)
            identity.record(
                rows.all_groups(cluster), cluster.stack_id, renamed
            )
    return rt


def find_runtime(cluster: Any) -> runtime.Runtime:
    """Return the same as :func:`runtime_of`, and write nothing.

    :raises ElsewhereError: it is not known
    """
    return runtime.get(_find(cluster)[0])


def verified_runtime(cluster: Any) -> runtime.Runtime:
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


def _find(cluster: Any) -> tuple[str, identity.Record]:
    """Return the name of a cluster's management cluster, and the record.

    :raises ElsewhereError: it is not known
    """
    configured = runtime.names()
    if len(configured) == 1 or not cluster.stack_id:
        # A cluster without a release has no objects anywhere.
        return configured[0], _NOTHING
    groups = rows.all_groups(cluster)
    record = identity.recorded(groups)
    if record.identity:
        return by_identity(record, _identities(record)), record
    scope = location.scope_of(cluster)
    traces = ask(configured, lambda rt: any(identity.presence(rt, scope)))
    name = by_traces(cluster.stack_id, traces)
    is_ours = names.made_for(cluster.stack_id, cluster.uuid)
    if name is None and groups and is_ours:
        raise identity.ElsewhereError(
            f"none of the management clusters {', '.join(configured)} has the "
            f"Cluster or the Lease {cluster.stack_id}: the operator has to "
            "configure the one that the cluster was made on again, or to "
            "create that Lease again on the one that it is"
        )
    # Nothing is left of a cluster of 1.4.0, or of one whose deletion Magnum
    # was ending when it had removed the rows of the groups: any will do.
    return name or configured[0], _NOTHING


def _identities(
    record: identity.Record,
) -> Mapping[str, str | errors.CapiHelmError]:
    """Return identities, or errors, that are enough to place a record."""
    configured = runtime.names()
    answers: dict[str, str | errors.CapiHelmError] = {
        name: uid
        for name, uid in runtime.cache().identities.items()
        if name in configured
    }
    if record.identity not in answers.values():
        left = [name for name in configured if name not in answers]
        answers.update(ask(left, identity.read))
    if record.identity not in answers.values() and isinstance(
        answers.get(record.name, ""), str
    ):
        # The cache may be old: a name may stand for another one by now.
        return ask(configured, identity.read)
    return answers


def by_identity(
    record: identity.Record,
    answers: Mapping[str, str | errors.CapiHelmError],
) -> str:
    """Return the name of the management cluster that a record means.

    :param answers: by name, the identity or the error
    :raises ElsewhereError: it is not among those that answered
    """
    same = [name for name in answers if answers[name] == record.identity]
    if same:
        return record.name if record.name in same else same[0]
    if isinstance(answers.get(record.name), errors.CapiHelmError):
        return record.name
    if failed := _failed(answers):
        raise identity.ElsewhereError(
            "none of the management clusters that answer is the one that the "
            f"cluster was made on; still to answer: {failed}",
            detail=f"UID of its kube-system: {record.identity}",
        )
    called = f"It was called {record.name}. " if record.name else ""
    raise identity.ElsewhereError(
        f"none of the management clusters {', '.join(answers)} is the one "
        "that the cluster was made on: the operator has to end that, the log "
        "says how",
        detail=f"{called}UID of its kube-system: {record.identity}. Add it to "
        "[capi_helm] management_clusters again or, if another one took its "
        "place, run 'magnum-capi-helm management-cluster accept'",
    )


def by_traces(
    release: str, answers: Mapping[str, bool | errors.CapiHelmError]
) -> str | None:
    """Return the name of the management cluster that has a release.

    :param answers: by name, whether it has objects of the release, or the
        error
    :returns: None: all have answered, and none has
    :raises ElsewhereError: several have, or one with an error may have
    """
    have = [name for name in answers if answers[name] is True]
    if len(have) > 1:
        raise identity.ElsewhereError(
            f"the management clusters {', '.join(have)} all have something of "
            f"the release {release}: the operator has to remove it from "
            "those that the cluster was not made on"
        )
    if have:
        return have[0]
    if failed := _failed(answers):
        raise identity.ElsewhereError(
            "the cluster is on none of the management clusters that answer; "
            f"still to answer: {failed}"
        )
    return None


def _failed(answers: Mapping[str, object]) -> str:
    return "; ".join(
        f"{name}: {answer}"
        for name, answer in answers.items()
        if isinstance(answer, errors.CapiHelmError)
    )
