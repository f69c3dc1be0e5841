# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import json
from typing import Any

from oslotest import base

from magnum_capi_helm.management import items
from magnum_capi_helm.management import kinds
from magnum_capi_helm.model import errors

MACHINE: dict[str, Any] = {
    "apiVersion": "cluster.x-k8s.io/v1beta2",
    "kind": "Machine",
    "metadata": {
        "name": "m-1",
        "namespace": "magnum-p1",
        "uid": "u-1",
        "resourceVersion": "7",
        "generation": 2,
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "deletionTimestamp": "2026-01-02T00:00:00Z",
        "labels": {"cluster.x-k8s.io/cluster-name": "demo-1"},
        "annotations": {"a": "b"},
        "ownerReferences": [{"kind": "MachineSet", "name": "s"}],
        "finalizers": ["machine.cluster.x-k8s.io"],
    },
    "spec": {"version": "v1.34.2", "taints": [{"key": "\u00e4"}]},
    "status": {"nodeRef": {"name": "n"}, "conditions": [{"type": "Ready"}]},
}
OWNERS = [{"manager": "manager", "fieldsV1": {"f:spec": {".": {}}}}]


def _page(*found: Any, **meta: str) -> items.Page:
    body = {
        "kind": "MachineList",
        "apiVersion": "cluster.x-k8s.io/v1beta1",
        "metadata": meta,
        "items": list(found),
    }
    return items.Page(json.dumps(body).encode())


def _item(obj: dict[str, Any]) -> items.Item:
    return _page(obj).item(0)


class ItemTest(base.BaseTestCase):
    def test_all_is_kept_but_who_owns_which_field(self) -> None:
        meta = {**MACHINE["metadata"], "managedFields": OWNERS}
        found = _item({**MACHINE, "metadata": meta})
        self.assertEqual(("m-1", "7"), found[:2])
        self.assertEqual(MACHINE, found.decode(kinds.MACHINE))

    def test_what_an_object_lacks_its_list_has_or_nobody(self) -> None:
        bare = {"metadata": {"name": "a", "resourceVersion": "1"}}
        given = {"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Machine"}
        self.assertEqual({**bare, **given}, _item(bare).decode(kinds.MACHINE))

    def test_what_repeats_itself_takes_little_memory(self) -> None:
        conditions = [{"type": f"C{n}", "status": "True"} for n in range(99)]
        machine = {**MACHINE, "status": {"conditions": conditions}}
        kept = len(_item(machine).body)
        self.assertLess(kept, len(json.dumps(machine)) / 5)


class PageTest(base.BaseTestCase):
    def test_a_page_says_how_to_go_on(self) -> None:
        self.assertEqual("x", _page(**{"continue": "x"}).token)
        self.assertEqual("", _page().token)

    def test_a_list_may_have_no_items(self) -> None:
        page = items.Page(b'{"metadata":{},"items":null}')
        self.assertEqual([], page.heads)

    def test_what_is_no_list_of_objects_is_no_answer(self) -> None:
        for content in (b"", b"{", b"[]", b'{"items":[', b'{"items":7}'):
            self.assertRaises(
                errors.ManagementUnreachable, items.Page, content
            )

    def test_an_item_that_is_no_object_is_no_answer(self) -> None:
        for wrong in (7, {}, {"metadata": {"name": "a"}}):
            self.assertRaises(errors.ManagementUnreachable, _page, wrong)

    def test_an_error_shows_nothing_of_the_answer(self) -> None:
        error = self.assertRaises(
            errors.ManagementUnreachable, items.Page, b'{"items": secret'
        )
        self.assertNotIn("secret", str(error))
