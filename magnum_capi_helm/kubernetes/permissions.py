# SPDX-License-Identifier: Apache-2.0

"""Permissions that the driver needs on a management cluster.

The rules are those of ``permissions.yaml``, the manifest that operators
apply: there is no second list. Its ClusterRole ``magnum-capi-helm`` holds in
all namespaces, ``magnum-capi-helm-project`` in those where it is bound. A
user with wider rights, such as an administrator, is used as it is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
import contextlib
import dataclasses
import itertools
import time
from typing import Any

import yaml

from magnum_capi_helm.kubernetes import client
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import responses
from magnum_capi_helm.model import call
from magnum_capi_helm.model import encoding
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names

_REVIEW = kinds.Kind(
    "SelfSubjectAccessReview",
    "authorization.k8s.io",
    ("v1",),
    fixed=True,
)
_RBAC = "rbac.authorization.k8s.io"
_ROLE_BINDING = kinds.Kind("RoleBinding", _RBAC, ("v1",), fixed=True)
_USER = "magnum-capi-helm"
#: ClusterRoles: for all namespaces, and for those of projects.
EVERYWHERE = _USER
IN_PROJECTS = f"{_USER}-project"
#: The policy of the manifest keeps the driver out of namespaces without it.
_MARK = "magnum.openstack.org/project-namespace"
#: Labels of a project's namespace: the mark, and the Pod Security of its pods.
LABELS = {
    _MARK: "true",
    "pod-security.kubernetes.io/enforce": "baseline",
}
#: The prefix of namespaces in the manifest, as a part of expressions.
_PREFIX = "(magnum)"
#: A namespace that is no project's.
_FOREIGN = "kube-system"
#: Tries, and seconds between two of them, until a new binding has effect.
_TRIES, _PAUSE = 50, 0.2


@dataclasses.dataclass(frozen=True)
class Permission:
    """One verb on one resource.

    :param group: API group; empty for the core group
    :param resource: plural, with ``/scale`` or the like behind it
    :param name: of the only object that the permission is for
    :param namespace: empty for all namespaces
    """

    group: str
    resource: str
    verb: str
    name: str = ""
    namespace: str = ""

    def __str__(self) -> str:
        what = f"{self.verb} {self.resource}.{self.group}".rstrip(".")
        place = f" in {self.namespace}" if self.namespace else ""
        return f"{what} {self.name}".rstrip() + place


def manifest(
    prefixes: Collection[str] = (), namespaces: Collection[str] = ()
) -> str:
    """Return all objects for the driver's user as YAML.

    :param prefixes: of the namespaces of projects; empty: the default
    :param namespaces: projects' namespaces that the driver has not made, or
        made before it marked them
    """
    text = encoding.package_text("kubernetes/permissions.yaml")
    if prefixes:
        text = text.replace(_PREFIX, f"({'|'.join(prefixes)})")
    objects = [each for name in namespaces for each in of_project(name)]
    if not objects:
        return text
    return f"{text}---\n{yaml.safe_dump_all(objects, sort_keys=False)}"


def of_project(name: str) -> tuple[client.Object, client.Object]:
    """Return a project's namespace and the binding of the driver's role.

    A project's first cluster brings them, and they stay without clusters.
    Everything else that the driver or helm makes goes with its cluster.

    :param name: of the namespace
    """
    namespace = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": name, "labels": {**LABELS}},
    }
    binding = {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "RoleBinding",
        "metadata": {"name": _USER, "namespace": name},
        "roleRef": {
            "apiGroup": _RBAC,
            "kind": "ClusterRole",
            "name": IN_PROJECTS,
        },
        "subjects": [
            {"kind": "ServiceAccount", "name": _USER, "namespace": _USER}
        ],
    }
    return namespace, binding


def grant(management: client.Client, namespace: str) -> None:
    """Bind the driver's role in the marked namespace of a project.

    A user who may write there already, by this role or a wider one, is left
    as it is.

    :raises ForbiddenError: the namespace is not marked
    :raises ManagementUnreachable: the binding has no effect
    """
    wanted = Permission("", "secrets", "create", namespace=namespace)
    if _allowed(management, wanted):
        return
    _, binding = of_project(namespace)
    with contextlib.suppress(errors.Conflict):
        management.create(_ROLE_BINDING, binding)
    for _ in range(_TRIES):
        # The authorizer learns of it a moment later.
        if _allowed(management, wanted):
            return
        time.sleep(_PAUSE)
    raise errors.ManagementUnreachable(
        f"the RoleBinding {_USER} in {namespace} has no effect: is the "
        f"kubeconfig that of the ServiceAccount {_USER}?"
    )


def rules(name: str) -> list[dict[str, Any]]:
    """Return the rules of a ClusterRole of the manifest."""
    role = next(
        each
        for each in yaml.safe_load_all(manifest())
        if each["kind"] == "ClusterRole" and each["metadata"]["name"] == name
    )
    return list(role["rules"])


def of_role(role: str, namespace: str = "") -> Iterator[Permission]:
    """Yield the permissions of a ClusterRole of the manifest.

    :param namespace: where they are needed; empty: in all namespaces
    """
    for rule in rules(role):
        fields = rule["apiGroups"], rule["resources"], rule["verbs"]
        names_of = rule.get("resourceNames", [""])
        for each in itertools.product(*fields, names_of):
            yield Permission(*each, namespace)


def reads_all_secrets(management: client.Client) -> bool:
    """Return whether the user's role is wider than the manifest's.

    :raises ManagementUnreachable: no answer
    """
    return _allowed(management, Permission("", "secrets", "list"))


def is_unguarded(management: client.Client) -> bool:
    """Return whether the user could bind its role outside of projects.

    A dry run: nothing is written.

    :raises ManagementUnreachable: no answer
    """
    _, binding = of_project(_FOREIGN)
    return not _is_refused(management, _ROLE_BINDING, binding)


def refused(
    management: client.Client, prefix: str, namespaces: Collection[str]
) -> list[Permission]:
    """Return the writes in namespaces of projects that are refused.

    Dry runs: nothing is written.

    :param prefix: of the namespaces that the driver makes
    :param namespaces: those of projects that exist
    :raises ManagementUnreachable: no answer
    """
    name = names.namespace(prefix, "check")
    new, _ = of_project(name)
    make = Permission("", "namespaces", "create", name)
    refusals = [make] if _is_refused(management, kinds.NAMESPACE, new) else []
    return refusals + [
        Permission(_RBAC, "rolebindings", "create", namespace=each)
        for each in sorted(namespaces)
        if _is_refused(management, _ROLE_BINDING, of_project(each)[1])
    ]


def _is_refused(
    management: client.Client, kind: kinds.Kind, obj: client.Object
) -> bool:
    """Try to make an object; policies are asked before its name."""
    try:
        management.create(kind, obj, dry_run=True)
    except responses.ForbiddenError:
        return True
    except errors.Conflict:
        return False
    return False


def missing(
    management: client.Client, namespaces: Collection[str]
) -> list[Permission]:
    """Return the needed permissions that the kubeconfig's user lacks.

    :param namespaces: those of projects; all permissions are asked for in one
        of them, and in the others whether the role is bound
    :raises ManagementUnreachable: no answer
    """
    if reads_all_secrets(management):
        needed = {*of_role(EVERYWHERE), *of_role(IN_PROJECTS)}
        needed = {each for each in needed if each.verb != "bind"}
        ordered = sorted(needed, key=str)
    else:
        reads = [
            Permission("", "secrets", "list", namespace=each)
            for each in sorted(namespaces)
        ]
        ordered = [*of_role(EVERYWHERE), *reads]
        for each in reads:
            if _allowed(management, each):
                ordered += of_role(IN_PROJECTS, each.namespace)
                break
    return [each for each in ordered if not _allowed(management, each)]


def _allowed(management: client.Client, permission: Permission) -> bool:
    resource, _, subresource = permission.resource.partition("/")
    attributes = {
        "group": permission.group,
        "resource": resource,
        "subresource": subresource,
        "verb": permission.verb,
        "name": permission.name,
        "namespace": permission.namespace,
    }
    review = {"metadata": {}, "spec": {"resourceAttributes": attributes}}
    with call.without_lease("a review of access is a question"):
        answer = management.create(_REVIEW, review)
    return bool(answer["status"]["allowed"])
