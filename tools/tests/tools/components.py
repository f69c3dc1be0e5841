# SPDX-License-Identifier: Apache-2.0

"""Commands that install the components of a management cluster."""

from __future__ import annotations

KUBECTL = "kubectl --kubeconfig T/kubeconfig"
_CURL = (
    "curl --fail --silent --show-error --location --proto =https --retry 3 "
    "--connect-timeout 20 --max-time 900 --output T/cache"
)
_CAPI = "https://github.com/kubernetes-sigs/cluster-api/releases/download"
_CAPO = (
    "https://github.com/kubernetes-sigs/cluster-api-provider-openstack/"
    "releases/download"
)
HELM_URL = "https://get.helm.sh/helm-v3.17.3-linux-amd64.tar.gz"
_CERT_MANAGER = (
    "https://github.com/cert-manager/cert-manager/releases/download"
)
_ORC = (
    "https://github.com/k-orc/openstack-resource-controller/releases/download"
)
_AZIMUTH = "https://azimuth-cloud.github.io"

READY = [f"{KUBECTL} get --raw /readyz"]
HELM = [
    f"{_CURL}/helm/helm-v3.17.3-linux-amd64.tar.gz.part {HELM_URL}",
    f"{_CURL}/helm/helm-v3.17.3-linux-amd64.tar.gz.sums {HELM_URL}.sha256sum",
    "tar --extract --gzip --file "
    "T/cache/helm/helm-v3.17.3-linux-amd64.tar.gz --directory "
    "T/cache/helm/v3.17.3 --strip-components 1 linux-amd64/helm",
]


def running(name: str, path: str) -> str:
    """How Deployments are asked for something."""
    return (
        f"{KUBECTL} get deployments --all-namespaces --show-managed-fields "
        f"--selector app.kubernetes.io/name={name} --output "
        "jsonpath=\\{range\\ .items\\[\\*\\]\\}\\{.metadata.namespace\\}/"
        f"\\{{.metadata.name\\}}\\ {path}\\{{\\'\\\\n\\'\\}}\\{{end\\}}"
    )


CERT_MANAGER = [
    running(
        "cert-manager",
        '\\{.metadata.managedFields\\[\\?\\(@.operation==\\"Apply\\"\\)\\]'
        ".manager\\}",
    ),
    running(
        "cert-manager",
        "\\{.metadata.labels.app\\\\.kubernetes\\\\.io/version\\}",
    ),
    f"{_CURL}/cert-manager/v1.20.3/cert-manager.yaml.part "
    f"{_CERT_MANAGER}/v1.20.3/cert-manager.yaml",
    f"{KUBECTL} apply --server-side --force-conflicts --field-manager "
    "magnum-capi-helm --filename "
    "T/cache/cert-manager/v1.20.3/cert-manager.yaml",
    f"{KUBECTL} rollout status deployment/cert-manager --namespace "
    "cert-manager --timeout 10m",
    f"{KUBECTL} rollout status deployment/cert-manager-cainjector --namespace "
    "cert-manager --timeout 10m",
    f"{KUBECTL} rollout status deployment/cert-manager-webhook --namespace "
    "cert-manager --timeout 10m",
]
ORC = [
    running("orc", "\\{.spec.template.spec.containers\\[0\\].image\\}"),
    f"{_CURL}/orc/v2.6.0/install.yaml.part {_ORC}/v2.6.0/install.yaml",
    f"{KUBECTL} apply --server-side --force-conflicts --filename "
    "T/cache/orc/v2.6.0/install.yaml",
    f"{KUBECTL} rollout status deployment/orc-controller-manager --namespace "
    "orc-system --timeout 10m",
]
PROVIDER_FILES = [
    f"{_CURL}/clusterctl/v1.13.3/clusterctl-linux-amd64.part "
    f"{_CAPI}/v1.13.3/clusterctl-linux-amd64",
    *(
        f"{_CURL}/providers/{directory}/v{version}/{file}.part "
        f"{base}/v{version}/{file}"
        for directory, version, base, role in (
            ("cluster-api", "1.13.3", _CAPI, "core"),
            ("bootstrap-kubeadm", "1.13.3", _CAPI, "bootstrap"),
            ("control-plane-kubeadm", "1.13.3", _CAPI, "control-plane"),
            ("infrastructure-openstack", "0.14.6", _CAPO, "infrastructure"),
        )
        for file in (f"{role}-components.yaml", "metadata.yaml")
    ),
]
NOBODYS = [
    f"{KUBECTL} get crd providers.clusterctl.cluster.x-k8s.io "
    "--ignore-not-found --output name",
    f"{KUBECTL} get crd clusters.cluster.x-k8s.io --ignore-not-found --output "
    "name",
]
CLUSTERCTL_TAIL = (
    "--config T/cache/clusterctl-0.27.0.yaml --kubeconfig T/kubeconfig "
    "--wait-providers"
)
INIT = [
    "clusterctl-linux-amd64 init --core cluster-api:v1.13.3 --bootstrap "
    "kubeadm:v1.13.3 --control-plane kubeadm:v1.13.3 --infrastructure "
    f"openstack:v0.14.6 {CLUSTERCTL_TAIL}",
]


def chart(name: str, version: str, namespace: str) -> list[str]:
    """How a chart of azimuth-cloud is installed."""
    return [
        running(name, "\\{.metadata.labels.helm\\\\.sh/chart\\}"),
        f"{_CURL}/charts/{name}-{version}.tgz.part "
        f"{_AZIMUTH}/{name}/{name}-{version}.tgz",
        f"helm upgrade --install {name} T/cache/charts/{name}-{version}.tgz "
        f"--kubeconfig T/kubeconfig --namespace {namespace} "
        "--create-namespace --wait --timeout 10m",
    ]


ADDONS = chart("cluster-api-addon-provider", "0.12.1", "capi-addon-system")
JANITOR = chart(
    "cluster-api-janitor-openstack", "0.14.0", "capi-janitor-system"
)
DRIVER_USER = [
    f"{KUBECTL} {each}"
    for each in (
        "get validatingadmissionpolicy magnum-capi-helm --ignore-not-found "
        "--output jsonpath=\\{.spec.matchConditions\\[0\\].expression\\}",
        "apply --filename -",
        "apply --filename -",
        "config view --minify --raw --output "
        "jsonpath=\\{.clusters\\[0\\].cluster.server\\}",
        "get secret magnum-capi-helm-token --namespace magnum-capi-helm "
        "--output jsonpath=\\{.data.token\\}",
        "get secret magnum-capi-helm-token --namespace magnum-capi-helm "
        "--output jsonpath=\\{.data.ca\\\\.crt\\}",
    )
]
#: What an empty management cluster gets.
EVERYTHING = [
    *READY,
    *NOBODYS,
    *HELM,
    *CERT_MANAGER,
    *ORC,
    *PROVIDER_FILES,
    *INIT,
    *ADDONS,
    *JANITOR,
]
