# SPDX-License-Identifier: Apache-2.0

"""Permissions that the driver needs on a management cluster.

The rules are those of ``permissions.yaml``, the manifest that operators
apply: there is no second list.
"""

from __future__ import annotations

from collections.abc import Iterator
import dataclasses
from importlib import resources
from typing import Any

import yaml

from magnum_capi_helm.kubernetes import client
from magnum_capi_helm.kubernetes import kinds

_REVIEW = kinds.Kind(
    "SelfSubjectAccessReview",
    "authorization.k8s.io",
    ("v1",),
    fixed=True,
)


@dataclasses.dataclass(frozen=True)
class Permission:
    """One verb on one resource, in all namespaces.

    :param group: API group; empty for the core group
    :param resource: plural, with ``/scale`` or the like behind it
    """

    group: str
    resource: str
    verb: str

    def __str__(self) -> str:
        return f"{self.verb} {self.resource}.{self.group}".rstrip(".")


def manifest() -> str:
    """Return Namespace, ServiceAccount, ClusterRole and binding as YAML."""
    here = resources.files("magnum_capi_helm.kubernetes")
    return (here / "permissions.yaml").read_text(encoding="utf-8")


def rules() -> list[dict[str, Any]]:
    """Return the rules of the manifest's ClusterRole."""
    role = next(
        each
        for each in yaml.safe_load_all(manifest())
        if each["kind"] == "ClusterRole"
    )
    role_rules: list[dict[str, Any]] = role["rules"]
    return role_rules


def needed() -> Iterator[Permission]:
    """Yield each permission of the rules."""
    for rule in rules():
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                for verb in rule["verbs"]:
                    yield Permission(group, resource, verb)


def missing(management: client.Client) -> list[Permission]:
    """Return the needed permissions that the kubeconfig's user lacks.

    :raises ManagementUnreachable: no answer
    """
    return [each for each in needed() if not _allowed(management, each)]


def _allowed(management: client.Client, permission: Permission) -> bool:
    resource, _, subresource = permission.resource.partition("/")
    attributes = {
        "group": permission.group,
        "resource": resource,
        "subresource": subresource,
        "verb": permission.verb,
    }
    review = {"metadata": {}, "spec": {"resourceAttributes": attributes}}
    answer = management.create(_REVIEW, review)
    return bool(answer["status"]["allowed"])
