# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Magnum's certificates as the CA Secrets that Cluster API reads.

With them ``openstack coe cluster config`` works: Magnum signs the user's
client certificate with the CA that the cluster trusts. They are written
once, at create: on a living cluster another service-account key would cut
off every token.
"""

from __future__ import annotations

import base64
from typing import Any

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from magnum import objects
from magnum.common import cert_manager as backends
from magnum.common import exception
from magnum.conductor.handlers.common import cert_manager
from oslo_log import log

from magnum_capi_helm import exceptions
from magnum_capi_helm import names

LOG = log.getLogger(__name__)

#: Cluster API's purpose of a CA -> Magnum's type of the same CA.
_AUTHORITIES = {"ca": None, "etcd": "etcd", "proxy": "front_proxy"}
_SECRET_TYPE = "cluster.x-k8s.io/secret"  # noqa: S105 (a type, no secret)
_KEY_BITS = 2048
_REFERENCES = (
    "ca_cert_ref",
    "magnum_cert_ref",
    "etcd_ca_cert_ref",
    "front_proxy_ca_cert_ref",
)


def fetch(context: Any, cluster: Any) -> dict[str, Any]:
    """Magnum's three CAs, by Cluster API's purpose, keys still encrypted.

    :raises CloudError: Magnum's certificate store does not answer
    """
    found = {}
    for purpose, kind in _AUTHORITIES.items():
        try:
            found[purpose] = cert_manager.get_cluster_ca_certificate(
                cluster, context=context, ca_cert_type=kind
            )
        except exception.MagnumException as error:
            raise exceptions.CloudError(
                f"Magnum's certificate store has no {purpose} CA: {error}"
            ) from error
    return found


def secrets(
    authorities: dict[str, Any],
    namespace: str,
    release: str,
    labels: dict[str, str],
) -> list[dict[str, Any]]:
    """The four Secrets: three CAs and the service-account key pair.

    Takes a fifth of a second of decryption; asks nobody.

    :param authorities: what :func:`fetch` found
    """
    pairs = {
        purpose: (
            _bytes(authority.get_certificate()),
            _bytes(authority.get_decrypted_private_key()),
        )
        for purpose, authority in authorities.items()
    }
    pairs["sa"] = _service_account_pair()
    return [
        {
            "metadata": {
                "name": names.certificate(release, purpose),
                "namespace": namespace,
                "labels": labels,
            },
            "type": _SECRET_TYPE,
            "data": {
                "tls.crt": base64.b64encode(certificate).decode(),
                "tls.key": base64.b64encode(key).decode(),
            },
        }
        for purpose, (certificate, key) in pairs.items()
    ]


def _service_account_pair() -> tuple[bytes, bytes]:
    """Public and private key. Magnum makes none; kubeadm's are RSA too."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=_KEY_BITS)
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM,
        serialization.PublicFormat.SubjectPublicKeyInfo,
    )
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )
    return public, private


def delete_forgotten(context: Any, cluster: Any) -> None:
    """Delete the two CAs that Magnum forgets when a cluster goes."""
    manager = backends.get_backend().CertManager
    for field in ("etcd_ca_cert_ref", "front_proxy_ca_cert_ref"):
        ref = getattr(cluster, field, None)
        if not ref:
            continue
        try:
            manager.delete_cert(
                ref, resource_ref=cluster.uuid, context=context
            )
        except exception.ObjectNotFound:
            continue
        except exception.MagnumException as error:
            LOG.warning(
                "Certificate %s of cluster %s not deleted: %s",
                field,
                cluster.uuid,
                error,
            )
    cert_manager.delete_client_files(cluster, context=context)


def restore_references(context: Any, cluster: Any) -> None:
    """Put back the references that ``coe ca rotate`` has replaced.

    Magnum makes new certificates before it asks the driver and saves their
    references even when the driver refuses: it would go on signing with a
    CA that the cluster does not know.
    """
    row = objects.Cluster.get_by_uuid(context, cluster.uuid)
    manager = backends.get_backend().CertManager
    for field in _REFERENCES:
        new, old = getattr(cluster, field), getattr(row, field)
        if new == old:
            continue
        setattr(cluster, field, old)
        try:
            manager.delete_cert(
                new, resource_ref=cluster.uuid, context=context
            )
        except exception.MagnumException as error:
            LOG.warning("New certificate %s not deleted: %s", field, error)


def _bytes(text: str | bytes) -> bytes:
    return text.encode() if isinstance(text, str) else text
