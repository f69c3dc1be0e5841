# SPDX-License-Identifier: Apache-2.0

"""Whether a cluster's application credential still works, now and then.

The health poll asks. It is also when credentials that a cluster does not use
any more are deleted: what a rotation left, finished or not.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import time
from typing import Any

from oslo_log import log

from magnum_capi_helm import runtime
from magnum_capi_helm.cloud import credential_secret
from magnum_capi_helm.cloud import sessions
from magnum_capi_helm.config import conf
from magnum_capi_helm.credentials import removal
from magnum_capi_helm.database import rows
from magnum_capi_helm.kubernetes import location
from magnum_capi_helm.management import client
from magnum_capi_helm.management import kinds
from magnum_capi_helm.management import snapshot
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.operations import operation
from magnum_capi_helm.status import health
from magnum_capi_helm.status import view

LOG = log.getLogger(__name__)

#: Seconds until the next look where Keystone did not answer, or something is
#: still to be deleted.
_SOON = 60.0
#: Seconds between two looks where logging in is switched off.
_UNCHECKED = 600.0
#: Seconds that Keystone may take: other clusters wait to be looked at.
_TIMEOUT = 5.0

#: In a cluster's health, what is wrong with its credential.
_KEY = "credential"
_DEAD = (
    "Keystone refuses the cluster's application credential: it was deleted, "
    "or its user is disabled, gone or without a role in the project. Give "
    "the cluster a new one: openstack coe credential rotate"
)
_GONE = (
    "the cluster's application credential is not on the management cluster. "
    "Give the cluster a new one: openstack coe credential rotate"
)


def checked(
    rt: runtime.Runtime, cluster: Any, found: health.Health
) -> health.Health:
    """The health, and what is wrong with the credential, if it is due.

    A credential that is dead is looked at by each poll: any conductor sees
    at once that there is a new one.

    :raises CapiHelmError: the management cluster does not say
    """
    interval = conf.CONF.capi_helm.app_cred_check_interval
    scope = operation.scope_of(cluster)
    if not rotatable(cluster.status) or not rt.rounds.due(
        scope, interval or _UNCHECKED
    ):
        return found
    namespace, release = scope
    secret = rt.management.get(
        kinds.SECRET, namespace, names.credentials(release)
    )
    try:
        login = credential_secret.login(secret)
    except errors.ManagementError as error:
        return _unhealthy(found, str(error))
    if login is None:
        return _unhealthy(found, _GONE)
    pause = _clean(rt, scope, cluster, secret or {})
    accepted = works(login) if interval else True
    if accepted is False:
        return _unhealthy(found, _DEAD)
    usual = pause or interval or _UNCHECKED
    rt.rounds.again(scope, usual if accepted else _SOON)
    return found


def refused(cluster: Any) -> bool | None:
    """Whether the health poll found the credential refused, or gone.

    Nobody is asked: it is in the health that Magnum's row has.

    :returns: None: it did not try
    """
    if not cluster.health_status or not rotatable(cluster.status):
        return None
    if dead(cluster):
        return True
    return False if conf.CONF.capi_helm.app_cred_check_interval else None


def dead(cluster: Any) -> bool:
    """Return whether the last health poll found the credential refused.

    :param cluster: Magnum's row
    """
    return _KEY in (cluster.health_status_reason or {})


def wrong(secret: client.Object | None) -> str | None:
    """Why a cluster's credential does not work, if one tries it now.

    :param secret: that it is in
    :returns: empty: it does; None: Keystone does not say
    """
    try:
        login = credential_secret.login(secret)
    except errors.ManagementError as error:
        return str(error)
    if login is None:
        return _GONE
    accepted = works(login)
    if accepted is None:
        return None
    return "" if accepted else _DEAD


def works(login: credential_secret.Login) -> bool | None:
    """Return whether Keystone accepts it; None: it does not answer."""
    try:
        return sessions.accepted(
            sessions.credential_session(login.id, login.secret, _TIMEOUT)
        )
    except errors.CloudError:
        return None


def rotatable(status: str) -> bool:
    """Whether Magnum lets people rotate in this status.

    While a cluster is made, its Secret is still to come.
    """
    return status.endswith("_COMPLETE") or rows.action(status) == "UPDATE"


def _unhealthy(found: health.Health, why: str) -> health.Health:
    return dataclasses.replace(
        found,
        status=health.UNHEALTHY,
        reason={**found.reason, _KEY: why},
    )


def _clean(
    rt: runtime.Runtime,
    scope: snapshot.Scope,
    cluster: Any,
    secret: client.Object,
) -> float:
    """Delete what is not in use; seconds until there is more to do, or 0."""
    if len(credential_secret.entries(secret, cluster.user_id or "")) < 2:
        return 0.0
    problem = ""
    # With the Lease held a rotation may be under way.
    with contextlib.suppress(errors.LeaseHeld, errors.Frozen):
        try:
            labels = location.object_labels(cluster, scope[1])
            with rt.leases.hold(*scope, labels):
                _delete_unused(rt, scope, cluster)
        except errors.CloudError as error:
            problem = str(error)
    if problem:
        LOG.warning(
            "Old credentials of cluster %s are not deleted: %s",
            cluster.uuid,
            problem,
        )
    return _SOON


def _delete_unused(
    rt: runtime.Runtime, scope: snapshot.Scope, cluster: Any
) -> None:
    name = names.credentials(scope[1])
    secret = rt.management.get(kinds.SECRET, scope[0], name)
    if secret is None or not _taken_over(rt, scope, secret):
        return
    if removal.delete_unused(
        rt.management, secret, str(cluster.user_id or "")
    ):
        LOG.info("old credentials of cluster %s are deleted", cluster.uuid)


def _taken_over(
    rt: runtime.Runtime, scope: snapshot.Scope, secret: client.Object
) -> bool:
    """Whether the cluster's pods use what the Secret has.

    Its copy in the cluster is the addon cloud-config. The addon provider
    notes on it which data it was made from. The reloader restarts the pods
    a little later.
    """
    namespace, release = scope
    login = credential_secret.login(secret)
    since = max(
        (
            each.since
            for each in credential_secret.entries(secret, "")
            if login and each.id == login.id
        ),
        default=0.0,
    )
    options = conf.CONF.capi_helm
    reloader = rt.management.get(
        kinds.HELM_RELEASE, namespace, names.chart_object(release, "reloader")
    )
    grace = (
        options.app_cred_grace
        if reloader
        else options.app_cred_grace_without_reloader
    )
    return time.time() - since >= grace and copied(rt, scope, secret)


def copied(
    rt: runtime.Runtime, scope: snapshot.Scope, secret: client.Object
) -> bool:
    """Whether the cluster's own copy is of the Secret's present data.

    The addon provider watches the Secret and deploys the addon anew.
    """
    namespace, release = scope
    copy = rt.management.get(
        kinds.MANIFESTS,
        namespace,
        names.chart_object(release, "cloud-config"),
    )
    return copy is None or _made_from(copy, secret)


def _made_from(copy: client.Object, secret: client.Object) -> bool:
    """Whether an addon is deployed with a Secret's present data."""
    if view.status_of(copy).get("phase") != "Deployed":
        return False
    noted = view.annotations_of(copy).get(
        f"{view.name_of(secret)}.secret.addons.stackhpc.com/checksum"
    )
    return noted in (None, checksum(secret["data"]))


def checksum(data: dict[str, str]) -> str:
    """What the addon provider notes of a Secret (its ``operator.py``)."""
    text = ";".join(sorted(f"{key}={value}" for key, value in data.items()))
    return hashlib.sha256(text.encode()).hexdigest()
