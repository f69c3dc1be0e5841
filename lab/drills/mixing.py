# SPDX-License-Identifier: Apache-2.0
"""Who wrote which revision, and which machines there were, in a mixture."""

from __future__ import annotations

from collections.abc import Iterable
import contextlib
import os
import signal
from typing import Any, NamedTuple

from magnum_capi_helm.chart import values
from magnum_capi_helm.kubernetes import client
from magnum_capi_helm.kubernetes import helm_records
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.status import view

OLD, OURS = "1.4.0", "this driver"
MASTERS, WORKERS = "control-plane", "default-worker"
_DEPLOYMENT = "cluster.x-k8s.io/deployment-name"


class Part(NamedTuple):
    """A group of machines: the release, and what it is called there."""

    release: str
    group: str


class Witness:
    """Looks again and again, since helm and Cluster API forget.

    :param plane: the management cluster
    :param namespace: of the releases
    :param mark: what all names of the releases begin with
    """

    def __init__(
        self, plane: client.Client, namespace: str, mark: str
    ) -> None:
        self._plane = plane
        self._namespace = namespace
        self._mark = mark
        #: Release -> who wrote each revision.
        self.writers: dict[str, dict[int, str]] = {}
        #: UIDs of all machines that were ever there.
        self.seen: dict[Part, set[str]] = {}
        #: Those that are there now.
        self.now: dict[Part, set[str]] = {}

    def look(self) -> None:
        """Note what is there."""
        for each in self._ours(kinds.SECRET, helm_records.OWNED):
            labels = view.labels_of(each)
            release, version = labels["name"], int(labels["version"])
            known = self.writers.setdefault(release, {})
            if version not in known:
                stamp = values.stamp(helm_records.opened(each).values)
                known[version] = OURS if stamp else OLD
        self.now = {}
        for each in self._ours(kinds.MACHINE, view.CLUSTER_NAME_LABEL):
            if not view.deleting(each):
                part = _part(each)
                uid = each["metadata"]["uid"]
                self.now.setdefault(part, set()).add(uid)
                self.seen.setdefault(part, set()).add(uid)

    def _ours(self, kind: kinds.Kind, selector: str) -> list[Any]:
        return [
            each
            for each in self._plane.list(kind, self._namespace, selector)
            if self._mark in view.name_of(each)
        ]

    def lost(self, part: Part) -> int:
        """How many machines of a group are not there any more."""
        return len(self.seen.get(part, set()) - self.now.get(part, set()))

    def parts(self, release: str) -> list[Part]:
        """The groups that a release ever had."""
        return [each for each in self.seen if each.release == release]


def _part(machine: client.Object) -> Part:
    labels = view.labels_of(machine)
    release = labels[view.CLUSTER_NAME_LABEL]
    owner = labels.get(_DEPLOYMENT, "").removeprefix(f"{release}-")
    return Part(release, owner or MASTERS)


def signal_all(pids: Iterable[int], number: signal.Signals) -> None:
    """Send a signal to processes, of which some may have ended."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
