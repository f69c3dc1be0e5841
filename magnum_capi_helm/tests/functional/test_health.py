# SPDX-License-Identifier: Apache-2.0

"""Health and facts of a cluster, as its user reads them."""

from __future__ import annotations

import base64
import contextlib
import json
import pathlib
from typing import Any

from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.tests.functional import base
from magnum_capi_helm.tests.functional import programs


class HealthTest(base.LabCase):
    """A node that fails, a cluster that is paused."""

    def test_a_node_is_ill_and_heals_and_the_cluster_is_paused(self) -> None:
        # Nothing replaces the node behind the test's back.
        cluster = self.cluster(
            self.template(), labels={"auto_healing_enabled": "false"}
        )
        done = self.until_status(cluster, ("CREATE_COMPLETE", "CREATE_FAILED"))
        self.assertEqual("CREATE_COMPLETE", done["status"], str(done))
        release = done["stack_id"]
        machines = self.plane.list(
            kinds.MACHINE,
            self.namespace,
            f"cluster.x-k8s.io/cluster-name={release}",
        )
        nodes = {each["status"]["nodeRef"]["name"] for each in machines}
        ready = {"api": "ok", **{f"{name}.Ready": "True" for name in nodes}}
        well = self.until_health(cluster, "HEALTHY", ready)
        self._facts(cluster, well, machines)

        self._take_kubeconfig(release)
        worker = next(name for name in nodes if "worker" in name)
        kept = self._kubectl("get", "node", worker, "-o", "json")
        # The lab's API server answers a deletion with nothing at all.
        with contextlib.suppress(AssertionError):
            self._kubectl("delete", "node", worker)
        ill = self.until_health(cluster, "UNHEALTHY")
        self.assertEqual(
            "False", ill["health_status_reason"][f"{worker}.Ready"]
        )
        self.assertEqual("CREATE_COMPLETE", ill["status"])
        node = json.loads(kept)
        for field in ("uid", "resourceVersion"):
            node["metadata"].pop(field, None)
        # Nor does it have an OpenAPI document to validate by.
        create = ("create", "--validate=false", "-f", "-")
        self._kubectl(*create, given=json.dumps(node))
        self._paused(cluster, release)

    def _facts(
        self, cluster: str, shown: dict[str, Any], machines: list[Any]
    ) -> None:
        """Addresses and versions are those of the machines."""
        versions = {each["spec"]["version"] for each in machines}
        self.assertEqual(versions, {shown["coe_version"]})
        self.assertEqual("lab://1", shown["container_version"])
        addresses = {
            address["address"]
            for each in machines
            for address in each["status"]["addresses"]
            if address["type"] == "InternalIP"
        }
        groups = self.magnum.nodegroups(cluster)
        listed = [
            address
            for each in groups.values()
            for address in each["node_addresses"]
        ]
        self.assertEqual(sorted(addresses), sorted(listed))
        self.assertEqual(
            listed,
            shown["master_addresses"] + shown["node_addresses"],
        )

    def _paused(self, cluster: str, release: str) -> None:
        """The health says so, and the reason of what would change."""
        self._pause(release, True)
        paused = self.until_health(cluster, "UNKNOWN")
        self.assertEqual("paused", paused["health_status_reason"]["cluster"])
        path = f"/clusters/{cluster}/actions/resize"
        self.magnum.call("POST", path, {"node_count": 2})
        self.until(
            lambda: (
                "the operator has paused the cluster: nothing is changed"
                in str((self.magnum.find(cluster) or {})["status_reason"])
            ),
            60,
        )
        self._pause(release, False)
        self.until_status(cluster, ("UPDATE_COMPLETE",))
        self.until_health(cluster, "HEALTHY")

    def _take_kubeconfig(self, release: str) -> None:
        secret: Any = self.plane.get(
            kinds.SECRET, self.namespace, f"{release}-kubeconfig"
        )
        text = base64.b64decode(secret["data"]["value"]).decode()
        [path] = self.create_tempfiles([("kubeconfig", text)])
        self.config = pathlib.Path(path)

    def _pause(self, release: str, paused: bool) -> None:
        self.plane.patch(
            kinds.CLUSTER,
            self.namespace,
            release,
            {"spec": {"paused": paused}},
        )

    def _kubectl(self, *words: str, given: str = "") -> str:
        return programs.kubectl(self.config, *words, given=given)
