# SPDX-License-Identifier: Apache-2.0
"""Certificates, as users of a cluster see them, in Magnum's own store."""

from __future__ import annotations

import json
import pathlib
from typing import Any

from cryptography import x509
from cryptography.x509 import oid
import fixtures
import requests

from magnum_capi_helm.tests.functional import base
from magnum_capi_helm.tests.functional import database
from magnum_capi_helm.tests.functional import programs


class CertificatesCase(base.LabCase):
    """Checks of certificates in any store."""

    def stored(self, name: str) -> set[str]:
        """The references of all that the store has of a cluster."""
        raise NotImplementedError

    def setUp(self) -> None:
        super().setUp()
        self.home = pathlib.Path(self.useFixture(fixtures.TempDir()).path)

    # The authority

    def authority(self, cluster: str, kind: str = "") -> bytes:
        """``openstack coe ca show``."""
        return self.magnum.authority(cluster, kind)

    def sign(self, cluster: str, kind: str = "") -> pathlib.Path:
        """``openstack coe ca sign``: a file with certificate and key."""
        path = self.home / f"client{kind}.pem"
        path.write_bytes(self.magnum.sign(cluster, kind))
        return path

    def nodes(self, cluster: str, kind: str = "") -> list[str]:
        """The nodes, asked for with a certificate of one of the CAs."""
        address = (self.magnum.find(cluster) or {})["api_address"]
        trusted = self.home / "trusted.pem"
        trusted.write_bytes(self.authority(cluster))
        answer = requests.get(
            f"{address}/api/v1/nodes",
            cert=str(self.sign(cluster, kind)),
            verify=str(trusted),
            timeout=10,
        )
        answer.raise_for_status()
        return [each["metadata"]["name"] for each in answer.json()["items"]]

    # A cluster's life

    def fail_twice(self) -> None:
        """Two clusters that fail leave no certificate when deleted."""
        plain = self.template()
        failing = self.cluster(
            plain, flavor_id="m1.worker.nohost", create_timeout=1
        )
        refused = self.cluster(
            plain, labels={"octavia_lb_algorithm": "RANDOM"}
        )
        for cluster in (failing, refused):
            self.until_status(cluster, ("CREATE_FAILED",))
        self.leave(failing, refused)

    def use(self, cluster: str) -> pathlib.Path:
        """Use all certificates of a complete cluster with one worker.

        :returns: the user's kubeconfig
        """
        self._three_authorities(cluster)
        self._clients(cluster)
        config = self._kubeconfig(cluster)
        self._operators_kubeconfig(cluster)
        self.assertEqual(2, len(self.kubectl(config)))
        return config

    def leave(self, *clusters: str) -> None:
        """Deleted clusters have four certificates each, and then none."""
        names = [(self.magnum.find(each) or {})["name"] for each in clusters]
        for cluster, name in zip(clusters, names, strict=True):
            references = database.references(cluster)
            self.assertEqual(set(references), self.stored(name))
        self.delete(*clusters)
        for name in names:
            self.assertEqual(set(), self.stored(name))

    def _three_authorities(self, cluster: str) -> None:
        pems = {
            kind: self.authority(cluster, kind)
            for kind in ("", "etcd", "front-proxy")
        }
        self.assertEqual(3, len(set(pems.values())))
        self.assertEqual(pems[""], self.authority(cluster, "kubernetes"))
        for pem in pems.values():
            found = x509.load_pem_x509_certificate(pem)
            self.assertTrue(
                found.extensions.get_extension_for_class(
                    x509.BasicConstraints
                ).value.ca
            )

    def _clients(self, cluster: str) -> None:
        """The API server trusts its own CA alone, and shows it."""
        self.assertEqual(2, len(self.nodes(cluster)))
        for kind in ("etcd", "front-proxy"):
            self.assertRaises(
                requests.exceptions.ConnectionError, self.nodes, cluster, kind
            )

    def _kubeconfig(self, cluster: str) -> pathlib.Path:
        """``openstack coe cluster config``, and kubectl with it."""
        words = ("coe", "cluster", "config", cluster, "--dir")
        programs.openstack(*words, str(self.home))
        config = self.home / "config"
        self.assertEqual(2, len(self.kubectl(config)))
        return config

    def _operators_kubeconfig(self, cluster: str) -> None:
        """``magnum-capi-helm kubeconfig``, and kubectl with it."""
        path, log = self.home / "operators", self.home / "log"
        path.write_text(
            programs.command("--log-file", str(log), "kubeconfig", cluster)
        )
        self.assertEqual(2, len(self.kubectl(path)))
        self.assertRegex(
            log.read_text(),
            f"audit: cluster {cluster}: accepted: kubeconfig, user \\S+@",
        )
        self.assertNotIn("PRIVATE", log.read_text())

    def kubectl(self, config: pathlib.Path) -> list[Any]:
        """Return the nodes, as ``kubectl`` lists them."""
        output = programs.kubectl(config, "get", "nodes", "--output=json")
        found: list[Any] = json.loads(output)["items"]
        return found


class DatabaseCase(CertificatesCase):
    """x509keypair, Magnum's store in its own database."""

    def stored(self, name: str) -> set[str]:
        wanted = x509.Name([x509.NameAttribute(oid.NameOID.COMMON_NAME, name)])
        return database.issued(
            lambda pem: x509.load_pem_x509_certificate(pem).issuer == wanted
        )


class DatabaseTest(DatabaseCase):
    """Clusters that fail; ``test_life`` has one that does not."""

    def test_a_failed_cluster_leaves_no_certificate(self) -> None:
        self.fail_twice()
