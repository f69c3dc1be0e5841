# SPDX-License-Identifier: Apache-2.0

"""``check``: what is wrong with a management cluster, in one line each."""

from __future__ import annotations

import pathlib
from typing import Any

import fixtures
from magnum import objects
from oslotest import base

from magnum_capi_helm.cli import check
from magnum_capi_helm.config import conf
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import kubeconfig
from magnum_capi_helm.kubernetes import responses
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.fakes import plane
from magnum_capi_helm.tests.unit import deployments
from magnum_capi_helm.tests.unit.cli import command_case
from magnum_capi_helm.tests.unit.lifecycle import base as flows

_FORBIDDEN = "the management cluster refused GET Namespace kube-system (403)"


class PlaneChecksTest(base.BaseTestCase):
    def setUp(self) -> None:
        super().setUp()
        flows.configure(self)
        command_case.with_magnum(self)
        conf.CONF.set_override(
            "kubeconfig_file", "/etc/magnum/capi.kubeconfig", "capi_helm"
        )
        store = pathlib.Path(conf.CONF.capi_helm.chart_store)
        self.plane = plane.Plane(str(store))
        self.management = self.plane.management
        self.rt = self.plane.runtime()
        flows.install(self, self.rt)
        self.useFixture(
            fixtures.MockPatchObject(
                objects.ClusterTemplate, "list", return_value=[]
            )
        )

    def lines(self) -> dict[str, tuple[str, str]]:
        """State and detail by check."""
        return {
            each.name: (each.state, each.detail) for _, each in check.run([""])
        }

    def failed(self) -> dict[str, str]:
        """What failed, and what to do."""
        return {
            name: detail
            for name, (state, detail) in self.lines().items()
            if state == "failed"
        }

    def unasked(self) -> dict[str, str]:
        """What was not looked at, and why."""
        return {
            name: detail
            for name, (state, detail) in self.lines().items()
            if state == "unknown"
        }

    def test_a_silent_management_cluster_fails_one_check(self) -> None:
        self.management.unreachable()
        self.assertEqual(
            {
                "management cluster": "the management cluster does not "
                "answer (ConnectTimeout). It is https://fake"
            },
            self.failed(),
        )
        see = "not checked, because management cluster failed"
        self.assertEqual(
            {
                "clock": see,
                "maintenance": see,
                "permissions": see,
                "Cluster API": see,
                "components": see,
            },
            self.unasked(),
        )

    def test_an_untrusted_management_cluster_has_its_own_message(self) -> None:
        self.management.fail(responses.UntrustedError("not trusted: check it"))
        self.assertEqual(
            {"management cluster": "not trusted: check it"}, self.failed()
        )

    def test_a_wrong_kubeconfig_sends_no_request(self) -> None:
        self.management.kubeconfig = errors.NotConfigured("no kubeconfig")
        self.assertEqual({"kubeconfig": "no kubeconfig"}, self.failed())
        self.assertEqual(
            "not checked, because kubeconfig failed",
            self.unasked()["management cluster"],
        )
        self.assertEqual([], self.management.requests)

    def test_a_user_who_is_refused_needs_another_kubeconfig(self) -> None:
        self.management.fail(responses.UnauthorizedError("401"))
        self.assertEqual(
            {
                "management cluster": "it refuses the kubeconfig's user (401 "
                "Unauthorized), whose credential expired, was revoked or is "
                "of another cluster: make a new kubeconfig, and write it to "
                "/etc/magnum/capi.kubeconfig"
            },
            self.failed(),
        )

    def test_the_expiry_of_a_kubeconfig_is_shown(self) -> None:
        self.management.kubeconfig = (
            kubeconfig.Expiry("token", 4102444800.0),
        )
        self.assertEqual(
            (
                "ok",
                "/etc/magnum/capi.kubeconfig, token until 2100-01-01 00:00 "
                "UTC",
            ),
            self.lines()["kubeconfig"],
        )

    def test_a_forbidden_read_fails_its_own_checks_alone(self) -> None:
        self.management.fail(
            responses.ForbiddenError(_FORBIDDEN),
            verbs=("get",),
            kind=kinds.NAMESPACE,
        )
        self.assertEqual(
            {"management cluster": _FORBIDDEN, "maintenance": _FORBIDDEN},
            self.failed(),
        )

    def test_a_missing_kind_of_a_served_group_is_named(self) -> None:
        self.management.retired |= {"infrastructure.cluster.x-k8s.io/v1beta1"}
        self.management.removed = {kinds.MANIFESTS}
        self.assertEqual(
            "the management cluster serves no OpenStackCluster in v1beta2 or "
            "v1beta1, no OpenStackMachine in v1beta2 or v1beta1, no "
            "OpenStackMachineTemplate in v1beta2 or v1beta1 of "
            "infrastructure.cluster.x-k8s.io: install or upgrade "
            "its OpenStack provider (CAPO), with all of its CRDs; the "
            "management cluster serves no Manifests in v1alpha1 of "
            "addons.stackhpc.com: install or upgrade "
            "cluster-api-addon-provider, with all of its CRDs",
            self.failed()["Cluster API"],
        )

    def test_an_older_provider_may_do_without_servers(self) -> None:
        self.assertIn(
            "OpenStackServer v1alpha1", self.lines()["Cluster API"][1]
        )
        self.management.removed = {kinds.OPENSTACK_SERVER}
        self.assertEqual({}, self.failed())
        self.assertNotIn("OpenStackServer", self.lines()["Cluster API"][1])

    def test_many_permissions_that_lack_are_counted(self) -> None:
        self.management.refused = {
            f"{verb} {what}"
            for verb in ("get", "update", "create", "patch", "delete")
            for what in ("secrets", "leases.coordination.k8s.io")
        }
        lacking = self.failed()["permissions"]
        self.assertRegex(lacking, r"may not ([a-z]+ \S+,? ){8}and \d more: ")

    def test_a_policy_with_another_prefix_fails_the_check(self) -> None:
        conf.CONF.set_override("namespace_prefix", "east", "capi_helm")
        self.management.refused = {"list secrets"}
        for kind in ("RoleBinding", "Namespace"):
            self.management.fail(
                responses.ForbiddenError("denied"),
                verbs=("dry-run",),
                kind=kinds.Kind(kind, "", ("v1",)),
            )
        self.assertEqual(
            "a policy refuses create namespaces east-check: apply the output "
            "of 'magnum-capi-helm management-cluster permissions "
            "--namespace-prefix east [NAMESPACE ...]', with the prefixes of "
            "all clouds and the namespaces of all projects",
            self.failed()["permissions"],
        )

    def test_an_administrator_may_read_all_secrets(self) -> None:
        self.assertEqual(
            ("ok", "all that the driver needs, and Secrets of all namespaces"),
            self.lines()["permissions"],
        )

    def deploy(self, objects: list[dict[str, Any]]) -> None:
        """Write Deployments with their namespaces."""
        for each in objects:
            space = {"metadata": {"name": each["metadata"]["namespace"]}}
            self.plane.server.apply(kinds.NAMESPACE, space)
            self.plane.server.apply(kinds.DEPLOYMENT, each)

    def test_the_versions_of_components_are_shown(self) -> None:
        self.assertEqual(
            ("ok", "there are no Deployments of them"),
            self.lines()["components"],
        )
        self.deploy(deployments.tested())
        state, detail = self.lines()["components"]
        self.assertEqual("ok", state)
        self.assertIn("CAPO 0.14.6", detail.split(", "))
        self.assertEqual(8, len(detail.split(", ")))

    def test_a_component_without_a_ready_pod_fails(self) -> None:
        objects = deployments.tested()
        del objects[3]["status"]["readyReplicas"]
        self.deploy(objects)
        self.assertEqual(
            {
                "components": "no pod is ready of CAPO 0.14.6: see 'kubectl "
                "get deployments --all-namespaces' on the management cluster"
            },
            self.failed(),
        )

    def test_deployments_of_clusters_are_not_asked_for(self) -> None:
        autoscaler = deployments.tested()[0]
        autoscaler["metadata"]["labels"]["capi.stackhpc.com/cluster"] = "c"
        self.deploy([autoscaler])
        self.assertEqual(
            "there are no Deployments of them", self.lines()["components"][1]
        )

    def test_a_user_may_not_list_deployments(self) -> None:
        self.management.fail(
            responses.ForbiddenError("refused list deployments (403)"),
            verbs=("list",),
            kind=kinds.DEPLOYMENT,
        )
        self.assertEqual(
            {"components": "refused list deployments (403)"}, self.unasked()
        )

    def test_a_clock_that_is_off(self) -> None:
        self.management.clock_ahead = -300.0
        self.assertRegex(
            self.failed()["clock"],
            r"^this host is 5 min ahead of the management cluster, "
            r"more than 60 s: certificates that one of them signs are not "
            r"valid for the other; set the clocks of both by NTP$",
        )
        self.management.clock_ahead = 300.0
        self.assertRegex(self.failed()["clock"], r"^this host is 5 min behind")

    def test_a_clock_that_nobody_tells_is_no_fault(self) -> None:
        self.management.clock_ahead = None
        self.assertEqual(
            ("ok", "unknown: the management cluster sends no date"),
            self.lines()["clock"],
        )
