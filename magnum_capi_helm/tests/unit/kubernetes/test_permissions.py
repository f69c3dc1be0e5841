# SPDX-License-Identifier: Apache-2.0

"""The manifest of the driver's user, and asking what it may do."""

from __future__ import annotations

from typing import Any

from oslotest import base
import yaml

from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import permissions
from magnum_capi_helm.tests.unit.kubernetes import api


def review(allowed: bool) -> api.Answer:
    return api.Answer(201, {"status": {"allowed": allowed}})


class ManifestTest(base.BaseTestCase):
    def test_nothing_is_allowed_by_a_wildcard(self) -> None:
        words = [
            word
            for rule in permissions.rules()
            for words in rule.values()
            for word in words
        ]
        self.assertNotIn("*", words)
        for verb in ("escalate", "bind", "impersonate", "deletecollection"):
            self.assertNotIn(verb, words)

    def test_polls_may_read_their_kinds(self) -> None:
        needed = {str(each) for each in permissions.needed()}
        for kind in kinds.ALL:
            name = f"{kind.plural}.{kind.group}".rstrip(".")
            self.assertIn(f"get {name}", needed)

    def test_the_binding_is_of_this_role_and_this_user(self) -> None:
        found: dict[str, Any] = {
            each["kind"]: each
            for each in yaml.safe_load_all(permissions.manifest())
        }
        binding = found["ClusterRoleBinding"]
        account = found["ServiceAccount"]["metadata"]
        self.assertEqual(
            {
                "apiGroup": "rbac.authorization.k8s.io",
                "kind": "ClusterRole",
                "name": found["ClusterRole"]["metadata"]["name"],
            },
            binding["roleRef"],
        )
        self.assertEqual(
            [{"kind": "ServiceAccount", **account}], binding["subjects"]
        )
        self.assertEqual(
            found["Namespace"]["metadata"]["name"], account["namespace"]
        )


class MissingTest(base.BaseTestCase):
    def test_each_permission_is_asked_for_by_itself(self) -> None:
        wanted = list(permissions.needed())
        management, transport = api.over(*(review(True) for _ in wanted))
        self.assertEqual([], permissions.missing(management))
        asked = [
            options["json"]["spec"]["resourceAttributes"]
            for options in transport.options
        ]
        self.assertEqual(len(wanted), len(asked))
        self.assertIn(
            {
                "group": "cluster.x-k8s.io",
                "resource": "machinedeployments",
                "subresource": "scale",
                "verb": "patch",
            },
            asked,
        )

    def test_refused_permissions_are_returned(self) -> None:
        wanted = list(permissions.needed())
        management, _ = api.over(
            *(review(str(each) != "delete secrets") for each in wanted)
        )
        self.assertEqual(
            [permissions.Permission("", "secrets", "delete")],
            permissions.missing(management),
        )
