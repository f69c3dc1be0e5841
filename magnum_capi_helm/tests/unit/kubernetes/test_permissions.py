# SPDX-License-Identifier: Apache-2.0

"""The manifest of the driver's user, and asking what it may do."""

from __future__ import annotations

from typing import Any

import fixtures
from oslotest import base
import testtools
import yaml

from magnum_capi_helm.kubernetes import client
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import kubeconfig
from magnum_capi_helm.kubernetes import permissions
from magnum_capi_helm.kubernetes import responses
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.fakes import held
from magnum_capi_helm.tests.unit.kubernetes import api

_EVERYWHERE = "magnum-capi-helm"
_IN_PROJECTS = "magnum-capi-helm-project"
_DENIED = "ValidatingAdmissionPolicy 'magnum-capi-helm' denied request: no"


class User:
    """An API server that allows a user some permissions.

    ``lacks`` has permissions, as they are printed, that the user lacks;
    ``policy`` keeps the user out of other namespaces, and of those that are
    ``unmarked``.

    :param bound: namespaces in which the project's role is bound
    :param wide: the user may do all, in all namespaces
    """

    server = "https://management.example.org"

    def __init__(self, *bound: str, wide: bool = False) -> None:
        self.wide, self.bound, self.policy = wide, set(bound), True
        self.lacks: set[str] = set()
        self.unmarked: set[str] = set()
        self.asked: list[str] = []
        self.management = client.Client(lambda: self)

    def expiries(self) -> tuple[kubeconfig.Expiry, ...]:
        return ()

    def request(
        self, method: str, version: str, url: str = "", **options: Any
    ) -> Any:
        if url == "rolebindings":
            namespace = options["namespace"]
            answer = self._write(namespace, options)
            if answer.status_code == 201 and "params" not in options:
                self.bound.add(namespace)
            return answer
        if url == "namespaces":
            return self._write(options["json"]["metadata"]["name"], options)
        asked = options["json"]["spec"]["resourceAttributes"]
        parts = filter(None, (asked["resource"], asked["subresource"]))
        permission = permissions.Permission(
            asked["group"],
            "/".join(parts),
            *(asked["verb"], asked["name"], asked["namespace"]),
        )
        self.asked.append(str(permission))
        allowed = str(permission) not in self.lacks and (
            self.wide
            or permission in permissions.of_role(_EVERYWHERE)
            or permission.namespace in self.bound
        )
        return api.Answer(201, {"status": {"allowed": allowed}})

    def _write(self, namespace: str, options: dict[str, Any]) -> api.Answer:
        foreign = not namespace.startswith("magnum-")
        if self.policy and (foreign or namespace in self.unmarked):
            return api.status(403, _DENIED)
        if namespace in self.bound:
            return api.status(409, "it exists")
        return api.Answer(201, options["json"])


class ManifestTest(base.BaseTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.objects = list(yaml.safe_load_all(permissions.manifest()))

    def found(self, kind: str) -> dict[str, Any]:
        objects: list[dict[str, Any]] = self.objects
        return next(each for each in objects if each["kind"] == kind)

    def test_no_rule_has_a_wildcard_or_escalates(self) -> None:
        rules = [
            rule
            for name in (_EVERYWHERE, _IN_PROJECTS)
            for rule in permissions.rules(name)
        ]
        words = {each for r in rules for words in r.values() for each in words}
        for word in ("*", "escalate", "impersonate", "deletecollection"):
            self.assertNotIn(word, words)
        bind = {
            "apiGroups": ["rbac.authorization.k8s.io"],
            "resources": ["clusterroles"],
            "resourceNames": [_IN_PROJECTS],
            "verbs": ["bind"],
        }
        self.assertEqual([bind], [e for e in rules if "bind" in e["verbs"]])

    def test_outside_of_projects_nothing_is_written_or_secret(self) -> None:
        self.assertEqual(
            {
                "get namespaces",
                "create namespaces",
                "patch namespaces",
                "create rolebindings.rbac.authorization.k8s.io",
                "bind clusterroles.rbac.authorization.k8s.io "
                "magnum-capi-helm-project",
            },
            {
                str(each)
                for each in permissions.of_role(_EVERYWHERE)
                if each.verb not in ("list", "watch")
                or each.resource == "secrets"
            },
        )

    def test_polls_may_read_their_kinds(self) -> None:
        needed = {str(each) for each in permissions.of_role(_EVERYWHERE)}
        needed |= {str(each) for each in permissions.of_role(_IN_PROJECTS)}
        for kind in kinds.ALL:
            name = f"{kind.plural}.{kind.group}".rstrip(".")
            self.assertIn(f"get {name}", needed)

    def test_the_binding_is_of_this_role_and_this_user(self) -> None:
        account = self.found("ServiceAccount")["metadata"]
        namespace = self.found("Namespace")["metadata"]["name"]
        self.assertEqual(namespace, account["namespace"])
        binding = self.found("ClusterRoleBinding")
        role = {"kind": "ClusterRole", "name": _EVERYWHERE}
        self.assertEqual(
            {"apiGroup": "rbac.authorization.k8s.io", **role},
            binding["roleRef"],
        )
        self.assertEqual(
            [{"kind": "ServiceAccount", **account}], binding["subjects"]
        )

    def test_accounts_outside_of_marked_namespaces_are_free(self) -> None:
        """Such as the autoscaler in a namespace that 1.4.0 made."""
        spec = self.found("ValidatingAdmissionPolicy")["spec"]
        variables = {
            each["name"]: " ".join(each["expression"].split())
            for each in spec["variables"]
        }
        expected = {
            "account": "request.userInfo.username.split(':')[2]",
            "place": "variables.kind == 'namespaces' ? request.name : "
            "request.namespace",
            "labelsOfPlace": "variables.kind == 'namespaces' ? "
            "variables.labelsBefore : namespaceObject.metadata.labels",
            "free": "variables.account != 'magnum-capi-helm' && "
            "(variables.account != variables.place || "
            "!(variables.mark in variables.labelsOfPlace))",
        }
        self.assertEqual(
            expected, {name: variables[name] for name in expected}
        )

    def test_the_policy_refuses_and_is_in_force(self) -> None:
        policy = self.found("ValidatingAdmissionPolicy")
        self.assertEqual("Fail", policy["spec"]["failurePolicy"])
        for each in policy["spec"]["validations"]:
            self.assertTrue(each["expression"].startswith("variables.free ||"))
            self.assertEqual("Forbidden", each["reason"])
        name = policy["metadata"]["name"]
        self.assertEqual(
            {"policyName": name, "validationActions": ["Deny"]},
            self.found("ValidatingAdmissionPolicyBinding")["spec"],
        )


class MissingTest(base.BaseTestCase):
    def missing(self, user: User, *namespaces: str) -> list[str]:
        return [
            str(each)
            for each in permissions.missing(user.management, namespaces)
        ]

    def test_a_wider_role_is_asked_for_all_in_all_namespaces(self) -> None:
        user = User(wide=True)
        self.assertEqual([], self.missing(user, "magnum-a"))
        self.assertIn(
            "patch machinedeployments/scale.cluster.x-k8s.io", user.asked
        )
        self.assertNotIn(" in ", " ".join(user.asked))
        user.lacks = {"delete secrets"}
        self.assertEqual(["delete secrets"], self.missing(user))

    def test_a_projects_role_is_asked_for_where_it_is_bound(self) -> None:
        user = User("magnum-b")
        user.lacks = {"delete secrets in magnum-b", "list deployments.apps"}
        self.assertEqual(
            [
                "list deployments.apps",
                "list secrets in magnum-a",
                "delete secrets in magnum-b",
            ],
            self.missing(user, "magnum-a", "magnum-b"),
        )

    def test_a_policy_keeps_the_user_from_binding_elsewhere(self) -> None:
        user = User("magnum-a")
        for user.policy in (True, False):
            self.assertEqual(
                not user.policy, permissions.is_unguarded(user.management)
            )
        self.assertEqual({"magnum-a"}, user.bound)


class RefusedTest(base.BaseTestCase):
    """A policy may have other prefixes, or namespaces without the mark."""

    def test_writes_that_a_policy_refuses(self) -> None:
        user = User("magnum-a")
        user.unmarked = {"magnum-b"}
        bind = "create rolebindings.rbac.authorization.k8s.io in"
        for prefix, namespaces, expected in (
            ("magnum", ["magnum-a"], []),
            ("magnum", ["magnum-b", "magnum-a"], [f"{bind} magnum-b"]),
            (
                "east",
                ["east-a"],
                ["create namespaces east-check", f"{bind} east-a"],
            ),
        ):
            found = permissions.refused(user.management, prefix, namespaces)
            self.assertEqual(expected, list(map(str, found)))
        self.assertEqual({"magnum-a"}, user.bound)


class GrantTest(base.BaseTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.useFixture(held.Lease())
        self.useFixture(fixtures.MockPatch("time.sleep"))

    def test_the_role_is_bound_once_and_a_wider_one_left(self) -> None:
        asked = "create secrets in magnum-a"
        for user, bound, each_time in (
            (User(), {"magnum-a"}, [2, 1]),
            (User(wide=True), set(), [1, 1]),
        ):
            for number in each_time:
                user.asked.clear()
                permissions.grant(user.management, "magnum-a")
                self.assertEqual([asked] * number, user.asked)
            self.assertEqual(bound, user.bound)

    def test_a_refused_or_useless_binding_is_an_error(self) -> None:
        with testtools.ExpectedException(responses.ForbiddenError):
            permissions.grant(User().management, "other")
        user = User()
        user.lacks = {"create secrets in magnum-a"}
        with testtools.ExpectedException(
            errors.ManagementUnreachable, ".*is the kubeconfig that of the "
        ):
            permissions.grant(user.management, "magnum-a")
