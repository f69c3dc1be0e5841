# SPDX-License-Identifier: Apache-2.0

"""The verdict: machines, counts, conditions, versions and addresses."""

from __future__ import annotations

from collections.abc import Iterator
import dataclasses
import json
import math
from typing import Any

from oslotest import base

from magnum_capi_helm.status import cluster as cluster_status
from magnum_capi_helm.status import health
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.unit.status import documents
from magnum_capi_helm.tests.unit.status import shapes

NO_HOST = shapes.NO_HOST
NO_ROOM = shapes.NO_ROOM


class MachinesTest(base.BaseTestCase):
    def _seen(self, shape: str, **changes: Any) -> view.View:
        failed = ("False", "InstanceCreateFailed", NO_HOST)
        late: dict[str, Any] = {
            "node": False,
            "old": {"InfrastructureReady": failed},
            "new": {"InfrastructureReady": failed},
        }
        return shapes.complete(
            shape,
            deployments=(shapes.workers(shape, ready=1),),
            machines=(
                shapes.machine(shape, "cp-1", group=None),
                shapes.machine(shape, "w-1"),
                shapes.machine(shape, "w-2", **late),
            ),
            infra_machines=(
                shapes.server("w-1"),
                shapes.server("w-2", {"InstanceReady": failed}, NO_HOST),
            ),
            **changes,
        )

    def test_a_fault_of_one_group_beats_progress_of_another(self) -> None:
        name = "nodegroup default-master: "
        fault = f"nodegroup default-worker: machine w-2: {NO_ROOM} [no-host]"
        for shape in shapes.GENERATIONS:
            for ready, text in ((1, ""), (0, f"{name}0 of 1 machines ready")):
                plane = shapes.control_plane(shape, ready=ready)
                seen = self._seen(shape, control_plane=plane)
                found = shapes.verdict(seen)
                self.assertEqual(
                    {"default-master": text, "default-worker": fault},
                    {key: each.reason for key, each in found.groups.items()},
                )
                self.assertEqual(fault, found.reason)

    def test_a_health_check_that_lets_no_machine_be_replaced(self) -> None:
        said = (
            "Remediation is not allowed, the number of not started or "
            "unhealthy machines exceeds maxUnhealthy (total: 2, unhealthy: 2, "
            "maxUnhealthy: 1)"
        )
        late = ("False", "UnhealthyNode", "Health check failed")
        refused = {"RemediationAllowed": ("False", "TooManyUnhealthy", said)}
        check = {
            "metadata": {"name": f"{shapes.RELEASE}-default-worker"},
            "status": {"conditions": shapes.listed(refused)},
        }
        for shape in shapes.GENERATIONS:
            ill = {"HealthCheckSucceeded": late}
            seen = shapes.complete(
                shape,
                deployments=(shapes.workers(shape, ready=1),),
                machines=(
                    shapes.machine(shape, "cp-1", group=None),
                    shapes.machine(shape, "w-1", old=ill, new=ill),
                ),
                health_checks=(check,),
            )
            self.assertEqual(
                "nodegroup default-worker: no machine is replaced: 2 of 2 are "
                "unhealthy, at most 1 may be: repair a machine, or ask the "
                "operator (and 1 more: machine w-1: Health check failed) "
                "[too-many-unhealthy]",
                shapes.verdict(seen).reason,
            )

    def test_an_old_fault_of_a_settled_group_is_no_reason(self) -> None:
        for shape in shapes.GENERATIONS:
            server = shapes.server("w-1", failure="old")
            seen = shapes.complete(shape, infra_machines=(server,))
            self.assertEqual("", shapes.verdict(seen).reason)

    def test_the_autoscaler_decides_the_count_of_its_groups(self) -> None:
        name = "nodegroup default-worker: "
        for shape in shapes.GENERATIONS:
            for count, ready, scaled, reason in (
                (5, 5, True, ""),
                (5, 5, False, f"{name}2 of 2 machines ready"),
                (5, 4, True, f"{name}4 of 5 machines ready"),
                # It is done when all are gone.
                (0, 0, True, ""),
            ):
                workers = shapes.workers(
                    shape, count, ready=ready, autoscaled=scaled
                )
                seen = shapes.complete(shape, deployments=(workers,))
                self.assertEqual(reason, shapes.verdict(seen).reason)


class NewConditionsTest(base.BaseTestCase):
    def test_a_group_that_moves_is_not_done_whatever_it_counts(self) -> None:
        found = {}
        for shape in (shapes.BOTH, shapes.V1BETA2):
            for name in ("RollingOut", "ScalingUp", "Remediating"):
                moving = shapes.workers(shape, new={name: ("True", "", "")})
                seen = shapes.complete(shape, deployments=(moving,))
                found[shape, name] = shapes.verdict(seen).reason
        text = "nodegroup default-worker: 2 of 2 machines ready, "
        self.assertEqual(
            {key: text + key[1] for key in found},
            found,
        )

    def test_counters_of_the_new_contract_beat_those_of_the_old(self) -> None:
        # readyReplicas counts ready nodes there, and ready Machines here.
        workers = shapes.workers(shapes.BOTH, ready=1)
        workers["status"]["readyReplicas"] = 2
        seen = shapes.complete(shapes.BOTH, deployments=(workers,))
        self.assertEqual(
            "nodegroup default-worker: 1 of 2 machines ready",
            shapes.verdict(seen).reason,
        )

    def test_the_lowest_count_of_new_machines_holds(self) -> None:
        # Just after a change, upToDateReplicas counts old machines.
        for shape in (shapes.BOTH, shapes.V1BETA2):
            workers = shapes.workers(shape)
            status = workers["status"]
            old = status if shape == shapes.BOTH else status["deprecated"]
            old.get("v1beta1", old)["updatedReplicas"] = 0
            seen = shapes.complete(shape, deployments=(workers,))
            self.assertEqual(
                "nodegroup default-worker: 0 of 2 machines up to date",
                shapes.verdict(seen).reason,
            )


class FactsTest(base.BaseTestCase):
    def test_an_endpoint_without_host_is_none_yet(self) -> None:
        port = {"port": 6443}
        rows: list[tuple[Any, str | None]] = [
            ({}, None),
            ({"host": "", "port": 0}, None),
            ({"host": "192.0.2.10", "port": 0}, None),
            ({"host": "api.test", "port": 443}, "https://api.test:443"),
            ({"host": "2001:db8::1", **port}, "https://[2001:db8::1]:6443"),
        ]
        for endpoint, address in rows:
            live = shapes.cluster(shapes.V1BETA2, endpoint=endpoint)
            self.assertEqual(address, cluster_status.api_address(live))
        self.assertIsNone(cluster_status.api_address(None))

    def test_the_version_is_the_oldest_that_runs(self) -> None:
        rows: list[tuple[dict[str, Any] | None, str | None]] = [
            ({"version": "v1.34.2"}, "v1.34.2"),
            *(
                (
                    {"versions": [{"version": each} for each in versions]},
                    oldest,
                )
                for versions, oldest in (
                    (["v1.34.2", "v1.33.6"], "v1.33.6"),
                    (["v1.34.10", "v1.34.9"], "v1.34.9"),
                    ([], None),
                )
            ),
            ({}, None),
            (None, None),
        ]
        for status, version in rows:
            plane = None if status is None else {"status": status}
            seen = view.View(release="r", control_plane=plane)
            self.assertEqual(version, cluster_status.coe_version(seen))

    def test_the_first_late_addon_by_name_is_the_reason(self) -> None:
        # The order in which they were read may differ between conductors.
        handled = "addons.stackhpc.com/last-handled-configuration"
        late = [
            shapes.addon(each)
            for each in ("cni-calico", "ccm-openstack", "csi-cinder")
        ]
        for each in late:
            each["metadata"]["annotations"] = {handled: '{"spec": {"a": 1}}'}
        reason = (
            "addon ccm-openstack: its latest change is still to be installed"
        )
        for addons in (tuple(late), tuple(reversed(late))):
            seen = shapes.complete(shapes.V1BETA2, addons=addons)
            self.assertEqual(reason, shapes.verdict(seen).reason)


class ValidityTest(base.BaseTestCase):
    """The end of a verdict's validity, without a change of an object."""

    def judged(
        self, seen: view.View, now: float = shapes.NOW
    ) -> tuple[bool, float]:
        """Whether it is complete, and until when it stays so."""
        clock = view.Clock(now)
        seen = dataclasses.replace(seen, clock=clock)
        expected = cluster_status.Expected(
            shapes.ROWS, shapes.REQUIRED, shapes.ADDONS
        )
        verdict = cluster_status.verdict(seen, expected)
        return verdict.complete, clock.valid_until

    def test_a_change_that_an_addon_provider_may_miss_ends_soon(self) -> None:
        changed = shapes.NOW - 4
        for shape in shapes.GENERATIONS:
            seen = shapes.complete(
                shape, revisions=(view.Revision(1, "deployed", changed),)
            )
            self.assertEqual((False, changed + 5), self.judged(seen))
            settled = self.judged(seen, changed + 5)
            self.assertEqual((True, math.inf), settled)

    def test_a_renewal_that_is_planned_for_later_ends_it(self) -> None:
        plane = shapes.control_plane(shapes.V1BETA2)
        plane["spec"]["rollout"] = {"after": "2100-01-01T00:00:00Z"}
        seen = shapes.complete(shapes.V1BETA2, control_plane=plane)
        until = view.timestamp("2100-01-01T00:00:00Z")
        self.assertEqual((True, until), self.judged(seen))


VERSIONS = ("v1beta1", "v1beta2")
NOW = 1795287000.0
_RECORDED = json.loads((documents.FOLDER / "_both_versions.json").read_text())


def seen(what: str, version: str) -> view.View:
    record: dict[str, Any] = _RECORDED[what]
    objects = record[version]
    return view.View(
        release=record["release"],
        cluster=objects["cluster"][0],
        control_plane=objects["control_plane"][0],
        deployments=tuple(objects["deployments"]),
        machines=tuple(objects["machines"]),
        addons=tuple(record["addons"]),
        revisions=(view.Revision(1, "deployed"),),
        infrastructure=record["infrastructure"][0],
        infra_machines=tuple(record["infra_machines"]),
        clock=view.Clock(NOW),
    )


def verdict(view_: view.View) -> cluster_status.Verdict:
    rows = dataclasses.replace(documents.rows(1), release=view_.release)
    addons = frozenset(map(view.name_of, view_.addons))
    return cluster_status.verdict(
        view_, cluster_status.Expected(rows, documents.REQUIRED, addons)
    )


class CompleteTest(base.BaseTestCase):
    def test_a_recorded_cluster_is_complete_in_both_versions(self) -> None:
        group = cluster_status.GroupVerdict
        machines = {
            "default-master": "192.168.3.237",
            "default-worker": "192.168.3.117",
        }
        for version in VERSIONS:
            self.assertEqual(
                cluster_status.Verdict(
                    reason="",
                    groups={
                        name: group("", (address,), version="v1.34.2")
                        for name, address in machines.items()
                    },
                    api_address="https://127.88.150.138:6443",
                    coe_version="v1.34.2",
                ),
                verdict(seen("complete", version)),
            )

    def test_a_recorded_cluster_is_healthy_in_both_versions(self) -> None:
        nodes = ("control-plane-qqbh5", "default-worker-4mbk9-n8r7k")
        ready = {f"p1-c5f41ff2be12-{each}.Ready": "True" for each in nodes}
        for version in VERSIONS:
            self.assertEqual(
                health.Health("HEALTHY", {"api": "ok", **ready}),
                health.health(seen("complete", version)),
            )


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
    def test_a_thousand_nodes_are_few_entries_with_the_ill(self) -> None:
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
