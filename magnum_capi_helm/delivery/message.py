# SPDX-License-Identifier: Apache-2.0

"""The body of a delivery, with the kubeconfig in it."""

from __future__ import annotations

import base64
import datetime
import json
from typing import Any

from cryptography import x509
import yaml

from magnum_capi_helm.delivery import change
from magnum_capi_helm.delivery import record
from magnum_capi_helm.management import client
from magnum_capi_helm.model import errors
from magnum_capi_helm.status import view

_DAMAGED = (
    AttributeError,
    IndexError,
    KeyError,
    TypeError,
    ValueError,
    yaml.YAMLError,
)


def administrator(secret: client.Object) -> change.Credential:
    """The administrator's credential, from the Secret of Cluster API's.

    :raises ManagementError: it has none; nothing of it is quoted
    """
    try:
        document = yaml.safe_load(base64.b64decode(secret["data"]["value"]))
        cluster = document["clusters"][0]["cluster"]
        user = document["users"][0]["user"]
        return change.Credential(
            ca=_pem(cluster["certificate-authority-data"]),
            certificate=_pem(user["client-certificate-data"]),
            key=_pem(user["client-key-data"]),
        )
    except _DAMAGED as error:
        # Not chained: a YAML error quotes the file, and its key.
        raise errors.ManagementError(
            f"the Secret {view.name_of(secret)} has no kubeconfig with "
            f"certificates ({type(error).__name__})"
        ) from None


def body(
    cluster: change.Cluster,
    user: str,
    sent: record.Record,
    credential: change.Credential,
) -> bytes:
    """What is sent, as JSON.

    :param user: :data:`~magnum_capi_helm.delivery.change.LIMITED` or ``ADMIN``
    :raises ManagementError: the certificate is none
    """
    found = {
        "delivery_id": sent.id,
        "event": sent.event,
        "created_at": _iso(sent.created),
        "cluster_name": cluster.name,
        "cluster_uuid": cluster.uuid,
        "project_id": cluster.project_id,
        "user_id": cluster.user_id,
        "api_address": cluster.address,
        "kubeconfig_user": user,
        "kubeconfig_expires_at": _expiry(credential.certificate),
        "kubeconfig": kubeconfig(cluster, user, credential),
    }
    return json.dumps(found).encode()


def kubeconfig(
    cluster: change.Cluster, user: str, credential: change.Credential
) -> str:
    """A kubeconfig in YAML."""
    name = cluster.name or cluster.uuid
    context = f"{user}@{name}"
    document: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": name,
                "cluster": {
                    "server": cluster.address,
                    "certificate-authority-data": _data(credential.ca),
                },
            }
        ],
        "users": [
            {
                "name": context,
                "user": {
                    "client-certificate-data": _data(credential.certificate),
                    "client-key-data": _data(credential.key),
                },
            }
        ],
        "contexts": [
            {"name": context, "context": {"cluster": name, "user": context}}
        ],
        "current-context": context,
        "preferences": {},
    }
    return str(yaml.safe_dump(document, sort_keys=False))


def _expiry(certificate: str) -> str:
    try:
        found = x509.load_pem_x509_certificate(certificate.encode())
    except ValueError:
        # Not chained: what is no certificate may be a key.
        raise errors.ManagementError(
            "the administrator's kubeconfig has no certificate"
        ) from None
    return _iso(found.not_valid_after_utc.timestamp())


def _iso(seconds: float) -> str:
    utc = datetime.timezone.utc
    moment = datetime.datetime.fromtimestamp(seconds, utc)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _pem(data: str) -> str:
    return base64.b64decode(data).decode("ascii")


def _data(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
