"""Which objects the chart renders for values/plain.yaml and rich.yaml."""

_ALWAYS = {
    "Cluster": ["rel"],
    "OpenStackCluster": ["rel"],
    "KubeadmControlPlane": ["rel-control-plane"],
    "Deployment": ["rel-autoscaler"],
    "Role": ["rel-autoscaler"],
    "RoleBinding": ["rel-autoscaler"],
    "ServiceAccount": ["rel-autoscaler"],
}

# Addons that are HelmReleases and have a Secret "<name>-config".
_DEFAULT_ADDONS = [
    "rel-ccm-openstack",
    "rel-cni-calico",
    "rel-csi-cinder",
    "rel-etcd-defrag",
    "rel-mellanox-network-operator",
    "rel-metrics-server",
    "rel-node-feature-discovery",
    "rel-node-problem-detector",
    "rel-nvidia-gpu-operator",
]
_MORE_ADDONS = [
    "rel-amd-gpu-operator",
    "rel-blackbox-exporter",
    "rel-cert-manager",
    "rel-csi-cephfs",
    "rel-csi-manila",
    "rel-intel-device-plugin-gpu",
    "rel-intel-device-plugin-operator",
    "rel-kube-prometheus-stack",
    "rel-loki-stack",
    "rel-tool",
    "rel-traefik",
]
_DEFAULT_MANIFESTS = [
    "rel-cloud-config",
    "rel-cni-calico-globalnetpolicy",
    "rel-csi-cinder-storageclass",
]


def _configs(addons: list[str]) -> list[str]:
    return [f"{addon}-config" for addon in addons]


PLAIN = {
    **_ALWAYS,
    "HelmRelease": _DEFAULT_ADDONS,
    "KubeadmConfigTemplate": [
        "rel-default-worker-<hash>",
        "rel-scaled-<hash>",
    ],
    "MachineDeployment": ["rel-default-worker", "rel-scaled"],
    "MachineHealthCheck": [
        "rel-control-plane",
        "rel-default-worker",
        "rel-scaled",
    ],
    "Manifests": _DEFAULT_MANIFESTS,
    "OpenStackMachineTemplate": [
        "rel-control-plane-<hash>",
        "rel-default-worker-<hash>",
        "rel-scaled-<hash>",
    ],
    "Secret": ["rel-admission-configuration", *_configs(_DEFAULT_ADDONS)],
}

RICH = {
    **_ALWAYS,
    "GitRepository": ["rel-intel-xpu-monitoring-repo"],
    "HelmRelease": [*_DEFAULT_ADDONS, *_MORE_ADDONS, "rel-reloader"],
    "KubeadmConfigTemplate": ["rel-gpu-<hash>"],
    "Kustomization": ["rel-intel-xpu-monitoring"],
    "MachineDeployment": ["rel-gpu"],
    "MachineHealthCheck": ["rel-control-plane", "rel-gpu"],
    "Manifests": [
        *_DEFAULT_MANIFESTS,
        "rel-cni-calico-monitoring",
        "rel-csi-manila-storageclass",
        "rel-kube-prometheus-stack-alerts",
        "rel-kube-prometheus-stack-dashboards",
        "rel-settings",
    ],
    "OpenStackMachineTemplate": ["rel-control-plane-<hash>", "rel-gpu-<hash>"],
    "Secret": [
        "rel-admission-configuration",
        "rel-cloud-credentials",
        "rel-containerd-auth",
        "rel-reloader-cfg",
        *_configs(_DEFAULT_ADDONS),
        *_configs(_MORE_ADDONS),
    ],
}


def rows(inventory: dict[str, list[str]]) -> list[tuple[str, str]]:
    """(kind, name) of each, sorted."""
    return sorted(
        (kind, name) for kind, names in inventory.items() for name in names
    )
