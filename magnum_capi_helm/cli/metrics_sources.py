# SPDX-License-Identifier: Apache-2.0

"""Samples of the command ``metrics``, from rows and management clusters.

A management cluster is read with one LIST for each kind, whatever the number
of clusters, and one GET for the kubeconfig of each cluster: most of the
Secrets that Cluster API makes hold user data of machines, and no label tells
them apart. Data that could not be read has no sample.
"""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent import futures
import functools
from typing import TypeAlias, TypeVar

import msgspec

from magnum_capi_helm import metrics
from magnum_capi_helm import runtime
from magnum_capi_helm.cli import inventory as inventories
from magnum_capi_helm.config import conf
from magnum_capi_helm.database import inventory
from magnum_capi_helm.kubernetes import client
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import kubeconfig
from magnum_capi_helm.kubernetes import location
from magnum_capi_helm.kubernetes import responses
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.status import view

T = TypeVar("T")

#: A metric, its value, and the values of its labels.
Sample: TypeAlias = tuple[metrics.Metric, float, tuple[str, ...]]
#: UUIDs of the clusters on one management cluster, by release.
Uuids: TypeAlias = Mapping[inventory.Scope, str]

#: Statuses that have a sample even without clusters.
_STATUSES = tuple(
    f"{action}_{end}"
    for action in ("CREATE", "UPDATE", "DELETE")
    for end in ("IN_PROGRESS", "COMPLETE", "FAILED")
)
#: Secrets that are read at once.
_READERS = 8
_CONTROL_PLANES = f"{view.CLUSTER_NAME_LABEL},{view.CONTROL_PLANE_LABEL}"


class Samples(metrics.Collector):
    """Samples of all clusters and management clusters."""

    def __init__(self, samples: Iterable[Sample]) -> None:
        self._families = {each: each.gauge() for each in metrics.OF_CLOUD}
        for metric, value, labels in samples:
            self._families[metric].add_metric(labels, value)

    def collect(self) -> Iterator[metrics.Family]:
        """Yield the metrics that have samples."""
        return (each for each in self._families.values() if each.samples)


def collect() -> tuple[metrics.Collector, list[str]]:
    """Return all metrics, and why some are missing."""
    whole = inventories.read(None)
    samples = list(samples_of(*whole))
    problems = []
    answering = []
    for each in whole.management_clusters:
        if each.error:
            problems.append(_problem(each.name, each.error))
        elif each.identity:
            answering.append(each)

    read_one = functools.partial(_read, whole)
    with futures.ThreadPoolExecutor(len(whole.management_clusters)) as pool:
        for more, missing in pool.map(read_one, answering):
            samples += more
            problems += missing
    return Samples(samples), problems


def _problem(name: str, problem: str) -> str:
    """Return a problem of a management cluster; a single one has no name."""
    return f"{name}: {problem}" if name else problem


# Samples of Magnum's rows, and of the comparison with the releases


def samples_of(
    rows: Sequence[inventory.Row],
    lines: Sequence[inventory.Line],
    management_clusters: Sequence[inventory.ManagementCluster],
) -> Iterator[Sample]:
    """Yield the samples of an inventory."""
    orphans = [each.management_cluster for each in lines if each.orphan]
    for each in management_clusters:
        answered, readable = bool(each.identity), not each.error
        yield metrics.UP, float(answered), (each.name,)
        yield metrics.READ, float(readable), (each.name, "releases")
        if readable:
            count = float(orphans.count(each.name))
            yield metrics.ORPHANS, count, (each.name,)
    changed: dict[str, list[float]] = {each: [] for each in _STATUSES}
    for row in rows:
        changed.setdefault(row.status, []).append(row.changed)
    for status, moments in changed.items():
        yield metrics.CLUSTERS, float(len(moments)), (status,)
        if moments:
            yield metrics.OLDEST, min(moments), (status,)
    own_lines = _own_lines(lines)
    for row in sorted(rows, key=lambda each: each.uuid):
        yield from _samples_of_row(row, own_lines[row.uuid])
    # A cluster on two management clusters has two states.
    states = {(each.uuid, _state(each.state)) for each in lines if each.uuid}
    for labels in sorted(states):
        yield metrics.STATE, 1.0, labels


def _samples_of_row(
    row: inventory.Row, line: inventory.Line
) -> Iterator[Sample]:
    info = (
        row.uuid,
        row.name,
        row.project,
        line.management_cluster,
        line.release,
        line.chart,
        row.version,
    )
    yield metrics.INFO, 1.0, info
    yield metrics.STATUS, row.changed, (row.uuid, row.status)
    if row.refused is not None:
        yield metrics.CREDENTIAL, float(row.refused), (row.uuid,)


def _own_lines(lines: Sequence[inventory.Line]) -> dict[str, inventory.Line]:
    """Return the line of each cluster, without those of its copies.

    A cluster's own line comes before those of its copies.
    """
    return {line.uuid: line for line in reversed(lines)}


def _state(text: str) -> str:
    """Return the word for a state, without the reason behind it."""
    if text == inventory.ABSENT:
        return "absent"
    return text.partition(":")[0]


def uuids_on(
    where: inventory.ManagementCluster,
    rows: Iterable[inventory.Row],
    lines: Sequence[inventory.Line],
) -> Uuids:
    """Return the clusters on a management cluster that have a release."""
    own_lines = _own_lines(lines)
    return {
        each.scope: each.uuid
        for each in rows
        if each.scope in where.releases
        and own_lines[each.uuid].management_cluster == where.name
    }


# Samples of the objects on a management cluster


def _read(
    whole: inventories.Inventory, where: inventory.ManagementCluster
) -> tuple[list[Sample], list[str]]:
    """Return the samples of a management cluster, and why some are missing.

    Each part is read even if another one can't be.
    """
    rt = runtime.get(where.name)
    uuids = uuids_on(where, whole.rows, whole.lines)
    samples: list[Sample] = []
    problems: list[str] = []
    for part, read in (
        ("addons", addons),
        ("machines", machines),
        ("leases", leases),
        ("kubeconfigs", kubeconfigs),
    ):
        readable = True
        try:
            # One by one: those before an error are kept.
            for sample in read(rt, uuids):
                samples.append(sample)
        except errors.CapiHelmError as error:
            readable = False
            problems.append(_problem(where.name, f"{part}: {error}"))
        samples.append((metrics.READ, float(readable), (where.name, part)))
    return samples, problems


def _scan(
    rt: runtime.Runtime,
    uuids: Uuids,
    kind: kinds.Kind,
    selector: str,
    convert: Callable[[view.Object], T],
) -> list[T]:
    """Read all objects of a kind, by namespace where it has to be."""

    def convert_json(raw: msgspec.Raw) -> T:
        return convert(responses.decoded(responses.decode_json, raw))

    def read_in(namespace: str | None) -> list[T]:
        return rt.management.scan(kind, namespace, selector, convert_json)[0]

    try:
        return read_in(None)
    except responses.ForbiddenError:
        objects = []
        for namespace in sorted({namespace for namespace, _ in uuids}):
            objects += read_in(namespace)
        return objects


def addons(rt: runtime.Runtime, uuids: Uuids) -> Iterator[Sample]:
    """Yield the number of each cluster's addons in each phase."""
    label = view.CHART_CLUSTER_LABEL

    def convert(obj: view.Object) -> tuple[inventory.Scope, str]:
        phase = str(view.status_of(obj).get("phase") or "Unknown")
        return inventories.scope_of(obj, label), phase

    phases = [
        *_scan(rt, uuids, kinds.HELM_RELEASE, label, convert),
        *_scan(rt, uuids, kinds.MANIFESTS, label, convert),
    ]
    counts = collections.Counter(
        (uuids[scope], phase) for scope, phase in phases if scope in uuids
    )
    for labels, count in sorted(counts.items()):
        yield metrics.ADDONS, float(count), labels


def machines(rt: runtime.Runtime, uuids: Uuids) -> Iterator[Sample]:
    """Yield when the first certificate of each control plane ends.

    A machine has none as long as Cluster API does not report it.
    """

    def convert(obj: view.Object) -> tuple[inventory.Scope, float]:
        ends = view.status_of(obj).get("certificatesExpiryDate")
        scope = inventories.scope_of(obj, view.CLUSTER_NAME_LABEL)
        return scope, view.timestamp(ends)

    first: dict[str, float] = {}
    for scope, ends in _scan(
        rt, uuids, kinds.MACHINE, _CONTROL_PLANES, convert
    ):
        if ends and scope in uuids:
            uuid = uuids[scope]
            first[uuid] = min(ends, first.get(uuid, ends))
    for uuid, ends in sorted(first.items()):
        yield metrics.CERTIFICATE, ends, (uuid, "control-plane")


def leases(rt: runtime.Runtime, uuids: Uuids) -> Iterator[Sample]:
    """Yield when each Lease with a holder was renewed, also of orphans.

    A Lease that was never renewed counts as very old. Other clouds may share
    the management cluster.
    """
    prefix = conf.CONF.capi_helm.namespace_prefix

    def convert(obj: view.Object) -> tuple[inventory.Scope, view.Object]:
        scope = obj["metadata"]["namespace"], view.name_of(obj)
        return scope, view.spec_of(obj)

    for scope, spec in sorted(
        _scan(rt, uuids, kinds.LEASE, location.CLUSTER_UUID, convert),
        key=lambda each: each[0],
    ):
        if spec.get("holderIdentity") and names.project_of(scope[0], prefix):
            name = rt.management_cluster.name
            renewed = view.timestamp(spec.get("renewTime"))
            labels = (name, *scope, uuids.get(scope, ""))
            yield metrics.LEASE, renewed, labels


def kubeconfigs(rt: runtime.Runtime, uuids: Uuids) -> Iterator[Sample]:
    """Yield when the certificates in each cluster's kubeconfig end.

    :raises CapiHelmError: the first that can't be read, after all others
    """
    first_error = None
    with futures.ThreadPoolExecutor(_READERS) as pool:
        answers = {
            uuid: pool.submit(_certificates, rt.management, scope)
            for scope, uuid in uuids.items()
        }
        for uuid, answer in sorted(answers.items()):
            try:
                certificates = answer.result()
            except errors.CapiHelmError as error:
                first_error = first_error or error
                continue
            for name, ends in certificates.items():
                yield metrics.CERTIFICATE, ends, (uuid, name)
    if first_error is not None:
        raise first_error


def _certificates(
    management: client.Client, scope: inventory.Scope
) -> dict[str, float]:
    """Return when the certificates in a kubeconfig end; none if it is absent.

    :raises ManagementError: it can't be read, or is damaged
    """
    namespace, release = scope
    secret = management.get(kinds.SECRET, namespace, names.kubeconfig(release))
    if secret is None:
        return {}
    admin = kubeconfig.administrator(secret)
    return {"ca": admin.ca_expires, "kubeconfig": admin.expires}
