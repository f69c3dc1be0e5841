# SPDX-License-Identifier: Apache-2.0

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

from magnum_capi_helm.model import encoding
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names

LOG = log.getLogger(__name__)

#: Cluster API's purpose of a CA -> Magnum's type of the same CA.
_AUTHORITIES = {"ca": None, "etcd": "etcd", "proxy": "front_proxy"}
_FORGOTTEN = ("etcd_ca_cert_ref", "front_proxy_ca_cert_ref")
_SECRET_TYPE = "cluster.x-k8s.io/secret"  # noqa: S105 (a type, no secret)
_KEY_BITS = 2048
#: One sentence: Magnum's API shows clients no second one.
NO_ROTATION = (
    "Cluster API can't replace the CA of a running cluster: cluster and "
    "certificates are as they were; if the CA's key is no longer secret, "
    "create a new cluster"
)
#: What a store says about one certificate, whoever asks and how often.
_REFUSALS = (400, 403)
_GONE = 404
_REFERENCES = ("ca_cert_ref", "magnum_cert_ref", *_FORGOTTEN)


def fetch(context: Any, cluster: Any) -> dict[str, Any]:
    """Magnum's three CAs, by Cluster API's purpose, keys still encrypted.

    Each store raises exceptions of its own.

    :raises CloudError: Magnum's certificate store does not answer
    """
    found = {}
    for purpose, kind in _AUTHORITIES.items():
        try:
            authority = cert_manager.get_cluster_ca_certificate(
                cluster, context=context, ca_cert_type=kind
            )
            # Barbican's reads, and keeps, each part when it is asked for.
            authority.get_certificate()
            authority.get_private_key()
            authority.get_private_key_passphrase()
        except Exception as error:
            # Each store raises what its client does.
            raise errors.CloudError(
                f"Magnum's certificate store gave no {purpose} CA. "
                f"{_text(error)}"
            ) from error
        found[purpose] = authority
    return found


def secrets(
    authorities: dict[str, Any],
    namespace: str,
    release: str,
    labels: dict[str, str],
) -> list[dict[str, Any]]:
    """The four Secrets: three CAs and the service-account key pair.

    Asks nobody.

    :param authorities: what :func:`fetch` found
    """
    pairs = {
        purpose: (
            _bytes(authority.get_certificate()),
            _decrypted(authority),
        )
        for purpose, authority in authorities.items()
    }
    pairs["sa"] = _service_account_pair()
    return [
        encoding.secret(
            namespace,
            names.certificate(release, purpose),
            labels,
            {
                "tls.crt": base64.b64encode(certificate).decode(),
                "tls.key": base64.b64encode(key).decode(),
            },
            type=_SECRET_TYPE,
        )
        for purpose, (certificate, key) in pairs.items()
    ]


def _decrypted(authority: Any) -> bytes:
    """The private key, as Magnum decrypts it but for one thing.

    Magnum made it. To prove once more that its numbers are primes takes 70 ms
    for each key, in which no other thread of the conductor runs.
    """
    passphrase = authority.get_private_key_passphrase()
    key = serialization.load_pem_private_key(
        _bytes(authority.get_private_key()),
        _bytes(passphrase) if passphrase else None,
        unsafe_skip_rsa_key_validation=True,
    )
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


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
    """Delete the two CAs that Magnum forgets when a cluster goes.

    Magnum deletes the other two right afterwards, and takes no failure for
    a reason to wait: a store that answers now is likely to do so then.

    :raises CloudUnreachable: the store did not answer; nothing is lost yet
    """
    for field in _FORGOTTEN:
        if not (ref := getattr(cluster, field, None)):
            continue
        failure = _delete(context, cluster, ref)
        if failure is None or _status(failure) == _GONE:
            continue
        if not _final(failure):
            raise errors.CloudUnreachable(
                f"Magnum's certificate store did not answer. {_text(failure)}"
            ) from failure
        LOG.warning(
            "Certificate %s of cluster %s stays in Magnum's store: %s",
            ref,
            cluster.uuid,
            _text(failure),
        )
    cert_manager.delete_client_files(cluster, context=context)


def restore_references(context: Any, cluster: Any) -> None:
    """Put back the references that ``coe ca rotate`` has replaced.

    Magnum makes new certificates before it asks the driver and saves their
    references even when the driver refuses: it would go on signing with a
    CA that the cluster does not know.
    """
    row = objects.Cluster.get_by_uuid(context, cluster.uuid)
    replaced = []
    for field in _REFERENCES:
        new, old = getattr(cluster, field), getattr(row, field)
        if new != old:
            setattr(cluster, field, old)
            replaced.append(new)
    # Only now: a store that fails must not keep the cluster's own away.
    for ref in replaced:
        failure = _delete(context, cluster, ref)
        if failure is not None:
            LOG.warning(
                "Certificate %s, made for a refused rotation of cluster %s, "
                "stays in Magnum's store: %s",
                ref,
                cluster.uuid,
                _text(failure),
            )
    cert_manager.delete_client_files(cluster, context=context)


def _delete(context: Any, cluster: Any, ref: str) -> Exception | None:
    """Delete one certificate; what went wrong, if anything did.

    Each store raises what its client does: Magnum's own exceptions,
    openstacksdk's, with older Magnums python-barbicanclient's.
    """
    try:
        backends.get_backend().CertManager.delete_cert(
            ref, resource_ref=cluster.uuid, context=context
        )
    except Exception as error:
        return error
    return None


def _status(error: Exception) -> int | None:
    """The HTTP status that an exception of whatever store stands for."""
    for name in ("status_code", "http_status", "code"):
        found = getattr(error, name, None)
        if isinstance(found, int):
            return found
    return None


def _final(error: Exception) -> bool:
    """Whether to ask again is in vain.

    Magnum says 403 for a Keystone that does not answer, too.
    """
    if isinstance(error, exception.MagnumException):
        return False
    if isinstance(error, (LookupError, TypeError, AttributeError)):
        # What Magnum's code makes of a container that lost a part.
        return True
    return _status(error) in _REFUSALS


def _text(error: Exception) -> str:
    """One line, and the class when the exception says nothing itself."""
    return " ".join(str(error).split()) or type(error).__name__


def _bytes(text: str | bytes) -> bytes:
    return text.encode() if isinstance(text, str) else text
