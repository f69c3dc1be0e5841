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

import json
from typing import NamedTuple

from magnum_capi_helm.status import certificates
from magnum_capi_helm.status import machine as machine_status
from magnum_capi_helm.status import view

ANNOTATION = "magnum.openstack.org/progress"


class Mark(NamedTuple):
    """The best counts so far of one update.

    :ivar revision: of the helm release
    :ivar began: when the update began, seconds since 1970, by the clock of
        the API server; with ``revision``, it identifies the update
    :ivar new: most new machines that had a ready node at once
    :ivar old: fewest old machines that were left
    :ivar time: when the counts were reached, seconds since 1970
    """

    revision: int
    began: int
    new: int
    old: int
    time: int

    def annotation(self) -> str:
        """Return the value of the annotation."""
        return json.dumps(self._asdict())


def stored(cluster: view.Object | None) -> Mark | None:
    """Return the mark in the annotation, or None if there is no valid one."""
    text = view.annotations_of(cluster).get(ANNOTATION, "")
    try:
        mark = json.loads(text)
        return Mark(*(int(mark[name]) for name in Mark._fields))
    except (ArithmeticError, LookupError, TypeError, ValueError):
        return None


def latest(objects: view.View, now: float) -> Mark | None:
    """Return the mark of now: the stored one if there is no progress.

    :param now: seconds since 1970
    :returns: None where there is no release
    """
    revision = objects.newest
    if revision is None:
        return None
    renewed = certificates.renewal_time(objects.control_plane)
    renewed = renewed if renewed <= now else 0.0
    began = int(max(revision.created, renewed))
    ages = [(view.created_at(each) < began, each) for each in objects.machines]
    old = sum(is_old for is_old, _ in ages)
    new = sum(not is_old and _has_ready_node(each) for is_old, each in ages)
    best = stored(objects.cluster)
    update = (revision.version, began)
    if best is None or (best.revision, best.began) != update:
        # The first look only sets the starting counts.
        return Mark(*update, new, old, int(max(revision.modified, renewed)))
    if new <= best.new and old >= best.old:
        return best
    return Mark(*update, max(new, best.new), min(old, best.old), int(now))


def _has_ready_node(machine: view.Object) -> bool:
    condition = machine_status.node_condition(machine)
    is_ready = condition is not None and condition.well
    return is_ready and not view.deleting(machine)
