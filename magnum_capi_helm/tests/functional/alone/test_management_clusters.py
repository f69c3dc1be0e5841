# SPDX-License-Identifier: Apache-2.0

"""Two management clusters, of which one goes away and comes back.

It serves v1beta2 of Cluster API alone, as Cluster API 1.16 will.
"""

from __future__ import annotations

import json
import pathlib
import re
from typing import Any

from magnum_capi_helm.kubernetes import client
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import responses
from magnum_capi_helm.tests.functional import base
from magnum_capi_helm.tests.functional import programs

_GROUPS = tuple(
    each.group
    for each in (kinds.CLUSTER, kinds.CONTROL_PLANE, kinds.CONFIG_TEMPLATE)
)
_ADMIN = programs.LAB / "kubeconfig-b"
_SILENT = "the management cluster b does not answer"


class ManagementClustersTest(base.LabCase):
    """Templates name the management cluster, a or b."""

    def setUp(self) -> None:
        super().setUp()
        programs.lab("up", "--management", "b")
        self.addCleanup(programs.lab, "down", "--management", "b")
        self.other = base.management(_ADMIN)
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
                        "kubeconfig_file": str(programs.LAB / kubeconfig)
                    }
                    for name, kubeconfig in kubeconfigs.items()
                },
            }
        )

    def _serve(self, version: str, served: bool) -> None:
        """Whether b serves a version of Cluster API's kinds."""
        text = programs.kubectl(_ADMIN, "get", "crd", "--output=json")
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
                programs.kubectl(_ADMIN, "patch", name, *words)

    def template_of(self, name: str) -> str:
        """A new template that names a management cluster."""
        return self.template(labels={"capi_management_cluster": name})

    def found(self, cluster: str) -> dict[str, Any]:
        return self.magnum.find(cluster) or {}

    def health(self, cluster: str) -> str:
        return str(self.found(cluster)["health_status"])

    def has(self, plane: client.Client, cluster: str) -> bool:
        """Whether a management cluster has a cluster's Cluster."""
        release = str(self.found(cluster)["stack_id"])
        return plane.get(kinds.CLUSTER, self.namespace, release) is not None

    def test_one_of_them_stops(self) -> None:
        on_a, on_b = self.template_of("a"), self.template_of("b")
        here, there = self.cluster(on_a), self.cluster(on_b)
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
        self._nowhere()
        self._untrusted()
        self.assertEqual("", self._not_ok())

        begun = self.cluster(on_b)
        self.until(lambda: self.found(begun)["stack_id"], 60)
        logged = len(base.magnum_log())
        programs.lab("stop", "kube-apiserver-b")
        self._the_others_work(on_a, here)
        self._its_own_wait(on_b, there, begun)
        self.assertNotIn("Traceback", base.magnum_log()[logged:])

        programs.lab("start", "kube-apiserver-b")
        done = self.until_status(begun, ("CREATE_COMPLETE",))
        self.assertIsNone(done["status_reason"])
        self.until(lambda: self.health(there) == "HEALTHY", 180)
        self.resize(there, 2)
        self.assertEqual(
            [False, False],
            [self.has(self.plane, each) for each in (there, begun)],
        )

    def _nowhere(self) -> None:
        """A cluster whose template names neither is refused."""
        refused = self.cluster(self.template_of("c"))
        failed = self.until_status(refused, ("CREATE_FAILED",), 60)
        self.assertIn(
            "label capi_management_cluster: give a or b. It is 'c'",
            failed["status_reason"],
        )

    def _untrusted(self) -> None:
        """The address of b is nothing without its authority."""
        a, b = (
            (programs.LAB / each).read_text()
            for each in ("kubeconfig", "kubeconfig-b")
        )
        [ours], [theirs] = (re.findall(r"server: (\S+)", x) for x in (a, b))
        [path] = self.create_tempfiles([("mixed", a.replace(ours, theirs))])
        plane = base.management(pathlib.Path(path))
        error = self.assertRaises(
            responses.UntrustedError, plane.get, kinds.NAMESPACE, "", "default"
        )
        self.assertIn("is not trusted, and nothing was sent", str(error))

    def _the_others_work(self, template: str, here: str) -> None:
        """Creating, resizing and polling on a, while b is away."""
        new = self.cluster(template)
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
        refused = self.cluster(template)
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
