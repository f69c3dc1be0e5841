# SPDX-License-Identifier: Apache-2.0
"""The audit log of the Kubernetes API."""

from __future__ import annotations

import fnmatch
import json
import pathlib
from typing import Any

from oslo_config import fixture
from oslotest import base
import yaml

from magnum_capi_helm.config import conf
from magnum_capi_helm.features import audit
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import errors
from magnum_capi_helm.resolve import operator_files
from magnum_capi_helm.tests.unit.features import specs

ENABLED = {"audit_log_enabled": "true"}


def _file(given: dict[str, str] | None = None, **changes: Any) -> Any:
    cluster = specs.cluster({**ENABLED, **(given or {})}, **changes)
    made = audit.TOPIC.cluster(cluster)
    # Workers get nothing.
    [spec] = (each["kubeadmConfigSpec"] for each in made.values())
    [file] = spec["files"]
    return file


def _matches(rule: dict[str, Any], request: dict[str, Any]) -> bool:
    """Whether a rule of a policy is about a request, as Kubernetes sees it."""
    if "users" in rule and request["user"] not in rule["users"]:
        return False
    groups = set(request.get("groups", ()))
    if "userGroups" in rule and not groups & set(rule["userGroups"]):
        return False
    if "verbs" in rule and request["verb"] not in rule["verbs"]:
        return False
    if "resources" in rule:
        return any(
            request.get("group") == each["group"]
            and request.get("resource") in each["resources"]
            for each in rule["resources"]
        )
    if "nonResourceURLs" in rule:
        return any(
            fnmatch.fnmatchcase(request.get("url", ""), url)
            for url in rule["nonResourceURLs"]
        )
    return True


def _level(policy: dict[str, Any], request: dict[str, Any]) -> Any:
    request = {"user": "jane", "verb": "get", **request}
    return next(
        rule["level"] for rule in policy["rules"] if _matches(rule, request)
    )


_POD = {"group": "", "resource": "pods"}
_SECRET = {"group": "", "resource": "secrets"}
_REVIEW = {"group": "authentication.k8s.io", "resource": "tokenreviews"}
_TOKEN = {"group": "", "resource": "serviceaccounts/token"}
_NODE = {"group": "", "resource": "nodes/status"}
_LEASE = {"group": "coordination.k8s.io", "resource": "leases"}
_KUBELET = {"user": "system:node:a", "groups": ["system:nodes"]}
#: Requests, and how much of each is logged.
LEVELS: list[tuple[dict[str, Any], str]] = [
    ({"url": "/livez/ping"}, "None"),
    ({"url": "/openapi/v3"}, "None"),
    ({"url": "/logs"}, "Metadata"),
    (_POD, "Metadata"),
    ({**_POD, "verb": "list"}, "Metadata"),
    ({**_POD, "verb": "create"}, "RequestResponse"),
    ({**_POD, "verb": "deletecollection"}, "RequestResponse"),
    ({**_POD, "user": "system:kube-scheduler"}, "None"),
    (
        {**_POD, "user": "system:kube-scheduler", "verb": "patch"},
        "RequestResponse",
    ),
    (_SECRET, "Metadata"),
    ({**_SECRET, "verb": "create"}, "Metadata"),
    ({**_SECRET, "user": "system:apiserver"}, "Metadata"),
    ({**_REVIEW, "verb": "create"}, "Metadata"),
    ({**_TOKEN, "verb": "create"}, "Metadata"),
    ({**_NODE, **_KUBELET, "verb": "patch"}, "None"),
    ({**_NODE, "verb": "patch"}, "RequestResponse"),
    ({**_NODE, **_KUBELET, "verb": "delete"}, "RequestResponse"),
    ({**_LEASE, **_KUBELET, "verb": "update"}, "None"),
    ({**_LEASE, "verb": "update"}, "RequestResponse"),
    ({"group": "", "resource": "events", "verb": "create"}, "None"),
]


class PolicyTest(base.BaseTestCase):
    def test_a_maximum_age_alone_starts_no_audit_log(self) -> None:
        cluster = specs.cluster({"audit_log_max_age": "7"})
        self.assertEqual({}, audit.TOPIC.cluster(cluster))

    def test_the_policy_has_a_level_for_each_request(self) -> None:
        policy = yaml.safe_load(
            _file({"audit_log_policy_level": "RequestResponse"})["content"]
        )
        self.assertEqual(
            ("audit.k8s.io/v1", "Policy"),
            (policy["apiVersion"], policy["kind"]),
        )
        self.assertEqual(
            LEVELS, [(row, _level(policy, row)) for row, _ in LEVELS]
        )

    def test_without_a_level_no_content_is_logged(self) -> None:
        policy = yaml.safe_load(_file()["content"])
        levels = {rule["level"] for rule in policy["rules"]}
        self.assertEqual({"None", "Metadata"}, levels)

    def test_the_operators_policy_replaces_it(self) -> None:
        own = cluster_spec.Site(audit_policy="kind: Policy\n")
        self.assertEqual("kind: Policy\n", _file(site=own)["content"])

    def test_a_level_can_not_change_the_operators_policy(self) -> None:
        own = cluster_spec.Site(audit_policy="kind: Policy\n")
        audit.TOPIC.check(specs.cluster(ENABLED, site=own))
        given = {**ENABLED, "audit_log_policy_level": "Request"}
        audit.TOPIC.check(specs.cluster(given))
        self.assertRegex(
            specs.refusal(audit.TOPIC.check, specs.cluster(given, site=own)),
            "^label audit_log_policy_level: .* the operator sets the policy.*"
            "It is 'Request'",
        )


class PolicyFileTest(base.BaseTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.config = self.useFixture(fixture.Config(conf.CONF))

    def _read(self, text: str, given: dict[str, str] | None = None) -> Any:
        path = pathlib.Path(self.create_tempfiles([("policy", text)])[0])
        self.config.config(group="capi_helm", audit_policy_file=str(path))
        found = specs.parsed(ENABLED if given is None else given)
        return operator_files.site(found).audit_policy

    def test_the_operators_policy_is_read_where_there_is_a_log(self) -> None:
        policy = {
            "apiVersion": "audit.k8s.io/v1",
            "kind": "Policy",
            "rules": [{"level": "Metadata"}],
        }
        text = yaml.safe_dump(policy)
        self.assertEqual(policy, json.loads(self._read(text)))
        self.assertIsNone(self._read(text, {}))
        self.assertIsNone(self._read("no policy", {}))

    def test_a_file_without_a_policy_names_the_option(self) -> None:
        for text in (
            "",
            "rules: [{level: Metadata}]",
            "{apiVersion: audit.k8s.io/v1, kind: Policy, rules: []}",
            "{apiVersion: v1, kind: Policy, rules: [{level: None}]}",
        ):
            error = self.assertRaises(errors.NotConfigured, self._read, text)
            self.assertRegex(
                str(error),
                r"^\[capi_helm\] audit_policy_file \S+: must be a Policy "
                r"of audit\.k8s\.io/v1 with rules$",
            )
