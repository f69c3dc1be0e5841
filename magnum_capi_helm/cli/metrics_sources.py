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
import dataclasses
import functools
from typing import TypeVar

from cryptography import x509
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

#: Statuses that have a sample even without clusters.
_STATUSES = tuple(
    f"{action}_{end}"
    for action in ("CREATE", "UPDATE", "DELETE")
    for end in ("IN_PROGRESS", "COMPLETE", "FAILED")
)
#: Secrets that are read at once.
_READERS = 8
_CONTROL_PLANES = f"{view.CLUSTER_NAME_LABEL},{view.CONTROL_PLANE_LABEL}"


@dataclasses.dataclass
class Details:
    """Objects of one management cluster beside its releases.

    :param name: of the management cluster
    :param addons: release and phase
    :param certificates: release, name, and end in seconds since 1970
    :param leases: release, and last renewal in seconds since 1970
    :param parts: whether each part could be read completely
    :param problems: why some could not
    """

    name: str
    addons: list[tuple[inventory.Scope, str]] = dataclasses.field(
        default_factory=list
    )
    certificates: list[tuple[inventory.Scope, str, float]] = dataclasses.field(
        default_factory=list
    )
    leases: list[tuple[inventory.Scope, float]] = dataclasses.field(
        default_factory=list
    )
    parts: dict[str, bool] = dataclasses.field(default_factory=dict)
    problems: list[str] = dataclasses.field(default_factory=list)

    def note_problem(self, part: str, error: Exception) -> None:
        """Note that a part is incomplete; the first error is reported."""
        if self.parts[part]:
            self.parts[part] = False
            self.problems.append(f"{part}: {error}")


def collect() -> tuple[metrics.Collector, list[str]]:
    """Return all metrics, and why some are missing."""
    rows, lines, management_clusters = inventories.read(None)
    prefix = conf.CONF.capi_helm.namespace_prefix

    def read_details(where: inventory.ManagementCluster) -> Details:
        here = {
            each.uuid
            for each in lines
            if each.management_cluster == where.name
        }
        scopes = [
            each.scope
            for each in rows
            if each.uuid in here and each.scope in where.releases
        ]
        return read(runtime.get(where.name), scopes, prefix)

    answering = [
        each
        for each in management_clusters
        if each.identity and not each.error
    ]
    problems = [
        (each.name, each.error) for each in management_clusters if each.error
    ]
    with futures.ThreadPoolExecutor(len(management_clusters)) as pool:
        details = list(pool.map(read_details, answering))
    for one in details:
        problems += [(one.name, each) for each in one.problems]
    return Samples(rows, management_clusters, lines, details), [
        f"{name}: {problem}" if name else problem for name, problem in problems
    ]


# Reading a management cluster


def read(
    rt: runtime.Runtime, scopes: Sequence[inventory.Scope], prefix: str
) -> Details:
    """Read a management cluster that answers.

    :param scopes: releases of this driver's clusters that are on it
    :param prefix: of this cloud's namespaces
    """
    details = Details(rt.management_cluster.name)
    namespaces = sorted({namespace for namespace, _ in scopes})
    scan = functools.partial(_scan, rt.management, namespaces, details)
    for kind in (kinds.HELM_RELEASE, kinds.MANIFESTS):
        details.addons += scan("addons", kind, view.CHART_CLUSTER_LABEL, addon)
    details.certificates += scan(
        "machines", kinds.MACHINE, _CONTROL_PLANES, machine
    )
    leases = scan("leases", kinds.LEASE, location.CLUSTER_UUID, lease)
    # Other clouds may share the management cluster.
    details.leases += [
        each for each in leases if names.project_of(each[0][0], prefix)
    ]
    _read_kubeconfigs(rt.management, scopes, details)
    return details


def _scan(
    management: client.Client,
    namespaces: Iterable[str],
    details: Details,
    part: str,
    kind: kinds.Kind,
    selector: str,
    convert: Callable[[view.Object], T | None],
) -> list[T]:
    """Read all objects of a kind, by namespace where it has to be."""
    details.parts.setdefault(part, True)
    objects: list[T | None] = []

    def read_in(namespace: str | None) -> list[T | None]:
        def convert_json(raw: msgspec.Raw) -> T | None:
            return convert(responses.decoded(responses.decode_json, raw))

        return management.scan(kind, namespace, selector, convert_json)[0]

    try:
        try:
            objects = read_in(None)
        except responses.ForbiddenError:
            for each in namespaces:
                objects += read_in(each)
    except errors.CapiHelmError as error:
        details.note_problem(part, error)
    return [each for each in objects if each is not None]


def addon(obj: view.Object) -> tuple[inventory.Scope, str]:
    """Return the release and the phase of a HelmRelease or Manifests."""
    phase = str(view.status_of(obj).get("phase") or "Unknown")
    return _scope(obj, view.CHART_CLUSTER_LABEL), phase


def machine(obj: view.Object) -> tuple[inventory.Scope, str, float] | None:
    """Return when the certificates of a control plane machine end.

    :returns: None as long as Cluster API does not report it
    """
    ends = view.timestamp(view.status_of(obj).get("certificatesExpiryDate"))
    if not ends:
        return None
    return _scope(obj, view.CLUSTER_NAME_LABEL), "control-plane", ends


def lease(obj: view.Object) -> tuple[inventory.Scope, float] | None:
    """Return when a Lease was renewed; None without a holder."""
    spec = view.spec_of(obj)
    if not spec.get("holderIdentity"):
        return None
    # A Lease that was never renewed counts as very old.
    renewed = view.timestamp(spec.get("renewTime"))
    return (obj["metadata"]["namespace"], view.name_of(obj)), renewed


def _scope(obj: view.Object, label: str) -> inventory.Scope:
    return obj["metadata"]["namespace"], view.labels_of(obj)[label]


def _read_kubeconfigs(
    management: client.Client,
    scopes: Sequence[inventory.Scope],
    details: Details,
) -> None:
    """Read the certificates in the clusters' kubeconfigs."""
    part = "kubeconfigs"
    details.parts[part] = True
    with futures.ThreadPoolExecutor(_READERS) as pool:
        read_one = functools.partial(_certificates, management)
        for answer in [pool.submit(read_one, each) for each in scopes]:
            try:
                details.certificates += answer.result()
            except errors.CapiHelmError as error:
                details.note_problem(part, error)


def _certificates(
    management: client.Client, scope: inventory.Scope
) -> list[tuple[inventory.Scope, str, float]]:
    """Return the certificates in a kubeconfig, if Cluster API has made it.

    :raises ManagementError: it can't be read, or is damaged
    """
    namespace, release = scope
    name = names.kubeconfig(release)
    secret = management.get(kinds.SECRET, namespace, name)
    if secret is None:
        return []
    admin = kubeconfig.administrator(secret)
    try:
        ca, own = _first_end(admin.ca), _first_end(admin.certificate)
    except ValueError as error:
        # Not chained: text that is no certificate may be a key.
        raise errors.ManagementError(
            f"the Secret {name} has no kubeconfig with certificates "
            f"({type(error).__name__})"
        ) from None
    return [(scope, "ca", ca), (scope, "kubeconfig", own)]


def _first_end(pem: str) -> float:
    """Return when the first of some certificates ends."""
    return min(
        each.not_valid_after_utc.timestamp()
        for each in x509.load_pem_x509_certificates(pem.encode())
    )


# Samples


class Samples(metrics.Collector):
    """Samples of all clusters and management clusters.

    :param lines: the comparison of rows and management clusters; a row's own
        line before those of its copies
    :param details: of the management clusters that answered
    """

    def __init__(
        self,
        rows: Sequence[inventory.Row],
        management_clusters: Sequence[inventory.ManagementCluster],
        lines: Sequence[inventory.Line],
        details: Sequence[Details],
    ) -> None:
        self._families = {each: each.gauge() for each in metrics.OF_CLOUD}
        own_lines: dict[str, inventory.Line] = {}
        for line in lines:
            if line.uuid:
                own_lines.setdefault(line.uuid, line)
        self._add_management_clusters(management_clusters, lines)
        self._add_statuses(rows)
        self._add_rows(rows, own_lines)
        self._add_states(lines)
        for one in details:
            self._add_details(one, _uuids_on(one.name, rows, own_lines))

    def collect(self) -> Iterator[metrics.Family]:
        """Yield the metrics that have samples."""
        return (each for each in self._families.values() if each.samples)

    def _add(self, metric: metrics.Metric, value: float, *labels: str) -> None:
        self._families[metric].add_metric(labels, value)

    def _add_management_clusters(
        self,
        management_clusters: Iterable[inventory.ManagementCluster],
        lines: Iterable[inventory.Line],
    ) -> None:
        orphans = [each.management_cluster for each in lines if each.orphan]
        for each in management_clusters:
            readable = not each.error
            self._add(metrics.UP, float(bool(each.identity)), each.name)
            self._add(metrics.READ, float(readable), each.name, "releases")
            if readable:
                count = float(orphans.count(each.name))
                self._add(metrics.ORPHANS, count, each.name)

    def _add_statuses(self, rows: Iterable[inventory.Row]) -> None:
        changed: dict[str, list[float]] = {each: [] for each in _STATUSES}
        for row in rows:
            changed.setdefault(row.status, []).append(row.changed)
        for status, moments in changed.items():
            self._add(metrics.CLUSTERS, float(len(moments)), status)
            if moments:
                self._add(metrics.OLDEST, min(moments), status)

    def _add_rows(
        self,
        rows: Iterable[inventory.Row],
        lines: Mapping[str, inventory.Line],
    ) -> None:
        for row in sorted(rows, key=lambda each: each.uuid):
            line = lines.get(row.uuid, inventory.Line())
            about = (
                row.uuid,
                row.name,
                row.project,
                line.management_cluster,
                line.release,
            )
            self._add(metrics.INFO, 1.0, *about, line.chart, row.version)
            self._add(metrics.STATUS, row.changed, row.uuid, row.status)
            if row.refused is not None:
                self._add(metrics.CREDENTIAL, float(row.refused), row.uuid)

    def _add_states(self, lines: Iterable[inventory.Line]) -> None:
        """Add states; a cluster on two management clusters has two."""
        states = {(each.uuid, _state(each.state)) for each in lines}
        for uuid, state in sorted(states):
            if uuid:
                self._add(metrics.STATE, 1.0, uuid, state)

    def _add_details(
        self, details: Details, uuids: Mapping[inventory.Scope, str]
    ) -> None:
        """Add details of clusters, and Leases of orphans as well."""
        for part, readable in sorted(details.parts.items()):
            self._add(metrics.READ, float(readable), details.name, part)
        phases = collections.Counter(
            (uuids[scope], phase)
            for scope, phase in details.addons
            if scope in uuids
        )
        for labels, count in sorted(phases.items()):
            self._add(metrics.ADDONS, float(count), *labels)
        ends: dict[tuple[str, str], float] = {}
        for scope, name, moment in details.certificates:
            if scope in uuids:
                labels = uuids[scope], name
                ends[labels] = min(moment, ends.get(labels, moment))
        for labels, moment in sorted(ends.items()):
            self._add(metrics.CERTIFICATE, moment, *labels)
        for scope, renewed in sorted(details.leases):
            uuid = uuids.get(scope, "")
            self._add(metrics.LEASE, renewed, details.name, *scope, uuid)


def _uuids_on(
    name: str,
    rows: Iterable[inventory.Row],
    lines: Mapping[str, inventory.Line],
) -> dict[inventory.Scope, str]:
    """Return the UUIDs of a management cluster's clusters by release."""
    return {
        each.scope: each.uuid
        for each in rows
        if each.scope[1]
        and each.uuid in lines
        and lines[each.uuid].management_cluster == name
    }


def _state(text: str) -> str:
    """Return the word for a state, without the reason behind it."""
    if text == inventory.ABSENT:
        return "absent"
    word = text.partition(":")[0]
    return word if word in ("drift", "unreachable") else inventory.OK
