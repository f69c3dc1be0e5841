# SPDX-License-Identifier: Apache-2.0

"""Items and pages of a LIST, kept as compressed objects."""

from __future__ import annotations

import itertools
import json
from typing import Any

from oslotest import base

from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import reads
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.unit.kubernetes import api

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


QUERY = reads.Query(kinds.MACHINE, "cluster.x-k8s.io/cluster-name")


def _scan(*contents: bytes | str) -> tuple[reads.Items, str]:
    """Return the items of a LIST with these pages, and its version."""
    pages = [api.Answer(200, _text(each)) for each in contents]
    management, _ = api.over(api.group("v1beta1"), *pages)
    items, version = QUERY.scan(management, None, cached=True)
    return tuple(itertools.chain.from_iterable(items.values())), version


def _text(content: bytes | str) -> str:
    return content if isinstance(content, str) else content.decode()


def _page(*found: Any, **meta: str) -> str:
    body = {
        "kind": "MachineList",
        "apiVersion": "cluster.x-k8s.io/v1beta1",
        "metadata": meta,
        "items": list(found),
    }
    return json.dumps(body)


def _item(obj: dict[str, Any]) -> reads.Item:
    return _scan(_page(obj))[0][0]


class ItemTest(base.BaseTestCase):
    def test_an_item_is_the_whole_object(self) -> None:
        found = _item(MACHINE)
        self.assertEqual(("m-1", "7"), found[:2])
        self.assertEqual(MACHINE, found.decode(kinds.MACHINE))

    def test_an_item_without_a_kind_gets_that_of_its_query(self) -> None:
        bare = {"metadata": {"name": "a", "resourceVersion": "1"}}
        self.assertEqual(
            {**bare, "kind": "Machine"}, _item(bare).decode(kinds.MACHINE)
        )

    def test_repeated_conditions_take_little_memory(self) -> None:
        conditions = [{"type": f"C{n}", "status": "True"} for n in range(99)]
        machine = {**MACHINE, "status": {"conditions": conditions}}
        kept = len(_item(machine).body)
        self.assertLess(kept, len(json.dumps(machine)) / 5)


class PageTest(base.BaseTestCase):
    def test_all_pages_are_read(self) -> None:
        other = {"metadata": {"name": "a", "resourceVersion": "1"}}
        items, version = _scan(
            _page(other, **{"continue": "x", "resourceVersion": "3"}),
            _page(MACHINE, resourceVersion="3"),
        )
        self.assertEqual(["a", "m-1"], [each.name for each in items])
        self.assertEqual("3", version)

    def test_a_list_may_have_no_items(self) -> None:
        self.assertEqual(((), ""), _scan(b'{"metadata":{},"items":null}'))

    def test_an_answer_that_is_no_list_is_refused(self) -> None:
        for content in (b"", b"{", b"[]", b'{"items":[', b'{"items":7}'):
            self.assertRaises(errors.ManagementUnreachable, _scan, content)

    def test_an_item_that_is_no_object_is_no_answer(self) -> None:
        for wrong in (7, {}, {"metadata": {"name": "a"}}):
            self.assertRaises(
                errors.ManagementUnreachable, _scan, _page(wrong)
            )

    def test_an_error_shows_nothing_of_the_answer(self) -> None:
        error = self.assertRaises(
            errors.ManagementUnreachable, _scan, b'{"items": secret'
        )
        self.assertNotIn("secret", str(error))
