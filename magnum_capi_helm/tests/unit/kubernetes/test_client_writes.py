# SPDX-License-Identifier: Apache-2.0

"""The client's writes: what is sent, and what is no error."""

from __future__ import annotations

import json
from typing import Any

from oslotest import base

from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.fakes import held
from magnum_capi_helm.tests.unit.kubernetes import api


class WriteTest(base.BaseTestCase):
    OBJECT: Any = {"metadata": {"name": "s", "namespace": "ns"}, "data": {}}  # noqa: RUF012
    TYPED: Any = {"apiVersion": "v1", "kind": "Secret", **OBJECT}  # noqa: RUF012

    def setUp(self) -> None:
        super().setUp()
        self.useFixture(held.Lease())

    def test_create_posts_the_whole_object(self) -> None:
        management, transport = api.over(api.Answer(201, self.TYPED))
        self.assertEqual(
            self.TYPED, management.create(kinds.SECRET, self.OBJECT)
        )
        self.assertEqual([("POST", "v1 in ns secrets")], transport.asked)
        self.assertEqual([{"json": self.TYPED}], transport.options)

    def test_create_of_what_exists_is_a_conflict(self) -> None:
        management, _ = api.over(api.status(409, "already exists"))
        self.assertRaises(
            errors.Conflict, management.create, kinds.SECRET, self.OBJECT
        )

    def test_create_without_its_namespace_says_so(self) -> None:
        management, _ = api.over(api.status(404))
        error = self.assertRaises(
            errors.ManagementError,
            management.create,
            kinds.SECRET,
            self.OBJECT,
        )
        self.assertIn("no namespace ns", str(error))

    def test_replace_puts_under_its_name(self) -> None:
        management, transport = api.over(api.Answer(200, self.TYPED))
        management.replace(kinds.SECRET, self.OBJECT)
        self.assertEqual([("PUT", "v1 in ns secrets/s")], transport.asked)
        self.assertEqual([{"json": self.TYPED}], transport.options)

    def test_apply_is_server_side_ours_and_forced(self) -> None:
        management, transport = api.over(api.Answer(200, self.TYPED))
        management.apply(kinds.SECRET, self.OBJECT)
        self.assertEqual([("PATCH", "v1 in ns secrets/s")], transport.asked)
        (options,) = transport.options
        self.assertEqual(self.TYPED, json.loads(options.pop("data")))
        self.assertEqual(
            {
                "params": {"fieldManager": "magnum", "force": "true"},
                "headers": {"Content-Type": "application/apply-patch+yaml"},
            },
            options,
        )

    def test_a_dry_run_writes_nothing(self) -> None:
        answers = [api.Answer(200, self.TYPED), api.Answer(201, self.TYPED)]
        management, transport = api.over(*answers)
        management.patch(kinds.SECRET, "ns", "s", self.TYPED, dry_run=True)
        management.create(kinds.SECRET, self.OBJECT, dry_run=True)
        self.assertEqual(
            [("PATCH", "v1 in ns secrets/s"), ("POST", "v1 in ns secrets")],
            transport.asked,
        )
        self.assertEqual(
            [{"dryRun": "All"}] * 2,
            [each["params"] for each in transport.options],
        )

    def test_patch_merges(self) -> None:
        management, transport = api.over(api.Answer(200, {"kind": "Lease"}))
        change = {"metadata": {"annotations": {"a": "b"}}}
        management.patch(kinds.LEASE, "ns", "l", change)
        self.assertEqual(
            [("PATCH", "coordination.k8s.io/v1 in ns leases/l")],
            transport.asked,
        )
        (options,) = transport.options
        self.assertEqual(change, json.loads(options["data"]))
        self.assertEqual(
            {"Content-Type": "application/merge-patch+json"},
            options["headers"],
        )

    def test_patch_of_what_is_gone_is_none(self) -> None:
        management, _ = api.over(api.status(404))
        self.assertIsNone(management.patch(kinds.LEASE, "ns", "l", {}))

    def test_delete_of_what_is_gone_is_fine(self) -> None:
        management, transport = api.over(api.status(404), api.status(403))
        management.delete(kinds.SECRET, "ns", "s")
        self.assertEqual(("DELETE", "v1 in ns secrets/s"), transport.asked[0])
        self.assertRaises(
            errors.ManagementError,
            management.delete,
            kinds.SECRET,
            "ns",
            "s",
        )
