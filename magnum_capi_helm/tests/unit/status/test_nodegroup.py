# SPDX-License-Identifier: Apache-2.0

"""Messages of Cluster API about groups of machines; their counters."""

from __future__ import annotations

from typing import NamedTuple

from oslotest import base

from magnum_capi_helm.status import nodegroup
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.unit.status import condition_types
from magnum_capi_helm.tests.unit.status import shapes

KCP, MD = "KubeadmControlPlane", "MachineDeployment"

#: Kind and type of each condition, as the sources of Cluster API have them.
DEFINED = {
    (each.kind, f"{'old ' if each.set == 'v1beta1' else ''}{each.type}")
    for each in condition_types.types()
    if each.kind in (KCP, MD)
}
#: No line of Cluster API gives these a message where they are bad.
MUTE = {(KCP, "Initialized"), (KCP, "old Available")}

BLOCKED = (
    "Scaling up from 0 to 3 replicas is blocked because KubeadmConfigTemplate "
    "does not exist"
)


class Row(NamedTuple):
    """A condition at its bad status, and its part of ``status_reason``.

    :ivar shown: empty: the message itself
    """

    kind: str
    type: str
    status: str
    message: str
    shown: str = ""


def row(words: str, message: str, shown: str = "") -> Row:
    """Return a row of kind, type and status in words."""
    kind, type_ = words.split(maxsplit=1)
    name, status = type_.rsplit(maxsplit=1)
    return Row({"KCP": KCP, "MD": MD}[kind], name, status, message, shown)


class Case(base.BaseTestCase):
    """One condition of one group; nothing lower explains the delay."""

    def group(
        self, row: Row, shape: str, deleting: bool = False
    ) -> view.Object:
        name = row.type.removeprefix("old ")
        found = {name: (row.status, "SomeReason", row.message)}
        old = found if row.type.startswith("old ") else {}
        new = {} if old else found
        if old and shape != shapes.V1BETA1 and (row.kind, name) in DEFINED:
            # The new set says it, and the old one repeats it.
            new = found
        make = shapes.workers
        if row.kind == KCP:
            make = shapes.control_plane  # type: ignore[assignment]
        made = make(
            shape, 3, existing=1, up_to_date=1, ready=1, old=old, new=new
        )
        if deleting:
            made["metadata"]["deletionTimestamp"] = "2026-11-21T12:00:00Z"
        return made

    def seen(self, made: view.Object, shape: str) -> view.View:
        """A release in which the other group is settled."""
        changes = {
            "control_plane": shapes.control_plane(shape, 3),
            "deployments": (shapes.workers(shape, 3),),
        }
        if made["apiVersion"].startswith("controlplane"):
            changes["control_plane"] = made
        else:
            changes["deployments"] = (made,)
        return shapes.complete(shape, **changes)

    def reason(self, row: Row, shape: str, **more: bool) -> str:
        seen = self.seen(self.group(row, shape, **more), shape)
        return shapes.verdict(seen, rows=shapes.rows(3)).reason

    def check(self, rows: tuple[Row, ...], pattern: str, **more: bool) -> None:
        """Compare the ``status_reason`` of each row, in each shape.

        :param pattern: the reason behind the group's name, of which one
            machine of three is ready
        """
        for row in rows:
            name = "default-master" if row.kind == KCP else "default-worker"
            for shape in shapes.GENERATIONS:
                if shape == shapes.V1BETA1 and not row.type.startswith("old "):
                    continue
                self.assertEqual(
                    f"nodegroup {name}: "
                    + pattern.format(row.shown or row.message),
                    self.reason(row, shape, **more),
                    f"{row.kind} {row.type} of {shape}",
                )


COUNT = "1 of 3 machines ready"
QUORUM = (
    "There are no healthy etcd member, at least 1 healthy member required for "
    "etcd quorum"
)
CERTIFICATE = (
    "Cluster certificate for etcd is not available, please check cluster "
    "certificate secrets"
)
ETCD = "EtcdMemberHealthy: Etcd member reports alarms: NOSPACE"
POD = "APIServerPodHealthy: Pod kube-apiserver-cp-1 is missing"
LATE = "Machine w-9 is in deletion since more than 15m"
CLONING = (
    'OpenStackMachineTemplate.infrastructure.cluster.x-k8s.io "w" not found'
)
VERSION = "Version v1.34.1, v1.34.2 required"
CANNOT = "KubeadmControlPlane can't remediate if current replicas are 1"

PROBLEMS = (
    row("MD ScalingUp True", BLOCKED),
    row(
        "KCP ScalingUp True",
        "Scaling up from 1 to 3 replicas is blocked because:\n"
        "* cluster certificates are missing or unknown",
        "Scaling up from 1 to 3 replicas is blocked because: cluster "
        "certificates are missing or unknown",
    ),
    row(
        "MD ScalingDown True",
        f"Scaling down from 5 to 3 replicas\n* {LATE}",
        LATE,
    ),
    row("KCP CertificatesAvailable False", CERTIFICATE),
    row(
        "KCP EtcdClusterHealthy False",
        f"* Machine cp-1:\n  * {ETCD}",
        f"Machine cp-1: {ETCD}",
    ),
    row(
        "KCP ControlPlaneComponentsHealthy False",
        f"* Machine cp-1:\n  * {POD}",
        f"Machine cp-1: {POD}",
    ),
    row(
        "KCP MachinesReady False",
        f"* Machine cp-1:\n  * NodeHealthy: Waiting for it\n  * {POD}",
        f"Machine cp-1: {POD}",
    ),
    row(
        "MD MachinesReady False",
        "* Machine w-1:\n  * BootstrapConfigReady: no cloud-init",
        "Machine w-1: BootstrapConfigReady: no cloud-init",
    ),
    row(
        "KCP Remediating True",
        f"* Machine cp-1: {CANNOT}",
        f"Machine cp-1: {CANNOT}",
    ),
    row(
        "MD Remediating True",
        "* Machine w-1: too many are unhealthy",
        "Machine w-1: too many are unhealthy",
    ),
    row("KCP Available False", f"* {QUORUM}", QUORUM),
    row("MD Available Unknown", "Please check controller logs for errors"),
    row(
        "MD Paused True",
        "MachineDeployment has the cluster.x-k8s.io/paused annotation",
    ),
    row(
        "KCP Paused True",
        "KubeadmControlPlane has the cluster.x-k8s.io/paused annotation",
    ),
    *(
        row(
            "MD MachinesReady False",
            f"* Machine w-1:\n  * InfrastructureReady: {message}",
            f"Machine w-1: InfrastructureReady: {message}",
        )
        for message in (
            "Failed to create server: image u-1 is not yet active",
            "image u-1 is not yet active",
            "Waiting for KubeadmConfigTemplate default/w: not found",
            "Waiting for control plane load balancer: 403 quota exceeded",
            "OpenStackMachine: Error: Waiting for a port",
        )
    ),
    row("KCP old CertificatesAvailable False", "no"),
    row(
        "KCP old ControlPlaneComponentsHealthy False",
        "Following Machines are reporting control plane errors: cp-1",
    ),
    row(
        "KCP old EtcdClusterHealthy False",
        "Following Machines are reporting etcd member errors: cp-1",
    ),
    row("KCP old MachinesCreated False", CLONING),
    row("KCP old MachinesReady False", POD),
    row("KCP old Ready False", CLONING),
    row("MD old MachineSetReady False", CLONING),
    row("MD old Ready False", CLONING),
)
#: They say why machines are replaced, and how far that is.
CHANGES = (
    row(
        "KCP RollingOut True",
        f"Rolling out 1 not up-to-date replicas\n* {VERSION}",
        VERSION,
    ),
    row(
        "MD RollingOut True",
        "Rolling out 1 not up-to-date replicas\n"
        "* KubeadmConfig is not up-to-date",
        "KubeadmConfig is not up-to-date",
    ),
    row(
        "KCP MachinesUpToDate False",
        f"* Machine cp-1:\n  * {VERSION}",
        f"Machine cp-1: {VERSION}",
    ),
    row(
        "MD MachinesUpToDate False",
        f"* Machine w-1:\n  * {VERSION}",
        f"Machine w-1: {VERSION}",
    ),
)
#: Messages that say no more than the count does.
PROGRESS = (
    row(
        "KCP ScalingDown True",
        "Scaling down from 5 to 3 replicas is blocked because:\n"
        "* waiting for etcd cluster to become healthy",
        "",
    ),
    row("MD ScalingUp True", "Scaling up from 1 to 3 replicas"),
    row("KCP ScalingUp True", "Scaling up from 1 to 3 replicas"),
    row("MD ScalingDown True", "Scaling down from 5 to 3 replicas"),
    row(
        "MD Available False",
        "1 available replicas, at least 2 required "
        "(spec.strategy.rollout.maxUnavailable is 1, spec.replicas is 3)",
    ),
    row("KCP Available False", "Control plane not yet initialized"),
    row(
        "KCP EtcdClusterHealthy Unknown",
        "Waiting for Cluster control plane to be initialized",
    ),
    row(
        "MD MachinesReady False",
        "* Machines w-1, w-2:\n"
        "  * BootstrapConfigReady:\n"
        "    * DataSecretAvailable: Waiting for Cluster control plane to be "
        "initialized\n"
        "  * InfrastructureReady: OpenStackMachine "
        "status.initialization.provisioned is false\n"
        "* Machine w-3:\n"
        "  * Deleting: Machine deletion in progress, stage: DrainingNode",
    ),
    row(
        "MD MachinesReady False",
        "* Machine w-1:\n"
        "  * Deleting: Machine deletion in progress, stage: "
        "WaitingForInfrastructureDeletion\n"
        "  * HealthCheckSucceeded:\n"
        "    * Health check failed:\n"
        "      * Node w-1 has been deleted",
    ),
    row(
        "MD MachinesReady Unknown",
        "* Machine w-1:\n  * InfrastructureReady: WaitingForBootstrapData",
    ),
    row(
        "KCP MachinesReady Unknown",
        "* Machine failover-1:\n"
        "  * Control plane components: Waiting for Cluster control plane to "
        "be initialized\n"
        "  * CertificatesAvailable: Condition not yet reported\n"
        "* Machine failover-2: Condition Ready not yet reported\n"
        "* Machine failover-3: NodeHealthy: Waiting for a Node with "
        "spec.providerID openstack:///1 to exist",
    ),
    row("MD Remediating True", "* Machine w-1: Machine is deleting"),
    row(
        "MD old MachineSetReady False",
        "MachineSet version (v1.34.1) is not yet the same as the ControlPlane "
        "version (v1.34.2), waiting for version to be propagated to the "
        'MachineSet ("ControlPlaneVersionSkew" preflight check failed)',
    ),
    row("KCP RollingOut True", "Rolling out 1 not up-to-date replicas"),
    row(
        "MD old Available False",
        "Minimum availability requires 2 replicas, current 1 available",
    ),
    row(
        "MD old MachineSetReady False",
        "Scaling up MachineSet to 3 replicas (actual 1)",
    ),
    row(
        "MD old MachineSetReady False",
        "KubeadmControlPlane ns/web is provisioning "
        '("ControlPlaneIsStable" preflight check failed)',
    ),
    row("MD old MachineSetReady False", "1 of 3 completed"),
    row(
        "KCP old Resized False",
        "Scaling up control plane to 3 replicas (actual 1)",
    ),
    row(
        "KCP old MachinesSpecUpToDate False",
        "Rolling 1 replicas with outdated spec (0 replicas up to date)",
    ),
    row(
        "KCP old EtcdClusterHealthy False",
        "Following Machines are reporting etcd member info: cp-1",
    ),
)
#: Of a group that is being deleted.
DELETIONS = (
    row(
        "KCP Deleting True",
        "KubeadmControlPlane deletion blocked because following objects "
        "still exist:\n* Machine w-1",
        "KubeadmControlPlane deletion blocked because following objects "
        "still exist: Machine w-1 (being deleted)",
    ),
    row(
        "MD Deleting True",
        f"Deleting 2 Machines\n* {LATE}",
        f"{LATE} (being deleted)",
    ),
    row("MD Deleting True", "Deleting 2 Machines", "being deleted"),
)


class ConditionsTest(Case):
    maxDiff = None

    def test_a_problem_comes_before_the_count(self) -> None:
        self.check(PROBLEMS, f"{{}} ({COUNT})")

    def test_a_change_comes_with_the_count(self) -> None:
        self.check(CHANGES, f"{COUNT}: {{}}")

    def test_progress_adds_nothing_to_the_count(self) -> None:
        self.check(PROGRESS, COUNT)

    def test_a_deletion_says_what_holds_it(self) -> None:
        self.check(DELETIONS, "{}", deleting=True)

    def test_every_condition_of_cluster_api_is_in_the_tables(self) -> None:
        rows = (*PROBLEMS, *CHANGES, *PROGRESS, *DELETIONS)
        self.assertEqual(
            DEFINED - MUTE, {(each.kind, each.type) for each in rows}
        )

    def test_conditions_of_an_older_spec_are_not_shown(self) -> None:
        row = PROBLEMS[0]
        made = self.group(row, shapes.V1BETA2)
        made["metadata"]["generation"] = 9
        seen = self.seen(made, shapes.V1BETA2)
        self.assertEqual(
            f"nodegroup default-worker: {COUNT}",
            shapes.verdict(seen, rows=shapes.rows(3)).reason,
        )


class OrderTest(Case):
    def test_a_machine_explains_more_than_its_group(self) -> None:
        ill = ("False", "NodeConditionsFailed", "Kubelet stopped posting")
        for shape in (shapes.BOTH, shapes.V1BETA2):
            ill_one = shapes.machine(shape, "w-1", new={"NodeHealthy": ill})
            seen = shapes.complete(
                shape,
                deployments=(self.group(PROBLEMS[0], shape),),
                machines=(ill_one,),
            )
            self.assertEqual(
                "nodegroup default-worker: machine w-1: Kubelet stopped "
                "posting [node]",
                shapes.verdict(seen, rows=shapes.rows(3)).reason,
            )

    def test_a_server_without_a_node_explains_its_group(self) -> None:
        # KubeadmControlPlane reaches etcd through the nodes alone.
        mute = ("Unknown", "InspectionFailed", "Failed to get etcd members")
        shape = shapes.V1BETA2
        plane = shapes.control_plane(
            shape, 1, ready=0, new={"Available": mute}
        )
        for node, reason in (
            (True, "Failed to get etcd members (0 of 1 machines ready)"),
            (False, "machine cp-1: its server has run for 5 minutes, and "),
        ):
            made = shapes.machine(shape, "cp-1", group=None, node=node)
            for each in made["status"]["conditions"]:
                each["lastTransitionTime"] = "2026-11-21T12:00:00Z"
            seen = shapes.complete(
                shape, control_plane=plane, machines=(made,)
            )
            told = shapes.verdict(seen).reason
            self.assertTrue(
                told.startswith(f"nodegroup default-master: {reason}"), told
            )

    def test_a_problem_comes_before_the_count_of_another_group(self) -> None:
        for shape in (shapes.BOTH, shapes.V1BETA2):
            seen = shapes.complete(
                shape,
                control_plane=self.group(PROGRESS[1], shape),
                deployments=(self.group(PROBLEMS[0], shape),),
            )
            self.assertEqual(
                f"nodegroup default-worker: {BLOCKED} ({COUNT})",
                shapes.verdict(seen, rows=shapes.rows(3)).reason,
            )


class ReplicasTest(base.BaseTestCase):
    def test_each_generation_has_the_same_counters(self) -> None:
        for shape in shapes.GENERATIONS:
            workers = shapes.workers(
                shape, 5, existing=4, up_to_date=3, ready=2
            )
            self.assertEqual(
                nodegroup.Replicas(5, 4, 3, 2), nodegroup.replicas(workers)
            )

    def test_an_absent_counter_is_zero(self) -> None:
        silent = {"spec": {"replicas": 2}, "status": {"replicas": 2}}
        self.assertEqual(
            nodegroup.Replicas(2, 2, 0, 0), nodegroup.replicas(silent)
        )
