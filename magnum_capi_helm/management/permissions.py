# SPDX-License-Identifier: Apache-2.0

"""What the driver may do on a management cluster, and asking whether it may.

The rules are those of ``permissions.yaml``, the manifest that operators
apply: there is no second list.
"""

from __future__ import annotations

from collections.abc import Iterator
import dataclasses
from importlib import resources
from typing import Any

import yaml

from magnum_capi_helm.management import client
from magnum_capi_helm.management import kinds

_REVIEW = kinds.Kind(
    "SelfSubjectAccessReview",
    "authorization.k8s.io",
    "selfsubjectaccessreviews",
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
    """Namespace, ServiceAccount, ClusterRole and binding, as YAML."""
    here = resources.files("magnum_capi_helm.management")
    return (here / "permissions.yaml").read_text(encoding="utf-8")


def rules() -> list[dict[str, Any]]:
    """The rules of the manifest's ClusterRole."""
    role = next(
        each
        for each in yaml.safe_load_all(manifest())
        if each["kind"] == "ClusterRole"
    )
    found: list[dict[str, Any]] = role["rules"]
    return found


def needed() -> Iterator[Permission]:
    """Every permission that the rules give."""
    for rule in rules():
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                for verb in rule["verbs"]:
                    yield Permission(group, resource, verb)


def missing(management: client.Client) -> list[Permission]:
    """What the user of the kubeconfig may not do, of what is needed.

    :raises ManagementUnreachable: no answer
    """
    return [each for each in needed() if not _allowed(management, each)]


def _allowed(management: client.Client, permission: Permission) -> bool:
    resource, _, subresource = permission.resource.partition("/")
    wanted = {
        "group": permission.group,
        "resource": resource,
        "subresource": subresource,
        "verb": permission.verb,
    }
    review = {"metadata": {}, "spec": {"resourceAttributes": wanted}}
    answer = management.create(_REVIEW, review)
    return bool(answer["status"]["allowed"])
