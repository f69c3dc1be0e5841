# SPDX-License-Identifier: Apache-2.0
"""Finding the images in Kubernetes objects."""

from __future__ import annotations

from typing import Any

from oslotest import base

from magnum_capi_helm.helm import mirroring

DIGEST = "sha256:" + "0123456789abcdef" * 4

#: Object -> images in it.
FOUND: list[tuple[dict[str, Any], list[str]]] = [
    (
        {
            "kind": "Deployment",
            "spec": {
                "template": {
                    "spec": {
                        "initContainers": [{"image": "busybox"}],
                        "containers": [
                            {"image": "bitnami/kubectl:1.30"},
                            {"image": f"quay.io/a/b@{DIGEST}"},
                            {"image": "reg.example:5000/a_b/c:v1@" + DIGEST},
                        ],
                    }
                }
            },
        },
        [
            "docker.io/library/busybox:latest",
            "docker.io/bitnami/kubectl:1.30",
            f"quay.io/a/b@{DIGEST}",
            f"reg.example:5000/a_b/c:v1@{DIGEST}",
        ],
    ),
    # Custom resources of operators have three fields.
    (
        {
            "kind": "ClusterPolicy",
            "spec": {
                "driver": {
                    "repository": "nvcr.io/nvidia",
                    "image": "driver",
                    "version": "580.1",
                },
                "toolkit": {
                    "repository": "nvcr.io/nvidia/k8s",
                    "image": "toolkit",
                    "version": DIGEST,
                },
                "gds": {"repository": "", "image": "", "version": ""},
            },
        },
        [
            "nvcr.io/nvidia/driver:580.1",
            f"nvcr.io/nvidia/k8s/toolkit@{DIGEST}",
        ],
    ),
    # Operators are told what to start by arguments and environment.
    (
        {
            "args": [
                "--acme-image=quay.io/jetstack/acmesolver:v1.17.0",
                "--listen=example.org/path",
                "--taint=node-role.kubernetes.io/control-plane:NoSchedule",
                "--url=https://example.org/a:b",
                7,
            ],
            "env": [
                {"name": "RELATED_IMAGE", "value": "ghcr.io/a/b:1"},
                {"name": "HOST", "value": "example.org"},
                {"name": "NODE", "valueFrom": {"fieldRef": {}}},
            ],
            "command": ["registry.k8s.io/pause:3.10"],
        },
        [
            "quay.io/jetstack/acmesolver:v1.17.0",
            "ghcr.io/a/b:1",
            "registry.k8s.io/pause:3.10",
        ],
    ),
    # A schema that has a field of that name, and what is no name at all.
    (
        {
            "properties": {"image": {"type": "string"}},
            "a": {"image": "{{ image }}"},
            "b": {"image": "two words"},
            "c": {"image": None},
        },
        [],
    ),
]


class FindTest(base.BaseTestCase):
    def test_each_object(self) -> None:
        for found, images in FOUND:
            self.assertEqual(
                sorted(images), sorted(mirroring.find([found])), str(found)
            )


class FullTest(base.BaseTestCase):
    def test_names_are_completed_as_containerd_does(self) -> None:
        names = {
            "nginx": "docker.io/library/nginx:latest",
            "nginx:1": "docker.io/library/nginx:1",
            "a/b": "docker.io/a/b:latest",
            "localhost/b:1": "localhost/b:1",
            "host:5000/b": "host:5000/b:latest",
            "ghcr.io/a/b:1": "ghcr.io/a/b:1",
        }
        self.assertEqual(names, {name: mirroring.full(name) for name in names})
