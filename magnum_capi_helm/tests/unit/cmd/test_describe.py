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

"""``magnum-capi-helm describe``: the tree, and how it is watched."""

from __future__ import annotations

from collections.abc import Callable
import io
import json
from typing import Any

import yaml

from magnum_capi_helm import exceptions
from magnum_capi_helm import names
from magnum_capi_helm.cmd import describe
from magnum_capi_helm.cmd import main
from magnum_capi_helm.management import kinds
from magnum_capi_helm.tests.unit.flows import base

WORKERS = names.machine_deployment(base.RELEASE, "default-worker")
CREDENTIALS = names.credentials(base.RELEASE)
NO_HOST = (
    "No valid host was found: the cloud has no room for a server of this "
    "flavor there; choose another flavor or availability zone, or ask the "
    "operator"
)
#: With R in the place of the release.
WELL = """\
cluster web (CREATE_COMPLETE, HEALTHY): ready
├── helm release R (revision 1 deployed, chart 0.27.0): ready
├── Cluster R (https://203.0.113.10:6443): ready
│   ├── OpenStackCluster R: ready
│   ├── KubeadmControlPlane R-control-plane (nodegroup default-master, 1 of 1 \
ready): ready
│   │   └── Machine R-control-plane-m0 (192.168.3.10, server \
server-R-control-plane-m0): ready
│   │       └── Node R-control-plane-m0: ready
│   ├── MachineDeployment R-default-worker (nodegroup default-worker, 2 of 2 \
ready): ready
│   │   ├── Machine R-default-worker-m0 (192.168.3.11, server \
server-R-default-worker-m0): ready
│   │   │   └── Node R-default-worker-m0: ready
│   │   └── Machine R-default-worker-m1 (192.168.3.12, server \
server-R-default-worker-m1): ready
│   │       └── Node R-default-worker-m1: ready
│   └── addons (4 of 4 deployed): ready
│       ├── HelmRelease R-ccm-openstack: ready
│       ├── Manifests R-cloud-config: ready
│       ├── HelmRelease R-cni-calico: ready
│       └── HelmRelease R-csi-cinder: ready
├── Lease R (nobody holds it)
└── credential R-cloud-credentials: ready
"""


class Terminal(io.StringIO):
    """What is written to it is seen at once."""

    def isatty(self) -> bool:
        """As rich asks."""
        return True


class Watched(describe.Describe):
    """Something happens between two looks, in no time."""

    meanwhile: list[Callable[[], None]]

    def _pause(self, seconds: float) -> None:
        if not self.meanwhile:
            raise KeyboardInterrupt
        self.meanwhile.pop(0)()


class DescribeTestCase(base.FlowTestCase):
    """A cluster that is complete."""

    def setUp(self) -> None:
        super().setUp()
        self.complete()
        self.health_poll()
        self.out: io.StringIO = io.StringIO()
        self.err = io.StringIO()

    def describe(
        self, *argv: str, meanwhile: tuple[Callable[[], None], ...] = ()
    ) -> int:
        """Run the command; its exit code."""
        app = main.Application()
        app.stdout, app.stderr = self.out, self.err
        command = Watched(app, None)
        command.meanwhile = list(meanwhile)
        words = ["web", *argv]
        return command.run(command.get_parser("test").parse_args(words))

    def printed(self) -> str:
        """What came out, with R in the place of the release."""
        return self.out.getvalue().replace(base.RELEASE, "R")

    def lines(self, *argv: str) -> list[str]:
        """The lines that are not ready, without their branches."""
        self.describe(*argv)
        return [
            each.strip("│├└─ ")
            for each in self.printed().splitlines()
            if not each.endswith(": ready") and "Lease" not in each
        ]


class TreeTest(DescribeTestCase):
    def test_a_cluster_that_is_well(self) -> None:
        self.assertEqual(0, self.describe())
        self.assertEqual(WELL, self.printed())

    def test_the_reason_stands_at_the_machine_that_has_no_server(self) -> None:
        machine = self.capi.fail_machine("default-worker")
        machine = machine.replace(base.RELEASE, "R")
        why = f"machine {machine}: {NO_HOST}"
        self.assertEqual(
            [
                "cluster web (CREATE_COMPLETE, HEALTHY): not ready: "
                f"nodegroup default-worker: {why}",
                "Cluster R (https://203.0.113.10:6443): not ready",
                "MachineDeployment R-default-worker (nodegroup "
                "default-worker, 1 of 2 ready): not ready",
                f"Machine {machine} (server server-{machine}): not ready: "
                f"{NO_HOST}",
            ],
            self.lines(),
        )
        self.assertEqual(1, self.describe())

    def test_the_reason_stands_at_the_node_that_is_ill(self) -> None:
        machine = f"{WORKERS}-m0"
        live = self.server.get(kinds.MACHINE, base.NAMESPACE, machine)
        assert live is not None
        ill = [
            {"type": "Ready", "status": "False", "message": "node is ill"},
            {
                "type": "NodeReady",
                "status": "False",
                "reason": "NodeConditionsFailed",
                "message": "kubelet stopped posting node status",
            },
        ]
        self.server.set_status(
            kinds.MACHINE,
            base.NAMESPACE,
            machine,
            {**live["status"], "conditions": ill},
        )
        self.assertEqual(
            [
                "Machine R-default-worker-m0 (192.168.3.11, server "
                "server-R-default-worker-m0): not ready",
                "Node R-default-worker-m0: not ready: kubelet stopped "
                "posting node status",
            ],
            self.lines()[-2:],
        )

    def test_an_addon_that_failed(self) -> None:
        self.capi.fail_addon("ccm-openstack", "timed out")
        found = self.lines()
        self.assertEqual(
            [
                "addons (3 of 4 deployed): not ready",
                "HelmRelease R-ccm-openstack: not ready: Failed: timed out",
            ],
            found[-2:],
        )
        self.assertIn("addon ccm-openstack: Failed: timed out", found[0])

    def test_an_addon_is_shown_while_a_machine_is_not_ready(self) -> None:
        self.capi.fail_machine("default-worker")
        self.describe()
        self.assertIn("HelmRelease R-ccm-openstack: ready", self.printed())

    def test_helm_that_did_not_end(self) -> None:
        name = names.helm_record(base.RELEASE, 1)
        change = {"metadata": {"labels": {"status": "pending-upgrade"}}}
        self.server.patch(kinds.SECRET, base.NAMESPACE, name, change)
        self.assertEqual(
            [
                "cluster web (CREATE_COMPLETE, HEALTHY): not ready: helm: "
                "revision 1 is pending-upgrade",
                "helm release R (revision 1 pending-upgrade, chart 0.27.0): "
                "not ready: helm: revision 1 is pending-upgrade",
            ],
            self.lines(),
        )

    def test_a_cluster_that_the_operator_paused(self) -> None:
        self.server.patch(
            kinds.CLUSTER,
            base.NAMESPACE,
            base.RELEASE,
            {"spec": {"paused": True}},
        )
        self.assertEqual(
            [
                "Cluster R (https://203.0.113.10:6443): not ready: the "
                "operator has paused the cluster: nothing is changed"
            ],
            self.lines()[1:],
        )

    def test_a_credential_that_keystone_refuses(self) -> None:
        self.openstack.stillborn = True
        [line] = self.lines()[1:]
        self.assertTrue(
            line.startswith(
                "credential R-cloud-credentials: not ready: Keystone refuses"
            ),
            line,
        )
        self.assertEqual(1, self.describe())

    def test_who_holds_the_lease(self) -> None:
        with self.busy():
            self.assertEqual(0, self.describe())
        self.assertIn("Lease R (held by other)", self.printed())

    def test_a_nodegroup_that_was_never_made(self) -> None:
        self.server.delete(kinds.MACHINE_DEPLOYMENT, base.NAMESPACE, WORKERS)
        self.assertIn(
            "MachineDeployment R-default-worker (nodegroup default-worker): "
            "not ready: not created yet",
            self.lines(),
        )

    def test_a_cluster_of_which_nothing_was_made(self) -> None:
        row = self.row()
        row.stack_id, row.status = None, "CREATE_FAILED"
        row.status_reason = "flavor m1.medium is gone"
        row.save()
        self.assertEqual(1, self.describe())
        self.assertEqual(
            "cluster web (CREATE_FAILED, HEALTHY): not ready: flavor "
            "m1.medium is gone\n",
            self.printed(),
        )

    def test_what_failed_says_what_the_row_says(self) -> None:
        row = self.row()
        row.status, row.status_reason = "UPDATE_FAILED", "quota exceeded"
        row.save()
        self.assertIn(": not ready: quota exceeded", self.lines()[0])

    def test_nothing_that_a_terminal_would_obey(self) -> None:
        self.capi.fail_addon("ccm-openstack", "[red]\x1b[2Jgone[/red]")
        self.describe()
        self.assertIn("Failed: [red]?[2Jgone[/red]", self.printed())

    def test_programs_get_the_same_tree(self) -> None:
        self.describe("-f", "json")
        found = json.loads(self.out.getvalue())
        self.out.seek(0)
        self.out.truncate()
        self.describe("-f", "yaml")
        self.assertEqual(found, yaml.safe_load(self.out.getvalue()))
        self.assertEqual(
            ["helm release", "Cluster", "Lease", "credential"],
            [each["kind"] for each in found["children"]],
        )
        self.assertEqual(
            {
                "kind": "credential",
                "name": CREDENTIALS,
                "state": "ready",
                "note": "",
                "reason": "",
                "children": [],
            },
            found["children"][-1],
        )

    def test_nothing_is_written(self) -> None:
        before = self.management.requests[:]
        self.describe()
        verbs = {each.verb for each in self.management.requests[len(before) :]}
        self.assertEqual(set(), verbs & {"create", "replace", "patch"})


class WatchTest(DescribeTestCase):
    def nothing(self) -> None:
        """Time passes."""

    def fail_one(self) -> None:
        """A machine is lost."""
        self.capi.fail_machine("default-worker")

    def test_another_tree_only_when_something_changed(self) -> None:
        code = self.describe(
            "--watch", meanwhile=(self.nothing, self.fail_one, self.nothing)
        )
        self.assertEqual(2, self.printed().count("cluster web"))
        self.assertEqual(1, code)
        self.assertNotIn("\x1b", self.printed())

    def test_ctrl_c_ends_it_with_the_code_of_the_last_look(self) -> None:
        self.assertEqual(0, self.describe("--watch"))
        self.assertEqual(WELL, self.printed())

    def test_a_terminal_is_brought_up_to_date_in_place(self) -> None:
        self.out = Terminal()
        self.assertEqual(
            1, self.describe("--watch", meanwhile=(self.fail_one,))
        )
        self.assertIn("\x1b[", self.printed())
        self.assertIn("No valid host", self.printed())

    def test_a_look_that_fails_is_told_and_does_not_end_it(self) -> None:
        code = self.describe(
            "--watch",
            meanwhile=(self.management.unreachable, self.management.recover),
        )
        self.assertEqual(0, code)
        self.assertIn("cluster web: unknown: ", self.printed())
        self.assertEqual(3, self.printed().count("cluster web"))

    def test_a_look_that_fails_is_an_error_without_it(self) -> None:
        self.management.unreachable()
        self.assertRaises(exceptions.ManagementUnreachable, self.describe)

    def test_it_ends_when_the_cluster_is_gone(self) -> None:
        def go() -> None:
            for each in self.groups().values():
                each.destroy()
            self.row().destroy()

        self.assertEqual(0, self.describe("--watch", meanwhile=(go,)))
        self.assertEqual("web is gone\n", self.err.getvalue())

    def test_a_credential_that_works_is_tried_once(self) -> None:
        self.describe("--watch", meanwhile=(self.nothing, self.nothing))
        self.assertEqual(1, self.logins())

    def logins(self) -> int:
        """How often Keystone was asked for a token by a credential."""
        bodies: list[dict[str, Any]] = [
            each.json()
            for each in self.openstack.mocker.request_history
            if each.method == "POST" and "auth/tokens" in each.url
        ]
        return sum(
            "application_credential" in each["auth"]["identity"]["methods"]
            for each in bodies
        )
