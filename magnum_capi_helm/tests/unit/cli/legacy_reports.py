# SPDX-License-Identifier: Apache-2.0

"""What tests of reports on a cluster of 1.4.0 start with."""

from __future__ import annotations

import base64
import io
import json
from typing import Any
from unittest import mock

from magnum.common import exception
from magnum.common.x509 import operations
from magnum.drivers.common import driver as drivers
import yaml

from magnum_capi_helm.cli import main
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.tests.fakes import cloud as fake_cloud
from magnum_capi_helm.tests.unit import test_driver_legacy
from magnum_capi_helm.tests.unit.lifecycle import base

RELEASE = test_driver_legacy.RELEASE
IMAGE = cluster_spec.Image("i-30", "ubuntu-1.34", "1.30.1", "ubuntu")


class ReportCase(test_driver_legacy.LegacyTestCase):
    """Magnum's environment has 1.4.0 and not this driver."""

    def setUp(self) -> None:
        super().setUp()
        self.err = io.StringIO()
        for name, flavor in (("master", "old.1"), ("worker", "old.2")):
            group = self.groups()[f"default-{name}"]
            group.flavor_id = flavor
            group.save()
        missing = mock.patch.object(
            drivers.Driver,
            "get_driver",
            side_effect=exception.ClusterTypeNotSupported(
                server_type="vm", os="ubuntu", coe="kubernetes"
            ),
        )
        missing.start()
        self.addCleanup(missing.stop)

    def labels(self) -> dict[str, str]:
        return {}

    def catalogue(self, session: Any) -> fake_cloud.FakeCloud:
        """All that the cluster is made of."""
        found = super().catalogue(session)
        found.images = {"ubuntu-1.34": IMAGE, "i-30": IMAGE}
        found.flavors = {"old.1": "old.1", "old.2": "old.2"}
        return found

    def legacy_values(self) -> dict[str, Any]:
        """What 1.4.0 sends of it again, but for the chart."""
        health = {"healthCheck": {"enabled": True}}
        balancer = {
            "lb-provider": "amphora",
            "lb-method": "ROUND_ROBIN",
            "create-monitor": True,
        }
        return {
            "kubernetesVersion": "1.30.1",
            "machineImageId": "i-30",
            "machineSSHKeyName": "mine",
            "cloudCredentialsSecretName": test_driver_legacy.CREDENTIALS,
            "apiServer": {"loadBalancerProvider": "amphora"},
            "clusterNetworking": {
                "internalNetwork": {"nodeCidr": "10.0.0.0/24"}
            },
            "controlPlane": {
                "machineFlavor": "old.1",
                "machineCount": 1,
                **health,
            },
            "nodeGroupDefaults": health,
            "nodeGroups": [
                {
                    "name": "default-worker",
                    "machineFlavor": "old.2",
                    "machineCount": 2,
                }
            ],
            "addons": {
                "cni": {"type": "calico"},
                "openstack": {"cloudConfig": {"LoadBalancer": balancer}},
            },
        }

    def write_secrets(self) -> None:
        """1.4.0's Secrets, with certificates that last."""
        super().write_secrets()
        clouds = self.secret(test_driver_legacy.CREDENTIALS)["data"][
            "clouds.yaml"
        ]
        text = base64.b64decode(clouds).replace(b"s3cr3t", b"s3cret")
        clouds = base64.b64encode(text).decode()
        self.change_secret("cloud-credentials", {"clouds.yaml": clouds})
        made = operations.generate_ca_certificate("web")
        pem = base64.b64encode(made["certificate"]).decode()
        for name in ("ca", "etcd", "proxy"):
            self.change_secret(name, {"tls.crt": pem, "tls.key": "c2VjcmV0"})
        user = {"user": {"client-certificate-data": pem}}
        text = yaml.safe_dump({"users": [user]}).encode()
        self.server.create(
            kinds.SECRET,
            {
                "metadata": {
                    "name": f"{RELEASE}-kubeconfig",
                    "namespace": base.NAMESPACE,
                },
                "data": {"value": base64.b64encode(text).decode()},
            },
        )

    def change_secret(self, name: str, data: dict[str, str]) -> None:
        """Put something into a Secret of the release."""
        self.server.patch(
            kinds.SECRET, base.NAMESPACE, f"{RELEASE}-{name}", {"data": data}
        )

    def run_command(
        self, kind: type, *argv: str
    ) -> tuple[int, list[dict[str, str]]]:
        """Exit code and lines; nothing is written in the meantime."""
        app = main.Application()
        app.stdout, app.stderr = io.StringIO(), self.err
        self.management.requests.clear()
        command = kind(app, None)
        options = command.get_parser("test").parse_args([*argv, "-f", "json"])
        before = len(self.helm.upgrades)
        with self.saves() as saved:
            code = int(command.run(options))
        self.assertEqual([], saved)
        verbs = {each.verb for each in self.management.requests}
        self.assertLessEqual(verbs, {"discover", "get", "list"})
        self.assertEqual(before, len(self.helm.upgrades))
        return code, json.loads(app.stdout.getvalue())
