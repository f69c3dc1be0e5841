# SPDX-License-Identifier: Apache-2.0

"""What tests of ``cluster apply --cloud-settings`` start with."""

from __future__ import annotations

import base64
import datetime
import functools
import io
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509 import oid

from magnum_capi_helm.cli import cluster
from magnum_capi_helm.config import conf
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import names
from magnum_capi_helm.tests.fakes import cloud as fake_cloud
from magnum_capi_helm.tests.fakes import openstack
from magnum_capi_helm.tests.unit.cli import command_case
from magnum_capi_helm.tests.unit.lifecycle import base

NAME = names.credentials(base.RELEASE)


@functools.lru_cache
def ca(name: str, days: int = 3650) -> str:
    """A CA in PEM, from today for so many days."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(oid.NameOID.COMMON_NAME, name)])
    today = datetime.datetime.now(datetime.timezone.utc)
    made = x509.CertificateBuilder(
        subject,
        subject,
        key.public_key(),
        x509.random_serial_number(),
        today - datetime.timedelta(days=20),
        today + datetime.timedelta(days=days),
    ).sign(key, hashes.SHA256())
    return made.public_bytes(serialization.Encoding.PEM).decode()


class RefreshTestCase(base.FlowTestCase):
    """A cluster that was made with a private CA, and is complete."""

    identity = "http://keystone.test/v3"

    def setUp(self) -> None:
        super().setUp()
        self.err = io.StringIO()
        self.trust(ca("old"))
        self.created()
        self.before = self.secret()

    def catalogue(self, session: Any) -> fake_cloud.FakeCloud:
        found = super().catalogue(session)
        found.identity = self.identity
        return found

    def trust(self, *certificates: str) -> None:
        """What the operator's file has from now on."""
        path = self.create_tempfiles([("ca", "".join(certificates))])[0]
        conf.CONF.set_override("openstack_ca_file", path, "drivers")

    def secret(self) -> Any:
        found = self.server.get(kinds.SECRET, base.NAMESPACE, NAME)
        assert found is not None
        return found

    def data(self, key: str) -> str:
        return base64.b64decode(self.secret()["data"][key]).decode()

    def refresh(self, *argv: str) -> dict[str, str]:
        """The line of the cluster, once the command was run."""
        words = ("--cloud-settings", "web", *argv)
        _, [line] = command_case.run_json(
            cluster.Apply, *words, err=self.err, pause=0.0
        )
        self.assertNotIn(openstack.SECRET, f"{line}{self.err.getvalue()}")
        self.assertEqual("web", line["Cluster"])
        return {key: line[key] for key in ("Result", "Detail")}

    def patch(self, **change: Any) -> None:
        self.server.patch(kinds.SECRET, base.NAMESPACE, NAME, change)
