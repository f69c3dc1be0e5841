# SPDX-License-Identifier: Apache-2.0

"""Creates that are refused before anything is written."""

from __future__ import annotations

from typing import Any

from magnum.common import exception

from magnum_capi_helm.config import conf
from magnum_capi_helm.kubernetes import client
from magnum_capi_helm.kubernetes import connection
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.tests.fakes import openstack
from magnum_capi_helm.tests.unit.lifecycle import base


class RefusedCreateTest(base.FlowTestCase):
    """Requests that are refused before anything is written."""

    by_http = True

    def refused(
        self,
        *words: str,
        template: dict[str, Any] | None = None,
        **fields: Any,
    ) -> None:
        """Refused in one line with such words; nothing is left of it."""
        error = self.assertRaises(
            exception.MagnumException, self.create, template, **fields
        )
        row = self.row()
        self.assertEqual({"CREATE_FAILED"}, self.statuses())
        self.assertEqual(str(error), row.status_reason)
        for word in words:
            self.assertIn(word, row.status_reason)
        self.assertNotIn("\n", row.status_reason)
        self.assertIsNone(row.stack_id)
        self.assertEqual({}, self.openstack.credentials)
        self.assertEqual([], self.helm.upgrades)
        self.assertEqual(["kube-system"], self.server.names(kinds.NAMESPACE))
        self.assertEqual(1, len(self.warnings()), self.warnings())

    def test_an_absent_chart_is_refused(self) -> None:
        self.helm.published = {"0.27.0"}
        self.refused(
            "9.9.9",
            "capi_helm_chart_version",
            template={"labels": {"capi_helm_chart_version": "9.9.9"}},
        )

    def test_an_absent_kubeconfig_refuses_a_create(self) -> None:
        missing = "/nowhere/kubeconfig"
        real = client.Client(
            lambda: connection.Connection(missing, (1.0, 1.0))
        )
        made = self.plane.runtime()
        made.management = real
        base.install(self, made)
        self.refused("Magnum is not configured for this")
        self.assertIn("no kubeconfig", self.log.output)
        self.assertIn("[capi_helm] kubeconfig_file", self.log.output)

    def test_an_unreachable_management_cluster_refuses_a_create(self) -> None:
        self.management.unreachable()
        self.refused("management cluster", "does not answer")

    def test_a_management_cluster_without_cluster_api_refuses_a_create(
        self,
    ) -> None:
        self.management.unserved.add(kinds.CLUSTER)
        self.refused("serves no Cluster of cluster.x-k8s.io")

    def test_a_restricted_application_credential_is_refused(self) -> None:
        self.login(restricted=True)
        self.refused("restricted", "--unrestricted")

    def test_a_user_with_the_role_admin_alone_is_refused(self) -> None:
        self.login(roles=("admin",))
        self.refused("no role", "any role but admin")

    def test_a_user_without_an_allowed_role_is_refused(self) -> None:
        conf.CONF.set_override("app_cred_roles", ["member"], "capi_helm")
        self.login(roles=("reader", "admin"))
        self.refused("no role", "allowed: member")

    def test_a_silent_network_service_refuses_a_create(self) -> None:
        self.openstack.stop(openstack.NETWORK)
        self.refused("network")

    def test_a_missing_ca_file_refuses_a_create(self) -> None:
        conf.CONF.set_override("openstack_ca_file", "/nowhere", "drivers")
        self.refused("Magnum is not configured for this")
        self.assertIn("openstack_ca_file", self.log.output)
