# SPDX-License-Identifier: Apache-2.0

"""Make the key that encrypts a cluster's data in etcd.

Each cluster with encryption has one Secret, beside its release and owned by no
release: with another key everything that is encrypted is lost. So it is made
once and never written again. It is deleted with the cluster's other Secrets.
"""

from __future__ import annotations

import secrets

from oslo_log import log

from magnum_capi_helm.kubernetes import client
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import encoding
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names

LOG = log.getLogger(__name__)

#: The length of a key of secretbox and of AES-256.
_BYTES = 32


def ensure(
    management: client.Client,
    namespace: str,
    release: str,
    labels: dict[str, str],
) -> None:
    """Make the key, unless the cluster has one already.

    The chart takes the Secret's data as it is for the API server's file:
    both have the raw bytes in base64, once.
    """
    key = encoding.encode(secrets.token_bytes(_BYTES))
    name = names.etcd_key(release)
    try:
        management.create(
            kinds.SECRET,
            # Even a client that may write Secrets can't change it.
            encoding.secret(
                namespace, name, labels, {"key": key}, immutable=True
            ),
        )
    except errors.Conflict:
        LOG.info("release %s has its etcd key already", release)
