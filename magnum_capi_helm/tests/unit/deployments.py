# SPDX-License-Identifier: Apache-2.0

"""Deployments of a management cluster, as those who make them publish them."""

from __future__ import annotations

from typing import Any

#: Namespace, name, labels, container, image: what chart 0.27.0 was tested
#: with. Addon provider and janitor are tagged with a commit.
_TESTED: tuple[tuple[str, str, dict[str, str], str, str], ...] = (
    (
        "capi-system",
        "capi-controller-manager",
        {
            "cluster.x-k8s.io/provider": "cluster-api",
            "control-plane": "controller-manager",
        },
        "manager",
        "registry.k8s.io/cluster-api/cluster-api-controller:v1.13.3",
    ),
    (
        "capi-kubeadm-bootstrap-system",
        "capi-kubeadm-bootstrap-controller-manager",
        {
            "cluster.x-k8s.io/provider": "bootstrap-kubeadm",
            "control-plane": "controller-manager",
        },
        "manager",
        "registry.k8s.io/cluster-api/kubeadm-bootstrap-controller:v1.13.3",
    ),
    (
        "capi-kubeadm-control-plane-system",
        "capi-kubeadm-control-plane-controller-manager",
        {
            "cluster.x-k8s.io/provider": "control-plane-kubeadm",
            "control-plane": "controller-manager",
        },
        "manager",
        "registry.k8s.io/cluster-api/kubeadm-control-plane-controller:v1.13.3",
    ),
    (
        "capo-system",
        "capo-controller-manager",
        {
            "cluster.x-k8s.io/provider": "infrastructure-openstack",
            "control-plane": "capo-controller-manager",
        },
        "manager",
        "registry.k8s.io/capi-openstack/capi-openstack-controller:v0.14.6",
    ),
    (
        "orc-system",
        "orc-controller-manager",
        {
            "app.kubernetes.io/managed-by": "kustomize",
            "app.kubernetes.io/name": "orc",
            "control-plane": "controller-manager",
        },
        "manager",
        "quay.io/orc/openstack-resource-controller:v2.6.0",
    ),
    (
        "capi-addon-system",
        "cluster-api-addon-provider",
        {
            "app.kubernetes.io/instance": "cluster-api-addon-provider",
            "app.kubernetes.io/managed-by": "Helm",
            "app.kubernetes.io/name": "cluster-api-addon-provider",
            "app.kubernetes.io/version": "ab12cd3",
            "helm.sh/chart": "cluster-api-addon-provider-0.12.1",
        },
        "cluster-api-addon-provider",
        "ghcr.io/azimuth-cloud/cluster-api-addon-provider:ab12cd3",
    ),
    (
        "capi-janitor-system",
        "cluster-api-janitor-openstack",
        {
            "app.kubernetes.io/instance": "cluster-api-janitor-openstack",
            "app.kubernetes.io/managed-by": "Helm",
            "app.kubernetes.io/name": "cluster-api-janitor-openstack",
            "app.kubernetes.io/version": "98fe7dc",
            "helm.sh/chart": "cluster-api-janitor-openstack-0.14.0",
        },
        "operator",
        "ghcr.io/azimuth-cloud/cluster-api-janitor-openstack:98fe7dc",
    ),
    (
        "cert-manager",
        "cert-manager",
        {
            "app": "cert-manager",
            "app.kubernetes.io/component": "controller",
            "app.kubernetes.io/instance": "cert-manager",
            "app.kubernetes.io/name": "cert-manager",
            "app.kubernetes.io/version": "v1.20.3",
        },
        "cert-manager-controller",
        "quay.io/jetstack/cert-manager-controller:v1.20.3",
    ),
    # Neither of these is one of the components.
    (
        "cert-manager",
        "cert-manager-webhook",
        {
            "app": "webhook",
            "app.kubernetes.io/component": "webhook",
            "app.kubernetes.io/instance": "cert-manager",
            "app.kubernetes.io/name": "webhook",
            "app.kubernetes.io/version": "v1.20.3",
        },
        "cert-manager-webhook",
        "quay.io/jetstack/cert-manager-webhook:v1.20.3",
    ),
    (
        "kube-system",
        "coredns",
        {"k8s-app": "kube-dns", "kubernetes.io/name": "CoreDNS"},
        "coredns",
        "rancher/mirrored-coredns-coredns:1.12.3",
    ),
)


def tested() -> list[dict[str, Any]]:
    """All of them, at work, and in the versions of chart 0.27.0."""
    return [_deployment(*each) for each in _TESTED]


def _deployment(
    namespace: str,
    name: str,
    labels: dict[str, str],
    container: str,
    image: str,
) -> dict[str, Any]:
    selector = {"control-plane": name}
    pod = {"containers": [{"name": container, "image": image}]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": dict(labels),
        },
        "spec": {
            "selector": {"matchLabels": selector},
            "template": {"metadata": {"labels": selector}, "spec": pod},
        },
        "status": {"replicas": 1, "readyReplicas": 1},
    }
