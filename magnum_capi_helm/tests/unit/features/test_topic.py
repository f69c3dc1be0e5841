# SPDX-License-Identifier: Apache-2.0

"""Topics: paths with one writer each, labels that need another label.

Also the labels that only a template has.
"""

from __future__ import annotations

from typing import Any

from oslotest import base

from magnum_capi_helm.chart import values
from magnum_capi_helm.features import template
from magnum_capi_helm.features import topic
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import labels
from magnum_capi_helm.model import paths
from magnum_capi_helm.tests.unit.features import specs


class MergeTest(base.BaseTestCase):
    def test_dictionaries_merge(self) -> None:
        target: dict[str, Any] = {"a": {"b": 1}}
        topic.merge(target, {"a": {"c": {"d": 2}}, "e": 3})
        self.assertEqual({"a": {"b": 1, "c": {"d": 2}}, "e": 3}, target)

    def test_two_writers_of_one_leaf_are_an_error(self) -> None:
        rows: list[tuple[dict[str, Any], dict[str, Any], str]] = [
            ({"a": {"b": 1}}, {"a": {"b": 2}}, "a.b"),
            ({"a": {"b": 1}}, {"a": {"b": 1}}, "a.b"),
            ({"a": [1]}, {"a": [2]}, "a"),
            ({"a": {"b": {}}}, {"a": {"b": None}}, "a.b"),
            ({"a": 1}, {"a": {"b": 2}}, "a"),
        ]
        for target, source, path in rows:
            error = self.assertRaises(
                topic.TwoWritersError, topic.merge, target, source
            )
            self.assertEqual(path, str(error))

    def test_files_of_machines_are_joined_in_order(self) -> None:
        target: dict[str, Any] = {}
        for name in ("a", "b"):
            topic.merge(target, topic.nest(topic.on_all_machines([{name: 1}])))
        joined = {"kubeadmConfigSpec": {"files": [{"a": 1}, {"b": 1}]}}
        self.assertEqual(
            {"controlPlane": joined, "nodeGroupDefaults": joined}, target
        )

    def test_merge_copies_its_source(self) -> None:
        source = {"a": {"b": [1]}}
        target: dict[str, Any] = {}
        topic.merge(target, source)
        target["a"]["b"].append(2)
        self.assertEqual({"a": {"b": [1]}}, source)


class NestTest(base.BaseTestCase):
    def test_paths_become_dictionaries(self) -> None:
        self.assertEqual(
            {"a": {"b": {"c": [1], "d": 2}}},
            topic.nest({"a.b.c": (1,), "a.b": {"d": 2}}),
        )

    def test_only_what_is_empty_is_left_out(self) -> None:
        leaves: dict[str, Any] = {
            "a": None,
            "b": "",
            "c": (),
            "d": {},
            "e": False,
            "f.g": 0,
        }
        self.assertEqual({"e": False, "f": {"g": 0}}, topic.nest(leaves))

    def test_a_null_is_kept(self) -> None:
        self.assertEqual({"a": {"b": None}}, topic.nest({"a.b": paths.NULL}))


#: Label, its value, and the label that it needs.
_DEPENDENT = (
    # By an alias.
    ("audit_log_maxage", "7", "audit_log_enabled=true"),
    ("auto_scaling_utilization_threshold", "0.7", "auto_scaling_enabled=true"),
    (
        *("boot_volume_availability_zone", "nova"),
        "boot_volume_size, docker_volume_size or extra_volumes",
    ),
    ("etcd_volume_type", "fast", "etcd_blockdevice_size"),
    ("extra_network_port_security", "false", "extra_network_names"),
    ("auto_scaling_gpus", "nvidia.com/gpu=2", "auto_scaling_enabled=true"),
    ("docker_volume_type", "fast", "docker_volume_size"),
    ("etcd_encryption_provider", "aescbc", "etcd_encryption_enabled=true"),
    ("etcd_encryption_resources", "secrets", "etcd_encryption_enabled=true"),
    ("manila_csi_enabled", "true", "manila_csi_share_type"),
    ("manila_csi_share_type", "default", "manila_csi_enabled=true"),
    ("manila_csi_protocol", "nfs", "manila_csi_enabled=true"),
    (
        "manila_csi_share_network_id",
        "0b8ac6b8-3e5c-4f0e-9d5c-8a7f1c2d3e4f",
        "manila_csi_enabled=true",
    ),
    ("oidc_client_id", "kubernetes", "oidc_issuer_url"),
    ("oidc_groups_claim", "roles", "oidc_issuer_url"),
    ("oidc_groups_prefix", "sso:", "oidc_issuer_url"),
    ("oidc_issuer_url", "https://id.example.org", "oidc_client_id"),
    ("oidc_signing_algs", "ES256", "oidc_issuer_url"),
    ("oidc_username_claim", "email", "oidc_issuer_url"),
    ("oidc_username_prefix", "-", "oidc_issuer_url"),
)


#: Labels, what else a cluster has, and what is allowed for the last label.
_CONTRADICTIONS: tuple[tuple[dict[str, str], dict[str, Any], str], ...] = (
    (
        {"octavia_provider": "ovn", "api_server_network": "public"},
        {"api": cluster_spec.ApiServer(floating_ip=False)},
        "it with another octavia_provider than ovn, whose load balancers "
        "can't connect two networks",
    ),
    (
        {"api_server_network": "public"},
        {},
        "it with master_lb_floating_ip_enabled=false",
    ),
    (
        {"api_server_lb_flavor": "ha"},
        {"api": cluster_spec.ApiServer(load_balancer=False)},
        "it with master_lb_enabled",
    ),
    (
        {"cilium_hubble_ui_enabled": "true"},
        {},
        "it with network_driver=cilium",
    ),
    (
        {"calico_chart_version": "v3.31.6"},
        {"cni": "cilium"},
        "it with network_driver=calico",
    ),
    (
        {
            "etcd_blockdevice_size": "10",
            "etcd_blockdevice_type": "local",
            "etcd_blockdevice_volume_type": "fast",
        },
        {},
        "it with etcd_blockdevice_type=volume",
    ),
    ({"extra_volumes": "data:1,data:2"}, {}, "each name once"),
    (
        {"extra_security_groups": "web"},
        {"chart": specs.chart("0.10.1")},
        "it with a chart version that applies it",
    ),
)


class DependentTest(base.BaseTestCase):
    def test_a_label_without_the_one_that_it_needs_is_refused(self) -> None:
        for name, value, needed in _DEPENDENT:
            said = specs.refusal(values.checked, specs.cluster({name: value}))
            wanted = f"label {name}: give it together with {needed}. It is "
            self.assertTrue(said.startswith(f"{wanted}{value!r}"), said)

    def test_a_label_that_contradicts_the_rest_is_refused(self) -> None:
        for given, changes, allowed in _CONTRADICTIONS:
            cluster = specs.cluster(given, **changes)
            said = specs.refusal(values.checked, cluster)
            *_, (name, value) = given.items()
            wanted = f"label {name}: give {allowed}. It is {value!r}"
            self.assertTrue(said.startswith(wanted), said)

    def test_a_cluster_may_switch_off_what_its_template_has(self) -> None:
        given = {"etcd_encryption_enabled": "false"}
        given["etcd_encryption_provider"] = "aescbc"
        values.checked(specs.cluster(given))


class TemplateTest(base.BaseTestCase):
    def test_the_live_cluster_shows_its_profiles(self) -> None:
        for given in ("gpu,small", "gpu small", " gpu , small,"):
            cluster = specs.cluster({"capi_helm_values_profiles": given})
            self.assertEqual(
                {
                    "clusterAnnotations": {
                        "magnum.openstack.org/values-profiles": "gpu,small"
                    }
                },
                template.PROFILES.cluster(cluster),
            )

    def test_only_the_template_has_a_say(self) -> None:
        given = {"capi_helm_values_profiles": "gpu"}
        found = labels.resolve(
            (template.PROFILE_NAMES,), labels.Sources(cluster=given), {}
        )
        self.assertEqual((), found[template.PROFILE_NAMES])

    def test_the_chart_version_is_no_value(self) -> None:
        cluster = specs.cluster({"capi_helm_chart_version": "0.26.0"})
        self.assertEqual({}, template.TOPIC.cluster(cluster))
        self.assertEqual("0.26.0", cluster.labels[template.VERSION])
