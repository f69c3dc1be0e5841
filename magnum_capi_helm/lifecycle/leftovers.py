# SPDX-License-Identifier: Apache-2.0

"""Delete what helm and Cluster API leave behind of a deleted cluster.

In the cloud: once the machines are gone, no process in the cluster deletes
its load balancers, floating IPs and volumes any more, and Cluster API can't
delete a network that load balancers are in. Where
cluster-api-janitor-openstack runs, it deletes them.

On the management cluster: objects that helm keeps, and those whose owner or
record was removed by hand.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from magnum_capi_helm.cloud import leftovers
from magnum_capi_helm.cloud import sessions
from magnum_capi_helm.config import conf
from magnum_capi_helm.features import storage
from magnum_capi_helm.kubernetes import client
from magnum_capi_helm.kubernetes import helm_records
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import location
from magnum_capi_helm.model import errors
from magnum_capi_helm.operations import operation as operations
from magnum_capi_helm.status import machine as machine_status
from magnum_capi_helm.status import view

#: Kinds of objects that stand for servers in Nova.
_SERVERS = (kinds.MACHINE, kinds.OPENSTACK_MACHINE)

#: The janitor adds it to every OpenStackCluster that it cares for.
_JANITOR = "janitor.capi.stackhpc.com"
_JANITORS_POLICY = "janitor.capi.stackhpc.com/volumes-policy"

#: Where no object is known to be left, since a service does not answer.
_UNKNOWN = "cleanup of the project is not done"

AUTO = "auto"
NOBODY = "none"


@dataclasses.dataclass(frozen=True)
class Cleaned:
    """The outcome of a cleanup.

    :param waiting: the objects that the deletion waits for
    :param left: the objects that the deletion leaves behind, in words
    """

    waiting: machine_status.Waiting | None = None
    left: str = ""


def clean(operation: operations.Operation) -> Cleaned:
    """Delete cloud resources, once no machine is left.

    :raises ManagementError: the management cluster does not answer
    :raises CloudUnreachable: Keystone does not answer
    """
    if not _is_driver_responsible(operation):
        return Cleaned()
    outcome = _sweep(operation)
    limit = conf.CONF.capi_helm.cleanup_timeout * 60
    age = operation.runtime.leftovers.age(operation.scope, outcome.looks)
    if outcome.done or age >= limit:
        return Cleaned(left=str(outcome))
    left = outcome.remaining or _UNKNOWN
    return Cleaned(waiting=machine_status.Waiting(left, outcome.reasons))


def _is_driver_responsible(operation: operations.Operation) -> bool:
    """Return whether the driver cleans up, and not the janitor."""
    chosen = conf.CONF.capi_helm.cleanup
    if chosen != AUTO:
        return bool(chosen != NOBODY)
    management = operation.runtime.management
    provider = management.get(kinds.OPENSTACK_CLUSTER, *operation.scope)
    return provider is None or not has_janitor(provider)


def has_janitor(provider: client.Object) -> bool:
    """Return whether the janitor takes care of an OpenStackCluster."""
    return _JANITOR in (provider["metadata"].get("finalizers") or [])


def _sweep(operation: operations.Operation) -> leftovers.Outcome:
    try:
        session = sessions.cluster_session(
            operation.runtime.management, operation.scope
        )
        return leftovers.sweep(
            session or sessions.service_session(),
            operation.cluster.project_id,
            operation.release,
            volumes=_policy(operation.cluster) == storage.DELETE,
        )
    except errors.CloudUnreachable:
        # Keystone is needed for all that follows.
        raise
    except errors.CloudError as error:
        everything = "what Kubernetes made in the project"
        return leftovers.Outcome({}, {everything: str(error)}, ())


def _policy(cluster: Any) -> str | None:
    """Return the policy for volumes; None: no user or operator set it."""
    label = storage.VOLUMES_POLICY
    value = (cluster.labels or {}).get(label.name)
    if value is not None:
        try:
            return label.parse(value)
        except errors.LabelError:
            # An older driver took any text. Keeping loses nothing.
            return storage.KEEP
    default = conf.label_defaults()[label.name]
    return None if default is None else str(default)


def instruct_janitor(operation: operations.Operation) -> None:
    """Tell the janitor the user's policy, before the cluster is deleted.

    Its own default is to delete volumes.
    """
    policy = _policy(operation.cluster)
    if policy is not None:
        operation.runtime.management.patch(
            kinds.OPENSTACK_CLUSTER,
            *operation.scope,
            {"metadata": {"annotations": {_JANITORS_POLICY: policy}}},
        )


def nothing_left(operation: operations.Operation) -> bool:
    """Return whether Lease, release and Secrets are all gone."""
    rt, scope = operation.runtime, operation.scope
    return (
        rt.leases.read(*scope) is None
        and rt.management.get(kinds.CLUSTER, *scope) is None
        and not helm_records.revisions(rt.management, *scope)
        and not secrets(operation)
    )


def secrets(operation: operations.Operation) -> list[str]:
    """Return the names of the Secrets that the driver made for a cluster."""
    selector = f"{location.CLUSTER_UUID}={operation.cluster.uuid}"
    objects = operation.runtime.management.list(
        kinds.SECRET, operation.namespace, selector, metadata_only=True
    )
    return list(map(view.name_of, objects))


def delete_kept(operation: operations.Operation) -> str:
    """Delete objects that neither helm nor an owner reference removed.

    :returns: the objects that are still there, in words
    """
    management = operation.runtime.management
    namespace, release = operation.scope
    of_chart = f"{view.CHART_CLUSTER_LABEL}={release}"
    kept = (*kinds.KEPT, kinds.HELM_RELEASE, kinds.MANIFESTS)
    # If helm's own Secrets were removed by hand, helm removed nothing.
    rendered = (kinds.SECRET, *kinds.PLAIN)
    selectors = {
        **dict.fromkeys((*kept, *rendered), of_chart),
        # If the Cluster object was removed by hand before its machines.
        **dict.fromkeys(_SERVERS, f"{view.CLUSTER_NAME_LABEL}={release}"),
    }
    left = []
    for kind, selector in selectors.items():
        for each in management.list(
            kind, namespace, selector, metadata_only=True
        ):
            left.append(f"{kind.name} {view.name_of(each)}")
            if not view.deleting(each):
                management.delete(kind, namespace, view.name_of(each))
    return f"still to be deleted: {', '.join(left[:3])}" if left else ""
