# SPDX-License-Identifier: Apache-2.0

"""What the command line shows has no secrets."""

from __future__ import annotations

from oslotest import base

from magnum_capi_helm.model import encoding

MASK = encoding.MASK


class ValuesTest(base.BaseTestCase):
    def test_keys_decide_about_masked_values(self) -> None:
        for given, shown in (
            (
                {"registryAuth": {"r": {"username": "u", "password": "p"}}},
                {"registryAuth": {"r": {"username": "u", "password": MASK}}},
            ),
            ({"clouds": {"openstack": {"a": "b"}}}, {"clouds": MASK}),
            ({"grafana": {"adminPassword": "x"}}, None),
            ({"token": "x"}, {"token": MASK}),
            ({"items": [{"apiToken": "x"}]}, {"items": [{"apiToken": MASK}]}),
            (
                {"cloudCredentialsSecretName": "web-cloud-credentials"},
                {"cloudCredentialsSecretName": "web-cloud-credentials"},
            ),
            ({"password": None, "token": ""}, {"password": None, "token": ""}),
            ({"enabled": True, "count": 3}, {"enabled": True, "count": 3}),
        ):
            expected = shown or {"grafana": {"adminPassword": MASK}}
            self.assertEqual(expected, encoding.mask_values(given))

    def test_a_password_in_an_address_is_masked(self) -> None:
        self.assertEqual(
            {"content": f"http_proxy=http://{MASK}@proxy:3128 no=a@b"},
            encoding.mask_values(
                {"content": "http_proxy=http://me:pw@proxy:3128 no=a@b"}
            ),
        )

    def test_a_key_in_the_text_of_a_file_is_masked(self) -> None:
        self.assertEqual(
            {"content": f"keys:\n  - name: key1\n    secret: {MASK}\n"},
            encoding.mask_values(
                {"content": "keys:\n  - name: key1\n    secret: c2V\n"}
            ),
        )

    def test_masking_changes_no_argument(self) -> None:
        given = {"token": "x"}
        encoding.mask_values(given)
        self.assertEqual({"token": "x"}, given)


class ManifestTest(base.BaseTestCase):
    def test_a_masked_secret_keeps_its_keys_alone(self) -> None:
        self.assertEqual(
            {
                "kind": "Secret",
                "metadata": {"name": "a"},
                "data": {"key": MASK},
                "stringData": {"values": MASK},
            },
            encoding.mask_manifest(
                {
                    "kind": "Secret",
                    "metadata": {"name": "a"},
                    "data": {"key": "c2VjcmV0"},
                    "stringData": {"values": "a: b"},
                }
            ),
        )
