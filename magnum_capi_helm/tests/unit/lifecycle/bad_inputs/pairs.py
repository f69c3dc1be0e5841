# SPDX-License-Identifier: Apache-2.0

"""Labels that do not go with each other, or with the chart."""

from __future__ import annotations

from magnum_capi_helm.tests.unit.lifecycle import bad_inputs

CONTRADICTIONS: bad_inputs.Table = {
    "networks that a load balancer of ovn would not filter": bad_inputs.Input(
        "label api_master_lb_allowed_cidrs: give it with another "
        "octavia_provider than ovn, whose load balancers can't filter. It is "
        "'192.0.2.0/24'",
        labels={
            "octavia_provider": "ovn",
            "api_master_lb_allowed_cidrs": "192.0.2.0/24",
        },
    ),
    "a network that a load balancer of ovn would not join": bad_inputs.Input(
        "label api_server_network: give it with another octavia_provider "
        "than ovn, whose load balancers can't connect two networks. It is "
        "'public'",
        labels={
            "octavia_provider": "ovn",
            "api_server_network": "public",
            "master_lb_floating_ip_enabled": "false",
        },
    ),
    "an issuer without a client": bad_inputs.Input(
        "label oidc_issuer_url: give it together with oidc_client_id. It is "
        "'https://sso.example.org'",
        labels={"oidc_issuer_url": "https://sso.example.org"},
    ),
    "a client without an issuer": bad_inputs.Input(
        "label oidc_client_id: give it together with oidc_issuer_url. It is "
        "'me'",
        labels={"oidc_client_id": "me"},
    ),
    "a maximum below the minimum": bad_inputs.Input(
        "min_node_count 5 is above max_node_count 3. The nodegroup is "
        "'default-worker'",
        labels={
            "auto_scaling_enabled": "true",
            "min_node_count": "5",
            "max_node_count": "3",
        },
    ),
    "an encryption that is not switched on": bad_inputs.Input(
        "label etcd_encryption_provider: give it together with "
        "etcd_encryption_enabled=true. It is 'aesgcm'",
        labels={"etcd_encryption_provider": "aesgcm"},
    ),
    "shares of no type": bad_inputs.Input(
        "label manila_csi_enabled: give it together with "
        "manila_csi_share_type. It is 'true'",
        labels={"manila_csi_enabled": "true"},
    ),
    "an argument that another label owns": bad_inputs.Input(
        "label kubeapi_options: give it without audit-log-path: see "
        "audit_log_enabled. It is '--audit-log-path=/var/log/audit.log'",
        labels={"kubeapi_options": "--audit-log-path=/var/log/audit.log"},
    ),
    "arguments of a proxy that is not there": bad_inputs.Input(
        "label kubeproxy_options: give none: with cilium there is no "
        "kube-proxy. It is '--proxy-mode=ipvs'",
        labels={"kubeproxy_options": "--proxy-mode=ipvs"},
        template={"network_driver": "cilium"},
    ),
    "Hubble without cilium": bad_inputs.Input(
        "label cilium_hubble_ui_enabled: give it with "
        "network_driver=cilium. It is 'true'",
        labels={"cilium_hubble_ui_enabled": "true"},
    ),
    "a version of the other network plugin": bad_inputs.Input(
        "label calico_chart_version: give it with network_driver=calico. It "
        "is 'v3.31.6'",
        labels={"calico_chart_version": "v3.31.6"},
        template={"network_driver": "cilium"},
    ),
    "a type of etcd's volume that is not made": bad_inputs.Input(
        "label etcd_volume_type: give it together with "
        "etcd_blockdevice_size. It is 'fast'",
        labels={"etcd_volume_type": "fast"},
    ),
    "a type of etcd's disk, which is no volume": bad_inputs.Input(
        "label etcd_blockdevice_volume_type: give it with "
        "etcd_blockdevice_type=volume. It is 'fast'",
        labels={
            "etcd_blockdevice_size": "10",
            "etcd_blockdevice_type": "local",
            "etcd_blockdevice_volume_type": "fast",
        },
    ),
    "a level of no audit log": bad_inputs.Input(
        "label audit_log_policy_level: give it together with "
        "audit_log_enabled=true. It is 'Request'",
        labels={"audit_log_policy_level": "Request"},
    ),
    "a rotation of no audit log, by an alias": bad_inputs.Input(
        "label audit_log_maxage: give it together with "
        "audit_log_enabled=true. It is '7'",
        labels={"audit_log_maxage": "7"},
    ),
    "namespaces that are exempt from nothing": bad_inputs.Input(
        "label pod_security_exempt_namespaces: give it together with "
        "pod_security_enforce, pod_security_audit or pod_security_warn. It "
        "is 'legacy'",
        labels={"pod_security_exempt_namespaces": "legacy"},
    ),
    "a threshold of no autoscaler": bad_inputs.Input(
        "label auto_scaling_utilization_threshold: give it together with "
        "auto_scaling_enabled=true. It is '0.7'",
        labels={"auto_scaling_utilization_threshold": "0.7"},
    ),
    "port security in no extra network": bad_inputs.Input(
        "label extra_network_port_security: give it together with "
        "extra_network_names. It is 'false'",
        labels={"extra_network_port_security": "false"},
    ),
    "a zone of volumes that are not made": bad_inputs.Input(
        "label boot_volume_availability_zone: give it together with "
        "boot_volume_size, docker_volume_size or extra_volumes. It is "
        "'nova'",
        labels={"boot_volume_availability_zone": "nova"},
    ),
    "two volumes of one name": bad_inputs.Input(
        "label extra_volumes: give each name once. It is 'data:1,data:2'",
        labels={"extra_volumes": "data:1,data:2"},
    ),
    "a type of a volume that is not made": bad_inputs.Input(
        "label boot_volume_type: give it together with boot_volume_size, "
        "without which machines boot from the flavor's own disk. It is "
        "'fast'",
        labels={"boot_volume_type": "fast"},
    ),
}

CHARTS: bad_inputs.Table = {
    "security groups": bad_inputs.Input(
        "label extra_security_groups: give it with a chart version that "
        "applies it. It is 'web'; charts 0.11.0 and later do, and this is "
        "0.10.1",
        labels={"extra_security_groups": "web"},
        chart="0.10.1",
    ),
    "the flavor of a load balancer": bad_inputs.Input(
        "label api_server_lb_flavor: give it with a chart version that "
        "applies it. It is 'ha'; charts 0.12.0 and later do, and this is "
        "0.11.2",
        labels={"api_server_lb_flavor": "ha"},
        chart="0.11.2",
    ),
    "the zone of a load balancer": bad_inputs.Input(
        "label api_server_lb_availability_zone: give it with a chart version "
        "that applies it. It is 'az1'; charts 0.11.0 and later do, and this "
        "is 0.10.1",
        labels={"api_server_lb_availability_zone": "az1"},
        chart="0.10.1",
    ),
    "the network of a load balancer": bad_inputs.Input(
        "label api_server_network: give it with a chart version that applies "
        "it. It is 'public'; charts 0.11.0 and later do, and this is 0.10.1",
        labels={
            "api_server_network": "public",
            "master_lb_floating_ip_enabled": "false",
        },
        chart="0.10.1",
    ),
    "encryption in etcd": bad_inputs.Input(
        "label etcd_encryption_enabled: give it with a chart version that "
        "applies it. It is 'true'; charts 0.16.0 and later do, and this is "
        "0.15.0",
        labels={"etcd_encryption_enabled": "true"},
        chart="0.15.0",
    ),
    "name servers": bad_inputs.Input(
        "dns_nameserver: give it with a chart version that applies it. It is "
        "192.0.2.53; charts up to 0.10.1, 0.16.0 and later do, and this is "
        "0.12.0",
        template={"dns_nameserver": "192.0.2.53"},
        chart="0.12.0",
    ),
    "a minimum of no nodes": bad_inputs.Input(
        "label min_node_count: give 1 or more. It is '0'; charts before "
        "0.26.0 do not scale to zero, and this is 0.25.1",
        labels={
            "auto_scaling_enabled": "true",
            "min_node_count": "0",
            "max_node_count": "5",
        },
        chart="0.25.1",
    ),
}

UNKNOWN: bad_inputs.Table = {
    "a label that is almost another": bad_inputs.Input(
        "label 'auto_scaling_enable' is not known (did you mean "
        "auto_scaling_enabled?)",
        labels={"auto_scaling_enable": "true"},
        options={"unknown_labels": "reject"},
    ),
    "a label that another driver applies": bad_inputs.Input(
        "label cert_manager_api has no effect: kubeadm always lets the "
        "cluster sign certificate requests. It is 'false'; label "
        "coredns_tag has no effect: kubeadm chooses the versions that belong "
        "to the Kubernetes version. It is '1.11.1'",
        labels={
            "coredns_tag": "1.11.1",
            "cert_manager_api": "false",
            "different_failure_domain": "false",
            "heat_container_agent_tag": "wallaby-stable-1",
        },
        options={"unknown_labels": "reject"},
    ),
    "a label that is read from templates": bad_inputs.Input(
        "label capi_helm_chart_version is read from the template alone",
        labels={"capi_helm_chart_version": "0.26.1"},
        options={"unknown_labels": "reject"},
    ),
}
