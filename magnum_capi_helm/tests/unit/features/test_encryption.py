# SPDX-License-Identifier: Apache-2.0

"""Encryption at rest: whole values, and what is refused."""

from __future__ import annotations

from typing import Any

from oslotest import base
import testtools

from magnum_capi_helm.features import etcd
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import labels
from magnum_capi_helm.tests.unit.features import specs

ON = {"etcd_encryption_enabled": "true"}


class EncryptionTest(base.BaseTestCase):
    def test_it_is_off_by_default(self) -> None:
        values = etcd.ENCRYPTION_TOPIC.cluster(specs.cluster())
        self.assertEqual({}, values)
        self.assertFalse(etcd.needs_key(values))

    def test_secrets_are_encrypted_with_secretbox_by_default(self) -> None:
        values = etcd.ENCRYPTION_TOPIC.cluster(specs.cluster(ON))
        self.assertEqual(
            {
                "etcd": {
                    "encryption": {
                        "enabled": True,
                        "provider": "secretbox",
                        "resources": ["secrets"],
                    }
                }
            },
            values,
        )
        self.assertTrue(etcd.needs_key(values))

    def test_provider_and_resources_are_chosen(self) -> None:
        cluster = specs.cluster(
            {
                **ON,
                "etcd_encryption_provider": "aesgcm",
                "etcd_encryption_resources": "secrets, pods, *.example.org",
            }
        )
        self.assertEqual(
            {
                "enabled": True,
                "provider": "aesgcm",
                "resources": ["secrets", "pods", "*.example.org"],
            },
            etcd.ENCRYPTION_TOPIC.cluster(cluster)["etcd"]["encryption"],
        )

    def test_no_key_is_needed_where_values_say_nothing_of_it(self) -> None:
        rows: list[dict[str, Any]] = [
            {},
            {"etcd": None},
            {"etcd": {"blockDevice": {"size": 10}}},
            {"etcd": {"encryption": {"enabled": False}}},
        ]
        for values in rows:
            self.assertFalse(etcd.needs_key(values), values)

    def test_resources_are_named_as_kubernetes_names_them(self) -> None:
        good = "secrets,widgets.example.org,*.apps,*.,*.*"
        found = specs.parsed({"etcd_encryption_resources": good})
        self.assertEqual(good.split(","), found[etcd.ENCRYPTED_RESOURCES])
        for text in ("*", "Secrets", "a b", "v1/secrets", "*x"):
            with testtools.ExpectedException(errors.LabelError):
                specs.parsed({"etcd_encryption_resources": text})

    def _refused(self, given: dict[str, str]) -> str:
        return str(
            self.assertRaises(
                errors.LabelError,
                etcd.ENCRYPTION_TOPIC.check,
                specs.cluster(given),
            )
        )

    def test_a_list_with_which_the_api_server_would_not_start(self) -> None:
        for text in ("", "secrets,secrets"):
            self.assertEqual(
                "label etcd_encryption_resources: give each resource once, "
                f"at least one. It is {text!r}",
                self._refused({**ON, "etcd_encryption_resources": text}),
            )

    def test_nobody_believes_that_it_is_encrypted_when_it_is_not(
        self,
    ) -> None:
        for name, value in (
            ("etcd_encryption_provider", "aescbc"),
            ("etcd_encryption_resources", "secrets"),
        ):
            self.assertEqual(
                f"label {name}: give it together with "
                f"etcd_encryption_enabled=true. It is {value!r}",
                self._refused({name: value}),
            )

    def test_a_cluster_may_switch_off_what_its_template_has(self) -> None:
        given = {
            "etcd_encryption_enabled": "false",
            "etcd_encryption_provider": "aescbc",
        }
        etcd.ENCRYPTION_TOPIC.check(specs.cluster(given))

    def test_charts_that_would_not_encrypt_refuse_it(self) -> None:
        given = specs.parsed(ON)
        declared = etcd.ENCRYPTION_TOPIC.labels
        with testtools.ExpectedException(
            errors.LabelError, ".*0.16.0 and later.*this is 0.15.0"
        ):
            labels.check_chart(declared, given, "0.15.0")
        labels.check_chart(declared, given, "0.16.0")
