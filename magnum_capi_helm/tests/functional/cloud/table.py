# SPDX-License-Identifier: Apache-2.0

"""Table of settings and the OpenStack objects that they end in.

Run as a program, this module writes it into the documentation, from the
results of ``test_rows`` and ``test_options``. On a machine without these it
keeps the table of objects and writes that of the other labels.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
import json
from typing import Any

from magnum_capi_helm.tests.functional import programs
from magnum_capi_helm.tests.functional.cloud import cluster_rows

TABLE = (
    programs.CHECKOUT / "doc" / "source" / "evidence" / "openstack-rows.inc"
)
_RESULTS = ("clusters", "options")

#: Reason -> labels that end in no OpenStack object for it.
WITHOUT: Mapping[str, tuple[str, ...]] = {
    "The driver uses it; the machines do not depend on it.": (
        "capi_helm_chart_version",
        "capi_helm_nodegroup_profiles",
        "capi_helm_values_profiles",
        "capi_management_cluster",
        "kube_tag",
        "upgrade_channel",
        "upgrade_images",
    ),
    "It configures software in the machines of the control plane.": (
        "admission_control_disabled_list",
        "admission_control_list",
        "api_server_cert_sans",
        "api_server_log_level",
        "api_server_tls_cipher_suites",
        "api_server_tls_min_version",
        "audit_log_enabled",
        "audit_log_max_age",
        "audit_log_max_backup",
        "audit_log_max_size",
        "audit_log_policy_level",
        "certificates_expiry_days",
        "etcd_encryption_enabled",
        "etcd_encryption_provider",
        "etcd_encryption_resources",
        "keystone_auth_enabled",
        "kubeapi_options",
        "kubecontroller_options",
        "kubescheduler_options",
        "oidc_client_id",
        "oidc_groups_claim",
        "oidc_groups_prefix",
        "oidc_issuer_url",
        "oidc_signing_algs",
        "oidc_username_claim",
        "oidc_username_prefix",
        "pod_security_audit",
        "pod_security_enforce",
        "pod_security_exempt_namespaces",
        "pod_security_warn",
    ),
    "It configures software in all machines.": (
        "container_infra_prefix",
        "kubelet_options",
        "kubelet_tls_cipher_suites",
        "kubelet_tls_min_version",
        "kubeproxy_options",
        "node_labels",
        "node_taints",
        "registry_mirrors",
    ),
    "A test with real nodes shows it.": ("api_server_network",),
    "It is about networks inside of the cluster.": (
        "calico_chart_version",
        "cilium_chart_version",
        "cilium_hubble_ui_enabled",
        "dns_cluster_domain",
        "pods_cidr",
        "service_cluster_ip_range",
    ),
    "It concerns what the cloud controller manager makes for Services.": (
        "octavia_lb_healthcheck",
    ),
    "It concerns what the CSI drivers make for claims.": (
        "cinder_csi_enabled",
        "csi_cinder_allow_volume_expansion",
        "csi_cinder_availability_zone",
        "csi_cinder_fstype",
        "csi_cinder_reclaim_policy",
        "csi_cinder_volume_binding_mode",
        "manila_csi_enabled",
        "manila_csi_protocol",
        "manila_csi_share_network_id",
        "manila_csi_share_type",
    ),
    "The autoscaler changes the number of servers later.": (
        "auto_scaling_enabled",
        "auto_scaling_gpus",
        "auto_scaling_unneeded_time",
        "auto_scaling_utilization_threshold",
        "autoscaler_tag",
        "max_node_count",
        "min_node_count",
    ),
    "Cluster API replaces servers later.": (
        "auto_healing_enabled",
        "auto_healing_max_unhealthy",
        "auto_healing_node_startup_timeout",
        "auto_healing_unhealthy_timeout",
        "node_deletion_timeout",
        "node_drain_timeout",
        "node_volume_detach_timeout",
        "rollout_max_surge",
    ),
    "It configures an addon.": (
        "amd_gpu_operator_enabled",
        "cert_manager_enabled",
        "etcd_defrag_enabled",
        "headlamp_enabled",
        "ingress_controller",
        "intel_device_plugin_enabled",
        "kube_dashboard_enabled",
        "mellanox_network_operator_enabled",
        "metrics_server_enabled",
        "monitoring_blackbox_enabled",
        "monitoring_enabled",
        "monitoring_interval_seconds",
        "monitoring_loki_enabled",
        "monitoring_retention_days",
        "monitoring_retention_size",
        "monitoring_storage_class_name",
        "monitoring_volume_size",
        "node_feature_discovery_enabled",
        "npd_enabled",
        "nvidia_gpu_operator_enabled",
        "nvidia_mig_strategy",
        "reloader_enabled",
    ),
}

_TITLE = ".. list-table:: Labels without OpenStack objects"
_HEAD = """\
.. Written by tests/functional/cloud/table.py.

"""


def text(seen: Mapping[str, list[dict[str, Any]]]) -> str:
    """Return both tables.

    :param seen: lines of the results by the name of the test
    """
    lines = [line for name in _RESULTS for line in seen[name]]
    return _HEAD + "\n".join((*_objects(lines), without()))


def without() -> str:
    """Return the table of labels that end in no object."""
    return "\n".join(_without())


def _objects(lines: list[dict[str, Any]]) -> Iterator[str]:
    yield ".. list-table:: Settings with OpenStack objects"
    yield "   :header-rows: 1"
    yield "   :widths: 28 20 22 16 14"
    yield ""
    yield from _row("Setting", "Value", "Object", "Field", "Seen")
    for line in lines:
        yield from _row(
            _setting(line["setting"]),
            _literal(line["value"]),
            line["object"],
            line["field"],
            _literal(_in_words(line["seen"])),
        )
    yield ""


def _without() -> Iterator[str]:
    yield _TITLE
    yield "   :header-rows: 1"
    yield "   :widths: 65 35"
    yield ""
    yield from _row("Labels", "Reason")
    for reason, labels in WITHOUT.items():
        yield from _row(", ".join(map(_literal, labels)), reason)
    yield ""


def _setting(setting: str) -> str:
    """Return the place and, as a literal, the name of a setting."""
    place, _, name = setting.rpartition(" ")
    return f"{place} {_literal(name)}" if name else "every cluster"


def _literal(value: str) -> str:
    return f"``{value}``" if value else ""


def _in_words(value: Any) -> str:
    """Return a value as a reader of the table expects it."""
    match value:
        case list():
            return ", ".join(map(_in_words, value))
        case dict():
            return ", ".join(f"{key}={each}" for key, each in value.items())
        case None:
            return "none"
        case bool():
            return str(value).lower()
        case _:
            return str(value)


def _row(*cells: str) -> Iterator[str]:
    for number, cell in enumerate(cells):
        yield f"   {'  ' if number else '* '}- {cell}".rstrip()


def main() -> None:
    """Write both tables, or the second one if a lab has no results."""
    seen = {}
    for name in _RESULTS:
        path = cluster_rows.DIRECTORY / f"{name}.jsonl"
        if not path.exists():
            objects = TABLE.read_text().partition(_TITLE)[0]
            TABLE.write_text(objects + without())
            return
        lines = path.read_text().splitlines()
        seen[name] = [json.loads(line) for line in lines]
    TABLE.write_text(text(seen))


if __name__ == "__main__":
    main()
