# SPDX-License-Identifier: Apache-2.0

"""``check``: the versions that run, beside those that were tested."""

from __future__ import annotations

import pathlib
from typing import Any

from oslotest import base

from magnum_capi_helm.cli import check
from magnum_capi_helm.config import conf
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import responses
from magnum_capi_helm.tests.fakes import plane
from magnum_capi_helm.tests.unit import deployments
from magnum_capi_helm.tests.unit.cli import command_case
from magnum_capi_helm.tests.unit.lifecycle import base as flows


class CheckVersionsTest(base.BaseTestCase):
    def setUp(self) -> None:
        super().setUp()
        flows.configure(self)
        command_case.with_magnum(self)
        store = pathlib.Path(conf.CONF.capi_helm.chart_store)
        self.plane = plane.Plane(str(store))
        flows.install(self, self.plane.runtime())

    def deploy(self, objects: list[dict[str, Any]]) -> None:
        """These are on the management cluster."""
        server = self.plane.server
        for each in objects:
            namespace = {"metadata": {"name": each["metadata"]["namespace"]}}
            server.apply(kinds.NAMESPACE, namespace)
            server.apply(kinds.DEPLOYMENT, each)

    def check(self) -> tuple[int, dict[str, tuple[str, str]]]:
        """Exit code; state and detail of each line about a version."""
        code, lines = command_case.run_json(check.Check)
        return code, {
            row["Check"]: (row["State"], row["Detail"])
            for row in lines
            if "version" in row["Check"]
        }

    def test_what_was_tested_is_well(self) -> None:
        self.deploy(deployments.tested())
        code, found = self.check()
        self.assertEqual(0, code)
        self.assertEqual(
            {
                "Cluster API version": "ok",
                "kubeadm bootstrap version": "ok",
                "kubeadm control plane version": "ok",
                "CAPO version": "ok",
                "ORC version": "ok",
                "addon provider version": "ok",
                "janitor version": "ok",
                "cert-manager version": "ok",
                "helm version": "ok",
            },
            {name: state for name, (state, _) in found.items()},
        )

    def test_what_was_not_tested_is_said_and_fails_nothing(self) -> None:
        conf.CONF.set_override(
            "default_helm_chart_version", "0.26.1", "capi_helm"
        )
        self.deploy(deployments.tested())
        code, found = self.check()
        self.assertEqual(0, code)
        self.assertEqual(
            (
                "untested",
                "found 0.14.0, which is newer; chart 0.26.1 was tested with "
                "0.11.0",
            ),
            found["janitor version"],
        )

    def test_a_controller_that_does_not_run_fails(self) -> None:
        objects = deployments.tested()
        del objects[3]["status"]["readyReplicas"]
        self.deploy(objects)
        code, found = self.check()
        self.assertEqual(1, code)
        self.assertEqual("failed", found["CAPO version"][0])

    def test_deployments_of_clusters_are_not_asked_for(self) -> None:
        objects = deployments.tested()
        autoscaler = objects[0]
        autoscaler["metadata"]["labels"]["capi.stackhpc.com/cluster"] = "c"
        self.deploy(objects)
        self.assertEqual("unknown", self.check()[1]["Cluster API version"][0])
        lists = [
            each
            for each in self.plane.management.requests
            if (each.verb, each.kind) == ("list", "Deployment")
        ]
        # One for their replicas, one for their versions.
        self.assertEqual(2, len(lists))

    def test_a_user_that_may_not_look_is_told_so(self) -> None:
        self.plane.management.fail(
            responses.ForbiddenError(
                "the management cluster refused list deployments: "
                "deployments.apps is forbidden (403)"
            ),
            verbs=("list",),
            kind=kinds.DEPLOYMENT,
        )
        code, found = self.check()
        self.assertEqual(0, code)
        self.assertEqual(
            {
                "versions": (
                    "unknown",
                    "the management cluster refused list deployments: "
                    "deployments.apps is forbidden (403)",
                ),
                "helm version": (
                    "ok",
                    "found 3.20.2, which is newer; chart 0.27.0 was tested "
                    "with 3.17.3",
                ),
            },
            found,
        )

    def test_nothing_is_compared_with_a_chart_that_nobody_knows(self) -> None:
        conf.CONF.set_override(
            "default_helm_chart_version", "0.99.0", "capi_helm"
        )
        self.deploy(deployments.tested())
        self.assertEqual(
            {
                "versions": (
                    "unknown",
                    "the versions that chart 0.99.0 was tested with are not "
                    "known",
                )
            },
            self.check()[1],
        )

    def test_access_rules_need_a_capo_without_cache(self) -> None:
        rules = "[{service: compute, method: GET, path: /v2.1/**}]"
        [path] = self.create_tempfiles([("rules", rules)])
        conf.CONF.set_override("app_cred_access_rules", path, "capi_helm")
        for arguments, wanted in (
            (
                ["--leader-elect"],
                [
                    "no cluster can be made with [capi_helm] "
                    "app_cred_access_rules: add --scope-cache-max-size=0 to "
                    "the arguments of Deployment capo-controller-manager"
                ],
            ),
            (["--leader-elect", "--scope-cache-max-size=0"], []),
        ):
            objects = deployments.tested()
            pods = objects[3]["spec"]["template"]["spec"]
            pods["containers"][0]["args"] = arguments
            self.deploy(objects)
            code, lines = command_case.run_json(check.Check)
            found = [
                each["Detail"]
                for each in lines
                if each["Check"] == "CAPO arguments"
            ]
            self.assertEqual((bool(wanted), wanted), (bool(code), found))
