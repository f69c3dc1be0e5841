# SPDX-License-Identifier: Apache-2.0

"""What a receiver should have of a cluster, and what it was sent last."""

from __future__ import annotations

import dataclasses
from typing import Any

from magnum_capi_helm import runtime
from magnum_capi_helm.delivery import change
from magnum_capi_helm.delivery import client_certificate
from magnum_capi_helm.delivery import message
from magnum_capi_helm.delivery import record
from magnum_capi_helm.delivery import settings
from magnum_capi_helm.management import client
from magnum_capi_helm.management import kinds
from magnum_capi_helm.management import snapshot
from magnum_capi_helm.model import names
from magnum_capi_helm.operations import operation


@dataclasses.dataclass(frozen=True)
class Task:
    """What a look at a cluster needs.

    :param row: Magnum's, as a poll had it
    :param cluster: what that row said
    """

    rt: runtime.Runtime
    context: Any
    row: Any
    cluster: change.Cluster
    options: settings.Settings

    @property
    def scope(self) -> snapshot.Scope:
        """Namespace and release."""
        return operation.scope_of(self.row)


@dataclasses.dataclass(frozen=True)
class Found:
    """What is to be delivered, or was.

    :param new: it is not written yet
    """

    record: record.Record
    credential: change.Credential
    new: bool = False


def wanted(
    task: Task, before: record.Record | None, now: float
) -> Found | None:
    """What a receiver should have; None: there is nothing to give it yet.

    :param before: what it was sent last, or is being sent
    :param now: seconds since 1970
    :raises ManagementError: a Secret can't be read, or is damaged
    """
    if task.options.user.kind == change.LIMITED:
        secret = _secret(task, names.certificate(task.scope[1], "ca"))
        if secret is None:
            return None
        authority = client_certificate.Authority(secret)
        return _limited(task, authority, before, now)
    secret = _secret(task, names.kubeconfig(task.scope[1]))
    if secret is None:
        return None
    credential = message.administrator(secret)
    return _following(task, before, credential, now, kept=False)


def _secret(task: Task, name: str) -> client.Object | None:
    found: client.Object | None
    found = task.rt.management.get(kinds.SECRET, task.scope[0], name)
    return found


def _limited(
    task: Task,
    authority: client_certificate.Authority,
    before: record.Record | None,
    now: float,
) -> Found:
    """With the certificate that there is, as long as it will do."""
    user = task.options.user
    if before is not None and authority.good(before.certificate, user, now):
        credential = change.Credential(
            authority.pem, before.certificate, before.key
        )
        found = _following(task, before, credential, now, kept=True)
        # Of what was delivered, nobody has the key any more.
        if before.key or not found.new:
            return found
    issued = authority.issue(user, now)
    return _following(task, before, issued, now, kept=True)


def _following(
    task: Task,
    before: record.Record | None,
    credential: change.Credential,
    now: float,
    *,
    kept: bool,
) -> Found:
    """What was recorded, or a new record where something has changed.

    :param kept: the record has to keep the credential
    """
    looks = change.fingerprint(
        task.options.user.kind,
        task.cluster.address,
        credential.ca,
        credential.certificate,
    )
    if before is not None and before.looks == looks:
        return Found(before, credential)
    following = record.following(
        before, task.cluster.uuid, looks, now, credential if kept else None
    )
    return Found(following, credential, new=True)
