# SPDX-License-Identifier: Apache-2.0

"""Choose the management cluster and the namespace of a new cluster.

The template's label and the options of each management cluster say which of
them take it. Of those, the one with the fewest clusters for its weight comes
first. A choice is made once, for a create: existing clusters stay where they
are, and their location is recorded
(:mod:`magnum_capi_helm.management_clusters.identity`).

If the kubeconfig points at the wrong management cluster, creates would succeed
there. They are refused until an operator accepts it.

Projects have the same ID in every region of a cloud, so two Magnums of one
Keystone that share a management cluster would share their namespaces. With
``[capi_helm] region_name`` each namespace is marked with the region that
first made a cluster in it.
"""

from __future__ import annotations

import collections
from collections.abc import Iterator, Mapping, Sequence
import dataclasses
from typing import Any

from oslo_log import log

from magnum_capi_helm import runtime
from magnum_capi_helm.config import conf
from magnum_capi_helm.config import options as config
from magnum_capi_helm.features import nodes
from magnum_capi_helm.features import template
from magnum_capi_helm.kubernetes import client
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import permissions
from magnum_capi_helm.management_clusters import identity
from magnum_capi_helm.management_clusters import registry
from magnum_capi_helm.model import errors
from magnum_capi_helm.resolve import requested_labels
from magnum_capi_helm.status import view

LOG = log.getLogger(__name__)

#: Label of a namespace: the region that it belongs to.
REGION_LABEL = "magnum.openstack.org/region"

_NAMELESS = "none: this cloud has one management cluster, without a name"
#: Identities that a message names at most.
_NAMED = 3


@dataclasses.dataclass(frozen=True)
class Request:
    """The properties of a new cluster that decide its location.

    :param zones: every availability zone that it names
    :param label: the management cluster that its template names
    """

    project: str
    zones: tuple[str, ...] = ()
    label: str = ""


def choose(cluster: Any) -> runtime.Runtime:
    """Return the runtime to make a new cluster with.

    With several management clusters it answers and is not frozen.

    :param cluster: with its template; nothing was made for it
    :raises InvalidInput: no management cluster takes it
    :raises CapiHelmError: none of those that take it answers, or all of
        them are frozen
    """
    configured = runtime.configured()
    request = _request(cluster, configured)
    if len(configured) == 1:
        return runtime.get(ranked(configured, request, {})[0].name)
    failures = []
    for candidate in ranked(configured, request, _cluster_counts()):
        name = candidate.name
        answer = registry.ask([name], _expect_open)[name]
        if isinstance(answer, str):
            LOG.info("cluster %s goes to %s", cluster.uuid, name)
            runtime.cache().record_choice(cluster.uuid, name)
            return runtime.get(name)
        LOG.warning(
            "cluster %s can't go to %s: %s", cluster.uuid, name, answer
        )
        failures.append(answer)
    raise failures[0]


def ranked(
    configured: Sequence[config.ManagementCluster],
    request: Request,
    counts: Mapping[str, int],
) -> list[config.ManagementCluster]:
    """Return the management clusters that take a cluster, the best one first.

    Each new cluster goes where the share, clusters by weight, is smallest
    with it. So the counts approach the proportion of the weights.

    :param counts: number of clusters by name
    :raises LabelError: the template names one that does not exist
    :raises InvalidInput: none takes it
    """
    names = [each.name for each in configured if each.name]
    if request.label and request.label not in names:
        raise errors.LabelError(
            template.MANAGEMENT_CLUSTER.name,
            request.label,
            " or ".join(names) or _NAMELESS,
        )
    refusals = {
        each.name: next(_refusals(each, request), "") for each in configured
    }
    takers = [each for each in configured if not refusals[each.name]]
    takers.sort(key=lambda each: (counts.get(each.name, 0) + 1) / each.weight)
    if takers:
        return takers
    raise errors.InvalidInput(
        f"no management cluster takes a cluster of project {request.project} "
        f"{_in_zones(request.zones)}: "
        + "; ".join(
            f"{name or 'it'} {text}" for name, text in refusals.items()
        )
    )


def _refusals(
    settings: config.ManagementCluster, request: Request
) -> Iterator[str]:
    """Yield the reasons why a management cluster does not take a cluster."""
    # A tenant reads these: they name no other tenant.
    if request.label not in ("", settings.name):
        yield f"is not {request.label}, which the template asks for"
    if not settings.weight:
        yield "takes no new clusters"
    if settings.only_labelled and not request.label:
        yield (
            "takes clusters of templates with the label "
            f"{template.MANAGEMENT_CLUSTER.name}={settings.name} alone"
        )
    if settings.projects and request.project not in settings.projects:
        yield "takes those of other projects"
    if settings.zones and not (
        request.zones and {*request.zones} <= {*settings.zones}
    ):
        yield (
            "takes those whose label availability_zone is "
            f"{' or '.join(settings.zones)}"
        )


def _in_zones(zones: Sequence[str]) -> str:
    if not zones:
        return "without an availability zone"
    noun = "zone" if len(zones) == 1 else "zones"
    return f"in the availability {noun} {', '.join(zones)}"


def _request(
    cluster: Any, configured: Sequence[config.ManagementCluster]
) -> Request:
    labels = cluster.cluster_template.labels or {}
    label = str(labels.get(template.MANAGEMENT_CLUSTER.name) or "")
    zones: tuple[str, ...] = ()
    if any(each.zones for each in configured):
        zones = nodes.zones(requested_labels.cluster_labels(cluster))
    return Request(cluster.project_id, zones, label)


def _cluster_counts() -> Mapping[str, int]:
    """Return how many clusters each management cluster has, by name.

    Magnum overwrites the record of a cluster that is being made. Until its
    first poll records it again, the choice of this process counts.
    """
    cache = runtime.cache()
    names = {uid: name for name, uid in cache.identities.items()}
    recorded = {
        uuid: names.get(record.identity, record.name)
        for uuid, record in identity.all_records().items()
        if not record.gone
    }
    return collections.Counter({**cache.choices(), **recorded}.values())


def _expect_open(rt: runtime.Runtime) -> str:
    """Return the identity of a management cluster that is not frozen.

    :raises CapiHelmError: it does not answer, or is frozen
    """
    uid = identity.read(rt)
    rt.maintenance.check()
    return uid


def check_accepted(rt: runtime.Runtime, here: identity.Record) -> None:
    """Refuse to make a cluster where no other cluster is.

    Where clusters are recorded, one of their management clusters has to be
    this one or another one that is configured. A process checks an identity
    once.

    :param here: the management cluster that answers
    :raises ManagementError: none of the recorded ones is configured
    """
    accepted = runtime.cache().accepted_identities
    if here.identity in accepted:
        return
    records = list(identity.all_records().values())
    present = [each for each in records if not each.gone]
    # An operator may have accepted that all clusters of one are gone.
    if here.identity in {each.identity for each in records}:
        accepted.add(here.identity)
    elif present and not _is_addition(here, present):
        expected = sorted({each.identity for each in present})
        listed = ", ".join(expected[:_NAMED])
        more = ", ..." if len(expected) > _NAMED else ""
        raise errors.ManagementError(
            "the management cluster is not the one that the other clusters "
            "are on, and nothing is made there: the operator has to end that, "
            "the log says how",
            detail=f"UID of its kube-system: {here.identity}, expected: "
            f"{listed}{more}. Set {rt.management_cluster.option} to that one "
            "again or, if this one took its place, run 'magnum-capi-helm "
            "management-cluster accept'",
        )


def _is_addition(
    here: identity.Record, present: Sequence[identity.Record]
) -> bool:
    """Return whether another management cluster has the recorded clusters.

    One that does not answer counts if the records name it.
    """
    others = [name for name in runtime.names() if name != here.name]
    identities = {each.identity for each in present}
    named = {each.name for each in present}
    for name, answer in registry.ask(others, identity.read).items():
        if isinstance(answer, errors.CapiHelmError):
            if name in named or "" in named:
                return True
        elif answer in identities:
            return True
    return False


def namespace_region(namespace: client.Object | None) -> str:
    """Return the region that a namespace belongs to; empty: unmarked."""
    return view.labels_of(namespace or {}).get(REGION_LABEL, "")


def check_namespace(namespace: client.Object | None) -> None:
    """Refuse to make anything in another region's namespace.

    :raises NotSupported: it is another's
    """
    region = namespace_region(namespace)
    if namespace and region not in ("", conf.CONF.capi_helm.region_name):
        raise errors.NotSupported(
            f"the namespace {view.name_of(namespace)} on the management "
            f"cluster belongs to the Magnum of region {region}: the operator "
            "has to give each its own",
            detail="Set [capi_helm] namespace_prefix or region_name",
        )


def ensure_namespace(
    rt: runtime.Runtime, name: str, existing: client.Object | None
) -> None:
    """Create a project's namespace, or mark the existing one with the region.

    :param existing: as it was read
    :raises NotSupported: another region was quicker
    :raises ManagementError: the driver's role can't be bound there
    """
    region = conf.CONF.capi_helm.region_name
    mark = {REGION_LABEL: region} if region else {}
    if existing is None:
        existing, _ = permissions.of_project(name)
        existing["metadata"]["labels"].update(mark)
        try:
            rt.management.create(kinds.NAMESPACE, existing)
        except errors.Conflict:
            existing = rt.management.get(kinds.NAMESPACE, "", name)
            check_namespace(existing)
    permissions.grant(rt.management, name)
    if region and not namespace_region(existing):
        change = {"metadata": {"labels": mark}}
        rt.management.patch(kinds.NAMESPACE, "", name, change)
