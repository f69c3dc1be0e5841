# SPDX-License-Identifier: Apache-2.0

"""A cluster as a tree, as Cluster API sees it.

What is ready and why not is decided where the verdict and the health are
decided; nothing here has an opinion of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
import dataclasses

from magnum_capi_helm.model import names
from magnum_capi_helm.model import requested_groups
from magnum_capi_helm.status import addons
from magnum_capi_helm.status import branch
from magnum_capi_helm.status import cluster as cluster_status
from magnum_capi_helm.status import machine
from magnum_capi_helm.status import nodegroup
from magnum_capi_helm.status import reachability
from magnum_capi_helm.status import reasons
from magnum_capi_helm.status import view

_UNREAD = "Keystone, or the management cluster, does not say"


@dataclasses.dataclass(frozen=True)
class Told:
    """What is known of a cluster besides its objects.

    :param status: Magnum's
    :param reason: Magnum's status_reason
    :param health: Magnum's health_status
    :param chart: the version that it has; empty: not known
    :param lease: who holds it, in a few words
    :param credential: why the application credential does not work; empty:
        it does; None: nobody could say
    """

    name: str
    status: str
    reason: str = ""
    health: str = ""
    chart: str = ""
    lease: str = ""
    credential: str | None = ""


@dataclasses.dataclass(frozen=True)
class Judged:
    """What the driver makes of a cluster's objects.

    :param required: conditions that the control plane must have true
    :param expected: names of the addon objects that the manifest has
    :param now: seconds since 1970
    """

    rows: requested_groups.Rows
    verdict: cluster_status.Verdict
    required: Sequence[str] = ()
    expected: frozenset[str] = frozenset()
    now: float = 0.0


def unmade(told: Told) -> branch.Branch:
    """A cluster for which nothing was ever made."""
    why = told.reason or "nothing was made for it"
    return branch.Branch(
        "cluster", told.name, branch.State.NOT_READY, _note(told), why
    )


def described(told: Told, seen: view.View, judged: Judged) -> branch.Branch:
    """The whole cluster.

    :param seen: with what is above and below Cluster API
    """
    children = (
        _release(seen, told),
        _cluster(seen, judged),
        branch.Branch("Lease", seen.release, note=told.lease),
        _credential(seen, told),
    )
    why = _root(told, judged.verdict)
    state = branch.State.NOT_READY if why else branch.worst(children)
    return branch.Branch(
        "cluster", told.name, state, _note(told), why, children
    )


def _note(told: Told) -> str:
    return ", ".join(filter(None, (told.status, told.health)))


def _root(told: Told, verdict: cluster_status.Verdict) -> str:
    """Magnum's reason where that is an end, else the verdict of now."""
    if told.status.startswith("DELETE"):
        return told.reason or "being deleted"
    if told.status.endswith("_FAILED"):
        return told.reason or verdict.reason or "it failed"
    if verdict.complete and not told.status.endswith("_COMPLETE"):
        return "it is complete: the next poll writes that down"
    return verdict.reason


def _release(seen: view.View, told: Told) -> branch.Branch:
    newest = seen.newest
    note = f"chart {told.chart}" if told.chart else ""
    if newest:
        revision = f"revision {newest.version} {newest.status}"
        note = ", ".join(filter(None, (revision, note)))
    return branch.grown(
        "helm release",
        seen.release,
        why=cluster_status.unreleased(seen),
        note=note,
        parts=(),
    )


def _credential(seen: view.View, told: Told) -> branch.Branch:
    name = names.credentials(seen.release)
    if told.credential is None:
        return branch.Branch(
            "credential", name, branch.State.UNKNOWN, reason=_UNREAD
        )
    return branch.grown("credential", name, why=told.credential, parts=())


def _cluster(seen: view.View, judged: Judged) -> branch.Branch:
    stopped = cluster_status.left_alone(seen)
    found = branch.grown(
        "Cluster",
        seen.release,
        why=stopped or cluster_status.unavailable(seen),
        note=reachability.api_address(seen.cluster) or "",
        parts=[
            *_infrastructure(seen),
            *_groups(seen, judged),
            *_addons(seen, judged),
        ],
    )
    # No machine knows that its API can't be reached, or of a pause.
    known = stopped or reachability.why_not(seen, judged.now)
    return dataclasses.replace(found, reason=known or found.reason)


def _infrastructure(seen: view.View) -> Iterator[branch.Branch]:
    obj = seen.infrastructure
    if obj is None and seen.cluster is None:
        return
    why = reasons.of_infrastructure(obj)
    if not why and not reasons.provisioned(obj):
        why = "not provisioned yet" if obj else "not created yet"
    name = view.name_of(obj or {}) or seen.release
    yield branch.grown("OpenStackCluster", name, why=why, parts=())


def _groups(seen: view.View, judged: Judged) -> Iterator[branch.Branch]:
    """Those that rows want, then whatever else has machines."""
    counts = {
        each.chart_name: None
        if each.chart_name in seen.autoscaled()
        else each.count
        for each in judged.rows.workers
    }
    called = {
        each.chart_name: each.name
        for each in (*judged.rows.workers, *judged.rows.leaving)
        if not each.control_plane
    }
    yield _control_plane(seen, judged)
    others = sorted(seen.group_names() - counts.keys())
    for name in (*counts, *others):
        yield _workers(seen, name, counts.get(name), called.get(name, ""))


def _control_plane(seen: view.View, judged: Judged) -> branch.Branch:
    obj, master = seen.control_plane, judged.rows.master
    why = nodegroup.control_plane_unsettled(
        obj, master.count if master else None, judged.required
    )
    return branch.grown(
        "KubeadmControlPlane",
        names.control_plane(seen.release),
        why=nodegroup.told(obj, why),
        note=_counted(obj, master.name if master else ""),
        parts=_machines(seen, seen.control_plane_machines()),
    )


def _workers(
    seen: view.View, group: str, count: int | None, called: str
) -> branch.Branch:
    obj = seen.deployment(group)
    return branch.grown(
        "MachineDeployment",
        names.machine_deployment(seen.release, group),
        why=nodegroup.told(obj, nodegroup.unsettled(obj, count)),
        note=_counted(obj, called),
        parts=_machines(seen, seen.machines_of(group)),
    )


def _counted(obj: view.Object | None, called: str) -> str:
    """The group as Magnum calls it, and its machines in numbers."""
    whose = f"nodegroup {called}" if called else "no nodegroup of Magnum's"
    if obj is None:
        return whose
    found = nodegroup.replicas(obj)
    return f"{whose}, {found.ready} of {found.wanted} ready"


def _machines(
    seen: view.View, machines: Sequence[view.Object]
) -> list[branch.Branch]:
    """The oldest first: what is being made comes last."""
    return [
        machine.described(each, seen) for each in sorted(machines, key=_made)
    ]


def _made(found: view.Object) -> tuple[str, str]:
    meta = found.get("metadata") or {}
    return str(meta.get("creationTimestamp") or ""), view.name_of(found)


def _addons(seen: view.View, judged: Judged) -> Iterator[branch.Branch]:
    """All of them as one branch; nothing where there are none."""
    live = {view.name_of(each) for each in seen.addons}
    found = [_addon(each, seen, judged.now) for each in seen.addons]
    found += [
        branch.grown("addon", each, why="not created yet", parts=())
        for each in judged.expected - live
    ]
    if not found:
        return
    found.sort(key=lambda each: each.name)
    well = sum(each.state is branch.State.READY for each in found)
    yield branch.Branch(
        "addons",
        state=branch.worst(found),
        note=f"{well} of {len(found)} deployed",
        children=tuple(found),
    )


def _addon(addon: view.Object, seen: view.View, now: float) -> branch.Branch:
    """As the verdict has it, which names the addon, too."""
    if addons.deployed(addon):
        why = addons.unnoticed(addon, seen.newest, now)
    else:
        why = reasons.of_addon(addon, seen.release).partition(": ")[2]
    return branch.grown(
        str(addon.get("kind") or "addon"),
        view.name_of(addon),
        why=why,
        parts=(),
    )
