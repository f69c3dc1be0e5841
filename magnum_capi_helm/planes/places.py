# SPDX-License-Identifier: Apache-2.0

"""Which of several management clusters a cluster is on, and goes to.

Where there is one alone, it is that one, and nobody is asked. Else a new
cluster goes to the best one that takes it and answers (:mod:`homes`), and an
existing one is where its record says (:mod:`origin`), whatever the
configuration says by now. Without a record it is where its Cluster, its
Lease or its helm release is. What is not known for sure is waited for: one
that does not answer may have it.

Nobody waits for a management cluster that has nothing to do with a cluster:
once found, a cluster's is remembered by the process, and where several are
asked, they are asked at the same time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from oslo_log import log

from magnum_capi_helm import runtime
from magnum_capi_helm.database import rows
from magnum_capi_helm.features import management_cluster
from magnum_capi_helm.features import placement
from magnum_capi_helm.helm import releases
from magnum_capi_helm.management import kinds
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.operations import operation
from magnum_capi_helm.planes import homes
from magnum_capi_helm.planes import origin
from magnum_capi_helm.planes import survey
from magnum_capi_helm.resolve import requested

LOG = log.getLogger(__name__)


class UnknownPlaceError(origin.ElsewhereError):
    """It can't be told now which management cluster a cluster is on."""


def of(cluster: Any) -> runtime.Runtime:
    """The runtime of a cluster's management cluster, for a poll.

    One that does not answer is told by the record, and says so itself when
    it is used. For a cluster that was found before, this costs nothing.

    :raises UnknownPlaceError: it is not known
    """
    configured = runtime.configured()
    if len(configured) == 1:
        return runtime.get(configured[0].name)
    known = runtime.places().place(cluster.uuid)
    if known is not None:
        return runtime.get(known)
    found, record = _find(cluster)
    rt = runtime.get(found)
    identity = runtime.places().identities.get(found)
    if record.identity and record.identity == identity:
        runtime.places().settle(cluster.uuid, found)
        if record.name != found:
            # As the operator calls it now.
            here = record._replace(name=found)
            origin.record(rows.all_groups(cluster), cluster.stack_id, here)
    return rt


def find(cluster: Any) -> runtime.Runtime:
    """As :func:`of`; nothing is written.

    :raises UnknownPlaceError: it is not known
    """
    return runtime.get(_find(cluster)[0])


def checked(cluster: Any) -> runtime.Runtime:
    """As :func:`of`, to change the cluster: it answers, and is the one.

    :raises ForeignError: it would be another management cluster's
    :raises CapiHelmError: it does not answer, or is not known
    """
    rt = of(cluster)
    if cluster.stack_id:
        origin.check(rt, rows.all_groups(cluster))
    return rt


def choose(cluster: Any) -> runtime.Runtime:
    """The runtime to make a new cluster with; it answers, of several.

    :param cluster: with its template; nothing was made for it
    :raises InvalidInput: no management cluster takes it
    :raises CapiHelmError: none of those that take it answers, or all of
        them are frozen
    """
    configured = runtime.configured()
    offered = homes.ranked(configured, _asked(cluster, configured))
    if len(configured) == 1:
        return runtime.get(offered[0].name)
    failures = []
    for home in offered:
        found = survey.ask([home.name], _open)[home.name]
        if isinstance(found, str):
            LOG.info("cluster %s goes to %s", cluster.uuid, home.name)
            return runtime.get(home.name)
        LOG.warning("cluster %s can't go to its best: %s", cluster.uuid, found)
        failures.append(found)
    raise failures[0]


def _open(rt: runtime.Runtime) -> str:
    """The identity of one that answers, and is not frozen."""
    found = origin.identity(rt)
    rt.anchor.check()
    return found


def forget(cluster: Any) -> None:
    """Drop what this process knows of a cluster that is gone."""
    runtime.places().forget(cluster.uuid)


def _asked(cluster: Any, configured: Sequence[homes.Home]) -> homes.Asked:
    given = cluster.cluster_template.labels or {}
    label = str(given.get(management_cluster.NAME.name) or "")
    zones: tuple[str, ...] = ()
    if any(each.zones for each in configured):
        zones = placement.zones(requested.cluster_labels(cluster))
    return homes.Asked(cluster.uuid, cluster.project_id, zones, label)


def _find(cluster: Any) -> tuple[str, origin.Record]:
    """The name of a cluster's management cluster, and the record of it."""
    everyone = runtime.names()
    nothing = origin.Record("", "")
    if len(everyone) == 1 or not cluster.stack_id:
        # Of one without a release, there is nothing anywhere.
        return everyone[0], nothing
    nodegroups = rows.all_groups(cluster)
    record = origin.recorded(nodegroups)
    if record.identity:
        known: dict[str, str | errors.CapiHelmError] = {
            name: identity
            for name, identity in runtime.places().identities.items()
            if name in everyone
        }
        if record.identity not in known.values():
            asked = [name for name in everyone if name not in known]
            known.update(survey.ask(asked, origin.identity))
        if record.identity not in known.values() and isinstance(
            known.get(record.name, ""), str
        ):
            # One may be another by now.
            known = survey.ask(everyone, origin.identity)
        return by_identity(record, known), record
    ours = any(
        names.made_for(cluster.stack_id, each.cluster_id)
        for each in nodegroups
    )
    traces = survey.ask(everyone, lambda rt: _trace(rt, cluster))
    found = by_traces(cluster.stack_id, traces)
    if found is None and ours:
        raise UnknownPlaceError(
            f"none of the management clusters {_listed(everyone)} has the "
            f"Cluster or the Lease {cluster.stack_id}: the operator has to "
            "configure the one that the cluster was made on again, or to "
            "create that Lease again on the one that it is"
        )
    # Nothing is left of one that 1.4.0 made: any of them will do.
    return found or everyone[0], nothing


def by_identity(
    record: origin.Record,
    answers: Mapping[str, str | errors.CapiHelmError],
) -> str:
    """The name of the management cluster that a record means.

    :param answers: by name, its identity, or why it is not known
    :raises UnknownPlaceError: none of those that answered, or none at all
    """
    same = [name for name in answers if answers[name] == record.identity]
    if same:
        return record.name if record.name in same else same[0]
    if isinstance(answers.get(record.name), errors.CapiHelmError):
        return record.name
    silent = _silent(answers)
    if silent:
        raise UnknownPlaceError(
            "none of the management clusters that answer is the one that the "
            f"cluster was made on (UID of its kube-system: {record.identity}"
            f"); still to answer: {silent}"
        )
    called = f"called {record.name}, " if record.name else ""
    raise UnknownPlaceError(
        f"none of the management clusters {_listed(answers)} is the one that "
        f"the cluster was made on ({called}UID of its kube-system: "
        f"{record.identity}): the operator has to add it to [capi_helm] "
        "management_clusters again or, if another one took its place, to run "
        "'magnum-capi-helm management accept'"
    )


def by_traces(
    release: str, answers: Mapping[str, bool | errors.CapiHelmError]
) -> str | None:
    """The name of the one management cluster that has something of a release.

    :param answers: by name, whether it has, or why that is not known
    :returns: None: all have answered, and none has
    :raises UnknownPlaceError: more than one has, or one that is silent may
    """
    have = [name for name in answers if answers[name] is True]
    if len(have) > 1:
        raise UnknownPlaceError(
            f"the management clusters {_listed(have)} all have something of "
            f"the release {release}: the operator has to remove it from "
            "those that the cluster was not made on"
        )
    if have:
        return have[0]
    if silent := _silent(answers):
        raise UnknownPlaceError(
            "the cluster is on none of the management clusters that answer; "
            f"still to answer: {silent}"
        )
    return None


def _trace(rt: runtime.Runtime, cluster: Any) -> bool:
    """Whether a management cluster has anything that a release begins with."""
    scope = operation.scope_of(cluster)
    return (
        rt.management.get(kinds.CLUSTER, *scope) is not None
        or rt.leases.read(*scope) is not None
        or bool(releases.revisions(rt.management, *scope))
    )


def _silent(answers: Mapping[str, object]) -> str:
    return "; ".join(
        f"{name}: {answer}"
        for name, answer in answers.items()
        if isinstance(answer, errors.CapiHelmError)
    )


def _listed(found: Mapping[str, object] | Sequence[str]) -> str:
    return ", ".join(found)
