# SPDX-License-Identifier: Apache-2.0

"""The verdict: machines, counts, conditions, versions and addresses."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from oslotest import base

from magnum_capi_helm.status import cluster as cluster_status
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.unit.status import core_objects
from magnum_capi_helm.tests.unit.status import provider_objects
from magnum_capi_helm.tests.unit.status import releases
from magnum_capi_helm.tests.unit.status import shapes

NO_HOST = provider_objects.NO_HOST
NO_ROOM = provider_objects.NO_ROOM


class MachinesTest(base.BaseTestCase):
    def _seen(self, shape: str, **changes: Any) -> view.View:
        failed = ("False", "InstanceCreateFailed", NO_HOST)
        late: dict[str, Any] = {
            "node": False,
            "old": {"InfrastructureReady": failed},
            "new": {"InfrastructureReady": failed},
        }
        return releases.complete(
            shape,
            deployments=(core_objects.workers(shape, ready=1),),
            machines=(
                core_objects.machine(shape, "cp-1", group=None),
                core_objects.machine(shape, "w-1"),
                core_objects.machine(shape, "w-2", **late),
            ),
            infra_machines=(
                provider_objects.server("w-1"),
                provider_objects.server(
                    "w-2", {"InstanceReady": failed}, NO_HOST
                ),
            ),
            **changes,
        )

    def test_the_reason_is_that_of_the_server(self) -> None:
        for shape in shapes.GENERATIONS:
            found = releases.verdict(self._seen(shape))
            reason = (
                f"nodegroup default-worker: machine w-2: {NO_ROOM} [no-host]"
            )
            self.assertEqual(reason, found.reason)
            self.assertEqual(reason, found.groups["default-worker"].reason)
            self.assertEqual("", found.groups["default-master"].reason)

    def test_a_fault_of_one_group_beats_progress_of_another(self) -> None:
        for shape in shapes.GENERATIONS:
            plane = core_objects.control_plane(shape, ready=0)
            found = releases.verdict(self._seen(shape, control_plane=plane))
            self.assertEqual(
                {
                    "default-master": (
                        "nodegroup default-master: 0 of 1 machines ready"
                    ),
                    "default-worker": (
                        "nodegroup default-worker: machine w-2: "
                        f"{NO_ROOM} [no-host]"
                    ),
                },
                {name: each.reason for name, each in found.groups.items()},
            )
            self.assertEqual(
                found.groups["default-worker"].reason, found.reason
            )

    def test_a_health_check_that_lets_no_machine_be_replaced(self) -> None:
        said = (
            "Remediation is not allowed, the number of not started or "
            "unhealthy machines exceeds maxUnhealthy (total: 2, unhealthy: 2, "
            "maxUnhealthy: 1)"
        )
        late = ("False", "UnhealthyNode", "Health check failed")
        check = {
            "metadata": {"name": f"{shapes.RELEASE}-default-worker"},
            "status": {
                "conditions": [
                    {
                        "type": "RemediationAllowed",
                        "status": "False",
                        "reason": "TooManyUnhealthy",
                        "message": said,
                    }
                ]
            },
        }
        for shape in shapes.GENERATIONS:
            ill = {"HealthCheckSucceeded": late}
            seen = releases.complete(
                shape,
                deployments=(core_objects.workers(shape, ready=1),),
                machines=(
                    core_objects.machine(shape, "cp-1", group=None),
                    core_objects.machine(shape, "w-1", old=ill, new=ill),
                ),
                health_checks=(check,),
            )
            self.assertEqual(
                "nodegroup default-worker: no machine is replaced: 2 of 2 are "
                "unhealthy, at most 1 may be: repair a machine, or ask the "
                "operator (and 1 more: machine w-1: Health check failed) "
                "[too-many-unhealthy]",
                releases.verdict(seen).reason,
            )

    def test_an_old_fault_of_a_settled_group_is_no_reason(self) -> None:
        for shape in shapes.GENERATIONS:
            seen = releases.complete(
                shape,
                infra_machines=(
                    provider_objects.server("w-1", failure="old"),
                ),
            )
            self.assertEqual("", releases.verdict(seen).reason)


class AutoscaledTest(base.BaseTestCase):
    def test_the_count_of_a_scaled_group_is_that_of_the_autoscaler(
        self,
    ) -> None:
        for shape in shapes.GENERATIONS:
            for scaled in (True, False):
                workers = core_objects.workers(shape, 5, autoscaled=scaled)
                seen = releases.complete(shape, deployments=(workers,))
                self.assertEqual(scaled, releases.verdict(seen).complete)

    def test_an_autoscaled_group_is_not_done_before_its_machines(self) -> None:
        workers = core_objects.workers(
            shapes.V1BETA2, 5, ready=4, autoscaled=True
        )
        seen = releases.complete(shapes.V1BETA2, deployments=(workers,))
        self.assertEqual(
            "nodegroup default-worker: 4 of 5 machines ready",
            releases.verdict(seen).reason,
        )


class ZeroTest(base.BaseTestCase):
    def test_a_group_of_no_machines_is_done_when_all_are_gone(self) -> None:
        for shape in shapes.GENERATIONS:
            workers = core_objects.workers(shape, 0, autoscaled=True)
            seen = releases.complete(shape, deployments=(workers,))
            found = releases.verdict(seen)
            self.assertEqual("", found.reason)


class StaleClusterTest(base.BaseTestCase):
    def test_a_cluster_of_a_stale_generation_is_not_available(self) -> None:
        for shape in shapes.GENERATIONS:
            stale = core_objects.cluster(shape, observed=1)
            seen = releases.complete(shape, cluster=stale)
            self.assertFalse(releases.verdict(seen).complete, shape)


class NewConditionsTest(base.BaseTestCase):
    def test_a_group_that_moves_is_not_done_whatever_it_counts(self) -> None:
        found = {}
        for shape in (shapes.BOTH, shapes.V1BETA2):
            for name in ("RollingOut", "ScalingUp", "Remediating"):
                moving = core_objects.workers(
                    shape, new={name: ("True", "", "")}
                )
                seen = releases.complete(shape, deployments=(moving,))
                found[shape, name] = releases.verdict(seen).reason
        text = "nodegroup default-worker: 2 of 2 machines ready, "
        self.assertEqual(
            {key: text + key[1] for key in found},
            found,
        )

    def test_counters_of_the_new_contract_beat_those_of_the_old(self) -> None:
        # readyReplicas counts ready nodes there, and ready Machines here.
        workers = core_objects.workers(shapes.BOTH, ready=1)
        workers["status"]["readyReplicas"] = 2
        seen = releases.complete(shapes.BOTH, deployments=(workers,))
        self.assertEqual(
            "nodegroup default-worker: 1 of 2 machines ready",
            releases.verdict(seen).reason,
        )

    def test_the_lowest_count_of_new_machines_holds(self) -> None:
        # Just after a change, upToDateReplicas counts old machines.
        for shape in (shapes.BOTH, shapes.V1BETA2):
            workers = core_objects.workers(shape)
            status = workers["status"]
            old = status if shape == shapes.BOTH else status["deprecated"]
            old.get("v1beta1", old)["updatedReplicas"] = 0
            seen = releases.complete(shape, deployments=(workers,))
            self.assertEqual(
                "nodegroup default-worker: 0 of 2 machines up to date",
                releases.verdict(seen).reason,
            )

    def test_a_new_object_without_status_is_not_available(self) -> None:
        for shape in shapes.GENERATIONS:
            cluster = core_objects.cluster(shape)
            cluster["status"] = {"observedGeneration": 2}
            seen = releases.complete(shape, cluster=cluster)
            self.assertEqual(
                "cluster: not available yet", releases.verdict(seen).reason
            )


class FactsTest(base.BaseTestCase):
    def test_a_complete_cluster_has_addresses_and_a_version(self) -> None:
        for shape in shapes.GENERATIONS:
            found = releases.verdict(releases.complete(shape))
            self.assertEqual("https://192.0.2.10:6443", found.api_address)
            self.assertEqual("v1.34.2", found.coe_version)
            self.assertEqual(
                {
                    "default-master": ("192.168.3.5",),
                    "default-worker": ("192.168.3.6", "192.168.3.7"),
                },
                {name: each.addresses for name, each in found.groups.items()},
            )

    def test_an_endpoint_without_host_is_none_yet(self) -> None:
        rows: list[tuple[Any, str | None]] = [
            ({}, None),
            ({"host": "", "port": 0}, None),
            ({"host": "192.0.2.10", "port": 0}, None),
            (
                {"host": "api.example.org", "port": 443},
                "https://api.example.org:443",
            ),
            (
                {"host": "2001:db8::1", "port": 6443},
                "https://[2001:db8::1]:6443",
            ),
        ]
        for endpoint, address in rows:
            live = core_objects.cluster(shapes.V1BETA2, endpoint=endpoint)
            self.assertEqual(address, cluster_status.api_address(live))
        self.assertIsNone(cluster_status.api_address(None))

    def test_the_version_is_the_oldest_that_runs(self) -> None:
        rows: list[tuple[dict[str, Any], str | None]] = [
            ({"version": "v1.34.2"}, "v1.34.2"),
            (
                {"versions": [{"version": "v1.34.2"}, {"version": "v1.33.6"}]},
                "v1.33.6",
            ),
            (
                {
                    "versions": [
                        {"version": "v1.34.10"},
                        {"version": "v1.34.9"},
                    ]
                },
                "v1.34.9",
            ),
            ({"versions": []}, None),
            ({}, None),
        ]
        found = [
            cluster_status.coe_version(
                view.View(release="r", control_plane={"status": status})
            )
            for status, _ in rows
        ]
        self.assertEqual([version for _, version in rows], found)
        self.assertIsNone(cluster_status.coe_version(view.View(release="r")))


class AddonsTest(base.BaseTestCase):
    """The reason of one addon of several."""

    def test_the_first_late_addon_by_name_is_the_reason(self) -> None:
        # The order in which they were read may differ between conductors.
        handled = "addons.stackhpc.com/last-handled-configuration"
        late = [
            provider_objects.addon(each)
            for each in ("cni-calico", "ccm-openstack", "csi-cinder")
        ]
        for each in late:
            each["metadata"]["annotations"] = {handled: '{"spec": {"a": 1}}'}
        reason = (
            "addon ccm-openstack: its latest change is still to be installed"
        )
        for addons in (tuple(late), tuple(reversed(late))):
            seen = releases.complete(shapes.V1BETA2, addons=addons)
            self.assertEqual(reason, releases.verdict(seen).reason)


class ValidityTest(base.BaseTestCase):
    """The end of a verdict's validity, without a change of an object."""

    def judged(
        self, seen: view.View, now: float = shapes.NOW
    ) -> tuple[bool, float]:
        """Whether it is complete, and until when it stays so."""
        clock = view.Clock(now)
        seen = dataclasses.replace(seen, clock=clock)
        expected = cluster_status.Expected(
            shapes.ROWS, releases.REQUIRED, shapes.ADDONS
        )
        verdict = cluster_status.verdict(seen, expected)
        return verdict.complete, clock.valid_until

    def test_a_settled_release_stays_complete(self) -> None:
        for shape in shapes.GENERATIONS:
            found = self.judged(releases.complete(shape))
            self.assertEqual((True, math.inf), found)

    def test_a_change_that_an_addon_provider_may_miss_ends_soon(self) -> None:
        changed = shapes.NOW - 4
        seen = releases.complete(
            shapes.V1BETA2,
            revisions=(view.Revision(1, "deployed", changed),),
        )
        self.assertEqual((False, changed + 5), self.judged(seen))
        self.assertEqual((True, math.inf), self.judged(seen, changed + 5))

    def test_a_renewal_that_is_planned_for_later_ends_it(self) -> None:
        plane = core_objects.control_plane(shapes.V1BETA2)
        plane["spec"]["rollout"] = {"after": "2100-01-01T00:00:00Z"}
        seen = releases.complete(shapes.V1BETA2, control_plane=plane)
        until = view.timestamp("2100-01-01T00:00:00Z")
        self.assertEqual((True, until), self.judged(seen))
