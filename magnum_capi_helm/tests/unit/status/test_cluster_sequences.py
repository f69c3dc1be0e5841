# SPDX-License-Identifier: Apache-2.0
"""What changes: an upgrade second by second, and very many nodes."""

from __future__ import annotations

from collections.abc import Iterator
import dataclasses
import json

from oslotest import base

from magnum_capi_helm.status import health
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.unit.status import documents


class UpgradeTest(base.BaseTestCase):
    """Each second of an upgrade of one control plane and two workers."""

    def _steps(self) -> Iterator[tuple[float, list[documents.Object]]]:
        live: dict[str, documents.Object] = {}
        for step in documents.load("_rolling_upgrade"):
            for gone in step["gone"]:
                del live[gone]
            for each in step["changed"]:
                live[f"{each['kind']}/{each['metadata']['name']}"] = each
            yield step["now"], list(live.values())

    def test_an_upgrade_is_complete_once_every_machine_is_new(self) -> None:
        for core in documents.CLUSTER_API:
            complete = []
            for now, objects in self._steps():
                seen = documents.shaped(objects, core, "0.14")
                complete.append(documents.told(seen, 2, now)["complete"])
                if complete[-1]:
                    self.assertEqual(
                        [("v1.34.3", False)] * 3,
                        [
                            (each["spec"]["version"], view.deleting(each))
                            for each in seen.machines
                        ],
                        core,
                    )
            self.assertEqual(sorted(complete), complete, core)
            self.assertTrue(complete[-1], core)
            self.assertFalse(complete[0], core)

    def test_an_upgrade_is_never_unhealthy(self) -> None:
        for core in documents.CLUSTER_API:
            words = {
                documents.told(
                    documents.shaped(objects, core, "0.14"), 2, now
                )["health"]
                for now, objects in self._steps()
            }
            self.assertEqual({"HEALTHY", "UNKNOWN"}, words, core)

    def test_versions_are_the_oldest_that_run(self) -> None:
        versions: list[tuple[str, str]] = []
        for now, objects in self._steps():
            found = documents.told(documents.seen(objects), 2, now)
            workers = found["groups"]["default-worker"]["version"]
            pair = (found["coe_version"], workers)
            if versions[-1:] != [pair]:
                versions.append(pair)
        self.assertEqual(
            [
                ("v1.34.2", "v1.34.2"),
                ("v1.34.3", "v1.34.2"),
                ("v1.34.3", "v1.34.3"),
            ],
            versions,
        )


class ManyNodesTest(base.BaseTestCase):
    def test_a_thousand_nodes_are_few_entries_and_the_ill_are_named(
        self,
    ) -> None:
        file = documents.load("settled")
        machine = next(
            each for each in file["objects"] if each["kind"] == "Machine"
        )
        machines = []
        for number in range(1000):
            text = json.dumps(machine).replace(
                "7bs4z", f"n{number:03}-with-a-rather-long-name"
            )
            machines.append(json.loads(text))
        for known in documents.all_conditions(machines[777]):
            if known["type"] == "NodeReady":
                known |= {"status": "False", "reason": "NodeNotReady"}
        seen = documents.seen(file["objects"])
        clock = view.Clock(file["now"] + 7200)
        seen = dataclasses.replace(seen, machines=tuple(machines), clock=clock)
        found = health.health(seen)
        self.assertEqual("UNHEALTHY", found.status)
        self.assertEqual(102, len(found.reason))
        self.assertEqual("900 of 900 well", found.reason["more nodes"])
        self.assertEqual(
            ["False"],
            [value for key, value in found.reason.items() if "n777-" in key],
        )
        self.assertLess(len(json.dumps(found.reason)), 16384)
