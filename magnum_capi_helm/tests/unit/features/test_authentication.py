# SPDX-License-Identifier: Apache-2.0

"""The Keystone webhook with its policy, and OIDC: whole values."""

from __future__ import annotations

import json
import pathlib

import fixtures
from oslo_config import fixture as config_fixture
from oslotest import base

from magnum_capi_helm.config import conf
from magnum_capi_helm.features import authentication
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import labels
from magnum_capi_helm.resolve import operator_files
from magnum_capi_helm.tests.unit.features import specs

CREDENTIAL = {
    "cloudCredentialsSecretName": "demo-45f11a8de301-cloud-credentials"
}
ISSUER = {
    "oidc_issuer_url": "https://id.example.org/realms/k8s",
    "oidc_client_id": "kubernetes",
}
RULES = [
    {
        "users": {"roles": ["k8s_admin"], "projects": ["$PROJECT_ID"]},
        "resource_permissions": {"*/*": ["*"]},
    }
]


class KeystoneTest(base.BaseTestCase):
    def test_the_policy_has_the_clusters_project(self) -> None:
        webhook = {
            "openstackAuthUrl": "https://keystone.example.org/v3",
            "projectId": "p1",
            "rbacPolicies": '[{"projects": ["p1"]}]',
        }
        cluster = specs.cluster(
            {"keystone_auth_enabled": "true"},
            site=cluster_spec.Site(
                keystone_policy='[{"projects": ["$PROJECT_ID"]}]'
            ),
        )
        addon = {"k8sKeystoneAuth": {"enabled": True, "values": webhook}}
        self.assertEqual(
            {
                **CREDENTIAL,
                "authWebhook": "k8s-keystone-auth",
                "addons": {"openstack": addon},
            },
            authentication.TOPIC.cluster(cluster),
        )
        # Without the feature there is no policy.
        site = cluster_spec.Site(keystone_policy="[]")
        cluster = specs.cluster(site=site)
        self.assertEqual(CREDENTIAL, authentication.TOPIC.cluster(cluster))


class PolicyFileTest(base.BaseTestCase):
    """``[kubernetes] keystone_auth_default_policy`` of Magnum."""

    ON = specs.parsed({"keystone_auth_enabled": "true"})

    def setUp(self) -> None:
        super().setUp()
        self.config = self.useFixture(config_fixture.Config(conf.CONF))
        directory = self.useFixture(fixtures.TempDir()).path
        self.path = pathlib.Path(directory) / "policy.json"

    def _configured(self, found: labels.Values | None = None) -> str | None:
        self.config.config(
            group="kubernetes", keystone_auth_default_policy=str(self.path)
        )
        return operator_files.site(found or self.ON).keystone_policy

    def test_its_rules_are_passed_on(self) -> None:
        # Magnum's default path, where there is no file, and an empty one.
        self.assertIsNone(operator_files.site(self.ON).keystone_policy)
        self.config.config(group="kubernetes", keystone_auth_default_policy="")
        self.assertIsNone(operator_files.site(self.ON).keystone_policy)
        self.assertIsNone(self._configured(specs.parsed({})))
        self.path.write_text(json.dumps(RULES, indent=3))
        self.assertEqual(json.dumps(RULES), self._configured())

    def test_a_chosen_path_without_a_policy_is_the_operators_fault(
        self,
    ) -> None:
        for text, problem in (
            (None, "FileNotFoundError"),
            ("users: []", "JSONDecodeError"),
            ("{}", "ValueError"),
        ):
            if text is not None:
                self.path.write_text(text)
            error = self.assertRaises(errors.NotConfigured, self._configured)
            self.assertEqual(
                f"[kubernetes] keystone_auth_default_policy={self.path}: no "
                f"JSON list of rules can be read there ({problem})",
                str(error),
            )


class OidcTest(base.BaseTestCase):
    def test_a_cluster_may_switch_off_what_its_template_has(self) -> None:
        cluster = specs.cluster({**ISSUER, "oidc_issuer_url": ""})
        authentication.TOPIC.check(cluster)
        self.assertEqual(CREDENTIAL, authentication.TOPIC.cluster(cluster))

    def test_an_operators_default_waits_for_an_issuer(self) -> None:
        prefixed = labels.Values({"oidc_username_prefix": "-"})
        authentication.TOPIC.check(specs.cluster(labels=prefixed))
