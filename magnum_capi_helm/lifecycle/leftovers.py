# SPDX-License-Identifier: Apache-2.0

"""What workloads leave behind when their cluster is deleted.

Nobody inside the cluster deletes its load balancers, floating IPs and
volumes any more once its machines are gone, and Cluster API's provider
can't remove a network that load balancers are in. Where
cluster-api-janitor-openstack runs, that is its work.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from magnum_capi_helm import runtime
from magnum_capi_helm.cloud import credential_session
from magnum_capi_helm.cloud import leftovers
from magnum_capi_helm.cloud import sessions
from magnum_capi_helm.config import conf
from magnum_capi_helm.features import storage
from magnum_capi_helm.management import client
from magnum_capi_helm.management import kinds
from magnum_capi_helm.management import snapshot
from magnum_capi_helm.model import errors
from magnum_capi_helm.status import reasons

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

    waiting: reasons.Waiting | None = None
    left: str = ""


def clean(rt: runtime.Runtime, scope: snapshot.Scope, cluster: Any) -> Cleaned:
    """Delete what can be deleted now; once no machine is left.

    :param cluster: Magnum's row
    :raises ManagementError: the management cluster gave no answer
    :raises CloudUnreachable: Keystone gave none
    """
    if not _ours(rt, scope):
        return Cleaned()
    outcome = _sweep(rt, scope, cluster)
    limit = conf.CONF.capi_helm.cleanup_timeout * 60
    if outcome.done or rt.leftovers.age(scope, outcome.looks) >= limit:
        return Cleaned(left=str(outcome))
    left = outcome.remaining or _UNKNOWN
    return Cleaned(waiting=reasons.Waiting(left, outcome.reasons))


def _ours(rt: runtime.Runtime, scope: snapshot.Scope) -> bool:
    """Whether the driver cleans up, and not the janitor or nobody."""
    chosen = conf.CONF.capi_helm.cleanup
    if chosen != AUTO:
        return bool(chosen != NOBODY)
    provider = rt.management.get(kinds.OPENSTACK_CLUSTER, *scope)
    return provider is None or not has_janitor(provider)


def has_janitor(provider: client.Object) -> bool:
    """Whether the janitor takes care of an OpenStackCluster."""
    return _JANITOR in (provider["metadata"].get("finalizers") or [])


def _sweep(
    rt: runtime.Runtime, scope: snapshot.Scope, cluster: Any
) -> leftovers.Outcome:
    try:
        session = credential_session.session(rt.management, scope)
        return leftovers.sweep(
            session or sessions.service_session(),
            cluster.project_id,
            scope[1],
            volumes=_policy(cluster) == storage.DELETE,
        )
    except errors.CloudUnreachable:
        # Keystone: nothing goes on without it.
        raise
    except errors.CloudError as error:
        everything = "what Kubernetes made in the project"
        return leftovers.Outcome({}, {everything: str(error)}, ())


def _policy(cluster: Any) -> str | None:
    """What to do with volumes; None: neither user nor operator said it."""
    label = storage.VOLUMES_POLICY
    given = (cluster.labels or {}).get(label.name)
    if given is not None:
        try:
            return label.parse(given)
        except errors.LabelError:
            # Of an older driver, which took any text: nothing is lost.
            return storage.KEEP
    default = conf.label_defaults()[label.name]
    return None if default is None else str(default)


def instruct_janitor(
    rt: runtime.Runtime, scope: snapshot.Scope, cluster: Any
) -> None:
    """Tell a janitor what the user wants; before the cluster is deleted.

    Without that its own default decides, which is to delete volumes.
    """
    policy = _policy(cluster)
    if policy is not None:
        change = {"metadata": {"annotations": {_JANITORS_POLICY: policy}}}
        rt.management.patch(kinds.OPENSTACK_CLUSTER, *scope, change)
