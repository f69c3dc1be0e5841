# SPDX-License-Identifier: Apache-2.0

"""Labels of other drivers that have no effect here.

By default they are accepted, so that templates of Magnum's Heat driver and of
magnum-cluster-api move over unchanged. They are of two classes:

- functional: with the driver that has the label, the cluster would be another
  one. The conductor logs them, and ``unknown_labels = reject`` refuses them.
- harmless: the label concerns something that clusters of this driver do not
  have or need. The driver does not mention them.
"""

from __future__ import annotations

from magnum_capi_helm.model import labels

#: Values of a label that ask for what this driver does anyway.
_SAME: dict[str, tuple[str | bool, ...]] = {
    "calico_ipv4pool_ipip": ("Off", "Never"),
    "cert_manager_api": (True,),
    "cgroup_driver": ("systemd",),
    "cloud_provider_enabled": (True,),
    "container_runtime": ("containerd",),
    "different_failure_domain": (False,),
    "heapster_enabled": (False,),
    "influx_grafana_dashboard_enabled": (False,),
    "monitoring_ingress_enabled": (False,),
    "prometheus_adapter_enabled": (False,),
}
#: Labels whose values are secrets.
_SECRET = frozenset({"grafana_admin_passwd"})

#: Why functional labels have no effect -> the labels.
_FUNCTIONAL: dict[str, tuple[str, ...]] = {
    "the chart fixes the versions of its addons, which are tested together; "
    "another version of the chart has others": (
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
    "the label calico_chart_version or cilium_chart_version chooses the "
    "version": (
        "calico_tag",
        "cilium_tag",
    ),
    "kubeadm chooses the versions that belong to the Kubernetes version": (
        "coredns_tag",
        "etcd_tag",
    ),
    "the image brings kubelet, container runtime and operating system; "
    "choose another image": (
        "cgroup_driver",
        "container_runtime",
        "containerd_tarball_url",
        "containerd_version",
        "selinux_mode",
    ),
    "the chart lets calico connect pods by VXLAN": ("calico_ipv4pool_ipip",),
    "the OpenStack cloud controller manager is part of every cluster": (
        "cloud_provider_enabled",
    ),
    "kubeadm always lets the cluster sign certificate requests": (
        "cert_manager_api",
    ),
    "the chart runs the ingress controller on any worker": (
        "ingress_controller_role",
    ),
    "the chart has no ingress for monitoring; use kubectl port-forward": (
        "monitoring_ingress_enabled",
    ),
    "the chart has no Prometheus adapter": (
        "prometheus_adapter_configmap",
        "prometheus_adapter_enabled",
    ),
    "all users of a project see the labels of its clusters; Grafana's "
    "password is in a Secret of the cluster": ("grafana_admin_passwd",),
    "the software is no longer maintained": (
        "heapster_enabled",
        "influx_grafana_dashboard_enabled",
    ),
    "the chart passes no scheduler hints to Nova; server_group_policies "
    "spreads machines over hosts": ("different_failure_domain",),
}

#: Why harmless labels have no effect -> the labels.
_HARMLESS: dict[str, tuple[str, ...]] = {
    "the image has all of this software, so machines pull and check none": (
        "containerd_tarball_sha256",
        "hyperkube_prefix",
        "kube_image_digest",
        "ostree_commit",
        "ostree_remote",
        "use_podman",
    ),
    "it configures software that runs in Heat's clusters alone": (
        "heat_container_agent_tag",
        "helm_client_sha256",
        "helm_client_tag",
        "helm_client_url",
        "system_pods_initial_delay",
        "system_pods_timeout",
    ),
    "calico or cilium takes flannel's place": (
        "flannel_backend",
        "flannel_cni_tag",
        "flannel_network_subnetlen",
        "flannel_tag",
    ),
    "Cluster API repairs machines itself; see the labels auto_healing_*": (
        "auto_healing_controller",
        "draino_tag",
        "magnum_auto_healer_tag",
    ),
    "it concerns octavia's ingress controller alone, which "
    "ingress_controller refuses": ("octavia_ingress_controller_tag",),
    "it concerns what monitoring_ingress_enabled asks for alone": (
        "cluster_basic_auth_secret",
        "cluster_root_domain_name",
    ),
    "it concerns what prometheus_adapter_enabled asks for alone": (
        "prometheus_adapter_chart_tag",
    ),
}

#: Name of a label -> the reason.
LABELS: dict[str, labels.Ignored] = {
    **{
        name: labels.Ignored(why, functional=False)
        for why, names in _HARMLESS.items()
        for name in names
    },
    **{
        name: labels.Ignored(
            why,
            functional=True,
            same=_SAME.get(name, ()),
            secret=name in _SECRET,
        )
        for why, names in _FUNCTIONAL.items()
        for name in names
    },
}
