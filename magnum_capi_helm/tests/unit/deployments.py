# SPDX-License-Identifier: Apache-2.0

"""Deployments of a management cluster, as those who make them publish them."""

from __future__ import annotations

from typing import Any

#: Namespace, name, container; image; labels: what chart 0.27.0 was tested
#: with. Addon provider and janitor are tagged with a commit, and the last
#: two are none of the components.
_TESTED = """\
capi-system capi-controller-manager manager
  registry.k8s.io/cluster-api/cluster-api-controller:v1.13.3
  cluster.x-k8s.io/provider=cluster-api control-plane=controller-manager
capi-kubeadm-bootstrap-system capi-kubeadm-bootstrap-controller-manager manager
  registry.k8s.io/cluster-api/kubeadm-bootstrap-controller:v1.13.3
  cluster.x-k8s.io/provider=bootstrap-kubeadm control-plane=controller-manager
capi-kubeadm-control-plane-system \
capi-kubeadm-control-plane-controller-manager manager
  registry.k8s.io/cluster-api/kubeadm-control-plane-controller:v1.13.3
  cluster.x-k8s.io/provider=control-plane-kubeadm \
control-plane=controller-manager
capo-system capo-controller-manager manager
  registry.k8s.io/capi-openstack/capi-openstack-controller:v0.14.6
  cluster.x-k8s.io/provider=infrastructure-openstack \
control-plane=capo-controller-manager
orc-system orc-controller-manager manager
  quay.io/orc/openstack-resource-controller:v2.6.0
  app.kubernetes.io/managed-by=kustomize app.kubernetes.io/name=orc \
control-plane=controller-manager
capi-addon-system cluster-api-addon-provider cluster-api-addon-provider
  ghcr.io/azimuth-cloud/cluster-api-addon-provider:ab12cd3
  app.kubernetes.io/instance=cluster-api-addon-provider \
app.kubernetes.io/managed-by=Helm \
app.kubernetes.io/name=cluster-api-addon-provider \
app.kubernetes.io/version=ab12cd3 \
helm.sh/chart=cluster-api-addon-provider-0.12.1
capi-janitor-system cluster-api-janitor-openstack operator
  ghcr.io/azimuth-cloud/cluster-api-janitor-openstack:98fe7dc
  app.kubernetes.io/instance=cluster-api-janitor-openstack \
app.kubernetes.io/managed-by=Helm \
app.kubernetes.io/name=cluster-api-janitor-openstack \
app.kubernetes.io/version=98fe7dc \
helm.sh/chart=cluster-api-janitor-openstack-0.14.0
cert-manager cert-manager cert-manager-controller
  quay.io/jetstack/cert-manager-controller:v1.20.3
  app=cert-manager app.kubernetes.io/component=controller \
app.kubernetes.io/instance=cert-manager \
app.kubernetes.io/name=cert-manager app.kubernetes.io/version=v1.20.3
cert-manager cert-manager-webhook cert-manager-webhook
  quay.io/jetstack/cert-manager-webhook:v1.20.3
  app=webhook app.kubernetes.io/component=webhook \
app.kubernetes.io/instance=cert-manager app.kubernetes.io/name=webhook \
app.kubernetes.io/version=v1.20.3
kube-system coredns coredns
  rancher/mirrored-coredns-coredns:1.12.3
  k8s-app=kube-dns kubernetes.io/name=CoreDNS
"""


def tested() -> list[dict[str, Any]]:
    """All of them, at work, and in the versions of chart 0.27.0."""
    found = []
    lines = iter(_TESTED.splitlines())
    for names, image, labels in zip(lines, lines, lines, strict=True):
        namespace, name, container = names.split()
        pairs = (each.split("=") for each in labels.split())
        found.append(
            _deployment(
                *(namespace, name, dict(pairs), container, image.strip())
            )
        )
    return found


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
