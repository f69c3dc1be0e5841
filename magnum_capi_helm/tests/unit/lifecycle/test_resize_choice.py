# SPDX-License-Identifier: Apache-2.0

"""Machines that a user chooses, and names that are refused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from oslotest import base

from magnum_capi_helm.lifecycle import resize
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import requested_groups
from magnum_capi_helm.status import view

_GONE = "2026-01-01T00:00:00Z"
#: Count and nodes of a request -> words of the refusal. The group has the
#: machines m0 to m3, and m4 goes already.
REFUSED: tuple[tuple[int, Sequence[str], str], ...] = (
    (3, ("x", "m0", "y"), "nodegroup 'workers' has no 'x', 'y'; its nodes"),
    (3, ("x",), "its nodes are m0, node-1, server-2, m3"),
    (3, ("other",), "has no 'other'"),
    (3, ("master",), "has no 'master'"),
    (3, ("m4",), "has no 'm4'"),
    (2, ("m2", "server-2"), "names m2 more than once"),
    (3, ("m0", "m1"), "has 4 nodes, and without those that are to go"),
    (4, ("m0", "m1"), "node_count is at most 2, not 4"),
)


def machine(name: str, group: str, **fields: Any) -> view.Object:
    metadata = {"name": name, "labels": {view.DEPLOYMENT_LABEL: group}}
    return {"metadata": {**metadata, **fields.pop("metadata", {})}, **fields}


def cluster(machines: Sequence[view.Object]) -> view.View:
    """Return a cluster whose group ``workers`` has four machines."""
    deployment = {"metadata": {"name": "k1-workers"}, "spec": {"replicas": 4}}
    return view.View("k1", deployments=(deployment,), machines=(*machines,))


class ChosenTest(base.BaseTestCase):
    objects = cluster(
        [
            machine("m0", "k1-workers"),
            machine(
                "m1", "k1-workers", status={"nodeRef": {"name": "node-1"}}
            ),
            machine(
                "m2",
                "k1-workers",
                spec={"providerID": "openstack:///server-2"},
            ),
            machine("m3", "k1-workers"),
            machine("m4", "k1-workers", metadata={"deletionTimestamp": _GONE}),
            machine("other", "k1-gpu"),
            machine("master", ""),
        ]
    )

    def chosen(
        self, count: int, nodes: Sequence[str], objects: view.View
    ) -> list[str]:
        group = requested_groups.Group("u", "workers", "workers", False, count)
        return resize.chosen_machines(nodes, objects, group)

    def refusal(
        self, count: int, nodes: Sequence[str], objects: view.View
    ) -> str:
        ask = (self.chosen, count, nodes, objects)
        return str(self.assertRaises(errors.InvalidInput, *ask))

    def test_each_name_of_a_node_chooses_its_machine(self) -> None:
        nodes = ("m3", "node-1", "server-2")
        chosen = self.chosen(1, nodes, self.objects)
        self.assertEqual(["m3", "m1", "m2"], chosen)

    def test_names_that_fit_no_machine_are_refused(self) -> None:
        for count, nodes, words in REFUSED:
            with self.subTest(nodes=nodes, count=count):
                text = self.refusal(count, nodes, self.objects)
                self.assertIn(words, text)

    def test_a_refusal_names_twenty_nodes_at_most(self) -> None:
        many = [machine(f"m{n:02}", "k1-workers") for n in range(23)]
        text = self.refusal(2, ["x"], cluster(many))
        self.assertTrue(text.endswith("m18, m19 and 3 more"), text)
        self.assertIn("are none", self.refusal(2, ["x"], cluster([])))
