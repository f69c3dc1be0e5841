# SPDX-License-Identifier: Apache-2.0

"""The commands that the plugin should run: of each phase, by what they do."""

from __future__ import annotations

from tools.tests.tools import components

DATA = "T/data/magnum-capi-helm"
_K3S = "https://github.com/k3s-io/k3s/releases/download/v1.34.1%2Bk3s1"
CURL = (
    "curl --fail --silent --show-error --location --proto =https --retry 3 "
    f"--connect-timeout 20 --max-time 900 --output {DATA}/cache"
)

LINKED = "sudo ln -sf T/data/venv/bin/magnum-capi-helm /usr/local/bin/"
UNLINKED = "sudo rm -f /usr/local/bin/magnum-capi-helm"
K3S = [
    f"{CURL}/k3s/v1.34.1+k3s1/k3s.part {_K3S}/k3s",
    f"{CURL}/k3s/v1.34.1+k3s1/k3s.sums {_K3S}/sha256sum-amd64.txt",
    f"{CURL}/k3s/v1.34.1+k3s1/install.sh.part "
    "https://raw.githubusercontent.com/k3s-io/k3s/v1.34.1%2Bk3s1/install.sh",
    f"sudo install -m 0755 {DATA}/cache/k3s/v1.34.1+k3s1/k3s "
    "/usr/local/bin/k3s",
    "sudo env INSTALL_K3S_SKIP_DOWNLOAD=true "
    "INSTALL_K3S_EXEC=server\\ --disable\\ traefik\\ --disable\\ servicelb\\ "
    f"--disable\\ metrics-server sh {DATA}/cache/k3s/v1.34.1+k3s1/install.sh",
    "sudo cat /etc/rancher/k3s/k3s.yaml",
]
HELM_ASKED = "helm version --template \\{\\{.Version\\}\\}"
HELM_FETCHED = [
    each.replace("T/cache", f"{DATA}/cache") for each in components.HELM
]
HELM_INSTALLED = (
    f"sudo install -m 0755 {DATA}/cache/helm/v3.17.3/helm /usr/local/bin/helm"
)
CONF = "iniset T/magnum/magnum.conf"
CONFIGURED = [
    f"{CONF} capi_helm kubeconfig_file T/magnum/capi-management.kubeconfig",
    f"{CONF} capi_helm chart_store {DATA}/charts",
    f"{CONF} drivers default_driver k8s_capi_helm_v1",
    f"{CONF} cluster_template kubernetes_allowed_network_drivers "
    "calico\\,cilium",
    f"{CONF} cluster_template kubernetes_default_network_driver calico",
]
ADMIN = "openstack --os-cloud devstack-admin"
IMAGE = [
    f"{ADMIN} image show capi-v1.34.2 --format value --column status",
    f"{ADMIN} image create capi-v1.34.2 --public --file T/image.qcow2 "
    "--disk-format qcow2 --container-format bare --property os_distro=ubuntu "
    "--property kube_version=v1.34.2 --property "
    "magnum_driver=k8s_capi_helm_v1",
]
TEMPLATE = [
    "openstack coe cluster template create k8s-small --coe=kubernetes "
    "--image=capi-v1.34.2 --external-network=public --flavor=m1.medium "
    "--master-flavor=m1.medium --network-driver=calico --master-lb-enabled "
    "--floating-ip-enabled --labels=monitoring_enabled=false "
    "--labels=nvidia_gpu_operator_enabled=false "
    "--labels=mellanox_network_operator_enabled=false --public",
]


def installer(kubeconfig: str) -> list[str]:
    """What the installer of management clusters runs."""
    found = [*components.EVERYTHING, *components.DRIVER_USER]
    return [
        each.replace("T/kubeconfig", kubeconfig).replace(
            "T/cache", f"{DATA}/cache"
        )
        for each in found
    ]
