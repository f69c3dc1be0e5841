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

"""Labels of other drivers that have no meaning here.

They are accepted, so that templates of Magnum's Heat driver and of
magnum-cluster-api move over unchanged, and listed in the documentation.
"""

from __future__ import annotations

#: Why they have no effect -> the labels.
_REASONS: dict[str, tuple[str, ...]] = {
    "The chart fixes the versions of its addons, which are tested together.": (
        "calico_tag",
        "cilium_tag",
        "cinder_csi_plugin_tag",
        "cloud_provider_tag",
        "csi_attacher_tag",
        "csi_liveness_probe_tag",
        "csi_node_driver_registrar_tag",
        "csi_provisioner_tag",
        "csi_resizer_tag",
        "csi_snapshotter_tag",
        "grafana_tag",
        "k8s_keystone_auth_tag",
        "kube_dashboard_version",
        "manila_csi_plugin_tag",
        "metrics_scraper_tag",
        "metrics_server_chart_tag",
        "nginx_ingress_controller_chart_tag",
        "nginx_ingress_controller_tag",
        "node_problem_detector_tag",
        "prometheus_operator_chart_tag",
        "prometheus_tag",
        "traefik_ingress_controller_tag",
    ),
    "kubeadm chooses the versions that belong to the Kubernetes version.": (
        "coredns_tag",
        "etcd_tag",
    ),
    "The image has kubelet, container runtime and operating system in it.": (
        "cgroup_driver",
        "container_runtime",
        "containerd_tarball_sha256",
        "containerd_tarball_url",
        "containerd_version",
        "hyperkube_prefix",
        "kube_image_digest",
        "ostree_commit",
        "ostree_remote",
        "selinux_mode",
        "use_podman",
    ),
    "It configures software that runs in Heat's clusters alone.": (
        "heat_container_agent_tag",
        "helm_client_sha256",
        "helm_client_tag",
        "helm_client_url",
        "system_pods_initial_delay",
        "system_pods_timeout",
    ),
    "The chart sets up the pods' network, by calico or cilium.": (
        "calico_ipv4pool_ipip",
        "cilium_hubble_ui_enabled",
        "flannel_backend",
        "flannel_cni_tag",
        "flannel_network_subnetlen",
        "flannel_tag",
    ),
    "The OpenStack cloud controller manager is part of every cluster.": (
        "cloud_provider_enabled",
    ),
    "kubeadm always lets the cluster sign certificate requests.": (
        "cert_manager_api",
    ),
    "Cluster API repairs machines itself: labels auto_healing_*.": (
        "auto_healing_controller",
        "draino_tag",
        "magnum_auto_healer_tag",
    ),
    "The chart installs nginx or traefik, on any worker.": (
        "ingress_controller_role",
        "octavia_ingress_controller_tag",
    ),
    "The chart has no ingress for monitoring: use kubectl port-forward.": (
        "cluster_basic_auth_secret",
        "cluster_root_domain_name",
        "monitoring_ingress_enabled",
    ),
    "The chart has no Prometheus adapter.": (
        "prometheus_adapter_chart_tag",
        "prometheus_adapter_configmap",
        "prometheus_adapter_enabled",
    ),
    "A password is no label: Grafana's is in a Secret of the cluster.": (
        "grafana_admin_passwd",
    ),
    "The software is no longer maintained.": (
        "heapster_enabled",
        "influx_grafana_dashboard_enabled",
    ),
    "The chart can't choose them for the load balancer of the API.": (
        "api_server_lb_availability_zone",
        "api_server_lb_flavor",
    ),
    "The chart passes no scheduler hints to Nova.": (
        "different_failure_domain",
    ),
}

#: Label -> why it has no effect.
LABELS: dict[str, str] = {
    name: why for why, names in _REASONS.items() for name in names
}
