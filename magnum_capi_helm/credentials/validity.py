# SPDX-License-Identifier: Apache-2.0

"""Check whether Keystone still accepts a cluster's application credential.

The health poll logs in with it now and then, and deletes credentials that a
rotation replaced. A deletion that makes no progress asks as well: Cluster
API's OpenStack provider logs in before it looks at an object, and writes no
condition when Keystone refuses (``NewClientScopeFromObject`` comes first in
each ``Reconcile`` of 0.14.6).
"""

from __future__ import annotations

from collections.abc import Hashable
import contextlib
import dataclasses
import time

from oslo_log import log

from magnum_capi_helm import runtime
from magnum_capi_helm.cloud import credential_secret
from magnum_capi_helm.cloud import keystone
from magnum_capi_helm.cloud import sessions
from magnum_capi_helm.config import conf
from magnum_capi_helm.credentials import application_credential
from magnum_capi_helm.credentials import cloud_secret
from magnum_capi_helm.database import rows
from magnum_capi_helm.kubernetes import client
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import location
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.operations import cluster_operation
from magnum_capi_helm.status import health
from magnum_capi_helm.status import view

LOG = log.getLogger(__name__)

#: Seconds until the next check where Keystone did not answer, or a replaced
#: credential is still to be deleted.
_SOON = 60.0
#: Seconds between two clean-ups where checks are switched off.
_UNCHECKED = 600.0
#: Seconds that Keystone may take: the poll has other clusters to check.
_TIMEOUT = 5.0
#: Seconds without progress after which a deletion asks Keystone.
_STUCK = 60.0
#: Seconds until a deletion asks again.
_AGAIN = 300.0

#: In a cluster's health: the problem of its credential.
_KEY = "credential"
_REFUSED = (
    "Keystone refuses the cluster's application credential: it was deleted, "
    "or its user is disabled, gone or without a role in the project. Give "
    "the cluster a new one: openstack coe credential rotate"
)
_GONE = (
    "the cluster's application credential is not on the management cluster. "
    "Give the cluster a new one: openstack coe credential rotate"
)


def add_to_health(
    rt: runtime.Runtime,
    cluster: rows.Cluster,
    observed: health.Health,
) -> health.Health:
    """Return the health with the credential's problem, if a check is due.

    A refused credential is checked by each poll, so that every conductor
    sees a new one at once.

    :param cluster: Magnum's row
    :raises CapiHelmError: the management cluster does not answer
    """
    interval = conf.CONF.capi_helm.app_cred_check_interval
    usual = interval or _UNCHECKED
    scope = location.scope_of(cluster)
    if not can_rotate(cluster.status) or not rt.credential_checks.is_due(
        scope, usual
    ):
        return observed
    secret = credential_secret.read(rt.management, scope)
    text = problem(secret, ask_keystone=bool(interval))
    unfinished = False
    if secret and text in (None, "", _REFUSED):
        unfinished = _delete_replaced(rt, scope, cluster, secret)
    if text:
        return dataclasses.replace(
            observed,
            status=health.UNHEALTHY,
            reason={**observed.reason, _KEY: text},
        )
    rt.credential_checks.set_due(
        scope, _SOON if unfinished or text is None else usual
    )
    return observed


def _delete_replaced(
    rt: runtime.Runtime,
    scope: location.Scope,
    cluster: rows.Cluster,
    secret: client.Object,
) -> bool:
    """Delete credentials that the cluster's pods do not use any more.

    :param secret: the cluster's, read a moment ago
    :returns: whether to look again soon
    :raises ManagementError: the management cluster does not answer
    """
    owner = str(cluster.user_id or "")
    if len(credential_secret.entries(secret, owner)) < 2:
        return False
    # While the Lease is held, a rotation may be under way.
    with contextlib.suppress(errors.LeaseHeld, errors.Frozen):
        try:
            labels = location.object_labels(cluster, scope[1])
            with rt.leases.hold(*scope, labels):
                fresh = credential_secret.read(rt.management, scope)
                if fresh and _is_taken_over(rt, scope, fresh):
                    application_credential.delete_unused(
                        rt.management, scope, fresh, owner
                    )
        except errors.CloudError as error:
            LOG.warning(
                "Old credentials of cluster %s are not deleted: %s",
                cluster.uuid,
                error,
            )
    return True


def _is_taken_over(
    rt: runtime.Runtime, scope: location.Scope, secret: client.Object
) -> bool:
    """Return whether the cluster's pods use the credential in the Secret.

    They are restarted some time after the addon cloud-config is deployed, by
    the reloader or by hand.
    """
    used = credential_secret.in_use(secret)
    since = used.since if used else 0.0
    reloader = names.chart_object(scope[1], "reloader")
    grace = (
        conf.CONF.capi_helm.app_cred_grace
        if rt.management.get(kinds.HELM_RELEASE, scope[0], reloader)
        else conf.CONF.capi_helm.app_cred_grace_without_reloader
    )
    return time.time() - since >= grace and cloud_secret.is_deployed(
        rt, scope, secret
    )


def was_refused(cluster: rows.Cluster) -> bool:
    """Return whether the last health poll found the credential refused.

    :param cluster: Magnum's row
    """
    return _KEY in (cluster.health_status_reason or {})


def last_result(cluster: rows.Cluster) -> bool | None:
    """Return whether the last health poll found the credential refused.

    :param cluster: Magnum's row
    :returns: None: it was not checked
    """
    if not cluster.health_status or not can_rotate(cluster.status):
        return None
    if was_refused(cluster):
        return True
    return False if conf.CONF.capi_helm.app_cred_check_interval else None


def problem(
    secret: client.Object | None, *, ask_keystone: bool = True
) -> str | None:
    """Log in; return why a cluster's credential does not work.

    :returns: empty: it works; None: Keystone does not answer
    """
    try:
        login = credential_secret.login(secret)
    except errors.ManagementError as error:
        return str(error)
    if login is None:
        return _GONE
    if not ask_keystone:
        return ""
    try:
        return "" if sessions.log_in(login, _TIMEOUT) else _REFUSED
    except errors.CloudError as error:
        LOG.info("The credential %s was not checked: %s", login.id, error)
        return None


def can_rotate(status: str) -> bool:
    """Return whether Magnum allows a rotation in this status.

    While a cluster is created, its Secret may not exist yet.
    """
    return status.endswith("_COMPLETE") or rows.action(status) == "UPDATE"


def deletion_problem(
    operation: cluster_operation.Operation, progress: Hashable
) -> str:
    """Return why a deletion that makes no progress cannot log in.

    Keystone is asked when no object was deleted for a minute, or when the
    health poll found the credential refused before the deletion; then every
    five minutes, and at once when the Secret changes.

    :param progress: a value that changes when the deletion makes progress
    :returns: for ``status_reason``; empty: no problem, or Keystone is silent
    :raises ManagementError: the Secret cannot be read
    """
    rt, scope, cluster = operation.runtime, operation.scope, operation.cluster
    stuck = rt.ages.age(scope, "deletion", progress) >= _STUCK
    secret = credential_secret.read(rt.management, scope)
    version = view.metadata_of(secret).get("resourceVersion")
    remembered = rt.refusal_cache.get(scope, version)
    if remembered is not None:
        return remembered
    if not stuck and secret is not None and not was_refused(cluster):
        return ""
    reason = login_problem(secret, scope, cluster)
    rt.refusal_cache.put(
        scope, version, reason or "", _SOON if reason is None else _AGAIN
    )
    return reason or ""


def login_problem(
    secret: client.Object | None,
    scope: location.Scope,
    cluster: rows.Cluster,
) -> str | None:
    """Return why Cluster API cannot log in, and how an operator mends it.

    :param secret: the Secret that Cluster API reads
    :param cluster: Magnum's row
    :returns: empty: no problem; None: Keystone does not answer
    """
    reason = problem(secret)
    if reason == _REFUSED:
        reason = (
            "Keystone refuses the cluster's application credential: it was "
            "deleted, or its owner has no role in the project any more"
        )
    elif reason == _GONE:
        reason = (
            f"the Secret {names.credentials(scope[1])}, without which "
            "Cluster API can't delete the cluster's servers, is gone"
        )
    else:
        # No problem, no answer, or a damaged Secret.
        return f"{reason}. {_replace(cluster)}" if reason else reason
    owner = str(cluster.user_id or "")
    used = credential_secret.in_use(secret, owner)
    why = _disabled_or_deleted(cluster, used.user if used else owner)
    return why or f"{reason}. {_replace(cluster)}"


def _disabled_or_deleted(cluster: rows.Cluster, owner: str) -> str:
    """Return whether the project or the owner is deleted or disabled.

    Only a 404 to Magnum's service user means deleted.
    """
    try:
        session = sessions.service_session()
        project = keystone.state(session, "project", cluster.project_id)
        user = keystone.state(session, "user", owner) if owner else ""
    except errors.CapiHelmError:
        return ""
    if project == keystone.DELETED:
        return (
            f"project {cluster.project_id} is deleted, so Cluster API cannot "
            "log in. An administrator deletes what is left: see Delete a "
            "cluster without its project in the administrator's guide, and "
            f"magnum-capi-helm describe {cluster.uuid}"
        )
    if project:
        return (
            f"project {cluster.project_id} is {project}, so Cluster API "
            "cannot log in. An administrator enables it: openstack project "
            f"set --enable {cluster.project_id}"
        )
    if user:
        return (
            f"user {owner} is {user}, so Keystone refuses the cluster's "
            f"application credential. {_replace(cluster)}"
        )
    return ""


def _replace(cluster: rows.Cluster) -> str:
    return (
        "An operator gives the cluster a new one: magnum-capi-helm "
        f"cluster credentials {cluster.uuid} --service-user --apply"
    )
