# SPDX-License-Identifier: Apache-2.0

"""What is seen of one cluster while the driver under it is swapped."""

from __future__ import annotations

import json
import os
import subprocess
from typing import Any

from magnum_capi_helm.kubernetes import client
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.tests.functional import base
from magnum_capi_helm.tests.functional import programs


class SwapCase(base.LabCase):
    """One cluster, and what was there of it before the swap."""

    uuid: str
    release: str
    old_machines: set[str]
    old_made_from: dict[str, Any]
    old_values: dict[str, Any]
    old_secrets: dict[str, Any]

    def add(self, name: str) -> None:
        """A nodegroup; its row comes a moment later."""
        body = {"name": name, "flavor_id": "m1.worker", "node_count": 1}
        path = f"/clusters/{self.uuid}/nodegroups"
        self.magnum.call("POST", path, body)
        self.until(lambda: name in self.magnum.nodegroups(self.uuid), 30)

    def until_updated(self) -> None:
        done = self.until_status(
            self.uuid, ("UPDATE_COMPLETE", "UPDATE_FAILED")
        )
        self.assertEqual("UPDATE_COMPLETE", done["status"], str(done))

    def diff(self) -> Any:
        return json.loads(programs.command("diff", self.uuid, "-f", "json"))

    def owned(self, kind: kinds.Kind) -> list[client.Object]:
        selector = f"cluster.x-k8s.io/cluster-name={self.release}"
        return self.plane.list(kind, self.namespace, selector)

    def machines(self) -> set[str]:
        """UIDs of the machines: a new one has another."""
        return {each["metadata"]["uid"] for each in self.owned(kinds.MACHINE)}

    def made_from(self) -> dict[str, Any]:
        """What machines are made from, the names of templates included."""
        found = {
            each["metadata"]["name"]: each["spec"]["template"]["spec"]
            for each in self.owned(kinds.MACHINE_DEPLOYMENT)
        }
        for each in self.owned(kinds.CONTROL_PLANE):
            found[each["metadata"]["name"]] = {
                key: each["spec"][key]
                for key in ("kubeadmConfigSpec", "machineTemplate", "version")
            }
        return found

    def assert_same_machines(self, *, one_more: bool, groups: int = 0) -> None:
        """All are there that were, made from what they were made from."""
        machines, made_from = self.machines(), self.made_from()
        self.assertLess(self.old_machines, machines)
        self.assertEqual(
            len(self.old_machines) + one_more + groups, len(machines)
        )
        self.assertEqual(
            self.old_made_from,
            {name: made_from[name] for name in self.old_made_from},
        )
        self.assertEqual(len(self.old_made_from) + groups, len(made_from))

    def secrets(self) -> dict[str, Any]:
        """What 1.4.0's Secrets hold."""
        found = {}
        for component in ("cloud-credentials", "ca", "etcd", "proxy", "sa"):
            name = f"{self.release}-{component}"
            secret = self.plane.get(kinds.SECRET, self.namespace, name)
            assert secret is not None, name
            found[component] = secret["data"]
        return found

    def assert_release_has_one_more_machine(self, group: str) -> None:
        """And nothing else is new in it, not even the chart."""
        self.assertEqual("openstack-cluster-0.27.0", self.listed()["chart"])
        values = self.values()
        stamp = values.pop("clusterAnnotations")
        self.assertEqual(["magnum.openstack.org/intent"], list(stamp))
        (grown,) = (
            each for each in values["nodeGroups"] if each["name"] == group
        )
        grown["machineCount"] -= 1
        self.assertEqual(self.old_values, values)

    def values(self) -> dict[str, Any]:
        """The values that the release was installed with."""
        words = ("get", "values", self.release, "--output", "json")
        return dict(json.loads(self.helm(*words)))

    def listed(self) -> dict[str, str]:
        """The release in ``helm list``."""
        words = ("list", "--all", "--filter", self.release, "-o", "json")
        (found,) = json.loads(self.helm(*words))
        return dict(found)

    def revision(self) -> str:
        """The newest revision, once it is deployed."""
        found = self.listed()
        return found["revision"] if found["status"] == "deployed" else ""

    def helm(self, *words: str) -> str:
        """What the lab's helm prints."""
        return subprocess.run(
            [programs.LAB / "bin" / "helm", *words, "-n", self.namespace],
            env={**os.environ, "KUBECONFIG": str(programs.LAB / "kubeconfig")},
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        ).stdout
