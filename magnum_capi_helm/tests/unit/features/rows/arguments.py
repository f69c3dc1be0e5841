# SPDX-License-Identifier: Apache-2.0

"""Component arguments: a row for each label."""

from __future__ import annotations

_SUITES = "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"

#: label -> (a value that is not its default, what else it needs)
CHANGES: dict[str, tuple[str, dict[str, str]]] = {
    "kubeapi_options": ("--max-requests-inflight=800", {}),
    "kubecontroller_options": ("--terminated-pod-gc-threshold=100", {}),
    "kubescheduler_options": ("--v=4", {}),
    "kubelet_options": ("--max-pods=200", {}),
    "kubeproxy_options": ("--proxy-mode=ipvs", {}),
    "api_server_tls_cipher_suites": (_SUITES, {}),
    "api_server_tls_min_version": ("1.3", {}),
    "kubelet_tls_cipher_suites": (_SUITES, {}),
    "kubelet_tls_min_version": ("1.3", {}),
}

#: label -> a value that no user may give
REFUSED: dict[str, str] = {
    "kubeapi_options": "--profiling",
    "kubecontroller_options": "-v=4",
    "kubescheduler_options": "--v=4 --v=5",
    "kubelet_options": "--Max-Pods=200",
    "kubeproxy_options": "--proxy-mode ipvs",
    "api_server_tls_cipher_suites": "TLS_RSA_WITH_RC4_128_SHA",
    "api_server_tls_min_version": "VersionTLS13",
    "kubelet_tls_cipher_suites": "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
    "kubelet_tls_min_version": "1.1",
}
