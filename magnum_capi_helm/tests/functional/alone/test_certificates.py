# SPDX-License-Identifier: Apache-2.0
"""Certificates in Barbican, for which Magnum is configured anew."""

from __future__ import annotations

from typing import Any

from keystoneauth1 import adapter
from keystoneauth1 import session
from keystoneauth1.identity import v3
import yaml

from magnum_capi_helm.tests.functional import database
from magnum_capi_helm.tests.functional import programs
from magnum_capi_helm.tests.functional import test_certificates


class BarbicanTest(test_certificates.CertificatesCase):
    """Barbican, which Magnum uses unless it is told otherwise."""

    def setUp(self) -> None:
        super().setUp()
        self.barbican = adapter.Adapter(
            _service_user(), service_type="key-manager"
        )
        self.configure_sections(
            {"certificates": {"cert_manager_type": "barbican"}}
        )

    def found(self, what: str) -> list[dict[str, Any]]:
        """All containers, or all secrets, of Magnum's service user."""
        answer = self.barbican.get(f"/v1/{what}?limit=100").json()
        self.assertLess(answer["total"], 100)
        found: list[dict[str, Any]] = answer[what]
        return found

    def stored(self, name: str) -> set[str]:
        """By name; the client's has none of the cluster's."""
        known = {
            each["container_ref"]: each for each in self.found("containers")
        }
        rows = database.rows("SELECT name, magnum_cert_ref FROM cluster")
        used = {each["magnum_cert_ref"] for each in rows}
        clients = {
            each["magnum_cert_ref"] for each in rows if each["name"] == name
        }
        return {
            ref
            for ref, each in known.items()
            if each["name"] == name
            or ref in clients
            or (each["name"] == "Magnum-Conductor" and ref not in used)
        }

    def test_a_cluster_leaves_no_certificate_and_no_key(self) -> None:
        before = self.found("secrets")
        cluster = self.cluster(self.template())
        self.fail_twice()
        self.until_status(cluster, ("CREATE_COMPLETE",))
        self.use(cluster)
        self.leave(cluster)
        self.assertEqual(before, self.found("secrets"))


def _service_user() -> session.Session:
    """Magnum's own, who owns what Magnum puts into Barbican."""
    known = yaml.safe_load((programs.LAB / "clouds.yaml").read_text())
    auth = dict(known["clouds"]["admin"]["auth"])
    auth.update(username="magnum", project_name="service")
    return session.Session(v3.Password(**auth))
