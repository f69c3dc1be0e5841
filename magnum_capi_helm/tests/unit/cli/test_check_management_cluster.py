# SPDX-License-Identifier: Apache-2.0

"""``check``: what is wrong with a management cluster, in one line each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from magnum_capi_helm.config import conf
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import kubeconfig
from magnum_capi_helm.kubernetes import responses
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.fakes import management
from magnum_capi_helm.tests.fakes import plane
from magnum_capi_helm.tests.unit import deployments
from magnum_capi_helm.tests.unit.cli import command_case
from magnum_capi_helm.tests.unit.lifecycle import base as flows

_FORBIDDEN = "the management cluster refused GET Namespace kube-system (403)"
_CLOCKS = (
    "the management cluster, more than 60 s: certificates that one of them "
    "signs are not valid for the other; set the clocks of both by NTP"
)
_SECRETS_AND_LEASES = {
    f"{verb} {what}"
    for verb in ("get", "update", "create", "patch", "delete")
    for what in ("secrets", "leases.coordination.k8s.io")
}


def _fail(error: Exception, **which: Any) -> Callable[[Any], None]:
    return lambda made: made.fail(error, **which)


def _set(**fields: Any) -> Callable[[Any], None]:
    return lambda made: made.__dict__.update(fields)


def _drop_kinds(made: management.FakeManagement) -> None:
    made.retired |= {"infrastructure.cluster.x-k8s.io/v1beta1"}
    made.removed = {kinds.MANIFESTS}


#: What is wrong with a management cluster -> the checks that fail.
_FAULTS: tuple[tuple[Callable[[Any], None], dict[str, str]], ...] = (
    (
        _fail(responses.UntrustedError("not trusted: check it")),
        {"management cluster": "not trusted: check it"},
    ),
    (
        _fail(responses.UnauthorizedError("401")),
        {
            "management cluster": "it refuses the kubeconfig's user (401 "
            "Unauthorized), whose credential expired, was revoked or is of "
            "another cluster: make a new kubeconfig, and write it to "
            "/etc/magnum/capi.kubeconfig"
        },
    ),
    (
        _fail(
            responses.ForbiddenError(_FORBIDDEN),
            verbs=("get",),
            kind=kinds.NAMESPACE,
        ),
        {"management cluster": _FORBIDDEN, "maintenance": _FORBIDDEN},
    ),
    (
        _drop_kinds,
        {
            "Cluster API": "the management cluster serves no OpenStackCluster "
            "in v1beta2 or v1beta1, no OpenStackMachine in v1beta2 or "
            "v1beta1, no OpenStackMachineTemplate in v1beta2 or v1beta1 of "
            "infrastructure.cluster.x-k8s.io: install or upgrade its "
            "OpenStack provider (CAPO), with all of its CRDs; the management "
            "cluster serves no Manifests in v1alpha1 of addons.stackhpc.com: "
            "install or upgrade cluster-api-addon-provider, with all of its "
            "CRDs"
        },
    ),
    (
        _set(
            refused={
                "delete secrets",
                "patch machinedeployments/scale.cluster.x-k8s.io",
            }
        ),
        {
            "permissions": "the kubeconfig's user may not delete secrets, "
            "patch machinedeployments/scale.cluster.x-k8s.io: apply the "
            "output of 'magnum-capi-helm management-cluster permissions "
            "--namespace-prefix magnum [NAMESPACE ...]', or grant these "
            "permissions"
        },
    ),
    (
        _set(clock_ahead=-300.0),
        {"clock": f"this host is 5 min ahead of {_CLOCKS}"},
    ),
    (
        _set(clock_ahead=300.0),
        {"clock": f"this host is 5 min behind {_CLOCKS}"},
    ),
)


class PlaneChecksTest(command_case.CommandCase):
    def setUp(self) -> None:
        super().setUp()
        conf.CONF.set_override(
            "kubeconfig_file", "/etc/magnum/capi.kubeconfig", "capi_helm"
        )
        self.management = self.plane.management

    def found(self, state: str) -> dict[str, str]:
        """Return the details of the lines in this state."""
        return {
            name: detail
            for name, (found, detail) in self.checked().items()
            if found == state
        }

    def test_a_fault_fails_its_own_checks_alone(self) -> None:
        for break_it, failed in _FAULTS:
            with self.subTest(str(failed)):
                made = plane.Plane(str(self.store))
                flows.install(self, made.runtime())
                break_it(made.management)
                self.assertEqual(failed, self.found("failed"))

    def test_a_silent_management_cluster_fails_one_check(self) -> None:
        self.management.unreachable()
        self.assertEqual(
            {
                "management cluster": "the management cluster does not "
                "answer (ConnectTimeout). It is https://fake"
            },
            self.found("failed"),
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
            self.found("unknown"),
        )

    def test_a_wrong_kubeconfig_sends_no_request(self) -> None:
        self.management.kubeconfig = errors.NotConfigured("no kubeconfig")
        self.assertEqual({"kubeconfig": "no kubeconfig"}, self.found("failed"))
        self.assertEqual(
            "not checked, because kubeconfig failed",
            self.found("unknown")["management cluster"],
        )
        self.assertEqual([], self.management.requests)

    def test_lines_of_a_good_management_cluster(self) -> None:
        self.management.kubeconfig = (
            kubeconfig.Expiry("token", 4102444800.0),
        )
        self.management.clock_ahead = None
        found = self.found("ok")
        for name, detail in (
            (
                "kubeconfig",
                "/etc/magnum/capi.kubeconfig, token until 2100-01-01 00:00 "
                "UTC",
            ),
            ("clock", "unknown: the management cluster sends no date"),
            (
                "permissions",
                "all that the driver needs, and Secrets of all namespaces",
            ),
            ("components", "there are no Deployments of them"),
        ):
            self.assertEqual(detail, found[name])
        self.assertIn("OpenStackServer v1alpha1", found["Cluster API"])

    def test_an_older_provider_may_do_without_servers(self) -> None:
        self.management.removed = {kinds.OPENSTACK_SERVER}
        self.assertEqual({}, self.found("failed"))
        self.assertNotIn("OpenStackServer", self.found("ok")["Cluster API"])

    def test_many_permissions_that_lack_are_counted(self) -> None:
        self.management.refused = _SECRETS_AND_LEASES
        lacking = self.found("failed")["permissions"]
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
            self.found("failed")["permissions"],
        )

    def test_the_components_are_those_of_no_cluster(self) -> None:
        objects = deployments.tested()
        del objects[3]["status"]["readyReplicas"]
        objects[0]["metadata"]["labels"]["capi.stackhpc.com/cluster"] = "c"
        for each in objects:
            space = {"metadata": {"name": each["metadata"]["namespace"]}}
            self.plane.server.apply(kinds.NAMESPACE, space)
            self.plane.server.apply(kinds.DEPLOYMENT, each)
        self.assertEqual(
            "no pod is ready of CAPO 0.14.6: see 'kubectl get deployments "
            "--all-namespaces' on the management cluster",
            self.found("failed")["components"],
        )
        objects[3]["status"]["readyReplicas"] = 1
        self.plane.server.apply(kinds.DEPLOYMENT, objects[3])
        found = self.found("ok")["components"].split(", ")
        self.assertIn("CAPO 0.14.6", found)
        self.assertEqual(7, len(found))
        self.management.fail(
            responses.ForbiddenError("refused list deployments (403)"),
            verbs=("list",),
            kind=kinds.DEPLOYMENT,
        )
        self.assertEqual(
            {"components": "refused list deployments (403)"},
            self.found("unknown"),
        )
