# SPDX-License-Identifier: Apache-2.0

"""What is delivered, and when it is another one.

A delivery has an id that the one before it and what it delivers make: a
change has the same id whoever sends it and how often, and to come back to
what was there before is a change as well.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json

#: Of the first delivery of a cluster, until it has been accepted.
READY = "cluster.ready"
#: Of all that follow.
CHANGED = "cluster.credentials_changed"

LIMITED = "limited"
ADMIN = "admin"

#: Hexadecimal digits of an id.
_DIGITS = 32


@dataclasses.dataclass(frozen=True)
class Cluster:
    """Whose kubeconfig it is.

    :param user_id: of the owner, in Keystone
    :param address: of the Kubernetes API: ``https://host:port``
    """

    name: str
    uuid: str
    project_id: str
    user_id: str
    address: str


@dataclasses.dataclass(frozen=True)
class Credential:
    """What a kubeconfig has of a user; all of it PEM.

    :param ca: the CAs that the Kubernetes API's certificate may be of
    """

    ca: str
    certificate: str
    key: str = dataclasses.field(repr=False)


def fingerprint(user: str, address: str, ca: str, certificate: str) -> str:
    """Another one as soon as a kubeconfig has to be another one.

    Without the key: the certificate is of that key and no other.

    :param user: :data:`LIMITED` or :data:`ADMIN`
    """
    parts = json.dumps([user, address, ca, certificate])
    return hashlib.sha256(parts.encode()).hexdigest()


def delivery_id(before: str, looks: str) -> str:
    """The id of a delivery.

    :param before: the id of the one before; of the first one, the cluster's
        UUID
    :param looks: :func:`fingerprint`
    """
    found = hashlib.sha256(f"{before} {looks}".encode()).hexdigest()
    return f"kc_{found[:_DIGITS]}"
