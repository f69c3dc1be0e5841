# SPDX-License-Identifier: Apache-2.0

"""Nodegroups on real nodes: labels, taints and roles, which pods follow.

And a group whose kubelets do not start.
"""

from __future__ import annotations

from typing import Any

from magnum_capi_helm.status import view
from magnum_capi_helm.tests.functional import programs
from magnum_capi_helm.tests.functional.nodes import base

_GROUP = "gpu"
#: A gate that no kubelet has: it ends at once.
_UNKNOWN = "NoSuchGate"
_TAINT = {"key": "example.org/gpu", "value": "true", "effect": "NoSchedule"}
#: A pod that asks for the role, with and without a toleration.
_POD = """\
apiVersion: v1
kind: Pod
metadata: {{name: {name}}}
spec:
  nodeSelector: {{magnum.openstack.org/role: gpu}}
  tolerations: {tolerations}
  containers:
    - {{name: pause, image: "lab/agnhost:v1", args: [pause]}}
"""


class NodegroupsTest(base.NodesCase):
    """One cluster for all: making one takes most of the time."""

    def test_labels_taints_and_role_of_a_group(self) -> None:
        self.make(node_count=1, labels={"node_labels": "example.org/tier=a"})
        self.the_cluster_label_is_on_workers_alone()
        self.a_group_has_its_own()
        self.pods_follow_them()
        self.other_labels_replace_the_group_alone()
        self.the_console_of_a_server_that_is_no_node_is_named()

    def the_cluster_label_is_on_workers_alone(self) -> None:
        roles = {}
        for node in self.nodes().values():
            labels = view.labels_of(node)
            role = labels["magnum.openstack.org/role"]
            roles[role] = labels.get("example.org/tier")
        self.assertEqual({"master": None, "worker": "a"}, roles)

    def a_group_has_its_own(self) -> None:
        self.coe(
            *("create", "--role", "gpu", "--flavor", "m1.worker"),
            *("--node-labels", "example.org/model=x1"),
            *("--node-taints", "example.org/gpu=true:NoSchedule"),
            *(self.uuid, _GROUP),
        )
        self.complete()
        [node] = self.nodes_of_group()
        labels = view.labels_of(node)
        self.assertEqual(
            ("gpu", _GROUP, "x1"),
            (
                labels["magnum.openstack.org/role"],
                labels["magnum.openstack.org/nodegroup"],
                labels["example.org/model"],
            ),
        )
        self.assertEqual([_TAINT], taints(node))
        self.record(
            f"node {view.name_of(node)}: role gpu, label, taint {_TAINT}"
        )

    def pods_follow_them(self) -> None:
        tolerated = "[{key: example.org/gpu, operator: Exists}]"
        for name, tolerations in (("tolerates", tolerated), ("other", "[]")):
            self.apply(_POD.format(name=name, tolerations=tolerations))
        self.kubectl(
            *("wait", "--for=condition=Ready", "pod/tolerates"),
            "--timeout=90s",
        )
        [node] = self.nodes_of_group()
        pod = self.get("pod", "tolerates")
        self.assertEqual(view.name_of(node), view.spec_of(pod)["nodeName"])
        other = view.status_of(self.get("pod", "other"))
        self.assertEqual("Pending", other["phase"])
        [message] = [
            each["message"]
            for each in other["conditions"]
            if each["type"] == "PodScheduled"
        ]
        self.assertIn("untolerated taint", message)
        self.record(f"the pod without toleration: {message}")

    def other_labels_replace_the_group_alone(self) -> None:
        before = self.nodes()
        [old] = self.nodes_of_group()
        self.coe(
            *("update", "--node-labels", "example.org/model=x2"),
            *(self.uuid, _GROUP),
        )
        self.complete()
        [new] = self.nodes_of_group()
        self.assertEqual("x2", view.labels_of(new)["example.org/model"])
        self.assertEqual([_TAINT], taints(new))
        self.assertEqual(
            {view.name_of(old)}, before.keys() - self.nodes().keys()
        )

    def the_console_of_a_server_that_is_no_node_is_named(self) -> None:
        self.coe(
            *("create", "--flavor", "m1.worker", "--merge-labels"),
            *("--labels", f"kubelet_options=feature-gates={_UNKNOWN}=true"),
            *(self.uuid, "odd"),
        )
        shown = self.until_reason("openstack console log show", 500)
        self.record(shown)
        [machine] = self.machines("-odd-").values()
        self.assertIn(
            f"nodegroup odd: machine {view.name_of(machine)}: ", shown
        )
        self.assertIn(f"log show {view.name_of(machine)}`", shown)
        answer = self.nova.post(
            f"/servers/{self.server(machine)}/action",
            json={"os-getConsoleOutput": {}},
        )
        self.assertIn("kubelet is not healthy", answer.json()["output"])

    # Helpers

    def coe(self, *words: str) -> str:
        """``openstack coe nodegroup`` as the lab's user."""
        return programs.openstack("coe", "nodegroup", *words)

    def nodes_of_group(self) -> list[Any]:
        """Return the nodes of the group, by Magnum's label."""
        label = f"magnum.openstack.org/nodegroup={_GROUP}"
        found: list[Any] = self.get("nodes", f"--selector={label}")
        return found


def taints(node: view.Object) -> list[dict[str, str]]:
    """Return the taints that are not Kubernetes' own."""
    return [
        {key: text for key, text in each.items() if key != "timeAdded"}
        for each in view.spec_of(node).get("taints") or ()
        if "kubernetes.io" not in each["key"]
    ]
