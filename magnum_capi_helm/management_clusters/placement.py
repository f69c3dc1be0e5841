# SPDX-License-Identifier: Apache-2.0

"""Choose the management cluster and the namespace of a new cluster.

The template's label names the management cluster. Without the label, the
first one of ``[capi_helm] management_clusters`` that answers and is not frozen
gets the cluster. A choice is made once, for a create: existing clusters stay
where they are, and their location is recorded
(:mod:`magnum_capi_helm.management_clusters.identity`).

If the kubeconfig points at the wrong management cluster, creates would succeed
there. They are refused until an operator accepts it.

Projects have the same ID in every region of a cloud, so two Magnums of one
Keystone that share a management cluster would share their namespaces. With
``[capi_helm] region_name`` each namespace is marked with the region that
first made a cluster in it.
"""

from __future__ import annotations

from oslo_log import log

from magnum_capi_helm import runtime
from magnum_capi_helm.config import conf
from magnum_capi_helm.database import rows
from magnum_capi_helm.features import template
from magnum_capi_helm.kubernetes import client
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import permissions
from magnum_capi_helm.management_clusters import identity
from magnum_capi_helm.management_clusters import registry
from magnum_capi_helm.model import call
from magnum_capi_helm.model import errors
from magnum_capi_helm.status import view

LOG = log.getLogger(__name__)

#: Label of a namespace: the region that it belongs to.
REGION_LABEL = "magnum.openstack.org/region"

_NAMELESS = "none: this cloud has one management cluster, without a name"
#: Identities that a message names at most.
_NAMED = 3


def choose(cluster: rows.Cluster) -> runtime.Runtime:
    """Return the runtime to make a new cluster with.

    :param cluster: with its template; nothing was made for it
    :raises LabelError: the template names one that does not exist
    :raises CapiHelmError: the first one's error: none of several answers and
        is not frozen
    """
    names = runtime.names()
    label = template.MANAGEMENT_CLUSTER.name
    if wanted := (cluster.cluster_template.labels or {}).get(label):
        if wanted not in names:
            allowed = " or ".join(filter(None, names)) or _NAMELESS
            raise errors.LabelError(label, str(wanted), allowed)
        return runtime.get(wanted)
    if len(names) == 1:
        return runtime.get(names[0])
    failures = []
    for name in names:
        error = registry.ask([name], _check_open)[name]
        if error is None:
            LOG.info("cluster %s goes to %s", cluster.uuid, name)
            return runtime.get(name)
        LOG.warning("cluster %s can't go to %s: %s", cluster.uuid, name, error)
        failures.append(error)
    raise failures[0]


def _check_open(rt: runtime.Runtime) -> None:
    """Read whether a management cluster is frozen now.

    :raises CapiHelmError: it does not answer, or is frozen
    """
    identity.read(rt)
    rt.maintenance.check()


def check_accepted(rt: runtime.Runtime, here: identity.Record) -> None:
    """Refuse to make a cluster where no other cluster of that name is.

    Of several management clusters, a name that no cluster has is a new one.
    A process checks an identity once.

    :param here: the management cluster that answers
    :raises ManagementError: its name is recorded with other identities alone
    """
    accepted = runtime.cache().accepted_identities
    if here.identity in accepted:
        return
    records = identity.all_records().values()
    # An operator may have accepted that all clusters of one are gone.
    if here.identity in {each.identity for each in records}:
        accepted.add(here.identity)
        return
    single = len(runtime.names()) == 1
    expected = {
        each.identity
        for each in records
        if not each.gone and (single or each.name == here.name)
    }
    if expected:
        listed = ", ".join(sorted(expected)[:_NAMED])
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


def check_place(
    rt: runtime.Runtime, name: str
) -> tuple[identity.Record, client.Object | None]:
    """Return the identity of the management cluster, and the namespace.

    :raises Frozen: it is frozen for maintenance
    :raises NotSupported: the namespace is another Magnum's
    :raises ManagementUnserved: it has no Cluster API
    """
    location = identity.here(rt)
    rt.maintenance.check()
    rt.management.expect(kinds.CLUSTER)
    namespace = rt.management.get(kinds.NAMESPACE, "", name)
    check_namespace(namespace)
    return location, namespace


@call.without_lease("a namespace belongs to all clusters of a project")
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
