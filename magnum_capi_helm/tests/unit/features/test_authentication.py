# SPDX-License-Identifier: Apache-2.0

"""The Keystone webhook with its policy, and OIDC: whole values."""

from __future__ import annotations

import json
import pathlib

import fixtures
from oslo_config import fixture as config_fixture
from oslotest import base
import testtools

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
    def _webhook(self, policy: str | None) -> object:
        cluster = specs.cluster(
            {"keystone_auth_enabled": "true"},
            site=cluster_spec.Site(keystone_policy=policy),
        )
        return authentication.TOPIC.cluster(cluster)

    def test_the_policy_has_the_clusters_project(self) -> None:
        self.assertEqual(
            {
                **CREDENTIAL,
                "authWebhook": "k8s-keystone-auth",
                "addons": {
                    "openstack": {
                        "k8sKeystoneAuth": {
                            "enabled": True,
                            "values": {
                                "openstackAuthUrl": (
                                    "https://keystone.example.org/v3"
                                ),
                                "projectId": "p1",
                                "rbacPolicies": '[{"projects": ["p1"]}]',
                            },
                        }
                    }
                },
            },
            self._webhook('[{"projects": ["$PROJECT_ID"]}]'),
        )

    def test_without_the_feature_there_is_no_policy(self) -> None:
        cluster = specs.cluster(site=cluster_spec.Site(keystone_policy="[]"))
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
        self.path.write_text(json.dumps(RULES, indent=3))
        self.assertEqual(json.dumps(RULES), self._configured())

    def test_magnums_default_path_needs_no_file(self) -> None:
        self.assertIsNone(operator_files.site(self.ON).keystone_policy)

    def test_an_empty_path_is_no_policy(self) -> None:
        self.config.config(group="kubernetes", keystone_auth_default_policy="")
        self.assertIsNone(operator_files.site(self.ON).keystone_policy)

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

    def test_a_cluster_without_the_feature_does_not_need_it(self) -> None:
        self.assertIsNone(self._configured(specs.parsed({})))


class OidcTest(base.BaseTestCase):
    def test_only_what_is_given_replaces_the_charts_values(self) -> None:
        cluster = specs.cluster(ISSUER)
        self.assertEqual(
            {
                **CREDENTIAL,
                "oidc": {
                    "issuerUrl": "https://id.example.org/realms/k8s",
                    "clientId": "kubernetes",
                },
            },
            authentication.TOPIC.cluster(cluster),
        )

    def test_each_label_of_oidc_is_an_argument(self) -> None:
        cluster = specs.cluster(
            {
                **ISSUER,
                "oidc_username_claim": "email",
                "oidc_username_prefix": "-",
                "oidc_groups_claim": "roles",
                "oidc_groups_prefix": "sso:",
                "oidc_signing_algs": "ES256, RS256",
            }
        )
        self.assertEqual(
            {
                "issuerUrl": "https://id.example.org/realms/k8s",
                "clientId": "kubernetes",
                "usernameClaim": "email",
                "usernamePrefix": "-",
                "groupsClaim": "roles",
                "groupsPrefix": "sso:",
                "signingAlgs": "ES256,RS256",
            },
            authentication.TOPIC.cluster(cluster)["oidc"],
        )

    def test_an_issuer_is_an_https_url_and_nothing_else(self) -> None:
        for url in (
            "http://id.example.org",
            "https://",
            "https:///realms/k8s",
            "https://id.example.org?realm=k8s",
            "https://id.example.org/realms#k8s",
            "https://user:secret@id.example.org",
            "https://id.example.org/\n",
            "id.example.org",
            "https://:443",
            "https://id.example.org:https",
            "https://id.example.org/{{ds}}",
            "https://id.example.org/$(HOME)",
            "https://$(HOME)",
            'https://id.example.org/"',
        ):
            with testtools.ExpectedException(errors.LabelError):
                specs.parsed({"oidc_issuer_url": url})
        specs.parsed({"oidc_issuer_url": "https://id.example.org/~k8s/a%20b"})
        specs.parsed({"oidc_issuer_url": "https://[2001:db8::1]:8443/k8s/"})

    def test_no_text_is_more_than_text_on_its_way(self) -> None:
        for name in (
            "oidc_client_id",
            "oidc_username_claim",
            "oidc_username_prefix",
            "oidc_groups_claim",
            "oidc_groups_prefix",
        ):
            for text in ("{{ds}}", "$(HOME)", 'a"b', "`id`", "a b", "a\n"):
                with testtools.ExpectedException(errors.LabelError):
                    specs.parsed({name: text})
            specs.parsed({name: "https://example.org/groups:a_b-c*"})

    def _refused(self, given: dict[str, str]) -> str:
        return str(
            self.assertRaises(
                errors.LabelError,
                authentication.TOPIC.check,
                specs.cluster(given),
            )
        )

    def test_an_issuer_needs_a_client_id(self) -> None:
        self.assertEqual(
            "label oidc_issuer_url: give it together with oidc_client_id. It "
            "is 'https://id.example.org'",
            self._refused({"oidc_issuer_url": "https://id.example.org"}),
        )

    def test_each_other_label_needs_an_issuer(self) -> None:
        for name, value in (
            ("oidc_client_id", "kubernetes"),
            ("oidc_username_claim", "email"),
            ("oidc_username_prefix", "-"),
            ("oidc_groups_claim", "roles"),
            ("oidc_groups_prefix", "sso:"),
            ("oidc_signing_algs", "ES256"),
        ):
            self.assertEqual(
                f"label {name}: give it together with oidc_issuer_url. It "
                f"is {value!r}",
                self._refused({name: value}),
            )

    def test_a_cluster_may_switch_off_what_its_template_has(self) -> None:
        cluster = specs.cluster({**ISSUER, "oidc_issuer_url": ""})
        authentication.TOPIC.check(cluster)
        self.assertEqual(CREDENTIAL, authentication.TOPIC.cluster(cluster))

    def test_an_operators_default_waits_for_an_issuer(self) -> None:
        prefixed = labels.Values({"oidc_username_prefix": "-"})
        authentication.TOPIC.check(specs.cluster(labels=prefixed))

    def test_charts_before_oidc_refuse_it(self) -> None:
        given = specs.parsed(ISSUER)
        declared = authentication.TOPIC.labels
        with testtools.ExpectedException(
            errors.LabelError, ".*0.11.0 and later.*this is 0.10.1"
        ):
            labels.check_chart(declared, given, "0.10.1")
        labels.check_chart(declared, given, "0.11.0")


class AccessTest(base.BaseTestCase):
    def test_the_cluster_has_a_credential_of_its_own(self) -> None:
        # And no authWebhook: old charts take any string for a webhook.
        self.assertEqual(
            {
                "cloudCredentialsSecretName": (
                    "demo-45f11a8de301-cloud-credentials"
                )
            },
            authentication.TOPIC.cluster(specs.cluster()),
        )

    def test_keystone_authentication_installs_the_webhook(self) -> None:
        given = {"keystone_auth_enabled": "true"}
        self.assertEqual(
            {
                "cloudCredentialsSecretName": (
                    "demo-45f11a8de301-cloud-credentials"
                ),
                "authWebhook": "k8s-keystone-auth",
                "addons": {
                    "openstack": {
                        "k8sKeystoneAuth": {
                            "enabled": True,
                            "values": {
                                "openstackAuthUrl": (
                                    "https://keystone.example.org/v3"
                                ),
                                "projectId": "p1",
                            },
                        }
                    }
                },
            },
            authentication.TOPIC.cluster(specs.cluster(given)),
        )
