# SPDX-License-Identifier: Apache-2.0

"""What the demo finds when its cluster is gone."""

from typing import Any
import unittest

from lab.demo import kube
from magnum_capi_helm.kubernetes import permissions

PROJECT = "magnum-0123456789abcdef0123456789abcdef"


def item(kind: str, namespace: str, name: str) -> dict[str, Any]:
    return {"kind": kind, "metadata": {"namespace": namespace, "name": name}}


class ProjectTest(unittest.TestCase):
    def test_first_cluster_of_a_project_leaves_what_is_the_projects(
        self,
    ) -> None:
        left = [
            item("ConfigMap", PROJECT, "kube-root-ca.crt"),
            item("ServiceAccount", PROJECT, "default"),
            *permissions.of_project(PROJECT),
        ]
        self.assertEqual([], list(kube.of_clusters(left)))

    def test_everything_else_is_left_of_a_cluster(self) -> None:
        namespace, _ = permissions.of_project(PROJECT)
        left = [
            # Another binding, another role of that name.
            item("RoleBinding", PROJECT, "demo-autoscaler"),
            item("Role", PROJECT, "magnum-capi-helm"),
            item("Role", PROJECT, "default"),
            # In a namespace that is not a project's.
            item("RoleBinding", "kube-system", "magnum-capi-helm"),
            {"kind": "Namespace", "metadata": {"name": "kube-system"}},
        ]
        self.assertEqual(left, list(kube.of_clusters([namespace, *left])))
