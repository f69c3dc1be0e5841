# SPDX-License-Identifier: Apache-2.0

"""Options: a configuration file of magnum-capi-helm 1.4.0 goes on working."""

from __future__ import annotations

import tempfile
from typing import Any

from oslo_config import cfg
from oslotest import base

from magnum_capi_helm.config import conf

CHARTS = "https://azimuth-cloud.github.io/capi-helm-charts"

#: [capi_helm] of 1.4.0: option, its default, text in a file, what is read.
#: The chart's version is the one default that is new.
OPTIONS: list[tuple[str, Any, str, Any]] = [
    ("kubeconfig_file", "", "/etc/kube", "/etc/kube"),
    ("namespace_prefix", "magnum", "east", "east"),
    ("helm_chart_repo", CHARTS, "", ""),
    ("helm_chart_name", "openstack-cluster", "oci://r/c", "oci://r/c"),
    ("default_helm_chart_version", "0.27.0", "0.10.1", "0.10.1"),
    ("minimum_flavor_ram", 2048, "4096", 4096),
    ("minimum_flavor_vcpus", 2, "1", 1),
    ("csi_cinder_default_volume_type", None, "fast", "fast"),
    ("csi_cinder_allowed_topologies", [], "az1,az2", ["az1", "az2"]),
    ("app_cred_interface_type", "public", "internal", "internal"),
    (
        "api_resources",
        {},
        '{"K8sControlPlane": {"plural_name": "kamajicontrolplanes"}}',
        {"K8sControlPlane": {"plural_name": "kamajicontrolplanes"}},
    ),
    (
        "k8s_control_plane_resource_conditions",
        [
            "MachinesReady",
            "Ready",
            "EtcdClusterHealthy",
            "ControlPlaneComponentsHealthy",
        ],
        "Ready",
        ["Ready"],
    ),
]

#: [capi_helm_cluster_labels] of 1.4.0, likewise.
LABELS: list[tuple[str, Any, str, Any]] = [
    ("etcd_blockdevice_size", 0, "10", 10),
    ("etcd_blockdevice_type", "volume", "local", "local"),
    ("etcd_blockdevice_volume_type", "", "fast", "fast"),
    ("etcd_blockdevice_volume_az", "", "az1", "az1"),
    ("monitoring_enabled", False, "true", True),
    ("kube_dashboard_enabled", True, "false", False),
    ("auto_healing_enabled", True, "false", False),
    ("auto_scaling_enabled", False, "true", True),
    ("min_node_count", None, "1", 1),
    ("max_node_count", None, "5", 5),
    ("keystone_auth_enabled", False, "true", True),
    ("csi_cinder_availability_zone", "nova", "az1", "az1"),
    ("csi_cinder_reclaim_policy", "Retain", "Delete", "Delete"),
    (
        "csi_cinder_volume_binding_mode",
        "WaitForFirstConsumer",
        "Immediate",
        "Immediate",
    ),
    ("csi_cinder_fstype", "ext4", "xfs", "xfs"),
    ("csi_cinder_allow_volume_expansion", True, "false", False),
    ("octavia_provider", "amphora", "ovn", "ovn"),
    ("octavia_lb_algorithm", "", "SOURCE_IP_PORT", "SOURCE_IP_PORT"),
    ("octavia_lb_healthcheck", True, "false", False),
    ("master_lb_floating_ip_enabled", True, "false", False),
    ("fixed_subnet_cidr", "10.0.0.0/24", "10.1.0.0/16", "10.1.0.0/16"),
    ("api_master_lb_allowed_cidrs", (), "192.0.2.0/24", ("192.0.2.0/24",)),
    ("extra_network_names", (), "a b", ("a", "b")),
    ("boot_volume_type", None, "fast", "fast"),
    ("boot_volume_size", None, "30", 30),
]

#: Where 1.4.0 found options before: group, name, text -> option, value.
FORMER: list[tuple[str, str, str, str, Any]] = [
    ("capi_helm", "etcd_volume_size", "10", "etcd_blockdevice_size", 10),
    (
        "capi_helm",
        "etcd_volume_type",
        "fast",
        "etcd_blockdevice_volume_type",
        "fast",
    ),
    (
        "capi_helm",
        "csi_cinder_availability_zone",
        "az1",
        "csi_cinder_availability_zone",
        "az1",
    ),
    (
        "capi_helm",
        "csi_cinder_reclaim_policy",
        "Delete",
        "csi_cinder_reclaim_policy",
        "Delete",
    ),
    (
        "capi_helm",
        "csi_cinder_volume_binding_mode",
        "Immediate",
        "csi_cinder_volume_binding_mode",
        "Immediate",
    ),
    ("capi_helm", "csi_cinder_fstype", "xfs", "csi_cinder_fstype", "xfs"),
    (
        "capi_helm",
        "csi_cinder_allow_volume_expansion",
        "false",
        "csi_cinder_allow_volume_expansion",
        False,
    ),
    (
        "capi_helm_cluster_labels",
        "extra_network_name",
        "a",
        "extra_network_names",
        ("a",),
    ),
]


class _ConfTest(base.BaseTestCase):
    def _read(self, text: str) -> cfg.ConfigOpts:
        """The driver's options as a file with this text gives them."""
        read = cfg.ConfigOpts()
        # Magnum's; the default of chart_store refers to it.
        read.register_opt(cfg.StrOpt("state_path", default="/var/lib/magnum"))
        for group, options in conf.list_opts():
            read.register_group(group)
            read.register_opts(options, group=group)
        with tempfile.NamedTemporaryFile("w", suffix=".conf") as file:
            file.write(text)
            file.flush()
            read(["--config-file", file.name])
        return read


class OptionsTest(_ConfTest):
    def test_each_option_of_1_4_0_has_its_default(self) -> None:
        read = self._read("").capi_helm
        self.assertEqual(
            {name: default for name, default, _, _ in OPTIONS},
            {name: read[name] for name, _, _, _ in OPTIONS},
        )

    def test_each_option_of_1_4_0_is_read_in_its_type(self) -> None:
        lines = [f"{name} = {text}" for name, _, text, _ in OPTIONS]
        read = self._read("\n".join(["[capi_helm]", *lines])).capi_helm
        self.assertEqual(
            {name: value for name, _, _, value in OPTIONS},
            {name: read[name] for name, _, _, _ in OPTIONS},
        )

    def test_each_label_of_1_4_0_has_its_default(self) -> None:
        read = self._read("").capi_helm_cluster_labels
        self.assertEqual(
            {name: default for name, default, _, _ in LABELS},
            {name: read[name] for name, _, _, _ in LABELS},
        )

    def test_each_label_of_1_4_0_is_read_in_its_type(self) -> None:
        lines = [f"{name} = {text}" for name, _, text, _ in LABELS]
        text = "\n".join(["[capi_helm_cluster_labels]", *lines])
        read = self._read(text).capi_helm_cluster_labels
        self.assertEqual(
            {name: value for name, _, _, value in LABELS},
            {name: read[name] for name, _, _, _ in LABELS},
        )

    def test_former_places_of_options_are_still_read(self) -> None:
        for group, old, text, name, value in FORMER:
            read = self._read(f"[{group}]\n{old} = {text}")
            self.assertEqual(value, read.capi_helm_cluster_labels[name], old)

    def test_a_new_place_beats_a_former_one(self) -> None:
        read = self._read(
            "[capi_helm]\ncsi_cinder_fstype = ext3\n"
            "[capi_helm_cluster_labels]\ncsi_cinder_fstype = xfs\n"
        )
        self.assertEqual(
            "xfs", read.capi_helm_cluster_labels.csi_cinder_fstype
        )

    def test_a_value_that_is_not_allowed_is_refused(self) -> None:
        rows = [
            ("capi_helm", "app_cred_interface_type", "private"),
            ("capi_helm", "api_resources", "[]"),
            ("capi_helm", "minimum_flavor_ram", "-1"),
            ("capi_helm_cluster_labels", "csi_cinder_reclaim_policy", "Keep"),
            ("capi_helm_cluster_labels", "fixed_subnet_cidr", "10.0.0.1/24"),
        ]
        for group, name, text in rows:
            read = self._read(f"[{group}]\n{name} = {text}")
            self.assertRaises(
                cfg.ConfigFileValueError, getattr, read[group], name
            )


class SampleTest(_ConfTest):
    def test_defaults_as_the_sample_file_shows_them_are_read_again(
        self,
    ) -> None:
        lines = []
        for group, options in conf.list_opts():
            lines.append(f"[{group.name}]")
            for opt in options:
                if opt.default is not None:
                    shown = opt.type.format_defaults(opt.default)[0]
                    lines.append(f"{opt.name} = {shown}")
        told, silent = self._read("\n".join(lines)), self._read("")
        for group, options in conf.list_opts():
            self.assertEqual(
                {opt.name: silent[group.name][opt.dest] for opt in options},
                {opt.name: told[group.name][opt.dest] for opt in options},
            )

    def test_each_option_has_a_help_text(self) -> None:
        self.assertEqual(
            [],
            [
                opt.name
                for _, options in conf.list_opts()
                for opt in options
                if not opt.help
            ],
        )
