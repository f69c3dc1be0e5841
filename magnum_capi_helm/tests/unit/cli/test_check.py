# SPDX-License-Identifier: Apache-2.0

"""``check``: its lines for one and for several management clusters."""

from __future__ import annotations

from collections.abc import Callable
import pathlib
import re
from typing import Any

import fixtures
import requests_mock

from magnum_capi_helm.config import conf
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import kubeconfig
from magnum_capi_helm.kubernetes import responses
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.fakes import management
from magnum_capi_helm.tests.fakes import openstack
from magnum_capi_helm.tests.fakes import plane
from magnum_capi_helm.tests.unit import deployments
from magnum_capi_helm.tests.unit.cli import command_case
from magnum_capi_helm.tests.unit.delivery import pki
from magnum_capi_helm.tests.unit.lifecycle import base as flows

_OF_EACH = (
    "kubeconfig",
    "management cluster",
    "clock",
    "maintenance",
    "permissions",
    "Cluster API",
    "components",
)
_OF_HOST = (
    "configuration",
    "database",
    "driver",
    "helm",
    "chart",
    "network drivers",
    "templates",
    "service user",
    "certificates",
    "delivery",
)


class CheckTest(command_case.CommandCase):
    def states(self) -> dict[str, str]:
        """Return the state of each check, in the order of the lines."""
        return {name: state for name, (state, _) in self.checked().items()}

    def test_check_is_0_when_all_is_well(self) -> None:
        found = self.states()
        self.assertEqual(dict.fromkeys((*_OF_EACH, *_OF_HOST), "ok"), found)
        self.assertEqual([*_OF_EACH, *_OF_HOST], list(found))
        self.assertEqual(0, self.code)

    def test_check_goes_on_after_a_failure(self) -> None:
        self.plane.management.unserved = {kinds.HELM_RELEASE}
        self.plane.helm.published = set()
        self.assertEqual(
            {
                **dict.fromkeys((*_OF_EACH, *_OF_HOST), "ok"),
                "Cluster API": "failed",
                "chart": "failed",
            },
            self.states(),
        )
        self.assertEqual(1, self.code)

    def test_check_says_that_it_is_frozen_and_what_ends_that(self) -> None:
        self.plane.runtime().maintenance.freeze(
            "etcd moves", "op@host", 1000.0
        )
        self.assertEqual(
            (
                "failed",
                "it is frozen by op@host: etcd moves; 'magnum-capi-helm "
                "management-cluster thaw --apply' ends that",
            ),
            self.checked()["maintenance"],
        )

    def delivery(self, certificate: str = "") -> pki.Endpoint:
        """A receiver of kubeconfigs, and the options for it."""
        receiver = self.useFixture(pki.Endpoint(certificate))
        directory = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        for name, text in (
            ("delivery_key_file", f"{'a' * 44}\n"),
            ("delivery_ca_file", pki.trusted().pem),
        ):
            path = directory / name
            path.write_text(text)
            path.chmod(0o600)
            conf.CONF.set_override(name, str(path), "capi_helm")
        conf.CONF.set_override("delivery_url", receiver.url, "capi_helm")
        return receiver

    def test_check_looks_at_the_receiver_and_sends_nothing(self) -> None:
        receiver = self.delivery()
        self.assertEqual(
            (
                "ok",
                f"kubeconfigs of admin to https://127.0.0.1:{receiver.port}",
            ),
            self.checked()["delivery"],
        )
        self.assertEqual([], receiver.received)

    def test_check_refuses_a_receiver_that_is_not_to_be_trusted(self) -> None:
        stranger = pki.Authority("stranger")
        self.delivery("".join(stranger.signed("receiver", host=True)))
        self.assert_failed("delivery", "is not trusted, and nothing was sent")

    def test_check_stores_a_secret_where_magnum_does(self) -> None:
        conf.CONF.set_override("cert_manager_type", "barbican", "certificates")
        requests: list[str] = []
        status = 201

        def answer(request: Any, context: Any) -> dict[str, str]:
            requests.append(f"{request.method} {request.path}")
            context.status_code = status
            return {"secret_ref": "http://elsewhere.test/v1/secrets/s-1"}

        self.openstack.mocker.register_uri(
            requests_mock.ANY,
            re.compile(f"{openstack.KEYS}/v1/secrets"),
            json=answer,
        )
        self.assertEqual(
            ("ok", f"barbican at {openstack.KEYS}"),
            self.checked()["certificates"],
        )
        self.assertEqual(
            ["POST /v1/secrets", "DELETE /v1/secrets/s-1"], requests
        )
        status = 403
        self.assert_failed(
            "certificates", "Barbican, as Magnum's service user"
        )
        conf.CONF.set_override("region_name", "elsewhere", "barbican_client")
        self.assert_failed(
            "certificates", "service in elsewhere region not found"
        )


class CheckPlacesTest(command_case.CommandCase):
    def found(self, *argv: str) -> list[tuple[str, str, str]]:
        """Management cluster, check and state of each line."""
        self.checked(*argv)
        return [
            (row["Management cluster"], row["Check"], row["State"])
            for row in self.lines
        ]

    def test_check_looks_at_all_or_at_those_it_is_told(self) -> None:
        self.several()["b"].management.unreachable()
        of_a = [("a", name, "ok") for name in _OF_EACH]
        of_all = [("(all)", name, "ok") for name in _OF_HOST]
        of_b = [
            ("b", name, state)
            for name, state in zip(
                _OF_EACH, ("ok", "failed", *["unknown"] * 5), strict=True
            )
        ]
        self.assertEqual([*of_a, *of_b, *of_all], self.found())
        self.assertEqual(1, self.code)
        self.assertEqual(
            [*of_a, *of_all], self.found("--management-cluster", "a")
        )
        self.assertEqual(0, self.code)
        error = self.assertRaises(
            errors.NotConfigured, self.checked, "--management-cluster", "x"
        )
        self.assertEqual(
            "there is no management cluster 'x': give one of [capi_helm] "
            "management_clusters (a, b)",
            str(error),
        )

    def test_check_finds_two_names_of_one_management_cluster(self) -> None:
        planes = self.several()
        planes["b"].management.server = planes["a"].server
        self.assertIn(("b", "management cluster", "failed"), self.found())
        self.assertIn("is configured as a as well", self.printed())


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
