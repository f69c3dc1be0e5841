# SPDX-License-Identifier: Apache-2.0

"""A cluster's credential and certificates, as Secrets and Machines have them.

Nothing of what is secret leaves this module.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
import datetime
import time

import yaml

from magnum_capi_helm.cloud import certificates
from magnum_capi_helm.cloud import credential_secret
from magnum_capi_helm.cloud import sessions
from magnum_capi_helm.management import client
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.status import certificates as machine_certificates
from magnum_capi_helm.status import view
from magnum_capi_helm.swap import evidence

_AUTHORITIES = ("ca", "etcd", "proxy")
_KUBECONFIG = "kubeconfig"
#: Seconds that Keystone may take for one log-in.
_PATIENCE = 5.0


def credential(
    secrets: Mapping[str, client.Object], release: str, damaged: list[str]
) -> evidence.Credential | None:
    """The credential in use, and since when, as far as that is written."""
    secret = secrets.get(names.credentials(release))
    try:
        login = credential_secret.login(secret)
        if secret is None or login is None:
            return None
        noted = [
            each.since
            for each in credential_secret.entries(secret, "")
            if each.id == login.id and each.since
        ]
    except errors.ManagementError as error:
        damaged.append(str(error))
        return None
    since = max(noted, default=0.0) or _written(secret)
    return evidence.Credential(since, _day(since), _works(login))


def _works(login: credential_secret.Login) -> bool | None:
    """Whether Keystone lets the cluster in; None: it did not say."""
    session = sessions.credential_session(login.id, login.secret, _PATIENCE)
    try:
        return sessions.accepted(session)
    except errors.CloudError:
        return None


def _written(secret: client.Object) -> float:
    """When the driver last wrote a Secret: 1.4.0 notes it nowhere else."""
    meta = secret["metadata"]
    times = [
        str(each["time"])
        for each in meta.get("managedFields") or []
        if each.get("manager") == client.FIELD_MANAGER and each.get("time")
    ]
    text = max(times, default=str(meta.get("creationTimestamp") or ""))
    if not text:
        return time.time()
    return datetime.datetime.fromisoformat(
        text.replace("Z", "+00:00")
    ).timestamp()


def authorities(
    secrets: Mapping[str, client.Object], release: str, damaged: list[str]
) -> tuple[evidence.Certificate, ...]:
    """The CAs, and what the administrator's kubeconfig has."""
    found = []
    for purpose in (*_AUTHORITIES, _KUBECONFIG):
        name = names.certificate(release, purpose)
        secret = secrets.get(name)
        if secret is None:
            # A cluster that is being made has no kubeconfig yet.
            if purpose != _KUBECONFIG:
                damaged.append(f"there is no Secret {name}")
            continue
        try:
            pem = _pem(secret, purpose)
            until = certificates.valid_until(pem).timestamp()
        except errors.ManagementError as error:
            damaged.append(f"the Secret {name}: {error}")
            continue
        shown = purpose if purpose == _KUBECONFIG else f"{purpose} CA"
        found.append(evidence.Certificate(shown, until, _day(until)))
    return tuple(found)


def machines(seen: view.View) -> tuple[evidence.Certificate, ...]:
    """The first of those that kubeadm made for the control plane to end.

    None, where Cluster API does not say when they do.
    """
    until = machine_certificates.expiry(seen)
    if until is None:
        return ()
    return (evidence.Certificate(evidence.MACHINES, until, _day(until)),)


def _pem(secret: client.Object, purpose: str) -> bytes:
    """The certificate that a Secret has.

    :raises ManagementError: it has none
    """
    data = secret.get("data") or {}
    try:
        if purpose != _KUBECONFIG:
            return base64.b64decode(data["tls.crt"])
        text = yaml.safe_load(base64.b64decode(data["value"]))
        user = text["users"][0]["user"]
        return base64.b64decode(user["client-certificate-data"])
    except (KeyError, IndexError, TypeError, ValueError, yaml.YAMLError):
        # Not chained: errors quote what they read, and it has keys.
        raise errors.ManagementError("it has no certificate") from None


def _day(seconds: float) -> str:
    utc = datetime.timezone.utc
    return datetime.datetime.fromtimestamp(seconds, utc).date().isoformat()
