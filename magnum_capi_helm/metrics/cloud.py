# SPDX-License-Identifier: Apache-2.0

"""What rows and lists say, as metrics.

What is not known has no sample: nobody takes what could not be read for
nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
import dataclasses
import itertools

from magnum_capi_helm.database import inventory
from magnum_capi_helm.metrics import families
from magnum_capi_helm.status import conditions
from magnum_capi_helm.status import view

Sample = families.Sample

#: Whose clusters are counted even where there is none.
_STATUSES = tuple(
    f"{action}_{end}"
    for action in ("CREATE", "UPDATE", "DELETE")
    for end in ("IN_PROGRESS", "COMPLETE", "FAILED")
)
_ABSENT = "absent"
_KINDS = ("drift", "unreachable")
CA = "ca"
KUBECONFIG = "kubeconfig"
CONTROL_PLANE = "control-plane"


@dataclasses.dataclass(frozen=True)
class Addon:
    """An addon of a release, and the phase that its provider reports."""

    scope: inventory.Scope
    phase: str


@dataclasses.dataclass(frozen=True)
class Certificate:
    """A certificate of a release.

    :param name: ``ca``, ``kubeconfig`` or ``control-plane``
    :param ends: seconds since 1970
    """

    scope: inventory.Scope
    name: str
    ends: float


@dataclasses.dataclass(frozen=True)
class Held:
    """A Lease that somebody holds.

    :param renewed: seconds since 1970, by the holder's clock
    """

    scope: inventory.Scope
    renewed: float


@dataclasses.dataclass(frozen=True)
class Details:
    """What a management cluster has beside its releases.

    :param plane: its name
    :param parts: what was read, and whether all of it could be
    """

    plane: str
    addons: Sequence[Addon] = ()
    certificates: Sequence[Certificate] = ()
    leases: Sequence[Held] = ()
    parts: Mapping[str, bool] = dataclasses.field(default_factory=dict)


def addon(obj: view.Object) -> Addon:
    """Of a HelmRelease or Manifests; its provider's words for phases."""
    phase = str(view.status_of(obj).get("phase") or "Unknown")
    return Addon(_scope(obj, view.CHART_CLUSTER_LABEL), phase)


def machine(obj: view.Object) -> Certificate | None:
    """Of a control plane's Machine; None: Cluster API does not say yet."""
    ends = conditions.moment(view.status_of(obj).get("certificatesExpiryDate"))
    if not ends:
        return None
    return Certificate(
        _scope(obj, view.CLUSTER_NAME_LABEL), CONTROL_PLANE, ends
    )


def lease(obj: view.Object) -> Held | None:
    """Of a Lease; None: nobody holds it."""
    spec = view.spec_of(obj)
    if not spec.get("holderIdentity"):
        return None
    # One that never was renewed is as old as can be.
    renewed = conditions.moment(spec.get("renewTime"))
    return Held((obj["metadata"]["namespace"], view.name_of(obj)), renewed)


def _scope(obj: view.Object, label: str) -> inventory.Scope:
    return obj["metadata"]["namespace"], view.labels_of(obj)[label]


def samples(
    rows: Sequence[inventory.Row],
    planes: Sequence[inventory.Plane],
    lines: Sequence[inventory.Line],
    details: Sequence[Details],
) -> list[Sample]:
    """All samples, those of a metric one after the other.

    :param lines: what came of comparing rows and planes; a row's own before
        those of its copies
    :param details: of the management clusters that answered
    """
    firsts: dict[str, inventory.Line] = {}
    for each in lines:
        firsts.setdefault(each.uuid, each)
    firsts.pop("", None)
    found = [
        *_of_planes(planes, lines, details),
        *_counted(rows),
        *_of_rows(rows, firsts),
        *_states(lines),
    ]
    for one in details:
        found += _of_details(one, _here(rows, firsts, one.plane))
    order = {family: at for at, family in enumerate(families.OF_CLOUD)}
    return sorted(found, key=lambda each: order[each.family])


def _here(
    rows: Iterable[inventory.Row],
    firsts: Mapping[str, inventory.Line],
    plane: str,
) -> dict[inventory.Scope, str]:
    """The UUID of each cluster on a management cluster, by its release."""
    return {
        each.scope: each.uuid
        for each in rows
        if each.scope[1]
        and each.uuid in firsts
        and firsts[each.uuid].plane == plane
    }


def _of_planes(
    planes: Iterable[inventory.Plane],
    lines: Iterable[inventory.Line],
    details: Iterable[Details],
) -> Iterator[Sample]:
    orphans = [each.plane for each in lines if each.orphan]
    for each in planes:
        name = each.name
        yield Sample(families.UP, (name,), float(bool(each.identity)))
        read = not each.silence
        yield Sample(families.READ, (name, "releases"), float(read))
        if read:
            count = float(orphans.count(name))
            yield Sample(families.ORPHANS, (name,), count)
    for one in details:
        for part, known in sorted(one.parts.items()):
            yield Sample(families.READ, (one.plane, part), float(known))


def _counted(rows: Iterable[inventory.Row]) -> Iterator[Sample]:
    changed: dict[str, list[float]] = {each: [] for each in _STATUSES}
    for row in rows:
        changed.setdefault(row.status, []).append(row.changed)
    for status, moments in changed.items():
        yield Sample(families.CLUSTERS, (status,), float(len(moments)))
        if moments:
            yield Sample(families.OLDEST, (status,), min(moments))


def _of_rows(
    rows: Iterable[inventory.Row], firsts: Mapping[str, inventory.Line]
) -> Iterator[Sample]:
    for row in sorted(rows, key=lambda each: each.uuid):
        line = firsts.get(row.uuid, inventory.Line())
        about = (row.uuid, row.name, row.project, line.plane, line.release)
        info = (*about, line.chart, row.version)
        yield Sample(families.INFO, info, 1.0)
        yield Sample(families.STATUS, (row.uuid, row.status), row.changed)
        if row.refused is not None:
            refused = float(row.refused)
            yield Sample(families.CREDENTIAL, (row.uuid,), refused)


def _states(lines: Iterable[inventory.Line]) -> Iterator[Sample]:
    """One of a cluster that is on a second management cluster has two."""
    found = {(each.uuid, _state(each.state)) for each in lines if each.uuid}
    for labels in sorted(found):
        yield Sample(families.STATE, labels, 1.0)


def _state(text: str) -> str:
    """The word for a state, without the reason behind it."""
    if text == inventory.ABSENT:
        return _ABSENT
    word = text.partition(":")[0]
    return word if word in _KINDS else inventory.OK


def _of_details(
    found: Details, uuids: Mapping[inventory.Scope, str]
) -> Iterator[Sample]:
    """Of clusters on this management cluster, and of Leases of orphans."""
    phases = sorted(
        (uuids[each.scope], each.phase)
        for each in found.addons
        if each.scope in uuids
    )
    for labels, same in itertools.groupby(phases):
        yield Sample(families.ADDONS, labels, float(len(list(same))))
    ends: dict[tuple[str, str], float] = {}
    for each in found.certificates:
        if each.scope in uuids:
            labels = uuids[each.scope], each.name
            ends[labels] = min(each.ends, ends.get(labels, each.ends))
    for labels, moment in sorted(ends.items()):
        yield Sample(families.CERTIFICATE, labels, moment)
    for held in sorted(found.leases, key=lambda each: each.scope):
        where = (found.plane, *held.scope, uuids.get(held.scope, ""))
        yield Sample(families.LEASE, where, held.renewed)
