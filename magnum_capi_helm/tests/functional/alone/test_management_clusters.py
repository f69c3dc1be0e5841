# SPDX-License-Identifier: Apache-2.0

"""Two management clusters, of which one goes away and comes back.

It serves v1beta2 of Cluster API alone, as Cluster API 1.16 will.
"""

from __future__ import annotations

import json
from typing import Any

from magnum_capi_helm.kubernetes import client
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.tests.functional import base
from magnum_capi_helm.tests.functional import planted
from magnum_capi_helm.tests.functional import programs

_GROUPS = tuple(
    each.group
    for each in (kinds.CLUSTER, kinds.CONTROL_PLANE, kinds.CONFIG_TEMPLATE)
)
_SILENT = "the management cluster b does not answer"


class ManagementClustersTest(base.LabCase):
    """a is for clusters in zone az1, b for those in az2."""

    def setUp(self) -> None:
        super().setUp()
        self.other = self.second_management()
        self._serve("v1beta1", False)
        self.addCleanup(self._serve, "v1beta1", True)
        kubeconfigs = {"a": "driver-kubeconfig", "b": "driver-kubeconfig-b"}
        self.configure_sections(
            {
                "capi_helm": {
                    "management_clusters": "a,b",
                    # A helm whose server stops leaves a revision behind that
                    # is waited for, for as long as helm may take.
                    "helm_timeout": "30",
                },
                **{
                    f"capi_helm_management_{name}": {
                        "kubeconfig_file": str(
                            programs.LAB / kubeconfigs[name]
                        ),
                        "availability_zones": zone,
                    }
                    for name, zone in (("a", "az1"), ("b", "az2"))
                },
            }
        )

    def _serve(self, version: str, served: bool) -> None:
        """Whether b serves a version of Cluster API's kinds."""
        text = planted.kubectl("get", "crd", "--output=json")
        for crd in json.loads(text)["items"]:
            if crd["spec"]["group"] not in _GROUPS:
                continue
            for index, each in enumerate(crd["spec"]["versions"]):
                if each["name"] != version:
                    continue
                path = f"/spec/versions/{index}/served"
                patch = [{"op": "replace", "path": path, "value": served}]
                name = f"crd/{crd['metadata']['name']}"
                words = ("--type=json", f"--patch={json.dumps(patch)}")
                planted.kubectl("patch", name, *words)

    def in_zone(self, template: str, zone: str) -> str:
        """A new cluster whose machines are in a zone."""
        labels = {"availability_zone": zone}
        return self.cluster(template, labels=labels)

    def found(self, cluster: str) -> dict[str, Any]:
        return self.magnum.find(cluster) or {}

    def health(self, cluster: str) -> str:
        return str(self.found(cluster)["health_status"])

    def has(self, plane: client.Client, cluster: str) -> bool:
        """Whether a management cluster has a cluster's Cluster."""
        release = str(self.found(cluster)["stack_id"])
        return plane.get(kinds.CLUSTER, self.namespace, release) is not None

    def test_one_of_them_stops(self) -> None:
        template = self.template()
        here = self.in_zone(template, "az1")
        there = self.in_zone(template, "az2")
        for each in (here, there):
            done = self.until_status(each, ("CREATE_COMPLETE",))
            self.assertIsNone(done["status_reason"])
        self.assertEqual(
            [True, False, False, True],
            [
                self.has(plane, each)
                for each in (here, there)
                for plane in (self.plane, self.other)
            ],
        )
        self._nowhere(template)
        self.assertEqual("", self._not_ok())

        begun = self.in_zone(template, "az2")
        self.until(lambda: self.found(begun)["stack_id"], 60)
        programs.lab("stop", "kube-apiserver-b")
        self._the_others_work(template, here)
        self._its_own_wait(template, there, begun)

        programs.lab("start", "kube-apiserver-b")
        done = self.until_status(begun, ("CREATE_COMPLETE",))
        self.assertIsNone(done["status_reason"])
        self.until(lambda: self.health(there) == "HEALTHY", 180)
        self.resize(there, 2)
        self.assertEqual(
            [False, False],
            [self.has(self.plane, each) for each in (there, begun)],
        )

    def _nowhere(self, template: str) -> None:
        """A cluster that neither takes is refused, with the reasons."""
        refused = self.in_zone(template, "nova")
        failed = self.until_status(refused, ("CREATE_FAILED",), 60)
        self.assertIn(
            "in the availability zone nova: a takes those whose label "
            "availability_zone is az1; b takes those whose label "
            "availability_zone is az2",
            failed["status_reason"],
        )

    def _the_others_work(self, template: str, here: str) -> None:
        """Creating, resizing and polling on a, while b is away."""
        new = self.in_zone(template, "az1")
        self.resize(here, 2)
        self.until_status(new, ("CREATE_COMPLETE",))
        self.until(lambda: self.health(new) == "HEALTHY", 120)
        self.delete(new)

    def _its_own_wait(self, template: str, there: str, begun: str) -> None:
        """Those of b keep what they had, and say why."""
        self.until(lambda: self.health(there) == "UNKNOWN", 120)
        found = self.found(there)
        self.assertEqual("CREATE_COMPLETE", found["status"])
        self.assertIn(_SILENT, str(found["health_status_reason"]))
        waiting = self.until(
            lambda: _SILENT in str(self.found(begun)["status_reason"]), 60
        )
        self.assertTrue(waiting)
        self.assertEqual("CREATE_IN_PROGRESS", self.found(begun)["status"])
        refused = self.in_zone(template, "az2")
        failed = self.until_status(refused, ("CREATE_FAILED",), 60)
        self.assertIn(_SILENT, failed["status_reason"])
        self.assertIn("b management cluster failed", self._not_ok())

    def _not_ok(self) -> str:
        """What fails, says ``check``, line by line."""
        try:
            text = programs.command("check", "-f", "json")
        except AssertionError as error:
            text = str(error)
        found, _ = json.JSONDecoder().raw_decode(text[text.index("[") :])
        return "\n".join(
            " ".join((row["Management cluster"], row["Check"], row["State"]))
            for row in found
            if row["State"] == "failed"
        )
