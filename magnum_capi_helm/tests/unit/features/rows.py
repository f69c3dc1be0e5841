# SPDX-License-Identifier: Apache-2.0

"""Values of each label to test with, and what a template with them becomes."""

from __future__ import annotations

import dataclasses
import inspect
import types
from typing import Any

from magnum_capi_helm import features
from magnum_capi_helm.chart import values
from magnum_capi_helm.features import nodes
from magnum_capi_helm.features import topic
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.resolve import cluster as resolve_cluster
from magnum_capi_helm.resolve import offline
from magnum_capi_helm.tests.fakes import cloud as fake_cloud
from magnum_capi_helm.tests.unit.features import specs

_AUDIT = {"audit_log_enabled": "true"}
_ISSUER = {
    "oidc_client_id": "kubernetes",
    "oidc_issuer_url": "https://id.example.org/realms/k8s",
}
_AUTOSCALER = {"auto_scaling_enabled": "true"}
_ENCRYPT = {"etcd_encryption_enabled": "true"}
_ETCD = {"etcd_blockdevice_size": "10"}
_MONITORING = {"monitoring_enabled": "true"}
_CILIUM = {"network_driver": "cilium"}
_VOLUME = {"boot_volume_size": "30"}
_MANILA = {"manila_csi_enabled": "true", "manila_csi_share_type": "nfs"}
_BASELINE = {"pod_security_enforce": "baseline"}
_NO_OPERATORS = {
    "nvidia_gpu_operator_enabled": "false",
    "mellanox_network_operator_enabled": "false",
}
_STORAGE = {"extra_network_names": "storage"}
_UUID = "0b8ac6b8-3e5c-4f0e-9d5c-8a7f1c2d3e4f"
_SUITES = "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"


def _chart(version: str) -> dict[str, str]:
    return {"capi_helm_chart_version": version}


#: Label -> a value that is not its default, a value that no user may give
#: (None: the label takes any text), and other labels that the first one needs,
#: or the template's ``network_driver``.
ROWS: dict[str, tuple[str, str | None, dict[str, str]]] = {
    # Addons.
    "kube_dashboard_enabled": ("false", "-", _chart("0.19.2")),
    "headlamp_enabled": ("true", "v0.43", _chart("0.28.0")),
    "ingress_controller": ("nginx", "octavia", {}),
    "metrics_server_enabled": ("false", "none", {}),
    "npd_enabled": ("false", "maybe", {}),
    "cert_manager_enabled": ("true", "v1.17", {}),
    "etcd_defrag_enabled": ("false", "nightly", {}),
    "reloader_enabled": ("false", "", {}),
    # Admission.
    "admission_control_list": ("AlwaysPullImages", "alwaysPullImages", {}),
    "admission_control_disabled_list": ("DefaultStorageClass", "--all", {}),
    "pod_security_enforce": ("baseline", "strict", {}),
    "pod_security_audit": ("restricted", "Baseline", {}),
    "pod_security_warn": ("restricted", "true", {}),
    "pod_security_exempt_namespaces": ("legacy", "kube_system", _BASELINE),
    # Kubernetes API.
    "master_lb_floating_ip_enabled": ("false", "none", {}),
    "api_server_floating_ip": ("192.0.2.7", "2001:db8::7", {}),
    "api_server_fixed_ip": ("10.0.0.5", "10.0.0.0/24", {}),
    "api_master_lb_allowed_cidrs": ("192.0.2.0/24", "192.0.2.1/24", {}),
    "api_server_cert_sans": ("api.example.org", "https://api.example.org", {}),
    "api_server_log_level": ("4", "debug", {}),
    "api_server_lb_flavor": ("ha", None, {}),
    "api_server_lb_availability_zone": ("az1", None, {}),
    "api_server_network": (
        "management",
        None,
        {"master_lb_floating_ip_enabled": "false"},
    ),
    # Component arguments.
    "kubeapi_options": ("--max-requests-inflight=800", "--profiling", {}),
    "kubecontroller_options": (
        "--terminated-pod-gc-threshold=100",
        "-v=4",
        {},
    ),
    "kubescheduler_options": ("--v=4", "--v=4 --v=5", {}),
    "kubelet_options": ("--max-pods=200", "--Max-Pods=200", {}),
    "kubeproxy_options": ("--proxy-mode=ipvs", "--proxy-mode ipvs", {}),
    "api_server_tls_cipher_suites": (_SUITES, "TLS_RSA_WITH_RC4_128_SHA", {}),
    "api_server_tls_min_version": ("1.3", "VersionTLS13", {}),
    "kubelet_tls_cipher_suites": (
        _SUITES,
        "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
        {},
    ),
    "kubelet_tls_min_version": ("1.3", "1.1", {}),
    # Audit log.
    "audit_log_enabled": ("true", "Metadata", {}),
    "audit_log_policy_level": ("Request", "Everything", _AUDIT),
    "audit_log_max_age": ("7", "0", _AUDIT),
    "audit_log_max_backup": ("3", "few", _AUDIT),
    "audit_log_max_size": ("50", "100MB", _AUDIT),
    # Authentication.
    "keystone_auth_enabled": ("true", "enabled", {}),
    "oidc_issuer_url": (
        "https://other.example.org",
        "http://id.example.org",
        _ISSUER,
    ),
    "oidc_client_id": ("other", "my client", _ISSUER),
    "oidc_username_claim": ("email", "e mail", _ISSUER),
    "oidc_username_prefix": ("-", " ", _ISSUER),
    "oidc_groups_claim": ("roles", "my groups", _ISSUER),
    "oidc_groups_prefix": ("sso:", "a b", _ISSUER),
    "oidc_signing_algs": ("ES256, RS256", "HS256", _ISSUER),
    # Autoscaling.
    "auto_scaling_enabled": ("true", "2", {"max_node_count": "5"}),
    "min_node_count": ("1", "1.5", {**_AUTOSCALER, "max_node_count": "5"}),
    "max_node_count": ("6", "many", _AUTOSCALER),
    "autoscaler_tag": ("v1.34.1", "v1.34.1@sha256:0", _AUTOSCALER),
    "auto_scaling_gpus": ("nvidia.com/gpu=1", "nvidia.com/gpu", _AUTOSCALER),
    "auto_scaling_unneeded_time": ("30m", "10", _AUTOSCALER),
    "auto_scaling_utilization_threshold": ("0.7", "50%", _AUTOSCALER),
    # Chart.
    "capi_helm_chart_version": ("0.26.0", "latest", {}),
    # Container storage.
    "docker_volume_type": ("fast", None, {}),
    # Encryption at rest.
    "etcd_encryption_enabled": ("true", "secretbox", {}),
    "etcd_encryption_provider": ("aescbc", "kms", _ENCRYPT),
    "etcd_encryption_resources": ("secrets, configmaps", "Secrets", _ENCRYPT),
    # etcd.
    "etcd_blockdevice_size": ("10", "10G", {}),
    "etcd_blockdevice_type": ("local", "nvme", _ETCD),
    "etcd_blockdevice_volume_type": ("fast", None, _ETCD),
    "etcd_blockdevice_volume_az": ("az1", None, _ETCD),
    # Hardware.
    "nvidia_gpu_operator_enabled": ("false", "A100", {}),
    "nvidia_mig_strategy": ("mixed", "both", {}),
    "mellanox_network_operator_enabled": ("false", "-", {}),
    "amd_gpu_operator_enabled": ("true", "some", _chart("0.27.0")),
    "intel_device_plugin_enabled": ("true", "i915", {}),
    "node_feature_discovery_enabled": ("false", "pci", _NO_OPERATORS),
    # Auto-healing.
    "auto_healing_enabled": ("false", "maybe", {}),
    "auto_healing_max_unhealthy": ("40%", "0%", {}),
    "auto_healing_node_startup_timeout": ("1h30m", "4m59s", {}),
    "auto_healing_unhealthy_timeout": ("10m", "300", {}),
    # Load balancers.
    "octavia_provider": ("ovn", "", {}),
    "octavia_lb_algorithm": ("SOURCE_IP", "RANDOM", {}),
    "octavia_lb_healthcheck": ("false", "often", {}),
    # Management cluster.
    "capi_management_cluster": ("east", None, {}),
    # Monitoring.
    "monitoring_enabled": ("true", "always", {}),
    "monitoring_retention_days": ("14", "0", _MONITORING),
    "monitoring_retention_size": ("14", "14Gi", _MONITORING),
    "monitoring_volume_size": ("20", "0", _MONITORING),
    "monitoring_storage_class_name": ("fast", "Fast_SSD", _MONITORING),
    "monitoring_interval_seconds": ("60", "30s", _MONITORING),
    "monitoring_loki_enabled": ("false", "logs", _MONITORING),
    "monitoring_blackbox_enabled": ("false", "2", _MONITORING),
    # Networks.
    "fixed_subnet_cidr": ("192.168.7.0/24", "fd00::/64", {}),
    "pods_cidr": ("10.100.0.0/16", "10.100.0.0/25", {}),
    "service_cluster_ip_range": ("10.254.0.0/16", "fd00::/108", {}),
    "cilium_hubble_ui_enabled": ("true", "some", _CILIUM),
    "calico_chart_version": ("v3.31.6", "v3.27.9", {}),
    "cilium_chart_version": ("1.19.4", "v1.19.4", _CILIUM),
    "dns_cluster_domain": ("k8s.example.org", "cluster.local.", {}),
    "extra_network_names": ("storage", None, {}),
    "extra_network_port_security": ("false", "some", _STORAGE),
    "extra_security_groups": ("web", None, {}),
    # Machines.
    "boot_volume_size": ("30", "-1", {}),
    "boot_volume_type": ("fast", None, _VOLUME),
    "boot_volume_availability_zone": ("az1", None, _VOLUME),
    "extra_volumes": ("data:100,logs:20:fast", "etcd:10", {}),
    "kube_tag": ("v1.33.6", "latest", {}),
    "node_labels": (
        "disk=ssd,example.org/team=a",
        "node-role.kubernetes.io/gpu=yes",
        {},
    ),
    "node_taints": ("gpu=yes:NoSchedule,slow:NoExecute", "gpu=yes:Never", {}),
    # Placement.
    "availability_zone": ("az1", None, {}),
    "control_plane_availability_zones": ("az1,az2", None, {}),
    "server_group_policies": ("anti-affinity", "friends", {}),
    # Profiles.
    "capi_helm_nodegroup_profiles": ("gpu", "../gpu", {}),
    "capi_helm_values_profiles": ("gpu", "../gpu", {}),
    # Registries.
    "registry_mirrors": (
        "docker.io=https://mirror.example.org",
        "mirror.example.org",
        {},
    ),
    "container_infra_prefix": (
        "registry.example.org/k8s",
        "https://registry.example.org",
        {},
    ),
    # Renewal of certificates.
    "certificates_expiry_days": ("30", "6", {}),
    # Replacement.
    "node_drain_timeout": ("1h", "-1s", {}),
    "node_volume_detach_timeout": ("10m", "600", {}),
    "node_deletion_timeout": ("0s", "", {}),
    "rollout_max_surge": ("25%", "0", {}),
    # Shared volumes.
    "manila_csi_enabled": (
        "true",
        "nfs",
        {**_MANILA, "manila_csi_enabled": "false"},
    ),
    "manila_csi_share_type": ("fast", "{{ type }}", _MANILA),
    "manila_csi_protocol": ("cephfs", "cifs", _MANILA),
    "manila_csi_share_network_id": (_UUID, "shares", _MANILA),
    # Persistent volumes.
    "cinder_csi_enabled": ("false", "cinder", {}),
    "csi_cinder_availability_zone": ("az1", "{{ zone }}", {}),
    "csi_cinder_reclaim_policy": ("Delete", "Recycle", {}),
    "csi_cinder_volume_binding_mode": ("Immediate", "Later", {}),
    "csi_cinder_fstype": ("xfs", "", {}),
    "csi_cinder_allow_volume_expansion": ("false", "ja", {}),
    "volumes_policy": ("delete", "burn", {}),
    # Upgrades.
    "upgrade_channel": ("stable", "Stable/1", {}),
    "upgrade_images": ("1.34=ubuntu-v1.34.6,v1.35.2=my-image", "1.34", {}),
}
CHANGES = {
    name: (changed, needs) for name, (changed, _, needs) in ROWS.items()
}
REFUSED = {
    name: refused
    for name, (_, refused, _) in ROWS.items()
    if refused is not None
}


#: The file of each label's topic, below the package.
FILES = {
    label.name: f"features/{name}.py"
    for name, module in inspect.getmembers(features, inspect.ismodule)
    for each in vars(module).values()
    if isinstance(each, topic.Topic)
    for label in each.labels
}
_EMPTY = (
    *("external_network_id", "fixed_network", "fixed_subnet", "keypair_id"),
    *("dns_nameserver", "insecure_registry", "apiserver_port"),
    *("http_proxy", "https_proxy", "no_proxy"),
)


def resolved(given: dict[str, str]) -> cluster_spec.Cluster:
    """A cluster of a template with these labels.

    :param given: "network_driver" is the field of that name
    """
    given = dict(given)
    network_driver = given.pop("network_driver", "calico")
    bare = dataclasses.replace(specs.IMAGE, kube_version="")
    template = types.SimpleNamespace(
        **dict.fromkeys(_EMPTY),
        name="small",
        labels=given,
        network_driver=network_driver,
        # An image that says its version needs no label to say it.
        image_id="bare" if nodes.KUBE_TAG.name in given else "ubuntu",
        flavor_id="m1",
        master_flavor_id="m1",
        docker_volume_size=50,
        floating_ip_enabled=True,
        master_lb_enabled=True,
        tls_disabled=False,
    )
    fields = {"name": "demo", "node_count": 2, "labels": {}}
    cluster = offline.cluster(template, fields)
    cluster.project_id = "p1"
    cloud: Any = fake_cloud.FakeCloud(
        images={"ubuntu": specs.IMAGE, "bare": bare},
        flavors={"m1": "m1"},
        networks={name: name for name in ("management", "storage")},
        types=("fast",),
        zones_of_volumes=("az1", "az2"),
        identity="https://keystone.example.org/v3",
    )
    wanted = resolve_cluster.resolve(cluster, cloud, "demo-1")
    values.checked(wanted)
    return dataclasses.replace(
        wanted,
        control_plane=_placed(wanted.control_plane),
        node_groups=tuple(map(_placed, wanted.node_groups)),
    )


def _placed(group: cluster_spec.NodeGroup) -> cluster_spec.NodeGroup:
    """A group whose server group has the policy for its id."""
    policy = group.labels[nodes.SERVER_GROUP_POLICY]
    return dataclasses.replace(group, server_group_id=policy or None)
