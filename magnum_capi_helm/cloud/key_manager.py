# SPDX-License-Identifier: Apache-2.0
"""Barbican, where Magnum keeps certificates unless told otherwise."""

from __future__ import annotations

from typing import Any

from magnum_capi_helm.cloud import sessions
from magnum_capi_helm.config import conf


def probe(session: Any) -> str:
    """Store a secret, as Magnum does for each cluster, and delete it.

    :param session: of Magnum's service user
    :returns: where that was
    :raises CloudError: Barbican refused, did not answer, or is not there
    """
    options = conf.CONF.barbican_client
    with sessions.asking("Barbican, as Magnum's service user"):
        endpoint = session.get_endpoint(
            service_type="key-manager",
            interface=options.endpoint_type,
            region_name=options.region_name,
        )
        base = str(endpoint).rstrip("/").removesuffix("/v1")
        secret = {
            "name": "magnum-capi-helm check",
            "payload": "check",
            "payload_content_type": "text/plain",
        }
        made = session.post(f"{base}/v1/secrets", json=secret).json()
        uuid = str(made["secret_ref"]).rpartition("/")[2]
        session.delete(f"{base}/v1/secrets/{uuid}")
    return str(endpoint)
