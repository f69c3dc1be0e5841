# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.
"""What becomes of each label of the Heat driver and magnum-cluster-api."""

from __future__ import annotations

from oslotest import base

from magnum_capi_helm import features
from magnum_capi_helm.features import ignored

_DECLARED = "declared"
_IGNORED = "ignored"

#: Magnum's Heat driver of 2026.1: its documentation, and what only its code
#: reads.
HEAT: dict[str, str] = {
    "kube_tag": _DECLARED,
    "kube_image_digest": _IGNORED,
    "container_infra_prefix": _DECLARED,
    "hyperkube_prefix": _IGNORED,
    "etcd_tag": _IGNORED,
    "coredns_tag": _IGNORED,
    "heat_container_agent_tag": _IGNORED,
    "use_podman": _IGNORED,
    "ostree_remote": _IGNORED,
    "ostree_commit": _IGNORED,
    "selinux_mode": _IGNORED,
    "cgroup_driver": _IGNORED,
    "container_runtime": _IGNORED,
    "containerd_version": _IGNORED,
    "containerd_tarball_url": _IGNORED,
    "containerd_tarball_sha256": _IGNORED,
    "kubelet_options": _DECLARED,
    "kubeapi_options": _DECLARED,
    "kubecontroller_options": _DECLARED,
    "kubescheduler_options": _DECLARED,
    "kubeproxy_options": _DECLARED,
    "admission_control_list": _DECLARED,
    "availability_zone": _DECLARED,
    "boot_volume_size": _DECLARED,
    "boot_volume_type": _DECLARED,
    "docker_volume_type": _DECLARED,
    "etcd_volume_size": "alias of etcd_blockdevice_size",
    "etcd_volume_type": "alias of etcd_blockdevice_volume_type",
    "fixed_subnet_cidr": _DECLARED,
    "service_cluster_ip_range": _DECLARED,
    "flannel_network_cidr": "alias of pods_cidr",
    "flannel_network_subnetlen": _IGNORED,
    "flannel_backend": _IGNORED,
    "flannel_tag": _IGNORED,
    "flannel_cni_tag": _IGNORED,
    "calico_tag": _IGNORED,
    "calico_ipv4pool": "alias of pods_cidr",
    "calico_ipv4pool_ipip": _IGNORED,
    "master_lb_floating_ip_enabled": _DECLARED,
    "master_lb_allowed_cidrs": "alias of api_master_lb_allowed_cidrs",
    "octavia_provider": _DECLARED,
    "octavia_lb_algorithm": _DECLARED,
    "octavia_lb_healthcheck": _DECLARED,
    "cloud_provider_enabled": _IGNORED,
    "cloud_provider_tag": _IGNORED,
    "cinder_csi_enabled": _DECLARED,
    "cinder_csi_plugin_tag": _IGNORED,
    "csi_attacher_tag": _IGNORED,
    "csi_provisioner_tag": _IGNORED,
    "csi_snapshotter_tag": _IGNORED,
    "csi_resizer_tag": _IGNORED,
    "csi_node_driver_registrar_tag": _IGNORED,
    "csi_liveness_probe_tag": _IGNORED,
    "keystone_auth_enabled": _DECLARED,
    "k8s_keystone_auth_tag": _IGNORED,
    "cert_manager_api": _IGNORED,
    "kube_dashboard_enabled": _DECLARED,
    "kube_dashboard_version": _IGNORED,
    "metrics_scraper_tag": _IGNORED,
    "influx_grafana_dashboard_enabled": _IGNORED,
    "heapster_enabled": _IGNORED,
    "metrics_server_enabled": _DECLARED,
    "metrics_server_chart_tag": _IGNORED,
    "monitoring_enabled": _DECLARED,
    "monitoring_retention_days": _DECLARED,
    "monitoring_retention_size": _DECLARED,
    "monitoring_interval_seconds": _DECLARED,
    "monitoring_storage_class_name": _DECLARED,
    "monitoring_ingress_enabled": _IGNORED,
    "cluster_basic_auth_secret": _IGNORED,
    "cluster_root_domain_name": _IGNORED,
    "prometheus_operator_chart_tag": _IGNORED,
    "prometheus_adapter_enabled": _IGNORED,
    "prometheus_adapter_chart_tag": _IGNORED,
    "prometheus_adapter_configmap": _IGNORED,
    "prometheus_monitoring": "alias of monitoring_enabled",
    "prometheus_tag": _IGNORED,
    "grafana_tag": _IGNORED,
    "grafana_admin_passwd": _IGNORED,
    "ingress_controller": _DECLARED,
    "ingress_controller_role": _IGNORED,
    "traefik_ingress_controller_tag": _IGNORED,
    "nginx_ingress_controller_tag": _IGNORED,
    "nginx_ingress_controller_chart_tag": _IGNORED,
    "octavia_ingress_controller_tag": _IGNORED,
    "helm_client_url": _IGNORED,
    "helm_client_sha256": _IGNORED,
    "helm_client_tag": _IGNORED,
    "auto_healing_enabled": _DECLARED,
    "auto_healing_controller": _IGNORED,
    "draino_tag": _IGNORED,
    "magnum_auto_healer_tag": _IGNORED,
    "npd_enabled": _DECLARED,
    "node_problem_detector_tag": _IGNORED,
    "auto_scaling_enabled": _DECLARED,
    "autoscaler_tag": _DECLARED,
    "min_node_count": _DECLARED,
    "max_node_count": _DECLARED,
    "system_pods_initial_delay": _IGNORED,
    "system_pods_timeout": _IGNORED,
}

#: magnum-cluster-api 0.38.1: its documentation, and what only its code reads.
#: Three names of the audit log are in its documentation alone.
MAGNUM_CLUSTER_API: dict[str, str] = {
    "kube_tag": _DECLARED,
    "container_infra_prefix": _DECLARED,
    "auto_healing_enabled": _DECLARED,
    "auto_scaling_enabled": _DECLARED,
    "max_node_count": _DECLARED,
    "master_lb_floating_ip_enabled": _DECLARED,
    "octavia_provider": _DECLARED,
    "octavia_lb_algorithm": _DECLARED,
    "octavia_lb_healthcheck": _DECLARED,
    "api_server_floating_ip": _DECLARED,
    "api_server_lb_flavor": _IGNORED,
    "api_server_lb_availability_zone": _IGNORED,
    "api_server_cert_sans": _DECLARED,
    "api_server_tls_cipher_suites": _DECLARED,
    "kubelet_tls_cipher_suites": _DECLARED,
    "admission_control_list": _DECLARED,
    "audit_log_enabled": _DECLARED,
    "audit_log_max_age": _DECLARED,
    "audit_log_max_backup": _DECLARED,
    "audit_log_max_size": _DECLARED,
    "audit_log_maxage": "alias of audit_log_max_age",
    "audit_log_maxbackup": "alias of audit_log_max_backup",
    "audit_log_maxsize": "alias of audit_log_max_size",
    "oidc_issuer_url": _DECLARED,
    "oidc_client_id": _DECLARED,
    "oidc_username_claim": _DECLARED,
    "oidc_username_prefix": _DECLARED,
    "oidc_groups_claim": _DECLARED,
    "oidc_groups_prefix": _DECLARED,
    "keystone_auth_enabled": _DECLARED,
    "boot_volume_size": _DECLARED,
    "boot_volume_type": _DECLARED,
    "boot_volume_availability_zone": _DECLARED,
    "etcd_volume_size": "alias of etcd_blockdevice_size",
    "etcd_volume_type": "alias of etcd_blockdevice_volume_type",
    "docker_volume_type": _DECLARED,
    "availability_zone": _DECLARED,
    "control_plane_availability_zones": _DECLARED,
    "server_group_policies": _DECLARED,
    "different_failure_domain": _IGNORED,
    "calico_tag": _IGNORED,
    "calico_ipv4pool": "alias of pods_cidr",
    "cilium_tag": _IGNORED,
    "cilium_ipv4pool": "alias of pods_cidr",
    "cilium_hubble_ui_enabled": _IGNORED,
    "service_cluster_ip_range": _DECLARED,
    "dns_cluster_domain": _DECLARED,
    "fixed_subnet_cidr": _DECLARED,
    "cloud_provider_tag": _IGNORED,
    "cinder_csi_enabled": _DECLARED,
    "cinder_csi_plugin_tag": _IGNORED,
    "manila_csi_enabled": _DECLARED,
    "manila_csi_plugin_tag": _IGNORED,
    "manila_csi_share_network_id": _DECLARED,
    "csi_attacher_tag": _IGNORED,
    "csi_liveness_probe_tag": _IGNORED,
    "csi_node_driver_registrar_tag": _IGNORED,
    "csi_provisioner_tag": _IGNORED,
    "csi_resizer_tag": _IGNORED,
    "csi_snapshotter_tag": _IGNORED,
}


def becomes(name: str) -> list[str]:
    """Everything that the label is here; it has to be one thing."""
    found = [_DECLARED for label in features.LABELS if name == label.name]
    found += [
        f"alias of {label.name}"
        for label in features.LABELS
        if name in label.aliases
    ]
    return [*found, *([_IGNORED] if name in ignored.LABELS else [])]


class OtherDriversTest(base.BaseTestCase):
    def test_each_label_of_the_heat_driver_is_one_thing(self) -> None:
        self.assertEqual(
            {name: [expected] for name, expected in HEAT.items()},
            {name: becomes(name) for name in HEAT},
        )

    def test_each_label_of_magnum_cluster_api_is_one_thing(self) -> None:
        self.assertEqual(
            {
                name: [expected]
                for name, expected in MAGNUM_CLUSTER_API.items()
            },
            {name: becomes(name) for name in MAGNUM_CLUSTER_API},
        )

    def test_only_labels_of_these_drivers_are_ignored(self) -> None:
        # Any other is a label that somebody has misspelt.
        strange = set(ignored.LABELS) - set(HEAT) - set(MAGNUM_CLUSTER_API)
        self.assertEqual(set(), strange)

    def test_each_is_ignored_for_a_reason(self) -> None:
        for name, why in ignored.LABELS.items():
            self.assertTrue(why.endswith("."), f"{name}: {why}")
