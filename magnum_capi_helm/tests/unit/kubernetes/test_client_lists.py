# SPDX-License-Identifier: Apache-2.0

"""The client's lists: all pages, or an error; each item of its kind."""

from __future__ import annotations

from oslotest import base

from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.unit.kubernetes import api

CAPI = "/apis/cluster.x-k8s.io"
BOTH = api.group("v1beta1", "v1beta2")


class ListTest(base.BaseTestCase):
    def test_items_get_the_kind_and_version_of_their_list(self) -> None:
        management, transport = api.over(
            BOTH,
            api.Answer(
                200,
                {
                    "apiVersion": "cluster.x-k8s.io/v1beta2",
                    "items": [{"metadata": {"name": "a"}}],
                },
            ),
        )
        self.assertEqual(
            [
                {
                    "apiVersion": "cluster.x-k8s.io/v1beta2",
                    "kind": "Cluster",
                    "metadata": {"name": "a"},
                }
            ],
            management.list(kinds.CLUSTER, "ns", "a=b"),
        )
        self.assertEqual(
            [
                ("GET", CAPI),
                ("GET", "cluster.x-k8s.io/v1beta2 in ns clusters"),
            ],
            transport.asked,
        )
        self.assertEqual(
            {"limit": 200, "labelSelector": "a=b"},
            transport.options[1]["params"],
        )

    def test_fields_select_objects(self) -> None:
        management, transport = api.over(api.Answer(200, {"items": []}))
        objects, _ = management.scan(
            kinds.EVENT, "ns", "", bytes, fields="involvedObject.name=m"
        )
        self.assertEqual([], objects)
        self.assertEqual(
            {"limit": 200, "fieldSelector": "involvedObject.name=m"},
            transport.options[0]["params"],
        )

    def test_all_pages_are_read(self) -> None:
        management, transport = api.over(
            api.Answer(
                200, {"items": [{"n": 1}], "metadata": {"continue": "x"}}
            ),
            api.Answer(
                200, {"items": [{"n": 2}], "metadata": {"continue": "y"}}
            ),
            api.Answer(200, {"items": None, "metadata": {"continue": ""}}),
        )
        found = management.list(kinds.SECRET, "ns", "a=b")
        self.assertEqual([1, 2], [each["n"] for each in found])
        common = {"limit": 200, "labelSelector": "a=b"}
        self.assertEqual(
            [common, {**common, "continue": "x"}, {**common, "continue": "y"}],
            [each["params"] for each in transport.options],
        )

    def test_a_failing_page_fails_the_whole(self) -> None:
        api.no_pauses(self)
        management, _ = api.over(
            api.Answer(200, {"items": [{}], "metadata": {"continue": "x"}}),
            *[api.status(503)] * 3,
        )
        self.assertRaises(
            errors.ManagementUnreachable,
            management.list,
            kinds.SECRET,
            "ns",
        )

    def test_an_expired_page_starts_the_list_again(self) -> None:
        management, _ = api.over(
            api.Answer(
                200, {"items": [{"n": 1}], "metadata": {"continue": "x"}}
            ),
            api.status(410, "The provided continue parameter is too old"),
            api.Answer(200, {"items": [{"n": 1}, {"n": 2}]}),
        )
        found = management.list(kinds.SECRET, "ns")
        self.assertEqual([1, 2], [each["n"] for each in found])

    def test_metadata_only_asks_for_no_data(self) -> None:
        management, transport = api.over(api.Answer(200, {"items": []}))
        management.list(kinds.SECRET, None, metadata_only=True)
        self.assertEqual([("GET", "v1 secrets")], transport.asked)
        self.assertIn(
            "as=PartialObjectMetadataList",
            transport.options[0]["headers"]["Accept"],
        )
