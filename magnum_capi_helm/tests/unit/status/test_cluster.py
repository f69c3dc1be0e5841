# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.
"""The verdict on a release, for each generation of Cluster API."""

from __future__ import annotations

from collections.abc import Callable, Mapping
import json
from typing import Any, TypeAlias

from oslotest import base

from magnum_capi_helm.status import cluster as cluster_status
from magnum_capi_helm.status import reachability
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.unit.status import shapes

#: What is different from a complete release, in one shape.
Change: TypeAlias = Callable[[str], Mapping[str, Any]]

NO_HOST = "No valid host was found. There are not enough hosts available."
#: What a tenant reads of it.
NO_ROOM = (
    "No valid host was found: the cloud has no room for a server of this "
    "flavor there; choose another flavor or availability zone, or ask the "
    "operator"
)
REQUIRED = (
    "MachinesReady",
    "Ready",
    "EtcdClusterHealthy",
    "ControlPlaneComponentsHealthy",
)


def verdict(seen: view.View, **options: Any) -> cluster_status.Verdict:
    options.setdefault("now", shapes.NOW)
    options.setdefault("required", REQUIRED)
    options.setdefault("expected", shapes.ADDONS)
    return cluster_status.verdict(seen, shapes.ROWS, **options)


def revision(status: str) -> dict[str, Any]:
    return {"revisions": (view.Revision(2, status),)}


def handled(
    before: Mapping[str, Any], now: Mapping[str, Any]
) -> tuple[view.Object, ...]:
    """Addons, one with the spec that its provider says it has handled."""
    addon = shapes.addon("cni-calico")
    note = json.dumps({"spec": before}) + "\n"
    addon["metadata"]["annotations"] = {
        "addons.stackhpc.com/last-handled-configuration": note
    }
    return (shapes.addon("ccm-openstack"), {**addon, "spec": now})


def unavailable(shape: str) -> view.Object:
    return shapes.cluster(
        shape,
        old={"Ready": ("False", "Down", "lost the API")},
        new={"Available": ("False", "NotAvailable", "* lost\n  the API")},
    )


#: What is seen -> the reason, the same in every generation.
TABLE: dict[str, tuple[Change, str | None]] = {
    "everything is as it is wanted": (lambda _: {}, ""),
    "no helm release yet": (
        lambda _: {"revisions": ()},
        "the helm release does not exist yet",
    ),
    "helm is at work": (
        lambda _: revision("pending-upgrade"),
        "helm: revision 2 is pending-upgrade",
    ),
    "helm failed": (
        lambda _: revision("failed"),
        "helm: revision 2 is failed",
    ),
    "no Cluster object": (
        lambda _: {"cluster": None},
        "the Cluster object does not exist",
    ),
    "somebody deletes the Cluster": (
        lambda s: {"cluster": shapes.cluster(s, deleting=True)},
        "the Cluster object is being deleted",
    ),
    "the live Cluster shows another intent": (
        lambda s: {"cluster": shapes.cluster(s, stamp="v1-old")},
        "the latest change is still to be applied",
    ),
    "a cluster of 1.4.0 shows no intent": (
        lambda s: {"cluster": shapes.cluster(s, stamp=None)},
        "",
    ),
    "Cluster API calls it unavailable": (
        lambda s: {"cluster": unavailable(s)},
        None,  # generations word it differently: see below
    ),
    "no control plane yet": (
        lambda _: {"control_plane": None},
        "nodegroup default-master: not created yet",
    ),
    "no workers yet": (
        lambda _: {"deployments": ()},
        "nodegroup default-worker: not created yet",
    ),
    "workers of another group": (
        lambda s: {"deployments": (shapes.workers(s, group="gpu"),)},
        "nodegroup default-worker: not created yet",
    ),
    "workers of a stale generation": (
        lambda s: {"deployments": (shapes.workers(s, observed=1),)},
        "nodegroup default-worker: Cluster API has not seen the latest change "
        "yet",
    ),
    "control plane of a stale generation": (
        lambda s: {"control_plane": shapes.control_plane(s, observed=1)},
        "nodegroup default-master: Cluster API has not seen the latest change "
        "yet",
    ),
    "a new machine exists and is not ready yet": (
        lambda s: {"deployments": (shapes.workers(s, ready=1, up_to_date=1),)},
        "nodegroup default-worker: 1 of 2 machines ready",
    ),
    "live count is not the wanted one": (
        lambda s: {"deployments": (shapes.workers(s, 1),)},
        "nodegroup default-worker: 1 of 2 machines ready",
    ),
    "scaling up": (
        lambda s: {"deployments": (shapes.workers(s, existing=1, ready=1),)},
        "nodegroup default-worker: 1 of 2 machines ready",
    ),
    "scaling down": (
        lambda s: {"deployments": (shapes.workers(s, existing=4, ready=4),)},
        "nodegroup default-worker: 2 machines still to be removed",
    ),
    "rolling": (
        lambda s: {"deployments": (shapes.workers(s, up_to_date=1),)},
        "nodegroup default-worker: 1 of 2 machines up to date",
    ),
    "one node not ready": (
        lambda s: {"deployments": (shapes.workers(s, ready=1),)},
        "nodegroup default-worker: 1 of 2 machines ready",
    ),
    "somebody deletes the workers": (
        lambda s: {"deployments": (shapes.workers(s, deleting=True),)},
        "nodegroup default-worker: being deleted",
    ),
    "etcd is ill": (
        lambda s: {
            "control_plane": shapes.control_plane(
                s,
                old={"EtcdClusterHealthy": ("False", "Ill", "")},
                new={"EtcdClusterHealthy": ("False", "Ill", "")},
            )
        },
        "nodegroup default-master: EtcdClusterHealthy is False",
    ),
    "nobody knows how etcd is": (
        lambda s: {
            "control_plane": shapes.control_plane(
                s,
                old={"EtcdClusterHealthy": ("Unknown", "Lost", "")},
                new={"EtcdClusterHealthy": ("Unknown", "Lost", "")},
            )
        },
        "nodegroup default-master: EtcdClusterHealthy is Unknown",
    ),
    "control plane is not available": (
        lambda s: {
            "control_plane": shapes.control_plane(
                s,
                old={"Ready": ("False", "Waiting", "")},
                new={"Available": ("False", "NotAvailable", "")},
            )
        },
        "nodegroup default-master: not available yet",
    ),
    "an addon is missing": (
        lambda _: {"addons": (shapes.addon("ccm-openstack"),)},
        "addon cni-calico: not created",
    ),
    "an addon has no phase yet": (
        lambda _: {
            "addons": (
                shapes.addon("ccm-openstack"),
                shapes.addon("cni-calico", None),
            )
        },
        "addon cni-calico: Pending",
    ),
    "an addon failed while another is under way": (
        lambda _: {
            "addons": (
                shapes.addon("ccm-openstack", "Installing"),
                shapes.addon("cni-calico", "Failed", "chart\n  not found"),
            )
        },
        "addon cni-calico: Failed: chart not found",
    ),
    "an addon of an older manifest is on its way out": (
        lambda s: {
            "addons": (
                *shapes.complete(s).addons,
                shapes.addon("monitoring", "Uninstalling"),
            )
        },
        "addon monitoring: Uninstalling",
    ),
    "an addon whose change the provider has still to handle": (
        lambda _: {"addons": handled({"a": 1}, {"a": 2})},
        "addon cni-calico: its latest change is still to be installed",
    ),
    "an addon whose change the provider has handled": (
        lambda _: {"addons": handled({"a": 2}, {"a": 2})},
        "",
    ),
    "a change that an addon provider had no time to notice": (
        lambda _: {
            "revisions": (view.Revision(1, "deployed", shapes.NOW - 4),)
        },
        "addon ccm-openstack: its latest change is still to be installed",
    ),
    "a change that an addon provider had the time to notice": (
        lambda _: {
            "revisions": (view.Revision(1, "deployed", shapes.NOW - 6),)
        },
        "",
    ),
    "the network can't be made": (
        lambda _: {"infrastructure": shapes.network(failure="Quota exceeded")},
        "infrastructure: Quota exceeded",
    ),
}


class TableTest(base.BaseTestCase):
    def _wrong(self, shape: str, unavailable: str) -> dict[str, Any]:
        """Rows whose reason is another: wanted, found."""
        wrong = {}
        for what, (change, reason) in TABLE.items():
            wanted = unavailable if reason is None else reason
            found = verdict(shapes.complete(shape, **change(shape)))
            if (found.reason, found.complete) != (wanted, not wanted):
                wrong[what] = (wanted, found.reason)
        return wrong

    def test_v1beta1_alone(self) -> None:
        wrong = self._wrong(shapes.V1BETA1, "cluster: lost the API")
        self.assertEqual({}, wrong)

    def test_v1beta1_with_the_new_conditions(self) -> None:
        wrong = self._wrong(shapes.BOTH, "cluster: lost the API")
        self.assertEqual({}, wrong)

    def test_v1beta2(self) -> None:
        wrong = self._wrong(shapes.V1BETA2, "cluster: lost the API")
        self.assertEqual({}, wrong)


class StaleClusterTest(base.BaseTestCase):
    def test_a_cluster_of_a_stale_generation_is_not_available(self) -> None:
        for shape in shapes.GENERATIONS:
            stale = shapes.cluster(shape, observed=1)
            seen = shapes.complete(shape, cluster=stale)
            self.assertFalse(verdict(seen).complete, shape)


class NewConditionsTest(base.BaseTestCase):
    def test_a_group_that_moves_is_not_done_whatever_it_counts(self) -> None:
        found = {}
        for shape in (shapes.BOTH, shapes.V1BETA2):
            for name in ("RollingOut", "ScalingUp", "Remediating"):
                moving = shapes.workers(shape, new={name: ("True", "", "")})
                seen = shapes.complete(shape, deployments=(moving,))
                found[shape, name] = verdict(seen).reason
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
            verdict(seen).reason,
        )

    def test_a_new_object_without_status_is_not_available(self) -> None:
        for shape in shapes.GENERATIONS:
            cluster = shapes.cluster(shape)
            cluster["status"] = {"observedGeneration": 2}
            seen = shapes.complete(shape, cluster=cluster)
            self.assertEqual(
                "cluster: not available yet", verdict(seen).reason
            )


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

    def test_the_reason_is_that_of_the_server(self) -> None:
        for shape in shapes.GENERATIONS:
            found = verdict(self._seen(shape))
            reason = f"nodegroup default-worker: machine w-2: {NO_ROOM}"
            self.assertEqual(reason, found.reason)
            self.assertEqual(reason, found.groups["default-worker"].reason)
            self.assertTrue(found.groups["default-worker"].fault)
            self.assertTrue(found.groups["default-master"].done)

    def test_a_fault_of_one_group_beats_progress_of_another(self) -> None:
        for shape in shapes.GENERATIONS:
            plane = shapes.control_plane(shape, ready=0)
            found = verdict(self._seen(shape, control_plane=plane))
            self.assertEqual(
                {
                    "default-master": (
                        "nodegroup default-master: 0 of 1 machines ready"
                    ),
                    "default-worker": (
                        f"nodegroup default-worker: machine w-2: {NO_ROOM}"
                    ),
                },
                {name: each.reason for name, each in found.groups.items()},
            )
            self.assertEqual(
                found.groups["default-worker"].reason, found.reason
            )

    def test_an_old_fault_of_a_settled_group_is_no_reason(self) -> None:
        for shape in shapes.GENERATIONS:
            seen = shapes.complete(
                shape, infra_machines=(shapes.server("w-1", failure="old"),)
            )
            self.assertEqual("", verdict(seen).reason)


class AutoscaledTest(base.BaseTestCase):
    def test_the_count_of_a_scaled_group_is_that_of_the_autoscaler(
        self,
    ) -> None:
        scaled = frozenset({"default-worker"})
        for shape in shapes.GENERATIONS:
            seen = shapes.complete(
                shape, deployments=(shapes.workers(shape, 5),)
            )
            self.assertTrue(verdict(seen, autoscaled=scaled).complete)
            self.assertFalse(verdict(seen).complete)

    def test_it_is_not_done_before_its_machines_are(self) -> None:
        scaled = frozenset({"default-worker"})
        seen = shapes.complete(
            shapes.V1BETA2,
            deployments=(shapes.workers(shapes.V1BETA2, 5, ready=4),),
        )
        self.assertEqual(
            "nodegroup default-worker: 4 of 5 machines ready",
            verdict(seen, autoscaled=scaled).reason,
        )


class ZeroTest(base.BaseTestCase):
    def test_a_group_of_no_machines_is_done_when_all_are_gone(self) -> None:
        for shape in shapes.GENERATIONS:
            workers = shapes.workers(shape, 0)
            scaled = frozenset({"default-worker"})
            seen = shapes.complete(shape, deployments=(workers,))
            found = verdict(seen, autoscaled=scaled)
            self.assertEqual("", found.reason)


class FactsTest(base.BaseTestCase):
    def test_addresses_and_version_of_a_complete_cluster(self) -> None:
        for shape in shapes.GENERATIONS:
            found = verdict(shapes.complete(shape))
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
            live = shapes.cluster(shapes.V1BETA2, endpoint=endpoint)
            self.assertEqual(address, reachability.api_address(live))
        self.assertIsNone(reachability.api_address(None))

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
