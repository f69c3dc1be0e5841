# SPDX-License-Identifier: Apache-2.0

"""Arguments that belong to kubeadm, the chart, the driver or a label.

Each table is: form of an argument's name -> why users can't give it. The
first form that fits counts.
"""

from __future__ import annotations

from collections.abc import Mapping
import re

_KUBEADM = "kubeadm sets it"
_CHART = "the chart sets it"

_OF_ALL = {
    r"cloud-(provider|config)": _CHART,
    r".*kubeconfig": _KUBEADM,
    r"(tls-)?(client-ca|cert|private-key|root-ca)-file": _KUBEADM,
    r".*-(file|files|dir|directory)|config": "machines have no such file",
}
API_SERVER = {
    r"audit-.*": "see audit_log_enabled",
    r"oidc-.*|authentication-config": "see oidc_issuer_url",
    r"enable-admission-plugins": "see admission_control_list",
    r"disable-admission-plugins": "see admission_control_disabled_list",
    r"admission-control-config-file": "see pod_security_enforce",
    r"encryption-provider-.*": "see etcd_encryption_enabled",
    r"tls-cipher-suites": "see api_server_tls_cipher_suites",
    r"tls-min-version": "see api_server_tls_min_version",
    r"authorization-.*|authentication-.*": "see keystone_auth_enabled",
    r"service-cluster-ip-range": "see service_cluster_ip_range",
    r"secure-port": "see the template's apiserver_port",
    r"v": "see api_server_log_level",
    r"anonymous-auth": "kubelet's probes are anonymous",
    r"(advertise|bind)-address": _KUBEADM,
    r"(etcd|service-account|requestheader)-.*": _KUBEADM,
    r"(proxy|kubelet)-client-.*": _KUBEADM,
    r"allow-privileged|enable-bootstrap-token-auth": _KUBEADM,
    **_OF_ALL,
}
CONTROLLER_MANAGER = {
    r"bind-address": _CHART,
    r"allocate-node-cidrs|cluster-(cidr|name)": _KUBEADM,
    r"cluster-signing-.*-file|requestheader-.*": _KUBEADM,
    r"controllers|leader-elect|secure-port": _KUBEADM,
    r"service-account-private-key-file": _KUBEADM,
    r"service-cluster-ip-range": "see service_cluster_ip_range",
    r"use-service-account-credentials": _KUBEADM,
    **_OF_ALL,
}
SCHEDULER = {
    r"bind-address": _CHART,
    r"leader-elect|secure-port": _KUBEADM,
    **_OF_ALL,
}
KUBELET = {
    r"node-labels": "see node_labels",
    r"register-with-taints": "see node_taints",
    r"tls-cipher-suites": "see kubelet_tls_cipher_suites",
    r"tls-min-version": "see kubelet_tls_min_version",
    r"hostname-override|node-ip|provider-id": "each machine has its own",
    r"cluster-(dns|domain)|container-runtime-endpoint": _KUBEADM,
    r"anonymous-auth|authentication-.*|authorization-.*": _KUBEADM,
    r"pod-manifest-path|root-dir|register-node": _KUBEADM,
    **_OF_ALL,
}


def reason(owned: Mapping[str, str], name: str) -> str | None:
    """Why the argument can't be given; None: it can."""
    for form, why in owned.items():
        if re.fullmatch(form, name):
            return why
    return None
