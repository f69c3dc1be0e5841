# SPDX-License-Identifier: Apache-2.0

"""A management cluster's certificates and its administrator's kubeconfig."""

import base64
import datetime
import ipaddress
import pathlib

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import ExtendedKeyUsageOID
from cryptography.x509.oid import NameOID
import yaml

from lab import planes

_YEARS = datetime.timedelta(days=3650)
_NAMES = ("localhost", "kubernetes", "kubernetes.default.svc")
_ADDRESSES = ("127.0.0.1", "10.96.0.1")


def ready(plane: planes.Plane) -> bool:
    """Whether everything was made before."""
    return plane.kubeconfig.exists()


def make(plane: planes.Plane) -> None:
    """Make a new authority and what it signs; the kubeconfig comes last."""
    plane.pki.mkdir(parents=True, exist_ok=True, mode=0o700)
    folder = plane.pki
    key = _key(folder / "ca.key")
    authority = _authority(key, plane.called("lab-ca"))
    _write(plane.authority, _pem(authority))
    for name in ("apiserver", "tls"):
        sign(
            folder / name,
            "lab",
            (authority, key),
            ExtendedKeyUsageOID.SERVER_AUTH,
        )
    sign(
        folder / "admin",
        "admin",
        (authority, key),
        ExtendedKeyUsageOID.CLIENT_AUTH,
        group="system:masters",
    )
    public = _key(folder / "sa.key").public_key()
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    pem = public.public_bytes(serialization.Encoding.PEM, form)
    _write(folder / "sa.pub", pem)
    user = {
        "client-certificate-data": encoded(folder / "admin.crt"),
        "client-key-data": encoded(folder / "admin.key"),
    }
    plane.kubeconfig.write_text(kubeconfig(plane, user))
    plane.kubeconfig.chmod(0o600)


def sign(
    path: pathlib.Path,
    common: str,
    issuer: tuple[x509.Certificate, rsa.RSAPrivateKey],
    usage: x509.ObjectIdentifier,
    group: str = "",
) -> None:
    """One key pair for a server on loopback or for a client."""
    key = _key(path.with_suffix(".key"))
    subject = [x509.NameAttribute(NameOID.COMMON_NAME, common)]
    if group:
        organization = NameOID.ORGANIZATION_NAME
        subject.insert(0, x509.NameAttribute(organization, group))
    names: list[x509.GeneralName] = [x509.DNSName(n) for n in _NAMES]
    for address in _ADDRESSES:
        names.append(x509.IPAddress(ipaddress.ip_address(address)))
    authority, authority_key = issuer
    builder = _builder(x509.Name(subject), authority.subject, key)
    certificate = (
        builder.add_extension(x509.BasicConstraints(False, None), True)
        .add_extension(x509.ExtendedKeyUsage([usage]), False)
        .add_extension(x509.SubjectAlternativeName(names), False)
        .sign(authority_key, hashes.SHA256())
    )
    _write(path.with_suffix(".crt"), _pem(certificate))


def _authority(key: rsa.RSAPrivateKey, common: str) -> x509.Certificate:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])
    usage = x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=True,
        crl_sign=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
    return (
        _builder(name, name, key)
        .add_extension(x509.BasicConstraints(True, None), True)
        .add_extension(usage, True)
        .sign(key, hashes.SHA256())
    )


def _builder(
    subject: x509.Name, issuer: x509.Name, key: rsa.RSAPrivateKey
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.timezone.utc)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + _YEARS)
    )


def _key(path: pathlib.Path) -> rsa.RSAPrivateKey:
    key = rsa.generate_private_key(65537, 2048)
    pem = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )
    _write(path, pem)
    return key


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _write(path: pathlib.Path, data: bytes) -> None:
    path.write_bytes(data)
    path.chmod(0o600)


def encoded(path: pathlib.Path) -> str:
    """A file in base64, as Kubernetes wants it inside YAML."""
    return base64.b64encode(path.read_bytes()).decode()


def kubeconfig(plane: planes.Plane, user: dict[str, str]) -> str:
    """A kubeconfig of the plane for a user with these credentials."""
    cluster = {
        "server": plane.api,
        "certificate-authority-data": encoded(plane.authority),
    }
    text: str = yaml.safe_dump(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "lab",
            "contexts": [
                {"name": "lab", "context": {"cluster": "lab", "user": "lab"}}
            ],
            "clusters": [{"name": "lab", "cluster": cluster}],
            "users": [{"name": "lab", "user": user}],
        }
    )
    return text
