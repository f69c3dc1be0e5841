# SPDX-License-Identifier: Apache-2.0

"""Progress of the machines in an update.

A helm revision begins an update, and so does a renewal of certificates. Old
machines are those that were made before it. Cluster API makes all later
machines from the wanted templates. The driver compares creation times, all of
which come from the API server's clock: helm creates the record of a revision
before it applies any object (``performUpgrade`` in ``pkg/action/upgrade.go``).

Cluster API's own counter is not used: a MachineDeployment sums up what its
MachineSets reported before (``setReplicas`` in
``machinedeployment_status.go``), so just after a change ``upToDateReplicas``
counts old machines, and the best count would be too high from the start.

Progress is more new machines with a ready node, or fewer old machines, than
at any look before. A machine that is replaced again and again changes
neither best count. Each conductor has to know the best counts, also after a
restart: the driver keeps them in an annotation of the Cluster, which every
poll reads anyway.
"""

from __future__ import annotations

import dataclasses
import json

from magnum_capi_helm.status import certificates
from magnum_capi_helm.status import health
from magnum_capi_helm.status import view

ANNOTATION = "magnum.openstack.org/progress"


@dataclasses.dataclass(frozen=True)
class Mark:
    """The best counts so far of one update.

    :param revision: of the helm release
    :param began: when the update began, seconds since 1970, by the clock of
        the API server; with ``revision``, it identifies the update
    :param new: most new machines that had a ready node at once
    :param old: fewest old machines that were left
    :param time: when the counts were reached, seconds since 1970
    """

    revision: int
    began: int
    new: int
    old: int
    time: int

    def annotation(self) -> str:
        """Return the value of the annotation."""
        return json.dumps(dataclasses.asdict(self))


def stored(cluster: view.Object | None) -> Mark | None:
    """Return the mark in the annotation, or None if there is no valid one."""
    text = view.annotations_of(cluster or {}).get(ANNOTATION, "")
    fields = [each.name for each in dataclasses.fields(Mark)]
    try:
        mark = json.loads(text)
        return Mark(**{name: int(mark[name]) for name in fields})
    except (ArithmeticError, LookupError, TypeError, ValueError):
        return None


def latest(objects: view.View, now: float) -> Mark | None:
    """Return the mark of now: the stored one if there is no progress.

    :param now: seconds since 1970
    :returns: None where there is no release
    """
    if objects.newest is None:
        return None
    renewed = certificates.renewal_time(objects.control_plane)
    renewed = renewed if renewed <= now else 0.0
    began = int(max(objects.newest.created, renewed))
    old = [e for e in objects.machines if view.created_at(e) < began]
    new = [
        each
        for each in objects.machines
        if view.created_at(each) >= began and _has_ready_node(each)
    ]
    best = stored(objects.cluster)
    update = (objects.newest.version, began)
    if best is None or (best.revision, best.began) != update:
        # The first look only sets the starting counts.
        start = int(max(objects.newest.modified, renewed))
        return Mark(*update, len(new), len(old), start)
    if len(new) <= best.new and len(old) >= best.old:
        return best
    return Mark(
        *update, max(len(new), best.new), min(len(old), best.old), int(now)
    )


def _has_ready_node(machine: view.Object) -> bool:
    condition = health.node_condition(machine)
    return (
        condition is not None and condition.well and not view.deleting(machine)
    )
