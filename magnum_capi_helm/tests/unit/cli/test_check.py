# SPDX-License-Identifier: Apache-2.0

"""``check``: what it looks at on a host with one management cluster."""

from __future__ import annotations

import pathlib
import re
from typing import Any

import fixtures
import requests_mock

from magnum_capi_helm.cli import check
from magnum_capi_helm.cli import check_host
from magnum_capi_helm.cli import check_management_cluster
from magnum_capi_helm.config import conf
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.tests.fakes import openstack
from magnum_capi_helm.tests.unit.cli import command_case
from magnum_capi_helm.tests.unit.delivery import endpoint
from magnum_capi_helm.tests.unit.delivery import pki


class CheckTest(command_case.CommandCase):
    def test_check_is_0_when_all_is_well(self) -> None:
        code = self.run_command(check.Check, "-f", "json")
        self.assertEqual(
            dict.fromkeys(
                (*check_management_cluster.CHECKS, *check_host.CHECKS), "ok"
            ),
            self.states(),
        )
        self.assertEqual(0, code)

    def test_check_goes_on_after_what_fails_and_says_what_to_do(self) -> None:
        self.plane.management.unserved = {kinds.HELM_RELEASE}
        self.plane.helm.published = set()
        code = self.run_command(check.Check, "-f", "json")
        self.assertEqual(
            {
                "kubeconfig": "ok",
                "management cluster": "ok",
                "clock": "ok",
                "maintenance": "ok",
                "permissions": "ok",
                "Cluster API": "failed",
                "components": "ok",
                "configuration": "ok",
                "database": "ok",
                "driver": "ok",
                "helm": "ok",
                "chart": "failed",
                "network drivers": "ok",
                "templates": "ok",
                "service user": "ok",
                "certificates": "ok",
                "delivery": "ok",
            },
            self.states(),
        )
        self.assertIn(
            "serves no HelmRelease in v1alpha1 of addons.stackhpc.com: "
            "install or upgrade cluster-api-addon-provider, with all of its "
            "CRDs",
            self.out.getvalue(),
        )
        self.assertEqual(1, code)

    def test_check_names_the_permissions_that_are_missing(self) -> None:
        self.plane.management.refused = {
            "delete secrets",
            "patch machinedeployments/scale.cluster.x-k8s.io",
        }
        code = self.run_command(check.Check, "-f", "json")
        self.assertEqual("failed", self.states()["permissions"])
        self.assertIn(
            "the kubeconfig's user may not delete secrets, patch "
            "machinedeployments/scale.cluster.x-k8s.io: apply the output "
            "of 'magnum-capi-helm management-cluster permissions "
            "--namespace-prefix magnum [NAMESPACE ...]', or grant these "
            "permissions",
            self.printed(),
        )
        self.assertEqual(1, code)

    def test_check_says_that_it_is_frozen_and_what_ends_that(self) -> None:
        self.plane.runtime().maintenance.freeze(
            "etcd moves", "op@host", 1000.0
        )
        code = self.run_command(check.Check, "-f", "json")
        self.assertEqual("failed", self.states()["maintenance"])
        self.assertIn(
            "it is frozen by op@host: etcd moves; 'magnum-capi-helm "
            "management-cluster thaw "
            "--apply' ends that",
            self.printed(),
        )
        self.assertEqual(1, code)

    def delivery(self, certificate: str = "") -> endpoint.Endpoint:
        """A receiver of kubeconfigs, and the options for it."""
        receiver = self.useFixture(endpoint.Endpoint(certificate))
        directory = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        for name, text in (
            ("delivery_key_file", f"{'a' * 44}\n"),
            ("delivery_ca_file", pki.trusted().pem),
        ):
            path = directory / name
            path.write_text(text)
            path.chmod(0o600)
            conf.CONF.set_override(name, str(path), "capi_helm")
        conf.CONF.set_override("delivery_url", receiver.url, "capi_helm")
        return receiver

    def test_check_looks_at_the_receiver_and_sends_nothing(self) -> None:
        receiver = self.delivery()
        self.assertEqual(0, self.run_command(check.Check, "-f", "json"))
        self.assertIn(
            f"kubeconfigs of admin to https://127.0.0.1:{receiver.port}",
            self.printed(),
        )
        self.assertEqual([], receiver.received)

    def test_check_refuses_a_receiver_that_is_not_to_be_trusted(self) -> None:
        stranger = pki.Authority("stranger")
        self.delivery("".join(stranger.signed("receiver", host=True)))
        self.assertEqual(1, self.run_command(check.Check, "-f", "json"))
        self.assertEqual("failed", self.states()["delivery"])
        self.assertIn("is not trusted, and nothing was sent", self.printed())

    def test_check_refuses_a_key_that_others_can_read(self) -> None:
        self.delivery()
        path = pathlib.Path(conf.CONF.capi_helm.delivery_key_file)
        path.chmod(0o644)
        self.assertEqual(1, self.run_command(check.Check, "-f", "json"))
        self.assertIn(f"{path} has mode 0644", self.printed())

    def test_check_of_an_unreachable_management_cluster(self) -> None:
        self.plane.management.unreachable()
        self.run_command(check.Check, "-f", "json")
        self.assertEqual("failed", self.states()["management cluster"])
        self.assertEqual("ok", self.states()["helm"])

    def barbican(self, status: int) -> list[str]:
        """Barbican is the store; the requests that it gets."""
        conf.CONF.set_override("cert_manager_type", "barbican", "certificates")
        requests: list[str] = []

        def answer(request: Any, context: Any) -> dict[str, str]:
            requests.append(f"{request.method} {request.path}")
            context.status_code = status
            return {"secret_ref": "http://elsewhere.test/v1/secrets/s-1"}

        self.openstack.mocker.register_uri(
            requests_mock.ANY,
            re.compile(f"{openstack.KEYS}/v1/secrets"),
            json=answer,
        )
        return requests

    def test_check_stores_a_secret_where_magnum_does(self) -> None:
        requests = self.barbican(201)
        code = self.run_command(check.Check, "-f", "json")
        self.assertEqual(
            ["POST /v1/secrets", "DELETE /v1/secrets/s-1"], requests
        )
        self.assertIn(f"barbican at {openstack.KEYS}", self.printed())
        self.assertEqual(0, code)

    def test_check_says_when_barbican_refuses(self) -> None:
        self.barbican(403)
        code = self.run_command(check.Check, "-f", "json")
        self.assertEqual("failed", self.states()["certificates"])
        self.assertIn("Barbican, as Magnum's service user", self.printed())
        self.assertEqual(1, code)

    def test_check_says_when_there_is_no_barbican(self) -> None:
        conf.CONF.set_override("cert_manager_type", "barbican", "certificates")
        conf.CONF.set_override("region_name", "elsewhere", "barbican_client")
        self.run_command(check.Check, "-f", "json")
        self.assertEqual("failed", self.states()["certificates"])
        self.assertIn("service in elsewhere region not found", self.printed())
