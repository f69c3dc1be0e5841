# SPDX-License-Identifier: Apache-2.0

"""Write Magnum's certificates into the CA Secrets that Cluster API reads.

With them ``openstack coe cluster config`` works: Magnum signs the user's
client certificate with the CA that the cluster trusts. They are written at
create. On a living cluster a rotation replaces them step by step, because
another service-account key would cut off every token.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
import contextlib
import datetime
from typing import Any, TypeAlias

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from magnum import objects
from magnum.common import cert_manager as backends
from magnum.common import context as magnum_context
from magnum.common import exception
from magnum.conductor.handlers.common import cert_manager
from oslo_log import log

from magnum_capi_helm.cloud import sessions
from magnum_capi_helm.model import encoding
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names

LOG = log.getLogger(__name__)

#: Cluster API's purpose of a CA -> Magnum's type of the same CA.
_AUTHORITIES = {"ca": None, "etcd": "etcd", "proxy": "front_proxy"}
_FORGOTTEN = ("etcd_ca_cert_ref", "front_proxy_ca_cert_ref")
_SECRET_TYPE = "cluster.x-k8s.io/secret"  # noqa: S105 (a type, no secret)
_KEY_BITS = 2048
#: Validity of the bridge of a rotation, and the rest that a phase needs. A
#: leaked key of the old CA is of use as long.
_BRIDGE = datetime.timedelta(days=30)
_REST = datetime.timedelta(days=14)
_HOUR = datetime.timedelta(hours=1)
#: Answers of a store that would be the same next time.
_FINAL = (400, 403)
_GONE = 404
#: Fields of a cluster's row with references to certificates.
REFERENCES = ("ca_cert_ref", "magnum_cert_ref", *_FORGOTTEN)

#: Certificate, encrypted key, and the key's passphrase if it has one.
Authority: TypeAlias = tuple[bytes, bytes, bytes | None]


def fetch(context: Any, cluster: Any) -> dict[str, Authority]:
    """Return Magnum's three CAs, by Cluster API's purpose.

    :raises CloudError: Magnum's certificate store does not answer
    """
    authorities = {}
    for purpose, kind in _AUTHORITIES.items():
        with _asking_store(f"gave no {purpose} CA"):
            stored = cert_manager.get_cluster_ca_certificate(
                cluster, context=context, ca_cert_type=kind
            )
            authorities[purpose] = _authority(stored)
    return authorities


@contextlib.contextmanager
def _asking_store(failure: str, *, secret: bool = False) -> Iterator[None]:
    """Translate what a store raises: each store raises what its client does.

    :param failure: what the store did not do
    :param secret: the cause may have a key, and Magnum logs causes
    """
    try:
        yield
    except Exception as error:
        raise errors.CloudError(
            f"Magnum's certificate store {failure}. {_text(error)}"
        ) from (None if secret else error)


def _authority(stored: Any) -> Authority:
    # Barbican's reads each part when it is asked for.
    passphrase = stored.get_private_key_passphrase()
    return (
        _bytes(stored.get_certificate()),
        _bytes(stored.get_private_key()),
        _bytes(passphrase) if passphrase else None,
    )


def secrets(
    authorities: dict[str, Authority],
    namespace: str,
    release: str,
    labels: dict[str, str],
) -> list[dict[str, Any]]:
    """Return the four Secrets: three CAs and the service-account key pair.

    :param authorities: the result of :func:`fetch`
    """
    return [
        encoding.secret(
            namespace,
            names.certificate(release, purpose),
            labels,
            {
                "tls.crt": encoding.encode(certificate),
                "tls.key": encoding.encode(key),
            },
            type=_SECRET_TYPE,
        )
        for purpose, (certificate, key) in key_pairs(authorities).items()
    ]


def successor(authority: Authority) -> bytes:
    """Return the certificate of a CA without a limit of its path, in PEM.

    Magnum makes CAs with a path length of 0: :func:`bridge` would not be
    valid below them. Key, name and dates stay the same.
    """
    certificate = x509.load_pem_x509_certificate(authority[0])
    return _signed(
        x509.CertificateBuilder()
        .not_valid_before(certificate.not_valid_before_utc)
        .not_valid_after(certificate.not_valid_after_utc)
        .add_extension(x509.BasicConstraints(True, None), critical=True),
        certificate,
        authority,
    )


def bridge(old: bytes, authority: Authority) -> bytes:
    """Return a certificate of an old CA's key that a new CA has signed.

    An API server that sends it after its own certificate, which the old CA
    has signed, is trusted by clients that know only the new CA. It is valid
    for servers alone, so that the old key signs no clients, and for a month.

    :param old: certificate of the old CA
    """
    now = datetime.datetime.now(datetime.timezone.utc)
    usage = x509.ExtendedKeyUsage([x509.OID_SERVER_AUTH])
    return _signed(
        x509.CertificateBuilder()
        .not_valid_before(now - _HOUR)
        .not_valid_after(now + _BRIDGE)
        .add_extension(x509.BasicConstraints(True, 0), critical=True)
        .add_extension(usage, critical=False),
        x509.load_pem_x509_certificate(old),
        authority,
    )


def lasts(bridge: bytes) -> bool:
    """Return whether a bridge is valid for two weeks more."""
    end = x509.load_pem_x509_certificate(bridge).not_valid_after_utc
    return end - datetime.datetime.now(datetime.timezone.utc) > _REST


def made_at(certificate: str) -> str:
    """Return since when a certificate is valid; later times sort behind."""
    begin = x509.load_pem_x509_certificate(certificate.encode())
    return begin.not_valid_before_utc.isoformat()


def _signed(
    builder: x509.CertificateBuilder,
    subject: x509.Certificate,
    authority: Authority,
) -> bytes:
    """Return a CA certificate for the name and key of another one."""
    issuer = x509.load_pem_x509_certificate(authority[0])
    key: Any = serialization.load_pem_private_key(authority[1], authority[2])
    usage = x509.KeyUsage(
        digital_signature=False,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=True,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
    )
    public = subject.public_key()
    return (
        builder.subject_name(subject.subject)
        .issuer_name(issuer.subject)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .add_extension(usage, critical=True)
        .add_extension(
            x509.SubjectKeyIdentifier.from_public_key(public), critical=False
        )
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(
                issuer.public_key()  # type: ignore[arg-type]
            ),
            critical=False,
        )
        .sign(key, hashes.SHA256())
        .public_bytes(serialization.Encoding.PEM)
    )


def key_pairs(
    authorities: dict[str, Authority],
) -> dict[str, tuple[bytes, bytes]]:
    """Return certificates, or a public key, and keys by purpose.

    :param authorities: the result of :func:`fetch`
    """
    pairs = {
        purpose: (certificate, _decrypted(key, passphrase))
        for purpose, (certificate, key, passphrase) in authorities.items()
    }
    return {**pairs, "sa": _service_account_pair()}


def _decrypted(key: bytes, passphrase: bytes | None) -> bytes:
    """Return a private key as Magnum decrypts it, but without its check.

    Magnum made it. To prove once more that its numbers are primes takes 70 ms
    for each key, in which no other thread of the conductor runs.
    """
    return serialization.load_pem_private_key(
        key, passphrase, unsafe_skip_rsa_key_validation=True
    ).private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def _service_account_pair() -> tuple[bytes, bytes]:
    """Return a public and a private key, RSA as kubeadm's: Magnum has none."""
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

    Magnum deletes the other two right afterwards, and does not wait when that
    fails: a store that answers now is likely to do so then.

    :raises CloudUnreachable: the store did not answer; nothing is lost yet
    """
    for field in _FORGOTTEN:
        if ref := getattr(cluster, field, None):
            _delete(context, cluster, ref)
    cert_manager.delete_client_files(cluster, context=context)


def restore_references(
    context: Any, cluster: Any, keep_new: bool = False
) -> None:
    """Put back the references that ``coe ca rotate`` has replaced.

    Magnum makes new certificates before it asks the driver and saves their
    references even when the driver refuses: it would go on signing with a
    CA that the cluster does not know.

    :param keep_new: do not delete the new certificates
    """
    row = objects.Cluster.get_by_uuid(context, cluster.uuid)
    replaced = []
    for field in REFERENCES:
        new, old = getattr(cluster, field), getattr(row, field)
        if new != old:
            setattr(cluster, field, old)
            replaced.append(new)
    # Only now: a store that fails must not keep the cluster's own away.
    delete(context, cluster, () if keep_new else replaced)


def copy(context: Any, cluster: Any, ref: str, certificates: str) -> str:
    """Store other certificates with the key of a stored CA.

    They are the cluster's as far as the store has owners, whoever asks.

    :param ref: of the stored CA
    :returns: the reference for the row
    :raises CloudError: Magnum's certificate store does not answer
    """
    manager = backends.get_backend().CertManager
    owner = magnum_context.make_admin_context(all_tenants=True)
    owner.project_id, owner.user_id = cluster.project_id, cluster.user_id
    with _asking_store("took no CA", secret=True):
        stored = manager.get_cert(
            ref, resource_ref=cluster.uuid, context=context
        )
        _, key, passphrase = _authority(stored)
        return str(
            manager.store_cert(
                certificate=certificates,
                private_key=key.decode(),
                private_key_passphrase=passphrase and passphrase.decode(),
                name=cluster.name or cluster.uuid,
                context=owner,
            )
        )


def find(
    context: Any, cluster: Any, refs: Iterable[str], certificate: str
) -> str | None:
    """Return which of some references is that of a certificate.

    :raises CloudError: Magnum's certificate store does not answer
    """
    manager = backends.get_backend().CertManager
    for ref in refs:
        with _asking_store("gave no CA"):
            candidate = manager.get_cert(
                ref, resource_ref=cluster.uuid, context=context
            ).get_certificate()
        if _bytes(candidate).strip() == certificate.strip().encode():
            return ref
    return None


def forget_client_files(context: Any, cluster: Any) -> None:
    """Delete Magnum's cache of client files, which may have an older CA."""
    cert_manager.delete_client_files(cluster, context=context)


def delete(context: Any, cluster: Any, refs: Iterable[str]) -> None:
    """Delete certificates, and Magnum's cache of client files.

    A certificate that the store keeps is logged.
    """
    for ref in refs:
        try:
            _delete(context, cluster, ref)
        except errors.CloudUnreachable as error:
            _log_kept(cluster, ref, str(error))
    cert_manager.delete_client_files(cluster, context=context)


def probe_barbican() -> str:
    """Store a secret, as Magnum does for each cluster, and delete it.

    :returns: the URL of Barbican
    :raises CloudError: Barbican refused, did not answer, or is not there
    """
    session = sessions.service_session()
    with sessions.asking("Barbican, as Magnum's service user"):
        endpoint = sessions.endpoint(session, "key-manager")
        base = endpoint.rstrip("/").removesuffix("/v1")
        secret = {
            "name": "magnum-capi-helm check",
            "payload": "check",
            "payload_content_type": "text/plain",
        }
        made = session.post(f"{base}/v1/secrets", json=secret).json()
        uuid = str(made["secret_ref"]).rpartition("/")[2]
        session.delete(f"{base}/v1/secrets/{uuid}")
    return endpoint


def _delete(context: Any, cluster: Any, ref: str) -> None:
    """Delete a certificate; log why the store refuses, if it does.

    Each store raises what its client does: Magnum's own exceptions,
    openstacksdk's, with older Magnums python-barbicanclient's.

    :raises CloudUnreachable: the store did not answer
    """
    try:
        backends.get_backend().CertManager.delete_cert(
            ref, resource_ref=cluster.uuid, context=context
        )
        return
    except Exception as error:
        failure = error
    codes = (
        getattr(failure, name, None)
        for name in ("status_code", "http_status", "code")
    )
    status = next((code for code in codes if isinstance(code, int)), None)
    if status == _GONE:
        return
    # Magnum's code raises these if a container lost a part.
    damaged = isinstance(failure, (LookupError, TypeError, AttributeError))
    # Magnum says 403 for a Keystone that does not answer, too.
    if isinstance(failure, exception.MagnumException) or not (
        damaged or status in _FINAL
    ):
        raise errors.CloudUnreachable(
            f"Magnum's certificate store did not answer. {_text(failure)}"
        ) from failure
    _log_kept(cluster, ref, _text(failure))


def _log_kept(cluster: Any, ref: str, problem: str) -> None:
    LOG.warning(
        "Certificate %s of cluster %s stays in Magnum's store: %s",
        ref,
        cluster.uuid,
        problem,
    )


def _text(error: Exception) -> str:
    """Return an exception's text in one line, or its class without one.

    The statement and the values of SQLAlchemy's errors are left out: they
    have the encrypted key and its passphrase.
    """
    text = str(error).partition("[SQL:")[0].partition("[parameters:")[0]
    return " ".join(text.split()) or type(error).__name__


def _bytes(text: str | bytes) -> bytes:
    return text.encode() if isinstance(text, str) else text
