# SPDX-License-Identifier: Apache-2.0

"""Magnum's and Keystone's REST APIs, for one of the lab's users."""

from __future__ import annotations

import contextlib
import time
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509 import oid
from keystoneauth1 import adapter
from keystoneauth1 import exceptions as ka_exceptions
from keystoneauth1 import session
from keystoneauth1.identity import v3
import yaml

from magnum_capi_helm.tests.functional import programs

#: The newest version that every supported Magnum serves.
MICROVERSION = "container-infra 1.10"
#: With which rotations came.
ROTATION = "container-infra 1.12"
KEYSTONE = "http://127.0.0.1:5000/v3"


def keystone_session(cloud: str) -> session.Session:
    """A session of one of the lab's users, logged in with a password."""
    known = yaml.safe_load((programs.LAB / "clouds.yaml").read_text())
    return session.Session(v3.Password(**known["clouds"][cloud]["auth"]))


class Magnum:
    """Magnum's REST API for one user."""

    def __init__(
        self, keystone: session.Session, version: str = MICROVERSION
    ) -> None:
        self.session = keystone
        self._api = adapter.Adapter(
            keystone,
            service_type="container-infra",
            additional_headers={"OpenStack-API-Version": version},
        )

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """The decoded answer; HTTP errors raise keystoneauth's."""
        # On a busy host Magnum's API may drop a connection that was idle.
        retries = 3 if method == "GET" else 0
        answer = self._api.request(
            path, method, json=body, connect_retries=retries
        )
        return answer.json() if answer.content else None

    def send(
        self, method: str, path: str, body: Any, headers: dict[str, str]
    ) -> Any:
        """The answer, whatever it is."""
        return self._api.request(
            path, method, json=body, headers=headers, raise_exc=False
        )

    def newest(self) -> tuple[int, ...]:
        """The newest microversion that it serves."""
        answer = self.send("GET", "/clusters", None, {})
        found = answer.headers["OpenStack-API-Maximum-Version"]
        _, _, number = found.partition(" ")
        return tuple(map(int, number.split(".")))

    def find(self, cluster: str) -> dict[str, Any] | None:
        """Return a cluster, or None when it is gone."""
        path = f"/clusters/{cluster}"
        try:
            row: dict[str, Any] = self.call("GET", path)
        except ka_exceptions.NotFound:
            return None
        except ka_exceptions.BadRequest:
            # Magnum removes the nodegroups first, and has no valid
            # master_count until it removes the cluster.
            time.sleep(1)
            return self.find(cluster)
        return row

    def nodegroups(self, cluster: str) -> dict[str, dict[str, Any]]:
        """The nodegroups of a cluster, by name."""
        path = f"/clusters/{cluster}/nodegroups"
        listed = self.call("GET", path)["nodegroups"]
        found = {}
        for each in listed:
            # One that is deleted in between is gone.
            with contextlib.suppress(ka_exceptions.NotFound):
                found[each["name"]] = self.call(
                    "GET", f"{path}/{each['uuid']}"
                )
        return found

    def rotate(self, cluster: str) -> None:
        """``openstack coe credential rotate``."""
        self.session.request(
            f"/credentials/{cluster}",
            "PATCH",
            endpoint_filter={"service_type": "container-infra"},
            headers={"OpenStack-API-Version": ROTATION},
        )

    def authority(self, cluster: str, kind: str = "") -> bytes:
        """Return a certificate authority, PEM: ``openstack coe ca show``.

        :param kind: such as ``etcd``; empty: the one of the Kubernetes API
        """
        query = f"?ca_cert_type={kind}" if kind else ""
        path = f"/certificates/{cluster}{query}"
        return str(self.call("GET", path)["pem"]).encode()

    def sign(self, cluster: str, kind: str = "") -> bytes:
        """Return a client's key and certificate: ``openstack coe ca sign``.

        :param kind: as for :meth:`authority`
        """
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        subject = [
            x509.NameAttribute(oid.NameOID.COMMON_NAME, "admin"),
            x509.NameAttribute(
                oid.NameOID.ORGANIZATION_NAME, "system:masters"
            ),
        ]
        request = (
            x509.CertificateSigningRequestBuilder()
            .subject_name(x509.Name(subject))
            .sign(key, hashes.SHA256())
        )
        pem = serialization.Encoding.PEM
        body = {
            "cluster_uuid": cluster,
            "csr": request.public_bytes(pem).decode(),
        }
        if kind:
            body["ca_cert_type"] = kind
        signed = self.call("POST", "/certificates", body)["pem"]
        # The key first: what Magnum signs ends without a line's end.
        return (
            key.private_bytes(
                pem,
                serialization.PrivateFormat.TraditionalOpenSSL,
                serialization.NoEncryption(),
            )
            + str(signed).encode()
        )
