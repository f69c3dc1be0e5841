# SPDX-License-Identifier: Apache-2.0
"""Health: three words, and a map that says of what."""

from __future__ import annotations

from typing import Any

from oslotest import base

from magnum_capi_helm.status import health
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.unit.status import core_objects
from magnum_capi_helm.tests.unit.status import releases
from magnum_capi_helm.tests.unit.status import shapes

WITH_NEW = (shapes.BOTH, shapes.V1BETA2)
NODES = {
    "node-cp-1.Ready": "True",
    "node-w-1.Ready": "True",
    "node-w-2.Ready": "True",
}


def judged(shape: str, **changes: Any) -> tuple[str, dict[str, str]]:
    found = health.health(releases.complete(shape, **changes), shapes.NOW)
    return found.status, found.reason


class HealthTest(base.BaseTestCase):
    def test_all_is_well(self) -> None:
        for shape in shapes.GENERATIONS:
            self.assertEqual(
                ("HEALTHY", {"api": "ok", **NODES}), judged(shape)
            )

    def test_without_a_cluster_nothing_is_known(self) -> None:
        found = health.health(view.View(release=shapes.RELEASE), shapes.NOW)
        self.assertEqual(
            health.Health(
                "UNKNOWN",
                {
                    "cluster": "the Cluster object demo-45f11a8de301 is not "
                    "on the management cluster"
                },
            ),
            found,
        )

    def test_a_paused_cluster_is_unknown(self) -> None:
        for shape in shapes.GENERATIONS:
            self.assertEqual(
                ("UNKNOWN", {"api": "ok", **NODES, "cluster": "paused"}),
                judged(
                    shape, cluster=core_objects.cluster(shape, paused=True)
                ),
            )

    def test_a_node_that_is_not_ready(self) -> None:
        ill = ("False", "NodeNotReady", "")
        for shape in shapes.GENERATIONS:
            machine = core_objects.machine(
                shape,
                "w-1",
                old={"NodeHealthy": ill},
                new={"NodeReady": ill, "NodeHealthy": ill},
            )
            self.assertEqual(
                ("UNHEALTHY", {"api": "ok", "node-w-1.Ready": "False"}),
                judged(shape, machines=(machine,)),
            )

    def test_a_node_that_nobody_knows_of(self) -> None:
        lost = ("Unknown", "ConnectionDown", "")
        for shape in shapes.GENERATIONS:
            machine = core_objects.machine(
                shape,
                "w-1",
                node=False,
                old={"NodeHealthy": lost},
                new={"NodeReady": lost, "NodeHealthy": lost},
            )
            # Without a node the machine's own name stands for it.
            self.assertEqual(
                ("UNKNOWN", {"api": "ok", "w-1.Ready": "Unknown"}),
                judged(shape, machines=(machine,)),
            )

    def test_a_machine_on_its_way_out_is_not_judged(self) -> None:
        ill = ("False", "NodeNotReady", "")
        for shape in shapes.GENERATIONS:
            machine = core_objects.machine(
                shape,
                "w-1",
                old={"NodeHealthy": ill},
                new={"NodeReady": ill},
                deleting=True,
            )
            self.assertEqual(
                ("HEALTHY", {"api": "ok"}), judged(shape, machines=(machine,))
            )

    def test_an_api_that_the_management_cluster_does_not_reach(self) -> None:
        for shape in WITH_NEW:
            cluster = core_objects.cluster(
                shape, new={"RemoteConnectionProbe": ("False", "Failed", "")}
            )
            status, reason = judged(shape, cluster=cluster)
            self.assertEqual("UNHEALTHY", status)
            self.assertEqual(
                "not reachable from the management cluster: "
                "https://192.0.2.10:6443",
                reason["api"],
            )

    def test_an_api_that_nobody_knows_of(self) -> None:
        lost = ("Unknown", "", "")
        for shape in WITH_NEW:
            cluster = core_objects.cluster(
                shape, new={"RemoteConnectionProbe": lost}
            )
            self.assertEqual(
                ("UNKNOWN", {"api": "unknown", **NODES}),
                judged(shape, cluster=cluster),
            )

    def test_the_old_set_has_no_probe_but_tells_of_the_first_start(
        self,
    ) -> None:
        late = ("False", "WaitingForControlPlaneProviderInitialized", "")
        cluster = core_objects.cluster(
            shapes.V1BETA1, old={"ControlPlaneInitialized": late}
        )
        self.assertEqual(
            ("UNKNOWN", {"api": "starting", **NODES}),
            judged(shapes.V1BETA1, cluster=cluster),
        )

    def test_a_control_plane_that_is_not_available(self) -> None:
        for shape in WITH_NEW:
            plane = core_objects.control_plane(
                shape,
                new={"Available": ("False", "Down", "* etcd\n  is down")},
            )
            self.assertEqual(
                (
                    "UNHEALTHY",
                    {"api": "ok", **NODES, "controlplane": "etcd is down"},
                ),
                judged(shape, control_plane=plane),
            )

    def test_an_ill_control_plane_in_the_old_set(self) -> None:
        # There Available only tells of the first start; Ready sums up.
        ill = ("False", "EtcdClusterUnhealthy", "etcd is down")
        plane = core_objects.control_plane(
            shapes.V1BETA1, old={"Ready": ill, "EtcdClusterHealthy": ill}
        )
        self.assertEqual(
            (
                "UNHEALTHY",
                {"api": "ok", **NODES, "controlplane": "etcd is down"},
            ),
            judged(shapes.V1BETA1, control_plane=plane),
        )

    def test_no_control_plane_is_unknown(self) -> None:
        for shape in shapes.GENERATIONS:
            self.assertEqual(
                (
                    "UNKNOWN",
                    {"api": "ok", **NODES, "controlplane": "unknown"},
                ),
                judged(shape, control_plane=None),
            )

    def test_a_group_that_is_not_available(self) -> None:
        down = ("False", "NotAvailable", "")
        for shape in shapes.GENERATIONS:
            workers = core_objects.workers(
                shape,
                group="gpu",
                old={"Ready": down},
                new={"Available": down},
            )
            self.assertEqual(
                (
                    "UNHEALTHY",
                    {"api": "ok", **NODES, "nodegroup.gpu": "not available"},
                ),
                judged(shape, deployments=(workers,)),
            )

    def test_new_conditions_that_are_well_when_false_are_no_illness(
        self,
    ) -> None:
        for shape in WITH_NEW:
            workers = core_objects.workers(
                shape, new={"RollingOut": ("True", "", "")}
            )
            self.assertEqual(
                "HEALTHY", judged(shape, deployments=(workers,))[0]
            )
