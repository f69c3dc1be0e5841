# SPDX-License-Identifier: Apache-2.0

"""Values of labels that are of the wrong type or out of range."""

from __future__ import annotations

from magnum_capi_helm.tests.unit.lifecycle import bad_inputs

TYPES: bad_inputs.Table = {
    "a size with a unit": bad_inputs.Input(
        "label etcd_blockdevice_size: give a size in GB from 0 to "
        "65536. It is '10GB'; 0 keeps etcd on the root disk",
        labels={"etcd_blockdevice_size": "10GB"},
    ),
    "a switch that is neither on nor off": bad_inputs.Input(
        "label auto_scaling_enabled: give true or false. It is 'maybe'",
        labels={"auto_scaling_enabled": "maybe"},
    ),
    "a time without a unit": bad_inputs.Input(
        "label auto_healing_unhealthy_timeout: give a duration such as 20m "
        "or 1h30m, from 1m. It is '600'",
        labels={"auto_healing_unhealthy_timeout": "600"},
    ),
    "an address that is none": bad_inputs.Input(
        "label api_server_fixed_ip: give an IPv4 address of the cluster's "
        "network. It is '10.0.0.256'",
        labels={"api_server_fixed_ip": "10.0.0.256"},
    ),
    "an IPv6 address where IPv4 is asked": bad_inputs.Input(
        "label api_server_floating_ip: give an IPv4 address. It is "
        "'2001:db8::1'",
        labels={"api_server_floating_ip": "2001:db8::1"},
    ),
    "a version of the chart in words": bad_inputs.Input(
        "label capi_helm_chart_version: give a chart version. It is "
        "'latest'; an example is 0.27.0",
        template={"labels": {"capi_helm_chart_version": "latest"}},
    ),
    "an argument without a value": bad_inputs.Input(
        "label kubeapi_options: give arguments as --name=value, separated by "
        "spaces, each once. It is '--profiling'",
        labels={"kubeapi_options": "--profiling"},
    ),
}

CHOICES: bad_inputs.Table = {
    "a choice in small letters": bad_inputs.Input(
        "label csi_cinder_volume_binding_mode: give WaitForFirstConsumer or "
        "Immediate. It is 'immediate'",
        labels={"csi_cinder_volume_binding_mode": "immediate"},
    ),
    "an audit level that is none": bad_inputs.Input(
        "label audit_log_policy_level: give Metadata, Request or "
        "RequestResponse. It is 'Everything'",
        labels={"audit_log_policy_level": "Everything"},
    ),
    "an ingress controller that the chart does not have": bad_inputs.Input(
        "label ingress_controller: give nginx or traefik; empty installs no "
        "ingress controller. It is 'haproxy'",
        labels={"ingress_controller": "haproxy"},
    ),
    "a cipher suite that is weak": bad_inputs.Input(
        "label kubelet_tls_cipher_suites: give a comma separated list of "
        "Go's cipher suites without known weakness, "
        "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 or "
        "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 among them. It is "
        "'TLS_RSA_WITH_RC4_128_SHA'",
        labels={"kubelet_tls_cipher_suites": "TLS_RSA_WITH_RC4_128_SHA"},
    ),
    "a CNI that the chart does not have": bad_inputs.Input(
        "network_driver: choose one of calico, cilium. It is 'weave'",
        template={"network_driver": "weave"},
    ),
}

BOUNDS: bad_inputs.Table = {
    "a negative size by an alias": bad_inputs.Input(
        "label etcd_volume_size: give a size in GB from 0 to "
        "65536. It is '-5'; 0 keeps etcd on the root disk",
        labels={"etcd_volume_size": "-5"},
    ),
    "a log level above the last": bad_inputs.Input(
        "label api_server_log_level: give a number from 0 to 10. It is '11'",
        labels={"api_server_log_level": "11"},
    ),
    "a share above the whole": bad_inputs.Input(
        "label auto_scaling_utilization_threshold: give a number from 0 to "
        "1. It is '1.5'",
        labels={"auto_scaling_utilization_threshold": "1.5"},
    ),
    "a time in which no machine starts": bad_inputs.Input(
        "label auto_healing_node_startup_timeout: give a duration such as "
        "20m or 1h30m, from 5m. It is '10s'",
        labels={"auto_healing_node_startup_timeout": "10s"},
    ),
    "a share that is no number": bad_inputs.Input(
        "label auto_scaling_utilization_threshold: give a number from 0 to "
        "1. It is 'nan'",
        labels={
            "auto_scaling_enabled": "true",
            "auto_scaling_utilization_threshold": "nan",
        },
    ),
    "a disk that nobody has": bad_inputs.Input(
        "label boot_volume_size: give a size in GB from 0 to 65536. It is "
        "'99999999999999'; with 0, machines boot from the disk of the flavor",
        labels={"boot_volume_size": "99999999999999"},
    ),
    "a log that is kept for ever": bad_inputs.Input(
        "label audit_log_max_age: give a number of days from 1 to 100000. It "
        "is '99999999999999'",
        labels={
            "audit_log_enabled": "true",
            "audit_log_max_age": "99999999999999",
        },
    ),
    "a number as Python writes it": bad_inputs.Input(
        "label etcd_volume_size: give a size in GB from 0 to "
        "65536. It is '1_0'; 0 keeps etcd on the root disk",
        labels={"etcd_volume_size": "1_0"},
    ),
    "a number in other digits": bad_inputs.Input(
        "label boot_volume_size: give a size in GB from 0 to 65536. It is "
        "'\u0661\u0660'; with 0, machines boot from the disk of the flavor",
        labels={"boot_volume_size": "\u0661\u0660"},
    ),
    "an even number of masters": bad_inputs.Input(
        "master_count=2: a control plane, whose machines run etcd, has an "
        "odd number of machines; give 1, 3, 5 or 7",
        masters=2,
    ),
}
